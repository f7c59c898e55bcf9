"""A tool family of ten lines from outside is everywhere where a family has to be.

In the prompt, the tools of the model, the check of the policy, the approval, the audit and the
console, without a line of another file: `weather_family` is all there is of it.
"""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from perlica.console import ConsoleSettings, start_console
from perlica.demo.model import Call, Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.actions import ActionSpec, Scope
from perlica.domain.errors import Misconfigured
from perlica.domain.plan import ActionPlan
from perlica.domain.texts import Text
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.policy_file import check_actions, read_policy
from perlica.gateway.core.tool import CallContext, Planned, ToolArguments
from perlica.gateway.core.work import Change, ToolResult
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from tests.behaviour.asking import APPROVE
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, OWNER
from tests.console.people import Person
from tests.console.seeder import add_viewer

GUIDANCE = "天气只能由 Owner 改。"
TOKEN = "perlica-viewer-who-looks-at-the-weather"


class SetWeatherArguments(ToolArguments):
    """What the weather is to be."""

    sky: str


class SetWeather:
    """Changes the weather."""

    name: ClassVar[str] = "set_weather"
    description: ClassVar[str] = "Set the weather of the group."
    arguments: ClassVar[type[ToolArguments]] = SetWeatherArguments

    def plan(self, arguments: Any, context: CallContext) -> Planned:
        """See Tool."""
        plan = ActionPlan(
            action="weather.set",
            origin=context.origin,
            identity="perlica",
            target={"group": context.group_id},
            scope=Scope.group,
            effect={"sky": arguments.sky},
            destination="perlica",
            expected="weather.set",
            policy_version=context.policy_version,
        )
        result = ToolResult(text=f"the sky is {arguments.sky}", source="weather")
        return Planned(plan=plan, work=Change(run=lambda _: result))


def weather_family() -> ToolFamily:
    """The whole of it."""
    return ToolFamily(
        name="weather",
        tools=(SetWeather(),),
        actions=(
            ActionSpec(
                name="weather.set",
                scopes=frozenset({Scope.group}),
                label=Text(zh="改天气", en="set the weather"),
                headline=Text(zh="把天气改成 {sky}。", en="set the weather to {sky}."),
                effects={"sky": Text(zh="天空", en="Sky")},
            ),
        ),
        guidance=(GUIDANCE,),
    )


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    """The packaged policy with a line for the weather, as an operator would add it."""
    packaged = Path("perlica/gateway/policy.toml")
    text = (Path(__file__).parents[2] / packaged).read_text(encoding="utf-8")
    file = tmp_path / "policy.toml"
    file.write_text(text.replace("[high]\n", '[high]\n"weather.set" = ["group"]\n'), "utf-8")
    file.chmod(0o600)
    return file


def test_the_policy_may_name_its_action_only_while_the_family_is_there(policy: Path) -> None:
    read = read_policy(policy)

    check_actions(read, CATALOG.and_more(weather_family().actions))
    with pytest.raises(Misconfigured, match=r"weather\.set"):
        check_actions(read, CATALOG)


def test_it_is_in_the_prompt_the_approval_the_audit_and_the_console(
    policy: Path, make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    family = weather_family()
    extra = f'[policy]\nfile = "{policy}"\n'
    live = make_live(model.base_url, extra, more_families=(family,))
    sunny = Call(tool="set_weather", arguments={"sky": "晴"})
    model.add(Reply(calls=(sunny,)), Reply(text="改好了"))

    asked = napcat.say(MEMBER, "改成晴天", mention=True)
    question = napcat.wait_for_reply(lambda m: "【审批请求" in m.text, after=asked)
    found = APPROVE.search(question.text)
    assert found is not None
    approved = napcat.say(OWNER, f".approve {found[1]} {found[2]}")
    answer = napcat.wait_for_reply(lambda m: "改好了" in m.text, after=approved)
    audit = napcat.wait_for_reply(
        lambda m: "审计" in m.text or "改天气" in m.text, after=napcat.say(OWNER, ".audit")
    )

    request = model.requests[0]
    assert f"6. {GUIDANCE}" in str(request["messages"][0]["content"])
    assert "set_weather" in [tool["function"]["name"] for tool in request["tools"]]
    for words in ("把天气改成 晴。", "动作：改天气（weather.set）", "天空：晴", "影响范围：本群"):
        assert words in question.text
    assert "改天气：成功" in answer.text
    assert "改天气" in audit.text
    assert live.count("SELECT count(*) FROM operations WHERE executor = 'change'") == 1
    _look_at_the_console(live.path, found[1], CATALOG.and_more(family.actions))


def _look_at_the_console(path: Path, ticket: str, actions: Any) -> None:
    with Database.open(path) as database:
        add_viewer(database, "looker", TOKEN)
    console = start_console(ConsoleSettings(actions=actions), path)
    try:
        with Person(console) as viewer:
            viewer.log_in(TOKEN)
            shown = viewer.read(f"/tickets/{ticket}")
            listed = viewer.read("/audit")
    finally:
        console.stop()
    assert "改天气" in shown
    assert "天空 晴" in shown
    assert "改天气" in listed
