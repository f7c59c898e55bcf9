"""Our stand-in against frames recorded from the real OneBot layer: keys and types, case by case."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.demo.golden_calls import CALLS
from tests.demo.golden_events import EVENTS
from tests.demo.golden_stage import Stage
from tests.demo.peer import Json

PLAYERS = CALLS | EVENTS
CANNOT_APPLY = {
    "hist no seq": "the recording is empty: nothing to compare with",
    "HTTP /  200": "NapCat's HTTP server is another adapter, which Perlica does not use",
}
CONSTANT_KEYS = frozenset(
    {"status", "retcode", "message", "wording", "echo", "stream", "post_type", "message_type"}
    | {"meta_event_type", "notice_type", "sub_type", "message_sent_type", "message_format"}
    | {"type", "font", "closed", "c", "ret", "m", "role", "ext", "proto", "raw_message"}
)
INVENTED_ID = re.compile(r"\d{6,}")


def _recordings() -> Path:
    beside_the_project = Path(__file__).parents[2].parent / "shared"
    shared = Path(os.environ.get("PERLICA_SHARED", beside_the_project))
    return shared / "napcat" / "golden-frames.json"


def _cases() -> dict[str, Json]:
    path = _recordings()
    if not path.exists():
        return {}
    return {case["name"]: case["frames"] for case in json.loads(path.read_bytes())["cases"]}


CASES = _cases()
NAMES: list[Json] = sorted(set(CASES) - set(CANNOT_APPLY)) or [
    pytest.param(
        "",
        marks=pytest.mark.skipif(
            os.environ.get("CI") != "true",
            reason=f"no recorded frames at {_recordings()} (set PERLICA_SHARED)",
        ),
    )
]


@pytest.fixture
def stage() -> Iterator[Stage]:
    with ExitStack() as exits:
        yield Stage(exits)


@pytest.mark.parametrize("name", NAMES)
def test_the_stand_in_answers_as_recorded(name: str, stage: Stage) -> None:
    assert CASES, f"no recorded frames at {_recordings()}"
    recorded = CASES[name]

    played = PLAYERS[name](stage, recorded)

    assert shape(played) == shape(recorded)


@pytest.mark.skipif(not CASES, reason="no recorded frames")
def test_only_few_recorded_cases_cannot_apply_and_each_says_why() -> None:
    assert set(PLAYERS) | set(CANNOT_APPLY) == set(CASES)
    assert len(CANNOT_APPLY) <= 2


def shape(value: Json, key: str = "") -> Json:
    """Keys in their order and types; for keys whose value is part of the contract, the value."""
    if isinstance(value, dict):
        return [(name, shape(inner, name)) for name, inner in value.items()]
    if isinstance(value, list) and key not in CONSTANT_KEYS - {"message"}:
        return [shape(inner, key) for inner in value]
    if isinstance(value, str) and value.startswith('{"'):
        return shape(json.loads(value))
    if key not in CONSTANT_KEYS:
        return type(value).__name__
    return INVENTED_ID.sub("#", value) if isinstance(value, str) else value
