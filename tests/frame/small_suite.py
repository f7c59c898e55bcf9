"""A small project with this suite's conftest and plugins, and made-up tests of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.evidence.items import ITEMS
from tests.frame.checkout import ROOT

_LINKED = ("conftest.py", "evidence", "suite")
_SETTINGS = """[tool:pytest]
testpaths = tests
pythonpath = .
addopts = -p no:cacheprovider --import-mode=importlib
markers =
    evidence(n): x
    root: x
    browser: x
    live: x
"""


class SmallSuite:
    """The project in `folder`; every acceptance item is pending in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "tests").mkdir()
        for name in _LINKED:
            (folder / "tests" / name).symlink_to(ROOT / "tests" / name)
        (folder / "setup.cfg").write_text(_SETTINGS, encoding="utf-8")
        pending = (
            f'[[item]]\nnumber = {item.number}\nlacks = "all"\ncapability = "memory"\n'
            for item in ITEMS
        )
        (folder / "tests" / "evidence-pending.toml").write_text("\n".join(pending), "utf-8")

    def write(self, path: str, text: str) -> None:
        """A file of tests, such as `flood/test_it.py`."""
        file = self.folder / "tests" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def run(self, *arguments: str, ci: bool = False) -> subprocess.CompletedProcess[str]:
        """One run of pytest in it, which must not take longer than 50 s."""
        environment = {name: value for name, value in os.environ.items() if name != "CI"}
        if ci:
            environment["CI"] = "true"
        return subprocess.run(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    def read(self, name: str) -> Any:
        """What a run wrote to `build/NAME`."""
        return json.loads((self.folder / "build" / name).read_text(encoding="utf-8"))
