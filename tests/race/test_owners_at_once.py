"""Owners who answer in the same moment, and around the tenth minute: one answer counts, once."""

import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import time_machine

from actors.base import tell_safely
from actors.messages import Tick
from perlica.demo.model import Call, Held, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import (
    MEMBER,
    OTHER_OWNER,
    OWNER,
    PATIENCE_S,
    TOMORROW_S,
    LivePerlica,
    wait_until,
)
from tests.printing import printer
from tests.race.rounds import Outcome, Question, Rounds, at_once
from tests.suite.sample import Sample

DECISIONS = {"approved", "denied"}
AROUND_MS = 25
MENTIONS = 50
TASKS = "SELECT count(*) FROM tasks"
TRIGGERS = "SELECT count(*) FROM group_messages WHERE kind = 'trigger'"


@pytest.fixture
def rounds(
    tmp_path: Path, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> Rounds:
    """A service in which a stop is High."""
    return Rounds(tmp_path, make_live, model, napcat)


def _answers(napcat: NapCatStandIn, question: Question) -> list[Callable[[], object]]:
    """Two Owners allow it and one of them refuses it."""
    return [
        partial(napcat.say, OWNER, question.approve),
        partial(napcat.say, OTHER_OWNER, question.approve),
        partial(napcat.say, OWNER, question.deny),
    ]


def _decided(outcome: Outcome) -> list[str]:
    return [verdict for verdict in outcome.verdicts if verdict in DECISIONS]


@pytest.mark.evidence(9)
@pytest.mark.timeout(900)
def test_of_two_approvals_and_a_denial_in_the_same_millisecond_one_counts(
    rounds: Rounds, napcat: NapCatStandIn, pytestconfig: pytest.Config, sample: Sample
) -> None:
    seen: Counter[str] = Counter()
    number = sample.rounds("race")
    for _ in range(number):
        question = rounds.ask()

        at_once(_answers(napcat, question))

        outcome = rounds.finish(question)
        (decision,) = _decided(outcome)
        seen[decision] += 1
        assert outcome.executions == (1 if decision == "approved" else 0)
        assert outcome.state == ("consumed" if decision == "approved" else "denied")
    printer(pytestconfig)(f"same millisecond: {dict(seen)} in {number} rounds")
    assert sum(seen.values()) == number


@pytest.mark.evidence(9)
@pytest.mark.timeout(900)
def test_around_the_tenth_minute_a_ticket_pays_in_time_or_not_at_all(
    rounds: Rounds, napcat: NapCatStandIn, pytestconfig: pytest.Config, sample: Sample
) -> None:
    seen: Counter[str] = Counter()
    number = sample.rounds("race")
    draw = random.Random(sample.seed)
    with time_machine.travel(TOMORROW_S, tick=True) as clock:
        for _ in range(number):
            question = rounds.ask()
            expires_at_ms = _expiry(rounds, question)

            clock.move_to((expires_at_ms + draw.randint(-AROUND_MS, AROUND_MS // 5)) / 1000)
            tick = partial(tell_safely, rounds.live.wires.ledger, Tick())
            at_once([*_answers(napcat, question), tick])

            outcome = rounds.finish(question)
            decisions = _decided(outcome)
            seen[f"{'+'.join(decisions) or 'none'} → {outcome.state}"] += 1
            assert len(decisions) <= 1
            assert outcome.executions == (1 if outcome.state == "consumed" else 0)
            assert _was_in_time(rounds, question)
    printer(pytestconfig)(f"tenth minute: {dict(seen)} in {number} rounds")
    assert sum(seen.values()) == number


def _expiry(rounds: Rounds, question: Question) -> int:
    with rounds.live.database() as database:
        row = database.query_one(
            "SELECT expires_at_ms FROM approvals WHERE id = ?", (question.ticket,)
        )
    assert row is not None
    return int(row["expires_at_ms"])


def _was_in_time(rounds: Rounds, question: Question) -> bool:
    with rounds.live.database() as database:
        late = database.query(
            "SELECT id FROM approvals WHERE id = ? AND (decided_at_ms >= expires_at_ms"
            " OR consumed_at_ms >= expires_at_ms)",
            (question.ticket,),
        )
    return not late


@pytest.mark.evidence(13)
@pytest.mark.timeout(600)
def test_of_three_mentions_in_the_same_millisecond_one_becomes_the_task(
    rounds: Rounds, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    for number in range(MENTIONS):
        _mention_thrice(rounds.live, napcat, model, f"第{number}轮做完")


def _mention_thrice(
    live: LivePerlica, napcat: NapCatStandIn, model: ScriptedModel, answer: str
) -> None:
    tasks, triggers = live.count(TASKS), live.count(TRIGGERS)
    held = Held(reply=Reply(text=answer))
    model.add(held)

    at_once(
        [
            partial(napcat.say, OWNER, "一", mention=True),
            partial(napcat.say, OTHER_OWNER, "二", mention=True),
            partial(napcat.say, MEMBER, "三", mention=True),
        ]
    )

    wait_until(lambda: live.count(TRIGGERS) == triggers + 3)
    assert live.count(TASKS) == tasks + 1
    assert live.count(f"{TASKS} WHERE ended_at_ms IS NULL") == 1
    held.released.set()
    napcat.wait_for_reply(lambda m: answer in m.text, PATIENCE_S)


@pytest.mark.evidence(9)
@pytest.mark.timeout(300)
def test_thirty_risky_calls_of_one_turn_need_thirty_approvals(
    rounds: Rounds, napcat: NapCatStandIn, model: ScriptedModel
) -> None:
    rounds.do(Call(tool="sandbox_manage", arguments={"action": "create", "name": "other"}))
    calls = [
        Call(tool="sandbox_manage", arguments={"action": "stop", "name": name})
        for name in ("main", "other") * 15
    ]
    model.add(Reply(calls=tuple(calls)), Reply(text="全部停过"))
    last = napcat.say(MEMBER, "停三十次", mention=True)

    for _ in calls:
        question = rounds.wait_for_question(last)
        napcat.say(OWNER, question.approve)
        last = question.message

    napcat.wait_for_reply(lambda m: "全部停过" in m.text, PATIENCE_S)
    assert rounds.live.count("SELECT count(*) FROM approvals WHERE state = 'consumed'") == 30
