"""What families bring stands once, and the prompt speaks only of those that are on."""

import pytest

from perlica.app.config import parse_config
from perlica.app.families import build_families
from perlica.domain.errors import Misconfigured
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.orders import OrderSpec
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.work import Read
from perlica.session.prompt import InitialContext, build_system
from perlica.stores.database import Database
from tests.app.configs import MINIMAL, SANDBOX
from tests.gateway.plans import DONE, Tool, plan_of
from tests.gateway.test_recovery_by_executor import Hands

TOOL = Tool(Read(run=lambda: DONE))
ORDER = OrderSpec(
    action="sandbox.delete",
    plan_again=lambda context, _t, _e: plan_of(context.caller, Read(run=lambda: DONE)),
)


def family(name: str, **more: object) -> ToolFamily:
    return ToolFamily(name=name, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("families", "code"),
    [
        ((family("a"), family("a")), "family_twice"),
        ((family("a", tools=(TOOL,)), family("b", tools=(TOOL,))), "tool_twice"),
        ((family("a", orders=(ORDER,)), family("b", orders=(ORDER,))), "order_twice"),
    ],
)
def test_two_of_one_name_are_refused_at_the_start(
    families: tuple[ToolFamily, ...], code: str
) -> None:
    with pytest.raises(Misconfigured) as refused:
        Registry(families)

    assert refused.value.code == code


def test_two_executors_of_one_name_are_refused(db: Database) -> None:
    both = (
        family("a", make_executor=lambda _: Hands()),
        family("b", make_executor=lambda _: Hands()),
    )

    with pytest.raises(Misconfigured, match="executor_twice"):
        Registry(both).executors(db)
    assert list(Registry(both[:1]).executors(db)) == [Hands().name]


def prompt_of(*families: ToolFamily) -> str:
    guidance = Registry(families).guidance()
    return build_system(InitialContext(version="1"), guidance=guidance).content


def test_the_prompt_speaks_only_of_families_that_are_on() -> None:
    config = parse_config(MINIMAL + SANDBOX)
    without = prompt_of(*build_families(config, None))
    with_sandboxes = prompt_of(*build_families(config, lambda _: None))  # type: ignore[arg-type,return-value]

    assert "沙箱" not in without
    assert "\n5. 最后一条消息" in without
    assert "\n5. 沙箱是长期存在的" in with_sandboxes
    assert "\n6. 最后一条消息" in with_sandboxes


def test_rules_of_families_are_numbered_before_the_last_one() -> None:
    said = prompt_of(family("a", guidance=("甲。", "乙 {x}。")), family("b", guidance=("丙。",)))

    assert "\n5. 甲。\n6. 乙 {x}。\n7. 丙。\n8. 最后一条消息" in said
