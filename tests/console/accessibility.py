"""axe-core, fetched once through npm under build/, and asked about the page in the browser."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.demo.browser import Browser

ROOT = Path(__file__).parents[2]
WANTED = Path(__file__).parent / "axe"
PLACE = ROOT / "build" / "axe"
FETCH_WITHIN_S = 50
SERIOUS = {"serious", "critical"}
_RUN = """
axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations.map(v => ({
    id: v.id, impact: v.impact, help: v.help, nodes: v.nodes.slice(0, 4).map(n => n.html)})))
"""


def find_axe() -> str:
    """The script of axe-core in the locked version; skips where it cannot be had."""
    lock = json.loads((WANTED / "package-lock.json").read_text("utf-8"))
    version = lock["packages"]["node_modules/axe-core"]["version"]
    package = PLACE / "node_modules" / "axe-core"
    if not _is_there(package, version):
        _fetch()
    if not _is_there(package, version):
        pytest.fail("npm ci left no axe-core of the locked version")
    return (package / "axe.min.js").read_text("utf-8")


def serious_findings(browser: Browser, axe: str) -> list[str]:
    """What axe finds serious or critical in the page that is shown."""
    browser.evaluate(f"window.axe ? 0 : (0, eval)({json.dumps(axe)}) && 0")
    violations = browser.evaluate(_RUN)
    return [
        f"{v['id']} ({v['impact']}): {v['help']}: {v['nodes']}"
        for v in violations
        if v["impact"] in SERIOUS
    ]


def _is_there(package: Path, version: str) -> bool:
    described = package / "package.json"
    return described.is_file() and json.loads(described.read_text("utf-8"))["version"] == version


def _fetch() -> None:
    if shutil.which("npm") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("npm is missing: on Debian 'apt-get install npm'")
        pytest.skip("needs npm to fetch axe-core: on Debian 'apt-get install npm'")
    PLACE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copyfile(WANTED / name, PLACE / name)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    done = subprocess.run(
        command, cwd=PLACE, capture_output=True, text=True, timeout=FETCH_WITHIN_S, check=False
    )
    if done.returncode != 0:
        words = done.stderr.strip().splitlines()[-1:] or ["no words"]
        if os.environ.get("CI") == "true":
            pytest.fail(f"npm could not fetch axe-core: {words[0]}")
        pytest.skip(f"npm could not fetch axe-core: {words[0]}")
