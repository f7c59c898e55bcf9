"""Decides for each acceptance item whether a whole run has shown it. Pure; `plugin` feeds it.

An item is shown by at least one passing test and no failing one. An item that stands in the
pending file may lack a passing test; with passing tests it counts as partly shown, never as shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from tests.evidence.items import ITEMS, AcceptanceItem
from tests.evidence.pending import RUN, OpenPoint


class Outcome(StrEnum):
    """What became of one test."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class Status(StrEnum):
    """What a run says about one item."""

    SHOWN = "shown"
    PARTLY = "partly shown"
    PENDING = "pending"
    SKIPPED = "skipped here"
    FAILED = "failed"
    MISSING = "missing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing:
    """One test that bears an item's mark, what it says that it shows, and its outcome; `reason`
    only when skipped.
    """

    test: str
    outcome: Outcome
    reason: str = ""
    shows: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One item with its tests and the verdict over them."""

    item: AcceptanceItem
    status: Status
    showings: tuple[Showing, ...]
    open_point: OpenPoint | None


def judge(
    showings: Mapping[int, Sequence[Showing]], pending: Mapping[int, OpenPoint]
) -> tuple[Finding, ...]:
    """Return one finding for each item, in the order of the specification."""
    return tuple(
        Finding(
            item=item,
            status=_status(showings.get(item.number, ()), is_pending=item.number in pending),
            showings=tuple(sorted(showings.get(item.number, ()), key=lambda one: one.test)),
            open_point=pending.get(item.number),
        )
        for item in ITEMS
    )


def _status(showings: Sequence[Showing], *, is_pending: bool) -> Status:
    outcomes = {showing.outcome for showing in showings}
    if Outcome.FAILED in outcomes:
        return Status.FAILED
    if Outcome.PASSED in outcomes:
        return Status.PARTLY if is_pending else Status.SHOWN
    if is_pending:
        return Status.PENDING
    return Status.SKIPPED if outcomes else Status.MISSING


def is_acceptable(findings: Sequence[Finding], *, skips_count: bool) -> bool:
    """Whether the run may pass; `skips_count` is set where nothing may skip (CI)."""
    bad = {Status.FAILED, Status.MISSING} | ({Status.SKIPPED} if skips_count else set())
    return not any(finding.status in bad for finding in findings)


def as_document(findings: Sequence[Finding]) -> dict[str, object]:
    """Return the content of build/evidence.json."""
    return {"items": [_as_entry(finding) for finding in findings]}


def _as_entry(finding: Finding) -> dict[str, object]:
    point = finding.open_point
    return {
        "number": finding.item.number,
        "title": finding.item.text,
        "status": str(finding.status),
        "tests": [asdict(showing) for showing in finding.showings],
        "lacks": point.lacks if point else "",
        "capability": ", ".join(point.capabilities) or RUN if point else "",
    }


def as_lines(findings: Sequence[Finding]) -> list[str]:
    """Return the map that the run prints: a line for each item, and what to do where it matters."""
    lines = []
    for finding in findings:
        passed = sum(showing.outcome is Outcome.PASSED for showing in finding.showings)
        lines.append(
            f"{finding.item.number:>3}  {finding.status:<12} "
            f"{passed}/{len(finding.showings)} tests  {finding.item.text}"
        )
        lines += [f"       {text}" for text in _remarks(finding)]
    return lines


def _remarks(finding: Finding) -> list[str]:
    point = finding.open_point
    if finding.status is Status.MISSING:
        return ["no test shows it and tests/evidence-pending.toml does not list it"]
    if finding.status is Status.SKIPPED:
        return sorted({showing.reason for showing in finding.showings})
    if finding.status is Status.PARTLY and point:
        return [f"listed as pending although tests pass; still open: {point.lacks}"]
    return []
