"""A copy of the tree in which one change after another is made and its tests are run.

The working tree stays as it is. Which tests look at a line is measured once for each file of
tests, with coverage's contexts.
"""

import ast
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from coverage import CoverageData

from tools.mutants.changes import Change
from tools.mutants.rooms import ROOMS, Room

_PATIENCE: Final = 3.0
_PATIENCE_MORE_S: Final = 30.0
_LONGEST_S: Final = 40.0
_MOST_TESTS: Final = 3_000
_FAILED: Final = 1
_MOST_UNFIT: Final = 20
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
    """Which tests run which line, and how long each takes.

    Every file of tests is measured once for all rooms, and again only when it has changed.
    """

    def __init__(self, tree: Tree, folder: Path, room: Room) -> None:
        """Keep where the measurements lie."""
        self._tree, self._room = tree, room
        self._file = folder / "seen.coverage"
        self._measured = folder / "measured.json"
        self._data = CoverageData(basename=str(self._file))
        self._took_s: dict[str, float] = {}
        self.unfit: frozenset[str] = frozenset()
        """Tests that failed without any change: they can notice nothing."""

    def measure(self) -> str:
        """Run those tests of the room that were not measured; what went wrong, "" if nothing."""
        files = {name: self._digest(name) for name in self._room.test_files(self._tree.path)}
        known = json.loads(self._measured.read_text()) if self._measured.exists() else {}
        missing = [name for name in files if known.get(name, {}).get("digest") != files[name]]
        if missing:
            output, fault = self._run(missing)
            if fault:
                return fault
            for name in missing:
                known[name] = {"digest": files[name], "took_s": {}, "unfit": []}
            for took, test in _TOOK.findall(output):
                times = known[test.partition("::")[0]]["took_s"]
                times[test] = times.get(test, 0.0) + float(took)
            for test in _FELL.findall(output):
                known[test.partition("::")[0]]["unfit"].append(test)
            self._measured.write_text(json.dumps(known), encoding="utf-8")
        self._data.read()
        for name in files:
            self._took_s.update(known[name]["took_s"])
        self.unfit = frozenset(test for name in files for test in known[name]["unfit"])
        return ""

    def _digest(self, name: str) -> str:
        return hashlib.sha256((self._tree.path / name).read_bytes()).hexdigest()

    def _run(self, files: list[str]) -> tuple[str, str]:
        sources = sorted({source.partition("/")[0] for room in ROOMS for source in room.sources})
        sources = sorted({*sources, *self._room.sources})
        arguments = [
            *files,
            *(f"--cov={source}" for source in sources if (self._tree.path / source).exists()),
            *("--cov-context=test", "--cov-report=", "--durations=0", "--durations-min=0", "-vv"),
            *("-p", "no:randomly", "-p", "no:cacheprovider", "--timeout=300"),
        ]
        code, output = self._tree.run(arguments, None)
        if code not in {0, _FAILED} or len(_FELL.findall(output)) > _MOST_UNFIT:
            return output, output[-3000:]
        self._gather()
        return output, ""

    def _gather(self) -> None:
        made = self._tree.path / "build" / "coverage"
        pieces = [path for path in made.glob("data*") if path.is_file()]
        merged = CoverageData(basename=str(self._file))
        if self._file.exists():
            merged.read()
        for piece in pieces:
            part = CoverageData(basename=str(piece))
            part.read()
            merged.update(part)
            piece.unlink()
        merged.write()

    def tests_of(self, change: Change) -> list[str]:
        """The tests that run the line, as many as fit: quick ones first, of every function one.

        What runs when its module is loaded belongs to every test, to those of the module first.
        """
        seen = self._data.contexts_by_lineno(str(self._tree.path / change.path))
        source = (self._tree.path / change.path).read_bytes()
        lines = [line for line in _lines_of(source, change.line) if line in seen]
        names = self._names(context for line in lines for context in seen[line])
        if not names and any("" in seen[line] for line in lines):
            names = self._names(context for contexts in seen.values() for context in contexts)
            others = set(self._took_s) - self.unfit - names
            return [*self._fitting(names), *self._fitting(others)]
        return list(self._fitting(names))

    def _fitting(self, names: Iterable[str]) -> Iterator[str]:
        rounds = Counter[str]()
        turns = list[tuple[int, float, str]]()
        for took_s, name in sorted((self._took_s[name], name) for name in names):
            function = name.partition("[")[0]
            turns.append((rounds[function], took_s, name))
            rounds[function] += 1
        left_s = _LONGEST_S
        for turn, took_s, name in sorted(turns)[:_MOST_TESTS]:
            left_s -= took_s
            if left_s > 0 or not turn:
                yield name

    def _names(self, contexts: Iterable[str]) -> set[str]:
        names = {context.rpartition("|")[0] for context in contexts if context}
        return {name for name in names if name in self._took_s} - self.unfit

    def took_s(self, tests: Iterable[str]) -> float:
        """How long these took when all of them passed."""
        return sum(self._took_s.get(test, 0.01) for test in tests)


def _lines_of(source: bytes, line: int) -> range:
    """The lines of the statement that the line belongs to, without the body of one that has one."""
    found = range(line, line + 1)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.stmt) and node.lineno <= line <= (node.end_lineno or node.lineno):
            body = getattr(node, "body", None)
            end = body[0].lineno if body else (node.end_lineno or node.lineno) + 1
            if line < end:
                found = range(node.lineno, end)
    return found


def try_change(tree: Tree, sight: Sight, change: Change) -> Trial:
    """Make the change in the copy, run the tests that see it, and take it back."""
    begin = time.monotonic()
    tests = sight.tests_of(change)
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
