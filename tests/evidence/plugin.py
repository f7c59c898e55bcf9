"""Ties the evidence map to pytest: collects marks and outcomes, prints the map, writes the file.

Only a whole run (no selection of any kind) is judged and written; a part prints no map.
"""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.evidence.actions import find_action_faults
from tests.evidence.items import ITEMS
from tests.evidence.judgement import (
    Finding,
    Outcome,
    Showing,
    as_document,
    as_lines,
    is_acceptable,
    judge,
)
from tests.evidence.pending import (
    OpenPoint,
    PendingFileWrong,
    read_pending,
    read_pending_actions,
)
from tests.evidence.speaking import asserts_anything, what_it_shows

_NUMBERS = {item.number for item in ITEMS}


class EvidencePlugin:
    """One run's evidence. `in_ci` makes skipped evidence as bad as missing evidence."""

    def __init__(self, config: pytest.Config, *, in_ci: bool) -> None:
        self._config = config
        self._in_ci = in_ci
        self._numbers: dict[str, tuple[int, ...]] = {}
        self._shows: dict[str, str] = {}
        self._action_faults: tuple[str, ...] = ()
        self._outcomes: dict[str, tuple[Outcome, str]] = {}
        self._pending: dict[int, OpenPoint] = {}
        self._deselected = False
        self._findings: tuple[Finding, ...] = ()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Read the pending file and the marks; a mistake in either ends the run before a test."""
        root = self._config.rootpath
        path = root / "tests" / "evidence-pending.toml"
        try:
            self._pending = read_pending(path)
            self._action_faults = find_action_faults(root, read_pending_actions(path))
        except PendingFileWrong as error:
            raise pytest.UsageError(str(error)) from error
        for item in items:
            numbers = tuple(
                number for mark in item.iter_markers("evidence") for number in mark.args
            )
            if not _NUMBERS.issuperset(numbers):
                raise pytest.UsageError(f"{item.nodeid}: evidence({numbers}) names no item")
            if numbers:
                self._numbers[item.nodeid] = numbers
                self._shows[item.nodeid] = _read_statement(item)

    def pytest_deselected(self) -> None:
        """Remember that this is not the whole suite."""
        self._deselected = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the worst outcome of a test's set-up, call and tear-down."""
        if report.nodeid not in self._numbers:
            return
        if report.failed:
            self._outcomes[report.nodeid] = (Outcome.FAILED, "")
        elif report.skipped:
            self._outcomes[report.nodeid] = (Outcome.SKIPPED, _reason(report))
        elif report.when == "call":
            self._outcomes[report.nodeid] = (Outcome.PASSED, "")

    def pytest_passed_on_second_try(self, nodeid: str) -> None:
        """A failure that did not repeat: the second result counts."""
        if nodeid in self._numbers:
            self._outcomes[nodeid] = (Outcome.PASSED, "")

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Judge a whole run: write the file, and fail a run that passed without the evidence."""
        if not self._is_whole_run(session):
            return
        self._findings = judge(self._showings(), self._pending)
        _write(self._config.rootpath / "build" / "evidence.json", as_document(self._findings))
        passed = session.exitstatus == pytest.ExitCode.OK
        acceptable = is_acceptable(self._findings, skips_count=self._in_ci)
        if passed and (self._action_faults or not acceptable):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the map."""
        if self._findings:
            terminalreporter.section("acceptance items")
            for line in (*as_lines(self._findings), *self._action_faults):
                terminalreporter.write_line(line)

    def _showings(self) -> dict[int, list[Showing]]:
        by_item: dict[int, list[Showing]] = defaultdict(list)
        for test, (outcome, reason) in self._outcomes.items():
            for number in self._numbers[test]:
                showing = Showing(
                    test=test, outcome=outcome, reason=reason, shows=self._shows[test]
                )
                by_item[number].append(showing)
        return by_item

    def _is_whole_run(self, session: pytest.Session) -> bool:
        finished = session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}
        option = self._config.option
        from_settings = self._config.args_source is pytest.Config.ArgsSource.TESTPATHS
        selected = option.keyword or option.markexpr or option.collectonly or self._deselected
        return finished and from_settings and not selected and not session.shouldstop


def _read_statement(item: pytest.Item) -> str:
    """What a marked test says that it shows.

    Raises:
        UsageError: the mark is a file's or a class's, says nothing, or has no assertion behind it.
    """
    owners = {node for node, _ in item.iter_markers_with_node("evidence")}
    if owners != {item} or not isinstance(item, pytest.Function):
        raise pytest.UsageError(f"{item.nodeid}: each test bears its own evidence mark")
    shows = what_it_shows(item.function)
    if not shows:
        raise pytest.UsageError(
            f"{item.nodeid}: a test with the evidence mark says in a sentence what it shows,"
            " in its name or in its docstring"
        )
    if not asserts_anything(item.function):
        raise pytest.UsageError(f"{item.nodeid}: has the evidence mark and asserts nothing")
    return shows


def _reason(report: pytest.TestReport) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    return getattr(report, "wasxfail", "")


def _write(path: Path, document: dict[str, object]) -> None:
    path.parent.mkdir(exist_ok=True)
    text = json.dumps(document, ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")
