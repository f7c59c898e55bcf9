"""What Owners read of sandboxes, images, leftovers and nodes, line by line."""

from dataclasses import replace
from typing import Any

import pytest

from perlica.commands.sandbox_answers import (
    answer_image,
    answer_nodes,
    answer_operations,
    answer_orphans,
    answer_sandbox,
    answer_sandboxes,
)
from perlica.commands.sandbox_texts import NO_PURPOSE, NO_REASON
from perlica.domain.ids import OperationId, RowId, SandboxName, TicketId
from perlica.domain.node import NodeState
from perlica.domain.operation import OperationState
from perlica.domain.sandbox import HeldImage, SandboxImage, SandboxLimits, SandboxState
from perlica.domain.texts import Language
from perlica.protection import Channel, protect
from perlica.stores.disk_use import DiskUse
from perlica.stores.image_switches import ImageSwitch, SwitchState
from perlica.stores.nodes import NodeRow
from perlica.stores.orphans import Orphan
from perlica.stores.progress import CommandProgress
from perlica.stores.sandboxes import SandboxOperation, SandboxRow

EN = Language.en
MIB = 2**20
HOUR = 3_600_000
DIGEST = "sha256:" + "0123456789abcdef" * 4
ROW = SandboxRow(
    id=RowId(1),
    name=SandboxName("lab"),
    slot=1,
    state=SandboxState.ready,
    state_reason="",
    purpose=protect("p" * 201, Channel.MESSAGE),
    node="n1",
    instance="i",
    image_digest=DIGEST,
    image_revision=7,
    limits=SandboxLimits(
        memory_bytes=512 * MIB, pids=99, cpu_millis=1500, disk_bytes=1000 * MIB, nofile=9
    ),
    network="none",
    idle_ms=10 * HOUR,
    created_at_ms=0,
    last_active_at_ms=HOUR,
    ended_at_ms=None,
)
ORPHAN = Orphan(
    id=RowId(3),
    sandbox_id=RowId(1),
    cause="delete_failed",
    node="n1",
    name="lab",
    instance="i",
    reason="",
    attempts=2,
    next_try_ms=HOUR + 5_000,
    found_at_ms=0,
    is_announced=False,
)
NODE = NodeRow(
    name="n1",
    state=NodeState.alive,
    since_ms=0,
    identity={},
    evidence={},
    images=(),
    seen_at_ms=HOUR,
)


def shown(row: SandboxRow = ROW, use: DiskUse | None = None) -> str:
    return answer_sandbox(row, "lab", disk_use=use, idle_ms=10 * HOUR, now_ms=2 * HOUR, language=EN)


def test_a_sandbox_is_shown_with_its_limits_in_mebibytes() -> None:
    said = shown()

    assert "512" in said
    assert "1000" in said
    assert "1500" in said
    assert "99" in said
    assert "1 h 0 min" in said
    assert "9 h 0 min" in said
    assert "p" * 199 + "…" in said


def test_what_is_used_of_the_disk_is_rounded_up_and_shared_in_hundredths() -> None:
    said = shown(use=DiskUse(used_bytes=100 * MIB + 1, seen_at_ms=HOUR))

    assert "101" in said
    assert "10%" in said or "10 %" in said
    assert "101" not in shown(use=DiskUse(used_bytes=100 * MIB, seen_at_ms=HOUR))


def test_a_disk_without_a_limit_breaks_nothing() -> None:
    limits = replace(ROW.limits, disk_bytes=0)

    assert shown(replace(ROW, limits=limits), DiskUse(used_bytes=0, seen_at_ms=0))


def test_an_unknown_network_is_shown_by_its_name_and_a_known_one_in_words() -> None:
    assert "odd-net" in shown(replace(ROW, network="odd-net"))
    assert "n" * 59 + "…" in shown(replace(ROW, network="n" * 61))


def test_a_sandbox_that_nobody_knows_is_said_to_be_none() -> None:
    said = answer_sandbox(None, "ghost", disk_use=None, idle_ms=1, now_ms=1, language=EN)

    assert "ghost" in said
    assert said != shown()


@pytest.mark.parametrize("state", list(SandboxState))
def test_time_is_left_to_sandboxes_that_last_and_a_reason_told_of_others(
    state: SandboxState,
) -> None:
    row = replace(ROW, state=state, state_reason="other_group")
    said = answer_sandboxes([row], 10 * HOUR, 2 * HOUR, EN)
    lasts = state in {SandboxState.ready, SandboxState.stopped, SandboxState.creating}

    assert ("9 h 0 min" in said) is lasts
    assert ("it belongs to another group" in said) is not lasts
    assert "p" * 59 + "…" in said


def test_every_sandbox_has_its_line_and_none_is_said_too() -> None:
    assert len(answer_sandboxes([ROW, ROW], HOUR, HOUR, EN).split("\n")) == 3
    assert len(answer_sandboxes([], HOUR, HOUR, EN).split("\n")) == 1


def operation(number: int, outcome: str = "") -> SandboxOperation:
    return SandboxOperation(
        operation_id=OperationId(f"op-{number}"),
        sandbox_id=RowId(1),
        kind="exec",
        is_write=True,
        state=OperationState.succeeded,
        outcome=protect(outcome, Channel.MESSAGE),
        created_at_ms=HOUR,
        ended_at_ms=None,
    )


def operations(*given: SandboxOperation, **progress: CommandProgress) -> str:
    named: dict[OperationId, CommandProgress] = {
        OperationId(key.replace("_", "-")): value for key, value in progress.items()
    }
    return answer_operations(ROW, "lab", given, progress=named, now_ms=2 * HOUR, language=EN)


def test_eight_operations_are_listed_with_their_age() -> None:
    lines = operations(*(operation(n) for n in range(10))).split("\n")

    assert len(lines) == 9
    assert "op-0" in lines[1]
    assert "1 h 0 min" in lines[1]
    assert "op-8" not in "".join(lines)


def test_an_operation_that_failed_is_called_failed_whatever_its_row_says() -> None:
    assert "exit code 3" in operations(operation(1, '{"ended": "exited", "exit_code": 3}'))
    assert "done" in operations(operation(1, "[1]"))


def test_a_running_command_shows_how_far_it_is() -> None:
    far = CommandProgress(
        operation=OperationId("op-1"),
        output_bytes=77,
        last_line=protect("building", Channel.MESSAGE),
        at_ms=1,
    )
    lines = operations(operation(1), op_1=far).split("\n")

    assert len(lines) == 3
    assert lines[2].startswith("  ")
    assert lines[2][2] != " "
    assert "building" in lines[2]
    assert len(operations().split("\n")) == 2


def test_the_image_is_shown_alone_with_a_switch_and_with_others() -> None:
    image = SandboxImage(reference="r" * 61, digest=DIGEST, introduction="i" * 201, revision=7)
    others = [HeldImage(digest=DIGEST, reference=f"other-{n}") for n in range(10)]
    switch = ImageSwitch(
        id=RowId(1),
        ticket=TicketId("K7Q2M"),
        operation=OperationId("op-1"),
        reference="r",
        digest=DIGEST,
        introduction="",
        from_digest="",
        from_revision=1,
        doomed=(),
        state=SwitchState.blocked,
        reason="other_group",
        started_at_ms=0,
        changed_at_ms=0,
    )

    def say(switch: ImageSwitch | None, others: list[HeldImage]) -> str:
        return answer_image(image, switch, left=2, others=others, language=EN)

    alone = say(None, [])
    assert "r" * 59 + "…" in alone
    assert "i" * 199 + "…" in alone
    assert "other-7" in say(None, others)
    assert "other-8" not in say(None, others)
    assert "it belongs to another group" in say(switch, [])
    going = replace(switch, state=next(s for s in SwitchState if s is not SwitchState.blocked))
    assert "2 sandbox" in say(going, [])
    assert "it belongs" not in say(going, [])
    assert answer_image(None, None, left=0, others=[], language=EN) != alone


@pytest.mark.parametrize(
    ("cause", "tried"),
    [
        ("delete_failed", True),
        ("unconfirmed", True),
        ("returned", True),
        ("node_lost", False),
        ("unknown", False),
    ],
)
def test_a_leftover_says_when_it_is_tried_again(cause: Any, tried: bool) -> None:
    said = answer_orphans([replace(ORPHAN, cause=cause)], HOUR, EN)

    assert ("next try in 5 s" in said) is tried
    assert "3. lab" in said
    assert len(said.split("\n")) == 2


def test_eight_leftovers_and_eight_nodes_are_listed() -> None:
    assert len(answer_orphans([ORPHAN] * 9, 0, EN).split("\n")) == 9
    assert len(answer_orphans([], 0, EN).split("\n")) == 1
    listed = answer_nodes([NODE] * 9, [], {}, now_ms=0, language=EN)
    assert sum(line.startswith(NODE.name) for line in listed.split("\n")) == 8
    assert len(answer_nodes([], [], {}, now_ms=0, language=EN).split("\n")) == 1


def test_a_node_says_since_when_what_is_on_it_and_when_it_answered() -> None:
    elsewhere = replace(ROW, node="n2")
    said = answer_nodes([NODE], [ROW, ROW, elsewhere], {}, now_ms=3 * HOUR, language=EN)

    assert "3 h 0 min" in said
    assert "2 sandbox" in said
    assert "answered 2 h 0 min ago" in said
    silent = replace(NODE, seen_at_ms=None)
    assert "never answered" in answer_nodes([silent], [], {}, now_ms=0, language=EN)


def test_a_leftover_tells_its_reason_or_that_there_is_none() -> None:
    with_reason = answer_orphans([replace(ORPHAN, reason="other_group")], HOUR, EN)
    without = answer_orphans([ORPHAN], HOUR, EN)

    assert with_reason.endswith("; it belongs to another group")
    assert without.endswith(f"; {NO_REASON.en}")


def test_a_sandbox_that_ends_tells_its_reason_or_that_there_is_none() -> None:
    ending = replace(ROW, state=SandboxState.deleting)

    assert NO_REASON.en in answer_sandboxes([ending], HOUR, HOUR, EN)
    assert NO_REASON.en not in answer_sandboxes(
        [replace(ending, state_reason="other_group")], HOUR, HOUR, EN
    )
    assert NO_PURPOSE.en in shown(replace(ROW, purpose=protect("", Channel.MESSAGE)))
    assert NO_PURPOSE.en not in shown()
