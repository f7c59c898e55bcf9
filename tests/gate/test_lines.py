"""What the gate may call passed."""

from typing import cast

import pytest

from gate.bench import Bench
from gate.lines import Broken, Check, Line, NotRun, require, try_check


def outcome_of(error: Exception | None) -> str:
    def run(_: None) -> str:
        if error is not None:
            raise error
        return "seen"

    (line,) = try_check(Check(key="k", claim="it holds", run=run), None)
    return line.outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "pass"),
        (Broken("no"), "fail"),
        (NotRun("needs a cluster"), "not run"),
        (OSError("something else"), "fail"),
    ],
)
def test_only_a_check_that_came_to_its_end_has_passed(
    error: Exception | None, outcome: str
) -> None:
    assert outcome_of(error) == outcome


@pytest.mark.parametrize("may_be_missing", [True, False])
def test_a_line_that_was_not_run_is_good_only_if_it_needs_a_cluster(may_be_missing: bool) -> None:
    line = Line(key="k", claim="c", outcome="not run", detail="", may_be_missing=may_be_missing)

    assert line.is_good is may_be_missing


def test_what_was_not_required_is_not_raised() -> None:
    require(condition=True, seen="all well")

    with pytest.raises(Broken, match="not well"):
        require(condition=False, seen="not well")


def test_every_item_of_the_specification_has_a_line() -> None:
    from gate.checks import ALL

    keys = {check.key for check in ALL}

    assert len(keys) == len(ALL)
    assert {
        "image.unpack",
        "rootfs.files",
        "rootfs.whiteouts",
        "rootfs.rename",
        "rootfs.permissions",
        "rootfs.hard-links",
        "rootfs.copy-up",
        "rootfs.remount",
        "restart.daemon",
        "restart.runtime",
        "restart.fsync",
        "power.cuts",
        "node.pin",
        "cluster.read-write-once",
        "recovery.offline",
        "conflict.second-mount",
        "control.volatile",
        "control.ignored-flushes",
    } <= keys


def test_what_needs_a_cluster_is_never_passed() -> None:
    from gate.checks.cluster import CHECKS

    no_bench = cast(Bench, None)
    outcomes = {line.outcome for check in CHECKS for line in try_check(check, no_bench)}

    assert outcomes == {"not run"}
