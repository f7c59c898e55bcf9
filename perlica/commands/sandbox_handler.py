"""Owners' commands about sandboxes, images, orphans and nodes: carried out once, answered.

A part of the reconciler, which hears of them from the coordinator. An order and its answer are two
transactions; a crash between them repeats the answer, not the order: operation and ticket of a
command are found again by its message.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from perlica.commands import answers, sandbox_answers, sandbox_texts
from perlica.commands.answering import answer_command
from perlica.commands.names import CommandName
from perlica.commands.roles import may_use, role_of
from perlica.domain.clock import now_ms
from perlica.domain.errors import PerlicaError, StoreUnavailable
from perlica.domain.ids import GroupId, SandboxName, UserId
from perlica.domain.texts import Language
from perlica.gateway.core.caller import CommandCaller
from perlica.gateway.core.orders import Asked, Done, Given
from perlica.gateway.families.sandbox.orders import SandboxOrders
from perlica.stores.approvals import ApprovalStore
from perlica.stores.commands import StoredCommand
from perlica.stores.database import Database
from perlica.stores.disk_use import DiskUseStore
from perlica.stores.image_switches import ImageSwitchStore
from perlica.stores.nodes import NodeStore
from perlica.stores.operations import OperationStore
from perlica.stores.orphans import OrphanStore
from perlica.stores.progress import ProgressStore
from perlica.stores.sandboxes import SandboxRow, SandboxStore

SANDBOX_COMMANDS: Final = frozenset(
    {CommandName.sbx, CommandName.image, CommandName.orphans, CommandName.node}
)

_OPERATIONS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Members:
    """Who may give orders, and in which group; from the configuration only."""

    group_id: GroupId
    owners: frozenset[UserId]
    listed: frozenset[UserId]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxCommandHandler:
    """`orders` is None while sandboxes are switched off."""

    database: Database
    orders: SandboxOrders | None
    members: Members
    language: Language

    def obey(self, command: StoredCommand) -> None:
        """Carry out a pending command and answer it. Raises: StaleState when it was done before."""
        text = self._text_for(command)
        with self.database.transaction():
            answer_command(self.database, command, text)

    def _text_for(self, command: StoredCommand) -> str:
        name = CommandName(command.name)
        role = role_of(command.user_id, owners=self.members.owners, members=self.members.listed)
        if role is None:
            return ""
        if not may_use(name, role):
            return answers.answer_not_allowed(name, self.language)
        if self.orders is None:
            return sandbox_texts.SANDBOXES_OFF.say(self.language)
        shown = self._show(name, command.arguments, self.orders)
        if shown is not None:
            return shown
        try:
            given = self._find_given(command) or self._order(self.orders, name, command)
        except StoreUnavailable:
            raise
        except PerlicaError as error:
            return sandbox_answers.answer_refused(error, self.language)
        return self._say_given(given, name, command.arguments)

    # --- orders -----------------------------------------------------------------------------

    def _order(self, orders: SandboxOrders, name: CommandName, command: StoredCommand) -> Given:
        given = command.arguments
        caller = CommandCaller(
            message_row=command.message_row,
            user=command.user_id,
            group_id=self.members.group_id,
        )
        target = given.get("name", "")
        todo: Mapping[tuple[CommandName, str], Callable[[], Given]] = {
            (CommandName.sbx, "stop"): lambda: orders.stop(caller, target),
            (CommandName.sbx, "delete"): lambda: orders.delete(caller, target),
            (CommandName.sbx, "describe"): lambda: orders.describe(
                caller, target, given.get("purpose", "")
            ),
            (CommandName.image, "intro"): lambda: orders.introduce(
                caller, given.get("introduction", "")
            ),
            (CommandName.image, "switch"): lambda: orders.switch(
                caller, given.get("digest", ""), given.get("introduction", "")
            ),
            (CommandName.image, "retry"): lambda: orders.retry(caller),
            (CommandName.orphans, "delete"): lambda: orders.delete_orphan(
                caller, int(given.get("number", "0"))
            ),
            (CommandName.node, "writeoff"): lambda: orders.write_off(caller, target),
        }
        return todo[name, given["action"]]()

    def _find_given(self, command: StoredCommand) -> Given | None:
        """What this very command led to already, before a crash."""
        ticket = ApprovalStore(self.database).find_for_command(command.message_row)
        if ticket is not None:
            return Asked(ticket=ticket.id)
        operation = OperationStore(self.database).find_for_command(command.message_row)
        return None if operation is None else Done(operation=operation.id)

    def _say_given(self, given: Given, name: CommandName, arguments: Mapping[str, str]) -> str:
        if isinstance(given, Asked):
            return sandbox_answers.answer_asked(given.ticket, self.language)
        target = arguments.get("name", "")
        match name, arguments["action"]:
            case CommandName.sbx, "stop":
                return sandbox_texts.STOPPING.say(self.language, name=target)
            case CommandName.sbx, _:
                return sandbox_texts.DESCRIBED.say(self.language, name=target)
            case CommandName.image, "intro":
                image = SandboxStore(self.database).image()
                revision = image.revision if image is not None else 0
                return sandbox_texts.INTRODUCED.say(self.language, revision=revision)
            case _:
                return sandbox_texts.RETRYING.say(self.language)

    # --- looking ----------------------------------------------------------------------------

    def _show(
        self, name: CommandName, arguments: Mapping[str, str], orders: SandboxOrders
    ) -> str | None:
        """The answer to a command that only looks; None for an order."""
        idle_ms, now = orders.settings.idle_ms, now_ms()
        living = SandboxStore(self.database).list_living()
        match name, arguments["action"]:
            case CommandName.sbx, "list":
                return sandbox_answers.answer_sandboxes(living, idle_ms, now, self.language)
            case CommandName.sbx, "show":
                return self._show_sandbox(arguments["name"], idle_ms, now)
            case CommandName.sbx, "ops":
                return self._show_operations(arguments["name"], now)
            case CommandName.image, "show":
                return self._show_image()
            case CommandName.orphans, "list":
                orphans = OrphanStore(self.database).list_open()
                return sandbox_answers.answer_orphans(orphans, now, self.language)
            case CommandName.node, "list":
                return self._show_nodes(living, now)
            case _:
                return None

    def _show_sandbox(self, name: str, idle_ms: int, now: int) -> str:
        row = self._find(name)
        return sandbox_answers.answer_sandbox(
            row,
            name,
            disk_use=None if row is None else DiskUseStore(self.database).find(row.id),
            idle_ms=idle_ms,
            now_ms=now,
            language=self.language,
        )

    def _show_nodes(self, living: Sequence[SandboxRow], now: int) -> str:
        store = NodeStore(self.database)
        nodes = store.list_all()
        looks = {look.node: look for node in nodes for look in store.list_looks(node.name, 1)}
        return sandbox_answers.answer_nodes(
            nodes, living, looks, now_ms=now, language=self.language
        )

    def _find(self, name: str) -> SandboxRow | None:
        return SandboxStore(self.database).find_living(SandboxName(name))

    def _show_operations(self, name: str, now: int) -> str:
        row = self._find(name)
        store = SandboxStore(self.database)
        operations = store.list_operations(row.id, _OPERATIONS) if row is not None else ()
        found = (ProgressStore(self.database).find(o.operation_id) for o in operations)
        progress = {p.operation: p for p in found if p is not None}
        return sandbox_answers.answer_operations(
            row, name, operations, progress=progress, now_ms=now, language=self.language
        )

    def _show_image(self) -> str:
        store = SandboxStore(self.database)
        image = store.image()
        held = {i.digest: i for node in NodeStore(self.database).list_all() for i in node.images}
        others = [i for digest, i in held.items() if image is None or digest != image.digest]
        return sandbox_answers.answer_image(
            image,
            ImageSwitchStore(self.database).current(),
            left=len(store.list_living()),
            others=others,
            language=self.language,
        )
