"""An approval that is quoted, copied, discussed or searched for never reaches the model."""

import json

import pytest

from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import ask_for_delete
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica, is_final


def _full_width(text: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text)


@pytest.mark.evidence(10)
def test_neither_id_nor_code_of_an_approval_reaches_the_model_however_it_is_repeated(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    search = Call(tool="group_search_history", arguments={"query": ticket})
    recent = Call(tool="group_recent_context", arguments={"limit": 30})
    model.add(Reply(calls=(search, recent)), Reply(text="好"), Reply(text="好"))

    napcat.say(GUEST, f".approve {ticket} {code}")
    napcat.say(MEMBER, f"有人说 .approve {ticket.lower()} {code} 就行")
    napcat.say(MEMBER, f"编号{ticket}，码是 {code[:3]} {code[3:]}")
    napcat.say(MEMBER, _full_width(f"{ticket} {code}"))
    napcat.say(MEMBER, f"id={ticket}x code={code}")
    napcat.say(MEMBER, "\u200b".join(f"{ticket} {code}"))
    napcat.say(MEMBER, question.text)
    napcat.say(MEMBER, "看这个", reply_to=question)
    napcat.say(OWNER, f".deny {ticket}")
    first = napcat.wait_for_reply(is_final, after=question)
    napcat.say(OWNER, "刚才的审批怎么样", mention=True, reply_to=question)
    napcat.wait_for_reply(is_final, after=first)

    seen = json.dumps(model.requests[1:], ensure_ascii=False).replace("\u200b", "")
    for request in model.requests[1:]:
        for message in request["messages"]:
            arguments = json.dumps(message.get("tool_calls", ""))
            content = str(message.get("content", "")).replace("\u200b", "")
            assert ticket not in content, arguments
    for spelled in (code, _full_width(code), f"{code[:3]} {code[3:]}", _full_width(ticket)):
        assert spelled not in seen
