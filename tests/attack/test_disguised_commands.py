"""Commands that do not look like one, and dot words that are none: told, and kept out of talk."""

import json

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.demo.napcat import segments as s
from perlica.demo.napcat.segments import Segment
from perlica.stores.literal import match_query
from tests.attack.test_approvals import DELETIONS, PENDING
from tests.behaviour.asking import ask_for_delete
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica, is_final, marker, wait_until

DISGUISES = {
    "full-width dot": "．approve {ticket} {code}",
    "ideographic full stop": "。approve {ticket} {code}",
    "word joiner before": "\u2060.approve {ticket} {code}",
    "byte order mark before": "\ufeff.approve {ticket} {code}",
    "mark within": ".app\u200brove {ticket} {code}",
    "tags behind": ".approve\U000e0061 {ticket} {code}",
    "blank within": ". approve {ticket} {code}",
    "capitals": ".APPROVE {ticket} {code}",
    "slash": "/approve {ticket} {code}",
    "exclamation": "！approve {ticket} {code}",
    "no dot": "approve {ticket} {code}",
    "second line": "\n.approve {ticket} {code}",
    "turned round": ".approve {ticket} \u202e{turned}",
}


@pytest.mark.evidence(9)
@pytest.mark.evidence(10)
def test_no_disguised_approval_approves_and_each_is_answered_and_keeps_no_code(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, code = ask_for_delete(napcat, model)
    asked = len(model.requests)

    for name, line in DISGUISES.items():
        said = napcat.say(OWNER, line.format(ticket=ticket, code=code, turned=code[::-1]))
        told = napcat.wait_for_reply(after=said)
        assert "用法：.approve 编号 短码" in told.text, name

    assert live.count(PENDING) == 1
    assert live.count("SELECT attempts FROM approvals") == 0
    assert live.count(DELETIONS) == 0
    assert len(model.requests) == asked
    assert live.count("SELECT count(*) FROM commands") == 0
    kept = "SELECT count(*) FROM group_messages WHERE kind = 'control'"
    assert live.count(kept) == len(DISGUISES)
    assert live.count(f"{kept} AND content LIKE '%{code}%'") == 0
    assert live.count(f"{kept} AND content LIKE '%{code[::-1]}%'") == 0


@pytest.mark.evidence(10)
def test_a_denial_on_the_third_line_denies_nothing_and_says_where_commands_stand(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    _, ticket, _ = ask_for_delete(napcat, model)

    for mention in (False, True):
        said = napcat.say(OWNER, f"\n\n.deny {ticket}", mention=mention)
        told = napcat.wait_for_reply(after=said)
        assert "第一行" in told.text

    assert live.count(PENDING) == 1


@pytest.mark.evidence(10)
def test_an_unknown_dot_command_is_answered_and_stands_in_no_window_index_history_or_quote(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    word = marker().translate(str.maketrans("0123456789", "ghijklmnop"))
    said = napcat.say(MEMBER, f".deploy {word} 123456")
    told = napcat.wait_for_reply(after=said)
    recent = Call(tool="group_recent_context", arguments={"limit": 20})
    search = Call(tool="group_search_history", arguments={"query": word})
    model.add(Reply(calls=(recent, search)), Reply(text="看过了"))

    asked = napcat.say(MEMBER, "刚才说了什么", mention=True, reply_to=said)
    napcat.wait_for_reply(is_final, after=asked)

    assert ".help" in told.text
    assert "什么也没有做" in told.text
    seen = json.dumps(model.requests, ensure_ascii=False)
    assert f".deploy {word}" not in seen
    assert "123456" not in seen
    assert _count_indexed(live, word) == 0
    assert _count_indexed(live, "刚才说了") == 1
    kinds = f"SELECT count(*) FROM group_messages WHERE content LIKE '%{word}%' AND kind = "
    assert live.count(f"{kinds}'control'") == 1
    assert live.count(f"{kinds}'chat'") == 0


def _count_indexed(live: LivePerlica, word: str) -> int:
    query = match_query(word)
    assert query is not None
    with live.database() as database:
        found = "SELECT rowid FROM message_index WHERE message_index MATCH :query"
        return len(database.query(found, {"query": query}))


@pytest.mark.evidence(10)
def test_strangers_get_no_answer_to_any_disguise(live: LivePerlica, napcat: NapCatStandIn) -> None:
    lines = [
        line.format(ticket="K7Q2M", code="123456", turned="654321") for line in DISGUISES.values()
    ]
    for line in [*lines, ".deploy", ".status", "/status", "status"]:
        napcat.say(GUEST, line)
        napcat.say(GUEST, line, mention=True)

    said = napcat.say(OWNER, ".whoami")
    napcat.wait_for_reply(lambda m: "Owner" in m.text, after=said)

    assert len(napcat.sent) == 1
    assert live.count("SELECT count(*) FROM tasks") == 0


UNKNOWN_SEGMENT: Segment = {"type": "hologram", "data": {"id": "1"}}


@pytest.mark.parametrize(
    "segments",
    [
        [s.dice(6)],
        [s.rps(1)],
        [s.poke(1, 1)],
        [s.face(14, "微笑")],
        [UNKNOWN_SEGMENT],
        [s.text("\u200b\u2060"), s.dice(1)],
        [s.at(GUEST)],
    ],
    ids=["dice", "rps", "poke", "face", "unknown", "invisible text", "somebody else"],
)
def test_a_mention_with_nothing_to_do_in_it_gets_the_usage(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, segments: list[Segment]
) -> None:
    asked = napcat.say(MEMBER, segments, mention=True)

    told = napcat.wait_for_reply(after=asked)

    assert ".help" in told.text
    assert live.count("SELECT count(*) FROM tasks") == 0
    assert not model.requests


@pytest.mark.parametrize(
    "segments",
    [[s.image("a.png")], [s.dice(6), s.text("帮我记一下点数")], [s.markdown("# 做这个")]],
    ids=["picture", "dice with words", "markdown"],
)
def test_a_mention_with_material_or_words_is_a_task(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn, segments: list[Segment]
) -> None:
    model.add(Reply(text="好"))
    asked = napcat.say(MEMBER, segments, mention=True)

    napcat.wait_for_reply(is_final, after=asked)
    wait_until(lambda: live.count("SELECT count(*) FROM tasks") == 1)
