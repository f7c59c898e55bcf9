"""Every dot command that exists, walked by their list: who may use it, and who is answered."""

from collections.abc import Mapping

import pytest

from perlica.commands import CommandName, Parsed, parse_line
from perlica.commands.answers import answer_help
from perlica.commands.roles import Role, may_use, required_role
from perlica.commands.texts import SUMMARIES, USAGES
from perlica.demo.model import ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.texts import Language
from tests.behaviour.live import GUEST, MEMBER, OWNER, LivePerlica

WHO: Mapping[CommandName, Role] = {
    CommandName.approve: Role.owner,
    CommandName.deny: Role.owner,
    CommandName.status: Role.member,
    CommandName.cancel: Role.member,
    CommandName.tasks: Role.member,
    CommandName.task: Role.member,
    CommandName.audit: Role.owner,
    CommandName.recovery: Role.owner,
    CommandName.sbx: Role.owner,
    CommandName.image: Role.owner,
    CommandName.orphans: Role.owner,
    CommandName.node: Role.owner,
    CommandName.whoami: Role.member,
    CommandName.help: Role.member,
}
"""The least role that each command needs: a new command has to be written down here."""

LINES: Mapping[CommandName, str] = {
    CommandName.approve: ".approve K7Q2M 123456",
    CommandName.deny: ".deny K7Q2M",
    CommandName.task: ".task T-AAAAAA",
}
"""Commands that are not whole by their name alone."""

ANSWERS: Mapping[CommandName, str] = {
    CommandName.approve: "没有编号为 K7Q2M 的审批",
    CommandName.deny: "没有编号为 K7Q2M 的审批",
    CommandName.status: "【状态】",
    CommandName.cancel: "没有进行中的任务",
    CommandName.tasks: "还没有任务",
    CommandName.task: "没有任务 T-AAAAAA",
    CommandName.audit: "【审计",
    CommandName.recovery: "没有结果不明的操作",
    CommandName.sbx: "没有沙箱",
    CommandName.image: "【沙箱镜像】",
    CommandName.orphans: "没有",
    CommandName.node: "test-node",
    CommandName.whoami: "Owner",
    CommandName.help: ".approve",
}


def line_of(name: CommandName) -> str:
    return LINES.get(name, f".{name}")


def test_the_tables_name_every_command() -> None:
    everything = set(CommandName)

    assert set(WHO) == everything
    assert set(ANSWERS) == everything
    assert set(USAGES) == everything
    assert set(SUMMARIES) == everything


@pytest.mark.parametrize("name", CommandName)
def test_every_command_is_read_and_its_help_is_shown_to_those_who_may_use_it(
    name: CommandName,
) -> None:
    parsed = parse_line(line_of(name))

    assert isinstance(parsed, Parsed)
    assert parsed.name is name
    assert required_role(name) is WHO[name]
    assert not may_use(name, None)
    for role in Role:
        shown = USAGES[name].zh in answer_help(role, Language.zh).split("\n", 1)[1]
        assert shown == may_use(name, role) == (role is Role.owner or WHO[name] is Role.member)


@pytest.mark.evidence(10)
def test_every_command_answers_an_owner_refuses_a_member_where_it_must_and_ignores_a_stranger(
    live: LivePerlica, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    for name in CommandName:
        answered = len(napcat.sent)
        napcat.say(GUEST, line_of(name))
        napcat.say(GUEST, line_of(name), mention=True)

        by_member = napcat.say(MEMBER, line_of(name))
        to_member = napcat.wait_for_reply(after=by_member)
        by_owner = napcat.say(OWNER, line_of(name))
        to_owner = napcat.wait_for_reply(after=by_owner)

        is_refused = "只有" in to_member.text and "Owner" in to_member.text
        assert is_refused == (WHO[name] is Role.owner), name
        assert ANSWERS[name] in to_owner.text, name
        assert f"qq={MEMBER}" in to_member.raw
        assert f"qq={OWNER}" in to_owner.raw
        assert len(napcat.sent) == answered + 2, name

    assert model.requests == ()
    assert live.count("SELECT count(*) FROM tasks") == 0
    talk = "SELECT count(*) FROM group_messages WHERE kind <> 'control'"
    assert live.count(f"{talk} AND user_id <> {GUEST}") == 0
