"""The report: what it says, that the service can read it, and the committed one."""

import json
import re
import socket
from pathlib import Path

import pytest

from gate.checks.egress import LINES
from gate.lines import Line
from gate.report.document import Facts, Report, make_report
from gate.report.writing import markdown_of, write_report
from perlica.app.capabilities.gate_report import FULL_DEPTH, read_report

REPORTS = Path(__file__).parents[2] / "gate/reports"
GOOD = Line(key="rootfs.files", claim="files stay", outcome="pass", detail="a | b")
ALLOWED = Line(
    key="escape.make-a-fifo", claim="cannot make a FIFO", outcome="pass", detail="allowed: harmless"
)
BAD = Line(key="power.cuts", claim="it survives", outcome="fail", detail="it does not")
CLUSTER = Line(
    key="cluster.x", claim="needs two nodes", outcome="not run", detail="", may_be_missing=True
)


def report_of(facts: Facts, *lines: Line) -> Report:
    return make_report(lines, facts, depth="gate", took_s=2.4, made_at_ms=1_700_000_000_000)


@pytest.mark.parametrize(
    ("lines", "passed"),
    [
        ((GOOD,), True),
        ((GOOD, CLUSTER), True),
        ((GOOD, BAD), False),
        ((), False),
    ],
)
def test_a_report_has_passed_when_every_line_is_good(
    facts: Facts, lines: tuple[Line, ...], passed: bool
) -> None:
    assert report_of(facts, *lines).passed is passed


def test_what_a_sandbox_can_do_stands_in_the_report_with_the_reason(facts: Facts) -> None:
    (surface,) = report_of(facts, GOOD, ALLOWED).escape_surface

    assert (surface.can, surface.because) == ("can make a FIFO", "harmless")


def test_what_was_not_run_is_a_risk(facts: Facts) -> None:
    assert "Not shown: needs two nodes" in report_of(facts, GOOD, CLUSTER).risks[-1]


def test_the_markdown_shows_every_line_in_one_row(facts: Facts) -> None:
    text = markdown_of(report_of(facts, GOOD, BAD))

    assert text.startswith("# Rootfs gate: FAILED\n")
    assert "| pass | `rootfs.files` files stay | a \\| b |  |" in text


def test_the_service_reads_what_the_gate_writes(facts: Facts, tmp_path: Path) -> None:
    as_json, _ = write_report(report_of(facts, GOOD), tmp_path)

    assert read_report(as_json).facts.node.model_dump() == facts.node.model_dump()


@pytest.fixture
def committed() -> list[Path]:
    return sorted(REPORTS.glob("gate-full-*.json"))


def test_a_report_of_the_whole_gate_is_committed_and_has_passed(committed: list[Path]) -> None:
    assert committed
    for path in committed:
        report = read_report(path)
        faults = set(report.faults())
        if not report.facts.node.code:  # Made before the gate tried the way out and told the code.
            faults -= {key for key, _, _ in LINES}
        assert report.depth == FULL_DEPTH
        assert faults == set()


def test_the_committed_report_counts_its_power_cuts(committed: list[Path]) -> None:
    for path in committed:
        lines = {line["key"]: line for line in json.loads(path.read_text("utf-8"))["lines"]}
        seen = re.match(
            r"(\d+) cuts, (\d+) acknowledged operations, (\d+) violations",
            lines["power.cuts"]["detail"],
        )
        assert seen is not None
        cuts, acknowledged, violations = map(int, seen.groups())
        assert cuts == 200
        assert acknowledged >= 20_000
        assert violations == 0


def test_the_committed_reports_name_neither_the_host_nor_a_path_of_it() -> None:
    for path in (*REPORTS.glob("*.json"), *REPORTS.glob("*.md")):
        text = path.read_text("utf-8")
        assert socket.gethostname() not in text
        assert not re.search(r"/(var|home|tmp|work|dev/shm/gate)\b", text)
