"""Both readers, fed with anything: what leaves them is a turn or one of our own errors.

About a minute of machine time in all, from fixed seeds, so that two runs find the same.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, given, seed, strategies
from hypothesis import settings as effort

from perlica.clients.model.anthropic import AnthropicApi
from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.contract import ModelTurn
from perlica.clients.model.exchange import HttpModelClient, ModelApi
from perlica.clients.model.openai import OpenAiApi
from perlica.domain.errors import Misconfigured, PerlicaError, Refused, Retryable
from perlica.runtimes.checks import check_turn
from perlica.runtimes.native.runtime import read_turn
from perlica.stores.database import Database
from perlica.stores.migrations import check_target, migrate
from tests.model.words import QUESTION, RUN, settings
from tests.session.test_transcript import Session
from tests.session.words import GROUP, SELF
from tests.stores.rows import begin_task

SETTINGS = settings("http://127.0.0.1:1/v1", max_text_bytes=20_000, max_argument_bytes=5_000)
APIS: dict[str, ModelApi] = {"openai": OpenAiApi(SETTINGS), "anthropic": AnthropicApi(SETTINGS)}
BY_BYTES = effort(
    max_examples=1_500,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
BY_EVENTS = effort(BY_BYTES, max_examples=1_500)
TO_THE_ROWS = effort(BY_BYTES, max_examples=300)

NUMBERS = ["Infinity", "-Infinity", "NaN", "1e999", "-0", "9" * 5_000, "1.5", "0", "3"]
WORDS = strategies.sampled_from([
    "", "stop", "end_turn", "tool_use", "tool_calls", "null", "text", "thinking",
    "redacted_thinking",
    "message_start", "message_delta", "message_stop", "content_block_start", "content_block_delta",
    "text_delta", "input_json_delta", "thinking_delta", "signature_delta", "error", "sandbox_exec",
    "{}", "{", '{"argv":["id"]}', "\ud800", "\x00", "<think>", "</think>", "密码", "call_1",
])  # fmt: skip
NAMES = strategies.sampled_from([
    "choices", "delta", "message", "content", "tool_calls", "function", "arguments", "name", "id",
    "index", "finish_reason", "stop_reason", "usage", "prompt_tokens", "completion_tokens",
    "input_tokens", "output_tokens", "error", "code", "type", "text", "thinking", "signature",
    "content_block", "input", "partial_json", "extra_content", "reasoning_details", "refusal",
    "thinking_blocks", "reasoning_content", "function_call", "base_resp", "status_code",
])  # fmt: skip
LEAVES = strategies.one_of(
    strategies.none(),
    strategies.booleans(),
    strategies.integers(-2, 5),
    strategies.sampled_from([float("inf"), float("nan"), 10**400, -1, 2**63]),
    WORDS,
    strategies.text(max_size=20),
)
TREES = strategies.recursive(
    LEAVES,
    lambda inner: strategies.one_of(
        strategies.lists(inner, max_size=3), strategies.dictionaries(NAMES, inner, max_size=5)
    ),
    max_leaves=12,
)


def openai_events(tree: Any) -> Iterator[bytes]:
    """A chunk with `tree` at each place in turn, and an end."""
    call = {"index": 0, "id": "c", "function": {"name": RUN.name, "arguments": tree}}
    places = (
        tree,
        {"choices": tree},
        {"choices": [{"index": 0, "delta": tree}]},
        {"choices": [{"index": 0, "delta": {"content": tree, "tool_calls": tree}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [tree, {"function": tree}]}}]},
        {"choices": [{"index": 0, "delta": {"tool_calls": [{**call, "extra_content": tree}]}}]},
        {"choices": [{"index": 0, "delta": {"reasoning_details": tree, "reasoning": tree}}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": tree}], "usage": tree},
    )
    for place in places:
        yield event(place)
    yield event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})


def anthropic_events(tree: Any) -> Iterator[bytes]:
    """The same of the other interface."""
    tool = {"type": "tool_use", "id": "c", "name": RUN.name, "input": tree}
    thought = {"type": "thinking", "thinking": "x", "more": tree}
    places = (
        tree,
        {"type": "message_start", "message": tree},
        {"type": "content_block_start", "index": 0, "content_block": tree},
        {"type": "content_block_start", "index": tree, "content_block": thought},
        {"type": "content_block_start", "index": 1, "content_block": tool},
        {"type": "content_block_delta", "index": 1, "delta": tree},
        {"type": "content_block_delta", "index": 0, "delta": tree},
        {"type": "message_delta", "delta": tree, "usage": tree},
    )
    for place in places:
        yield event(place)
    yield event({"type": "message_delta", "delta": {"stop_reason": "end_turn"}})
    yield event({"type": "message_stop"})


EVENTS = {"openai": openai_events, "anthropic": anthropic_events}


def event(value: object) -> bytes:
    try:
        return b"data: " + json.dumps(value).encode() + b"\n\n"
    except ValueError:  # an integer too long to be written
        return b"data: " + NUMBERS[5].encode() + b"\n\n"


class Body:
    """What a server sent, without a server."""

    status = 200
    headers: ClassVar[dict[str, str]] = {}

    def __init__(self, pieces: Sequence[bytes]) -> None:
        self._pieces = pieces

    def pieces(self) -> Iterator[bytes]:
        yield from self._pieces


class NoLimits:
    """A abort that nothing cuts."""

    def limit(self, *_: object) -> None:
        pass


def read(api: str, pieces: Sequence[bytes]) -> ModelTurn | None:
    """The turn, None where one of our own errors left; anything else is raised."""
    client = HttpModelClient(SETTINGS, APIS[api])
    body: Any = Body(pieces)
    abort: Any = NoLimits()
    try:
        reader = client._read(body, abort)
        return reader.draft.turn(sent_bytes=1, received_bytes=1, attempts=1)
    except (AttemptFailure, Refused, Retryable, Misconfigured):
        return None


def cut(data: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    return [piece for piece in [*pieces, data[at:]] if piece]


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
@BY_BYTES
@seed(11)
@given(
    data=strategies.lists(
        strategies.one_of(
            strategies.binary(max_size=40),
            TREES.map(event),
            strategies.sampled_from([
                b"data:", b"data: [DONE]\n\n", b"\n\n", b"\r", b"event: error\n", b": x\n",
                b"\xff\xfe", b"\xef\xbb\xbf", b'{"choices":', b"[" * 3_000, b'{"a":' * 3_000,
                b"<html>", *(b'data: {"choices":[{"delta":{"content":%s}}]}\n\n' % n.encode()
                             for n in NUMBERS),
            ]),
        ),
        max_size=8,
    ).map(b"".join),
    sizes=strategies.lists(strategies.integers(1, 30), max_size=6),
)  # fmt: skip
def test_bytes_of_any_kind_give_a_turn_or_an_error_of_ours(
    api: str, data: bytes, sizes: list[int]
) -> None:
    turn = read(api, cut(data, sizes))

    assert turn is None or isinstance(turn, ModelTurn)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
@BY_EVENTS
@seed(11)
@given(tree=TREES)
def test_events_of_any_shape_give_a_turn_whose_calls_are_whole_or_faulty(
    api: str, tree: object
) -> None:
    turn = read(api, list(EVENTS[api](tree)))

    if turn is not None:
        for call in check_turn(read_turn(turn), (RUN,), set()).calls:
            assert call.fault is not None or isinstance(json.loads(call.arguments_json), dict)
    for one in EVENTS[api](tree):
        read(api, [one])


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    file: Path = tmp_path_factory.mktemp("fuzz") / "perlica.sqlite3"
    migrate(file)
    with Database.open(file, relaxed=True) as opened:
        check_target(opened, GROUP, SELF)
        yield Session(opened, begin_task(opened).id)


def forget(session: Session) -> None:
    with session.db.transaction():
        for table in ("tool_outputs", "tool_calls", "session_events"):
            session.db.change(f"DELETE FROM {table}")


@pytest.mark.timeout(120)
@pytest.mark.parametrize("api", APIS)
@TO_THE_ROWS
@seed(11)
@given(tree=TREES)
def test_whatever_was_read_is_written_down_and_sent_again_after_a_restart(
    session: Session, api: str, tree: object
) -> None:
    *all_of_it, end, last = EVENTS[api](tree)
    turn = read(api, [*all_of_it, end, last]) or read(api, [all_of_it[4], end, last])
    if turn is None:
        return
    forget(session)
    try:
        for call in session.take(check_turn(read_turn(turn), (RUN,), set())):
            session.answer(call, "ok")
        again = Session(session.db, session.task).conversation()
        body = APIS[api].encode((*QUESTION, *again), (RUN,))
    except PerlicaError:
        return
    parsed: object = json.loads(body, parse_constant=pytest.fail)
    assert isinstance(parsed, dict)
