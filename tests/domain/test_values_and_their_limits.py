"""What the service starts from: limits, names, identifiers, and what never shows in a log."""

import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Iterator

import pytest

from perlica import domain
from perlica.domain.clock import now_ms
from perlica.domain.errors import Misconfigured, PerlicaError, Refused
from perlica.domain.ids import (
    new_call_id,
    new_operation_id,
    new_task_id,
    new_ticket_code,
    new_ticket_id,
)
from perlica.domain.node import LossRule
from perlica.domain.outbox import MAX_MESSAGE_CODE_POINTS, MAX_PARTS
from perlica.domain.plan import ActionPlan, Level, Origin, canonical_json
from perlica.domain.policy import Policy
from perlica.domain.ports import WRITING, JobKind
from perlica.domain.sandbox import (
    IDLE_MS_AT_MOST,
    MARGIN_BYTES,
    MAX_SANDBOXES,
    Command,
    ListFiles,
    ReadFile,
    ReadLines,
    Surroundings,
    WriteFile,
    check_name,
)
from perlica.domain.task import MOVES, TaskState, may_move

HIDDEN = {
    "ActionPlan": {"effect", "display"},
    "Command": {"argv", "environment", "stdin"},
    "CommandOutcome": {"stdout", "stderr"},
    "FileEntry": {"name"},
    "FileRead": {"content"},
    "IncomingGroupMessage": {"display_name", "segments"},
    "LinesRead": {"content"},
    "ListFiles": {"path"},
    "OperationLookUp": {"outcome"},
    "ReadFile": {"path"},
    "ReadLines": {"path"},
    "SandboxJob": {"work"},
    "Segment": {"text", "name", "handle"},
    "Surroundings": {"before", "behind"},
    "WriteFile": {"path", "content"},
}


def values() -> Iterator[type]:
    for module in pkgutil.iter_modules(domain.__path__):
        loaded = importlib.import_module(f"perlica.domain.{module.name}")
        for value in vars(loaded).values():
            if isinstance(value, type) and dataclasses.is_dataclass(value):
                yield value


def test_what_came_from_outside_is_in_no_representation_that_a_log_could_hold() -> None:
    hidden = {
        value.__name__: {field.name for field in dataclasses.fields(value) if not field.repr}
        for value in values()
    }

    assert {name: fields for name, fields in hidden.items() if fields} == HIDDEN


def test_a_command_ends_after_a_minute_and_shows_64_kib_unless_it_says_otherwise() -> None:
    command = Command(argv=("true",))

    assert (command.within_ms, command.output_limit_bytes) == (60_000, 65_536)
    assert command.margin_bytes == MARGIN_BYTES == 131_072


def test_reads_and_lists_are_finite_unless_they_say_otherwise() -> None:
    assert (ReadFile(path="f").offset_bytes, ReadFile(path="f").limit_bytes) == (0, 65_536)
    assert ListFiles(path="d").limit_entries == 200
    lines = ReadLines(path="f", first_line=1, last_line=2, limit_bytes=9)
    assert lines.scan_bytes == 67_108_864


def test_a_write_makes_its_directories_and_a_piece_read_alone_was_not_cut() -> None:
    assert WriteFile(path="a/b", content=b"").create_parents
    assert not Surroundings().is_cut


def test_three_sandboxes_of_seven_days_and_four_messages_are_the_most() -> None:
    assert (MAX_SANDBOXES, IDLE_MS_AT_MOST) == (3, 604_800_000)
    assert (MAX_PARTS, MAX_MESSAGE_CODE_POINTS) == (4, 1_500)


def test_a_node_is_lost_after_a_quarter_of_an_hour_of_looks() -> None:
    assert LossRule() == LossRule(loss_after_s=900.0, least_looks=20, longest_gap_s=60.0)


@pytest.mark.parametrize("name", ["ab", "a" * 32, "a-b", "a1"])
def test_a_sandbox_name_is_taken_as_it_is(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize("name", ["", "a", "a" * 33, "1a", "a-", "-a", "A1", "a_b", "ab\n"])
def test_what_is_no_sandbox_name_is_refused(name: str) -> None:
    with pytest.raises(Refused) as refused:
        check_name(name)

    assert refused.value.code == "bad_sandbox_name"


def test_identifiers_have_the_shape_that_people_read_aloud() -> None:
    assert re.fullmatch(r"T-[2-9A-HJ-NP-Z]{6}", new_task_id())
    assert re.fullmatch(r"[2-9A-HJ-NP-Z]{5}", new_ticket_id())
    assert re.fullmatch(r"[0-9]{6}", new_ticket_code())
    assert re.fullmatch(r"c_[0-9a-f]{16}", new_call_id())
    assert re.fullmatch(r"op-[0-9a-f]{24}", new_operation_id())


def test_no_identifier_is_drawn_twice() -> None:
    for draw in (new_call_id, new_operation_id, new_task_id):
        assert len({draw() for _ in range(50)}) == 50


def test_an_error_tells_its_code_its_text_and_its_remedy() -> None:
    error = Misconfigured("no_key", "there is no key", remedy="write one")

    assert (error.code, error.text, error.remedy) == ("no_key", "there is no key", "write one")
    assert str(error) == "no_key: there is no key"
    assert PerlicaError("a", "b").remedy == ""


def test_the_clock_gives_milliseconds_of_this_century() -> None:
    assert 1_600_000_000_000 < now_ms() < 4_100_000_000_000
    assert now_ms() % 1 == 0


def test_what_the_policy_does_not_name_is_blocked() -> None:
    policy = Policy(version="1", levels={("a", "s"): Level.low})

    assert policy.judge("a", "s") is Level.low
    assert policy.judge("a", "other") is Level.block
    assert policy.judge("b", "s") is Level.block


def test_the_hash_covers_everything_but_the_wording() -> None:
    plan = ActionPlan(
        action="a",
        origin=Origin(kind="task", id="T-1"),
        identity="i",
        target={"uid": 1},
        scope="s",
        effect={"e": 2},
        destination="d",
        expected="x",
        policy_version="p",
        display={"shown": "words"},
    )

    assert plan.effect_fields() == {
        "action": "a",
        "origin": {"kind": "task", "id": "T-1"},
        "identity": "i",
        "target": {"uid": 1},
        "scope": "s",
        "effect": {"e": 2},
        "destination": "d",
        "expected": "x",
        "policy_version": "p",
    }


def test_a_number_without_a_canonical_form_is_refused() -> None:
    assert canonical_json({"b": 1, "a": [True, None]}) == b'{"a":[true,null],"b":1}'
    with pytest.raises(Refused) as refused:
        canonical_json(2**60)
    assert refused.value.code == "not_canonical"


def test_everything_but_reading_and_listing_waits_its_turn() -> None:
    assert {kind for kind in JobKind if kind not in WRITING} == {JobKind.read, JobKind.list}


@pytest.mark.parametrize("state", list(TaskState))
def test_a_living_task_may_fail_or_be_cancelled_and_an_ended_one_stays(state: TaskState) -> None:
    is_final = state in {TaskState.completed, TaskState.failed, TaskState.cancelled}

    assert may_move(state, TaskState.failed) is not is_final
    assert may_move(state, TaskState.cancelled) is not is_final
    assert not is_final or not MOVES[state]


def test_a_task_goes_its_way_step_by_step() -> None:
    way = [
        (TaskState.received, TaskState.contextualizing),
        (TaskState.contextualizing, TaskState.running),
        (TaskState.running, TaskState.waiting_approval),
        (TaskState.waiting_approval, TaskState.running),
        (TaskState.running, TaskState.completing),
        (TaskState.completing, TaskState.completed),
    ]
    ends = {TaskState.failed, TaskState.cancelled}

    moves = {(before, after) for before in MOVES for after in MOVES[before] if after not in ends}

    assert moves == set(way)
