"""Failed tests are run once more, alone, at the end of a run: what passes then is called unstable.

An unstable test does not fail the run. It is named in a block of its own with the text of its first
failure, and stands in build/unstable.json; `pytest_passed_on_second_try` tells the other plugins.
A test that failed in its tear-down is not tried again: what it left behind is not there when it
runs alone.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Generator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

MOST = 10
"""More failures than this are no accident: none of them is tried again."""
WITHIN_S = 2_400
"""Longer than the longest time limit of a test, which ends it before this does."""
OFF = "--no-second-try"
_FLAGS = ("live", "image", "long")
_VALUES = ("randomly_seed", "sample_seed")
_ENDS_EARLY = ("maxfail", "usepdb", "trace", "lf", "stepwise", "collectonly", "no_second_try")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unstable:
    """A test that failed and then passed; `first` is the text of the failure."""

    test: str
    first: str
    seconds: float


class SecondTryHooks:
    """What other plugins may want to hear."""

    def pytest_passed_on_second_try(self, nodeid: str) -> None:
        """A test whose failure was reported has passed when it ran alone."""


class SecondTryPlugin:
    """Tries the failed tests of one run again, each in a process of its own."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._failures: dict[str, list[pytest.TestReport]] = defaultdict(list)
        self._unstable: list[Unstable] = []
        self._failed_again: list[str] = []
        self._untried = ""
        config.pluginmanager.add_hookspecs(SecondTryHooks)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed, counted as pytest counts it."""
        if report.failed and not hasattr(report, "wasxfail"):
            self._failures[report.nodeid].append(report)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """After the last test: the second tries. A run that was broken off never gets here."""
        result = yield
        if any(self._config.getoption(name, None) for name in _ENDS_EARLY):
            return result
        self._untried = why_untried(self._failures)
        if not self._untried:
            for nodeid in list(self._failures):
                self._try_again(session, nodeid)
        self._write()
        return result

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The block that nobody overlooks."""
        if self._untried:
            terminalreporter.section("no second try")
            terminalreporter.write_line(self._untried)
        if not self._unstable:
            return
        terminalreporter.section("UNSTABLE: failed, then passed alone", "!", red=True, bold=True)
        for unstable in self._unstable:
            terminalreporter.write_sep("_", f"UNSTABLE {unstable.test}", red=True)
            terminalreporter.write_line(unstable.first)
        for unstable in self._unstable:
            terminalreporter.write_line(f"UNSTABLE {unstable.test}", red=True, bold=True)

    def _try_again(self, session: pytest.Session, nodeid: str) -> None:
        reports = self._failures[nodeid]
        if any(report.when == "teardown" for report in reports):
            self._failed_again.append(nodeid)
            return
        began_s = time.monotonic()
        passed = passes_alone(self._config, nodeid)
        seconds = time.monotonic() - began_s
        self._say(f"once more, alone: {nodeid} {'passed' if passed else 'FAILED'}")
        if not passed:
            self._failed_again.append(nodeid)
            return
        first = "\n".join(report.longreprtext for report in reports)
        self._unstable.append(Unstable(test=nodeid, first=first, seconds=round(seconds, 3)))
        session.testsfailed -= len(reports)
        self._forget(nodeid)
        self._config.hook.pytest_passed_on_second_try(nodeid=nodeid)

    def _forget(self, nodeid: str) -> None:
        """Move its reports from pytest's own lists of failures to one of ours."""
        reporter = self._reporter()
        if reporter is None:
            return
        for kind in ("failed", "error"):
            kept = [report for report in reporter.stats.get(kind, []) if report.nodeid != nodeid]
            if kept:
                reporter.stats[kind] = kept
            else:
                reporter.stats.pop(kind, None)
        reporter.stats.setdefault("unstable", []).append(self._failures[nodeid][0])

    def _say(self, line: str) -> None:
        reporter = self._reporter()
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    def _reporter(self) -> pytest.TerminalReporter | None:
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        return reporter if isinstance(reporter, pytest.TerminalReporter) else None

    def _write(self) -> None:
        document = {
            "unstable": [asdict(unstable) for unstable in self._unstable],
            "failed_again": self._failed_again,
            "untried": self._untried,
        }
        path = self._config.rootpath / "build" / "unstable.json"
        if not self._failures and not path.exists():
            return
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(document, ensure_ascii=False, indent=2)
        path.write_text(text + "\n", encoding="utf-8")


def why_untried(failed: Collection[str]) -> str:
    """Why so many failures are not tried again; empty if they are."""
    if len(failed) <= MOST:
        return ""
    return f"{len(failed)} tests failed; at most {MOST} are tried again"


def passes_alone(config: pytest.Config, nodeid: str) -> bool:
    """Whether exactly this test runs and passes in a fresh process; skipped is not passed."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.xml"
        words = [*_command(config), f"--junitxml={report}", nodeid]
        try:
            done = subprocess.run(
                words,
                cwd=config.rootpath,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=WITHIN_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0 and _is_one_pass(report)


def _command(config: pytest.Config) -> list[str]:
    """pytest with what this run was given, apart from what it selects and where it writes."""
    words = [sys.executable, "-m", "pytest", "-q", OFF, f"--rootdir={config.rootpath}"]
    if config.inipath is not None:
        words += ["-c", str(config.inipath)]
    words += [word for plugin in config.getoption("plugins") for word in ("-p", plugin)]
    words += [word for ini in config.getoption("override_ini") or () for word in ("-o", ini)]
    words += [f"--{name}" for name in _FLAGS if config.getoption(name, None)]
    for name in _VALUES:
        value = config.getoption(name, None)
        if value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    return words


def _is_one_pass(report: Path) -> bool:
    suite = ET.parse(report).getroot().find("testsuite")
    counts = ("tests", "failures", "errors", "skipped")
    return suite is not None and [suite.get(name) for name in counts] == ["1", "0", "0", "0"]
