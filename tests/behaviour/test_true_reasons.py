"""What a member reads when the model's service fails: the true reason, here and in `.status`."""

import pytest

from perlica.demo.model import HttpError, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.task import EndReason
from perlica.domain.texts.models import TROUBLES
from tests.behaviour.live import MEMBER, LivePerlica, is_final

PROVIDER = "org-7f3a says no"


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (401, "", EndReason.model_key),
        (402, "", EndReason.model_balance),
        (403, "", EndReason.model_forbidden),
        (404, "", EndReason.model_unknown),
        (413, "", EndReason.model_input_too_long),
        (429, "余额不足或无可用资源包,请充值。", EndReason.model_balance),
        (400, "Content Exists Risk", EndReason.model_filtered),
    ],
)
def test_the_group_reads_why_the_model_did_not_answer_and_status_says_so(
    live: LivePerlica,
    model: ScriptedModel,
    napcat: NapCatStandIn,
    status: int,
    message: str,
    reason: EndReason,
) -> None:
    model.add(HttpError(status=status, message=f"{message} {PROVIDER}"))
    trouble = TROUBLES[reason]

    asked = napcat.say(MEMBER, "做", mention=True)
    told = napcat.wait_for_reply(is_final, after=asked).text
    command = napcat.say(MEMBER, ".status")
    shown = napcat.wait_for_reply(lambda reply: "【状态】" in reply.text, after=command).text

    assert f"未完成：{trouble.what.zh}。" in told
    assert (trouble.what.zh in shown) == trouble.is_service
    assert PROVIDER not in told + shown
    assert live.count(f"SELECT count(*) FROM tasks WHERE end_reason = '{reason.value}'") == 1


def test_status_is_silent_about_the_model_once_it_answers_again(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    model.add(HttpError(status=401), Reply(text="好了"))
    for text in ("做", "再做"):
        asked = napcat.say(MEMBER, text, mention=True)
        napcat.wait_for_reply(is_final, after=asked)

    command = napcat.say(MEMBER, ".status")
    shown = napcat.wait_for_reply(lambda reply: "【状态】" in reply.text, after=command).text

    assert "模型：" not in shown
