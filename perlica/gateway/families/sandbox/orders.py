"""What Owners order about sandboxes, images and nodes by dot commands.

The same plans as the model's own tool makes, and some that no tool reaches; the way of all orders
(`perlica.gateway.core.orders`) carries them out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from perlica.domain.plan import ActionPlan
from perlica.domain.texts import Language
from perlica.domain.texts.sandboxes import (
    say_node_written_off,
    say_orphan_released,
    say_switch_begun,
)
from perlica.gateway.core.caller import CommandCaller
from perlica.gateway.core.orders import Given, Orders, OrderSpec
from perlica.gateway.core.tool import CallContext, Planned
from perlica.gateway.families.sandbox.image import (
    SWITCH,
    plan_introduction,
    plan_retry,
    plan_switch,
)
from perlica.gateway.families.sandbox.manage import ManageArguments, SandboxManage
from perlica.gateway.families.sandbox.nodes import (
    DELETE_ORPHAN,
    WRITE_OFF,
    plan_orphan_deletion,
    plan_write_off,
)
from perlica.gateway.families.sandbox.settings import SandboxSettings
from perlica.stores.sandboxes import SandboxStore

DELETE: Final = "sandbox.delete"


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxOrders:
    """Over the orders of one database connection. All raise what `Orders.give` raises."""

    orders: Orders
    settings: SandboxSettings
    language: Language

    def stop(self, caller: CommandCaller, name: str) -> Given:
        """End what runs in a sandbox; files stay."""
        return self._manage(caller, action="stop", name=name)

    def describe(self, caller: CommandCaller, name: str, purpose: str) -> Given:
        """Say anew what a sandbox is for; no use of it."""
        return self._manage(caller, action="describe", name=name, purpose=purpose)

    def delete(self, caller: CommandCaller, name: str) -> Given:
        """Destroy a sandbox: High."""
        return self._manage(caller, action="delete", name=name)

    def introduce(self, caller: CommandCaller, introduction: str) -> Given:
        """Another introduction of the same image."""
        within = self.settings.within
        return self.orders.give(caller, lambda c: plan_introduction(within(c), introduction))

    def switch(self, caller: CommandCaller, digest: str, introduction: str) -> Given:
        """Another image: High."""

        def plan(context: CallContext) -> Planned:
            current = SandboxStore(context.database).image()
            text = introduction or (current.introduction if current else "")
            return plan_switch(self.settings.within(context), digest, text)

        return self.orders.give(caller, plan)

    def retry(self, caller: CommandCaller) -> Given:
        """Let a blocked switch go on."""
        within = self.settings.within
        return self.orders.give(caller, lambda c: plan_retry(within(c)))

    def write_off(self, caller: CommandCaller, node: str) -> Given:
        """Give a node up: High."""
        within = self.settings.within
        return self.orders.give(caller, lambda c: plan_write_off(within(c), node, self.language))

    def delete_orphan(self, caller: CommandCaller, number: int) -> Given:
        """Delete what was never ours: High."""
        return self.orders.give(caller, lambda c: plan_orphan_deletion(c, number))

    def _manage(self, caller: CommandCaller, **arguments: str) -> Given:
        return self.orders.give(caller, lambda c: _plan_managing(self.settings, c, **arguments))


def sandbox_orders(settings: SandboxSettings, language: Language) -> tuple[OrderSpec, ...]:
    """The orders that wait for an approval: how each is planned again, and what is told of it."""
    within = settings.within

    def delete(context: CallContext, target: Mapping[str, Any], _: Mapping[str, Any]) -> Planned:
        return _plan_managing(settings, context, action="delete", name=target["sandbox"])

    def switch(
        context: CallContext, target: Mapping[str, Any], effect: Mapping[str, Any]
    ) -> Planned:
        return plan_switch(within(context), target["image_digest"], effect["introduction"])

    def write_off(context: CallContext, target: Mapping[str, Any], _: Mapping[str, Any]) -> Planned:
        return plan_write_off(within(context), target["node"], language)

    def orphan(context: CallContext, target: Mapping[str, Any], _: Mapping[str, Any]) -> Planned:
        return plan_orphan_deletion(context, target["orphan"])

    return (
        OrderSpec(action=DELETE, plan_again=delete),
        OrderSpec(action=SWITCH, plan_again=switch, announce=_say_switch),
        OrderSpec(action=WRITE_OFF, plan_again=write_off, announce=_say_write_off),
        OrderSpec(action=DELETE_ORPHAN, plan_again=orphan, announce=_say_release),
    )


def _plan_managing(settings: SandboxSettings, context: CallContext, **arguments: str) -> Planned:
    """The plan that the model's own tool would make of the same wish."""
    return SandboxManage(settings).plan(ManageArguments.model_validate(arguments), context)


def _say_switch(plan: ActionPlan, language: Language) -> str:
    doomed = plan.effect["destroys"]
    count = len(doomed) if isinstance(doomed, list) else 0
    return say_switch_begun(str(plan.target["image_digest"]), count, language)


def _say_write_off(plan: ActionPlan, language: Language) -> str:
    return say_node_written_off(str(plan.target["node"]), language)


def _say_release(plan: ActionPlan, language: Language) -> str:
    return say_orphan_released(str(plan.target["sandbox"]), language)
