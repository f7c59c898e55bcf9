"""A copy of the tree in which one change after another is made and its tests are run.

The working tree stays as it is. Which tests look at a line is measured once for each room, with
coverage's contexts.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from coverage import CoverageData

from tools.mutants.changes import Change
from tools.mutants.rooms import Room

_PATIENCE: Final = 3.0
_PATIENCE_MORE_S: Final = 30.0
_MOST_TESTS: Final = 60
_FAILED: Final = 1
_MOST_UNFIT: Final = 5
_QUIET: Final = ("-q", "-x", "-p", "no:randomly", "-p", "no:cacheprovider", "--no-header")
_FELL: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_TOOK: Final = re.compile(r"^([0-9.]+)s (?:call|setup)\s+(\S.*?)\s*$", re.MULTILINE)


class Verdict(StrEnum):
    """What became of a change."""

    noticed = "noticed"
    survived = "survived"
    unseen = "unseen"
    """No test runs the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The verdict on a change, and how long it took."""

    change: Change
    verdict: Verdict
    took_s: float


class Tree:
    """The copy, below `folder`."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Copy what git tracks and what was built."""
        self.root, self.path = root, folder / "tree"
        self._folder = folder

    def prepare(self) -> None:
        """Make the copy anew."""
        shutil.rmtree(self.path, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root,
            capture_output=True,
            check=True,
        )
        names = [name for name in listed.stdout.decode().split("\0") if name]
        built = [str(path.relative_to(self.root)) for path in self.root.glob("sandboxd/*.so")]
        for name in [*names, *built]:
            source, target = self.root / name, self.path / name
            if source.is_file():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source, target)
        shared = self.root.parent / "shared"
        if shared.is_dir() and not (self._folder / "shared").exists():
            (self._folder / "shared").symlink_to(shared.resolve())

    def run(self, arguments: Sequence[str], within_s: float | None) -> tuple[int | None, str]:
        """Run pytest in the copy: its exit code, None when it took too long, and its output."""
        environment = {**os.environ, "PYTHONPATH": str(self.path), "PYTHONDONTWRITEBYTECODE": "1"}
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *arguments],
            cwd=self.path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            output, _ = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
            return None, output
        return process.returncode, output


class Sight:
    """Which tests run which line of a room, and how long each takes."""

    def __init__(self, tree: Tree, folder: Path, room: Room) -> None:
        """Keep where the measurement of this room lies."""
        self._tree, self._room = tree, room
        self._file = folder / f"{room.name}.coverage"
        self._times = folder / f"{room.name}.times"
        self._data = CoverageData(basename=str(self._file))
        self._took_s: dict[str, float] = {}
        self.unfit: frozenset[str] = frozenset()
        """Tests that failed without any change: they can notice nothing."""

    def measure(self) -> str:
        """Run all tests of the room once, unless that was done; what went wrong, "" if nothing."""
        if not self._times.exists():
            sources = [f"--cov={folder}" for folder in self._room.sources]
            arguments = [
                *(test for test in self._room.tests if (self._tree.path / test).exists()),
                *sources,
                *("--cov-context=test", "--cov-report=", "--durations=0", "-vv", "-q"),
                *("-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=300"),
            ]
            code, output = self._tree.run(arguments, None)
            failed = _FELL.findall(output)
            if code not in {0, _FAILED} or len(failed) > _MOST_UNFIT:
                return output[-3000:]
            self._gather()
            self._times.write_text(output, encoding="utf-8")
        self._data.read()
        text = self._times.read_text(encoding="utf-8")
        self.unfit = frozenset(_FELL.findall(text))
        for took, test in _TOOK.findall(text):
            self._took_s[test] = self._took_s.get(test, 0.0) + float(took)
        return ""

    def _gather(self) -> None:
        made = self._tree.path / "build" / "coverage"
        pieces = [path for path in made.glob("data*") if path.is_file()]
        merged = CoverageData(basename=str(self._file))
        for piece in pieces:
            part = CoverageData(basename=str(piece))
            part.read()
            merged.update(part)
            piece.unlink()
        merged.write()

    def tests_of(self, change: Change) -> list[str]:
        """The tests that run the line, quick ones first."""
        lines = self._data.contexts_by_lineno(str(self._tree.path / change.path))
        names = {context.partition("|")[0] for context in lines.get(change.line, ()) if context}
        names -= self.unfit
        return sorted(names, key=lambda name: (self._took_s.get(name, 0.0), name))

    def took_s(self, tests: Iterable[str]) -> float:
        """How long these took when all of them passed."""
        return sum(self._took_s.get(test, 0.01) for test in tests)


def try_change(tree: Tree, sight: Sight, change: Change) -> Trial:
    """Make the change in the copy, run the tests that see it, and take it back."""
    begin = time.monotonic()
    tests = sight.tests_of(change)[:_MOST_TESTS]
    if not tests:
        return Trial(change=change, verdict=Verdict.unseen, took_s=0.0)
    file = tree.path / change.path
    original = file.read_bytes()
    file.write_bytes(change.applied(original))
    try:
        within_s = _PATIENCE * sight.took_s(tests) + _PATIENCE_MORE_S
        code, _ = tree.run([*tests, *_QUIET], within_s)
    finally:
        file.write_bytes(original)
    verdict = Verdict.survived if code == 0 else Verdict.noticed
    return Trial(change=change, verdict=verdict, took_s=time.monotonic() - begin)
