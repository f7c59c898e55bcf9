"""Where the time of a run went: seconds, tests and share of each folder, at the end of every run.

Counted are set-up, call and tear-down, as pytest measures them; a fixture's seconds stand where
the test that asked for it first stands. What is left is collecting and starting.
"""

import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

import pytest

_TOP = "tests"
_ROW = "{:<22}{:>9}{:>8}{:>8}"


@dataclass(slots=True)
class Spent:
    """What one folder took."""

    seconds: float = 0.0
    tests: set[str] = field(default_factory=set)


class FoldersPlugin:
    """Adds up one run by folder below `tests`."""

    def __init__(self) -> None:
        self._began_s = time.monotonic()
        self._spent: dict[str, Spent] = defaultdict(Spent)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add one phase of one test."""
        spent = self._spent[folder_of(report.nodeid)]
        spent.seconds += report.duration
        spent.tests.add(report.nodeid)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table, the slowest folder first."""
        if self._spent:
            terminalreporter.section("seconds by folder")
            for line in as_table(self._spent, time.monotonic() - self._began_s):
                terminalreporter.write_line(line)


def folder_of(nodeid: str) -> str:
    """The folder below `tests` in which a test stands: `crash` of `tests/crash/test_a.py::test_b`.

    A test that stands nowhere below it has the name of its own folder, or `.`.
    """
    parts = PurePosixPath(nodeid.split("::", 1)[0]).parent.parts
    below = parts[1:] if parts[:1] == (_TOP,) else parts
    return below[0] if below else "."


def as_table(spent: Mapping[str, Spent], whole_s: float) -> list[str]:
    """Lines of a table; a share is of `whole_s`, the seconds of the whole run."""
    rows = sorted(spent.items(), key=lambda row: -row[1].seconds)
    measured_s = sum(row.seconds for row in spent.values())
    tests = sum(len(row.tests) for row in spent.values())
    return [
        _ROW.format("folder", "seconds", "tests", "share"),
        *(_line(name, row.seconds, f"{len(row.tests)}", whole_s) for name, row in rows),
        _line("(all else)", max(whole_s - measured_s, 0.0), "", whole_s),
        _line("all", whole_s, f"{tests}", whole_s),
    ]


def _line(name: str, seconds: float, tests: str, whole_s: float) -> str:
    share = seconds / whole_s if whole_s else 0.0
    return _ROW.format(name, f"{seconds:.1f}", tests, f"{share:.1%}")
