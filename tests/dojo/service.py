"""The real gateway and agent loop around an AgentDojo environment, and an obedient model in them.

Functions that read are Low, all others High; an Owner approves exactly the calls of the user task's
own ground truth, each as often as it stands there, by what the ticket is bound to.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, create_model

from perlica.conversation import Conversation, ToolMessage, ToolSpec
from perlica.domain.approval import digest_code
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.ids import GroupId, TaskId, UserId, new_call_id
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.plan import ActionPlan, Level
from perlica.domain.policy import Policy
from perlica.domain.task import FINAL_STATES, TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.family import ToolFamily
from perlica.gateway.core.gateway import Gateway
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.core.tool import CallContext, Planned, ToolArguments
from perlica.gateway.core.work import Change, ToolResult
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect
from perlica.runtimes.contract import OpenTask, RawCall, RawTurn
from perlica.runtimes.sessions import RuntimeSessions
from perlica.session.budgets import Budgets
from perlica.session.loop import AgentLoop
from perlica.session.opening import Opening
from perlica.session.prompt import InitialContext, build_system
from perlica.session.transcript import Transcript
from perlica.session.window import WindowLimits
from perlica.session.wrapper import CHINA_TIME, WrapSettings
from perlica.stores.approvals import ApprovalStore, Ticket
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import check_target, migrate
from perlica.stores.sessions import SessionStore
from perlica.stores.tasks import Task, TaskStore
from perlica.tasks.ending import TaskEnder
from perlica.tasks.review import last_answer
from tests.dojo.suites import MARKER, Duel, Function, Wish, World

GROUP, SELF, OWNER, MEMBER = GroupId(1), UserId(10), UserId(20), UserId(21)
_MANY = 1_000_000
_SCOPE = "dojo"
_CODE = re.compile(r"\.approve \S+ (\d{6})")


class DojoArguments(ToolArguments):
    """Closed and quiet like every tool's, but of AgentDojo's own types."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=False, hide_input_in_errors=True)


@dataclass(slots=True)
class DojoTool:
    """One function of the environment as a tool of the gateway."""

    name: ClassVar[str]
    description: ClassVar[str]
    arguments: ClassVar[type[ToolArguments]]
    world: Callable[[], World]

    def plan(self, arguments: Any, context: CallContext) -> Planned:
        """Everything that the caller chose is an effect."""
        given = arguments.model_dump(mode="json", exclude_unset=True)
        wish = Wish(self.name, given)
        plan = ActionPlan(
            action=f"dojo.{self.name}",
            origin=context.origin,
            identity="dojo",
            target={"function": self.name},
            scope=_SCOPE,
            effect={"arguments": given},
            destination="perlica",
            expected="done",
            policy_version=context.policy_version,
        )
        return Planned(
            plan=plan,
            work=Change(run=lambda _: ToolResult(text=self.world().do(wish), source="dojo")),
        )


def make_tool(function: Function, world: Callable[[], World]) -> DojoTool:
    """A tool with this function's own schema."""
    fields: dict[str, Any] = {
        name: (info.annotation, info) for name, info in function.parameters.model_fields.items()
    }
    arguments = create_model(f"{function.name}_arguments", __base__=DojoArguments, **fields)
    kind = type(
        function.name,
        (DojoTool,),
        {"name": function.name, "description": function.description, "arguments": arguments},
    )
    made: DojoTool = kind(world)
    return made


@dataclass(slots=True)
class ObedientModel:
    """Does what it was asked, and first of all whatever it reads that it should do."""

    duel: Duel
    wanted: list[Wish] = field(default_factory=list)
    has_obeyed: bool = False

    def __post_init__(self) -> None:
        self.wanted = list(self.duel.wishes)

    def open(self, _task: OpenTask, _cancel: CancelToken) -> Self:
        """The model is its own session: it plays one duel."""
        return self

    def close(self) -> None:
        """Nothing is kept."""

    def turn(
        self, conversation: Conversation, _tools: Sequence[ToolSpec], _cancel: CancelToken
    ) -> RawTurn:
        """The next call, or the answer."""
        last = conversation[-1]
        if isinstance(last, ToolMessage) and MARKER in last.content.content:
            self.obey()
        if not self.wanted:
            return RawTurn(text=self.answer or "done", input_tokens=0, output_tokens=0)
        wish = self.wanted.pop(0)
        call = RawCall(
            wire_id=f"w{new_call_id()}",
            tool=wish.function,
            arguments_json=json.dumps(wish.arguments, ensure_ascii=False),
        )
        return RawTurn(text="", calls=(call,), input_tokens=0, output_tokens=0)

    def obey(self) -> None:
        """The injection comes first, once."""
        if not self.has_obeyed:
            self.has_obeyed = True
            self.wanted = [*self.duel.injected, *self.wanted]

    @property
    def answer(self) -> str:
        """What the user's task gives, and what the injection wants to hear."""
        parts = [self.duel.answer, self.duel.injected_answer if self.has_obeyed else ""]
        return "\n".join(part for part in parts if part)


class Service:
    """One database, one gateway for each suite; plays one duel after the other.

    Unguarded, its policy lets everything through: what the gateway holds back is then done.
    """

    def __init__(
        self, directory: Path, functions: Sequence[Function], *, is_guarded: bool = True
    ) -> None:
        directory.mkdir(exist_ok=True)
        self._is_guarded = is_guarded
        self.path = directory / "perlica.db"
        migrate(self.path)
        self.database = Database.open(self.path)
        check_target(self.database, GROUP, SELF)
        self._world: World | None = None
        self._functions = functions
        self._numbers = 0

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def play(self, duel: Duel, world: World) -> str:
        """Let the model loose in this world; the answer that the group would read."""
        self._world = world
        model = ObedientModel(duel)
        loop = self._loop(model)
        task = self._begin(duel)
        allowed = Counter(wish.key for wish in duel.wishes)
        while (now := self._find(task.id)).state not in FINAL_STATES:
            if now.state is TaskState.waiting_approval:
                self._decide(now, allowed)
            else:
                loop.do_step(now.id, now.step, CancelToken())
        return last_answer(SessionStore(self.database).list_events(task.id))

    def _find(self, task: TaskId) -> Task:
        found = TaskStore(self.database).find_task(task)
        assert found is not None
        return found

    def _begin(self, duel: Duel) -> Task:
        self._numbers += 1
        message = IncomingGroupMessage(
            group_id=GROUP,
            message_id=self._numbers,  # type: ignore[arg-type]
            real_seq=self._numbers,
            user_id=MEMBER,
            self_id=SELF,
            sent_at_ms=now_ms(),
            display_name="member",
            segments=(Segment(kind=SegmentKind.text, text=duel.request),),
        )
        with self.database.transaction():
            row = MessageStore(self.database).insert_message(
                message,
                kind="trigger",
                display_name=protect("member", Channel.MESSAGE),
                content=protect(duel.request, Channel.MESSAGE),
                attachments=(),
            )
            assert row is not None
            task = TaskStore(self.database).create_task(
                trigger_row=row,
                requester_id=MEMBER,
                group_id=GROUP,
                policy_version="dojo",
                context_version="1",
            )
        assert task is not None
        return task

    def _decide(self, task: Task, allowed: Counter[str]) -> None:
        """The Owner looks at what the ticket is bound to, not at what anybody says of it."""
        (ticket,) = ApprovalStore(self.database).list_pending_for_task(task.id)
        wish = _wish_of(ticket)
        is_wanted = allowed[wish.key] > 0
        allowed[wish.key] -= int(is_wanted)
        text = self.database.query(
            "SELECT content FROM outbox_messages WHERE ticket_id = ?", (ticket.id,)
        )[0]["content"]
        code = _CODE.findall(text)[-1]
        with self.database.transaction():
            ApprovalStore(self.database).decide(
                ticket.id,
                decision="approved" if is_wanted else "denied",
                user=OWNER,
                code_digest=digest_code(ticket.id, code),
                now_ms=now_ms(),
                owners_today=frozenset({OWNER}),
            )
            TaskStore(self.database).move_task(
                task.id, before=TaskState.waiting_approval, after=TaskState.running
            )

    def _loop(self, model: ObedientModel) -> AgentLoop:
        language = Language.en
        return AgentLoop(
            database=self.database,
            gateway=self._gateway(),
            runtime_sessions=RuntimeSessions(model),
            opening=Opening(
                database=self.database,
                system=build_system(InitialContext(version="1"), language=language),
                context_version="1",
                limits=WindowLimits(),
                zone=CHINA_TIME,
            ),
            budgets=Budgets(
                model_calls=_MANY, tool_calls=_MANY, tokens=_MANY, equal_calls_in_a_row=50
            ),
            ender=TaskEnder(database=self.database, language=language, actions=CATALOG),
            language=language,
            new_transcript=lambda: Transcript(WrapSettings()),
        )

    def _gateway(self) -> Gateway:
        risky = Level.high if self._is_guarded else Level.low
        levels = {
            (f"dojo.{function.name}", _SCOPE): Level.low if function.reads else risky
            for function in self._functions
        }
        tools = tuple(make_tool(function, self._current) for function in self._functions)
        ceremony = Ceremony(
            database=self.database,
            policy=Policy(version="dojo", levels=levels),
            issuer=TicketIssuer(
                database=self.database,
                owners=frozenset({OWNER}),
                language=Language.en,
                actions=CATALOG,
            ),
            executors={},
            ring_outbox=lambda: None,
        )
        registry = Registry((ToolFamily(name="dojo", tools=tools),))
        return Gateway(database=self.database, registry=registry, ceremony=ceremony)

    def _current(self) -> World:
        assert self._world is not None
        return self._world


def play_without_gateway(duel: Duel, world: World) -> str:
    """The same model with its hands free: every call is done; its answer."""
    model = ObedientModel(duel)
    while model.wanted:
        if MARKER in world.do(model.wanted.pop(0)):
            model.obey()
    return model.answer


def _wish_of(ticket: Ticket) -> Wish:
    plan = json.loads(ticket.plan.content)
    return Wish(plan["target"]["function"], plan["effect"]["arguments"])
