"""What the gateway adds to one Low call: plan, hash, judgement, commits, audit, protected result.

A command in a backend in memory, through the real gateway, serializer and database
(synchronous=FULL), beside the bare cost of as many commits on the same disk.
"""

import json
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from actors.base import Alarm
from actors.messages import Ready
from actors.serializer import SandboxSerializer, SerializerRunner
from perlica.app import parts
from perlica.app.config import parse_config
from perlica.domain.cancel import CancelToken
from perlica.domain.clock import now_ms
from perlica.domain.ids import (
    GroupId,
    MessageId,
    SandboxName,
    UserId,
    new_call_id,
    new_operation_id,
)
from perlica.domain.message import IncomingGroupMessage, Segment, SegmentKind
from perlica.domain.sandbox import SandboxImage, SandboxSpec, SandboxState
from perlica.domain.task import TaskState
from perlica.domain.texts import Language
from perlica.gateway.core.ceremony import Ceremony
from perlica.gateway.core.gateway import Gateway, GivenCall
from perlica.gateway.core.outcomes import Answered
from perlica.gateway.core.policy_file import read_policy
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tickets import TicketIssuer
from perlica.gateway.families.sandbox.family import sandbox_family
from perlica.gateway.families.sandbox.settings import SandboxSettings
from perlica.gateway.families.sandbox.tools import SandboxExec
from perlica.gateway.known_actions import CATALOG
from perlica.protection import Channel, protect
from perlica.sandboxes.memory import MemoryBackend
from perlica.sandboxes.nodes import Nodes
from perlica.stores.database import Database
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import check_target, migrate
from perlica.stores.sandboxes import SandboxStore
from perlica.stores.service import ServiceStore
from perlica.stores.sessions import NewCall, SessionStore
from perlica.stores.tasks import Task, TaskStore

TARGET_MS = 5.0
ROUNDS = 300
_WARM_UP = 20
_GROUP, _SELF, _OWNER = GroupId(600100200), UserId(10000), UserId(30001)
_NODE = "bench"
_CONFIG = """
[service]
state_dir = "/var/lib/perlica"
[napcat]
url = "ws://127.0.0.1:3001"
token_file = "/etc/perlica/secrets/napcat-token"
group_id = 600100200
self_id = 10000
[members]
owners = [30001]
[model]
base_url = "http://127.0.0.1:8000/v1"
name = "bench"
[sandbox]
socket = "/run/sandboxd/sandboxd.sock"
node = "bench"
[sandbox.image]
reference = "bench"
digest = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
introduction = "in memory"
revision = 1
"""


def rows() -> list[dict[str, object]]:
    """The median of one call, beside the median of bare commits as many as such a call makes."""
    with tempfile.TemporaryDirectory(prefix="perlica-bench-") as directory:
        path = Path(directory) / "perlica.db"
        migrate(path)
        with Database.open(path) as database:
            check_target(database, _GROUP, _SELF)
            with _gateway(database, path) as (gateway, task):
                pairs = [
                    (call_ms, _bare_commit_ms(database))
                    for call_ms in _calls(gateway, task, database, ROUNDS)
                ]
                commits = _count_commits(gateway, task, database)
    call_ms = statistics.median(call_ms for call_ms, _ in pairs)
    bare_ms = statistics.median(commit_ms for _, commit_ms in pairs) * commits
    return [
        {
            "name": "gateway_low_call_ms",
            "value": round(call_ms, 2),
            "unit": "ms",
            "peer_or_floor": round(bare_ms, 3),
            "ratio": round(call_ms / bare_ms, 1),
            "target": TARGET_MS,
            "met": call_ms < TARGET_MS,
        }
    ]


def _bare_commit_ms(database: Database) -> float:
    """The floor, in the same moment as a call: one row changed in one transaction."""
    began = time.perf_counter()
    with database.transaction():
        ServiceStore(database).set("bench", str(began))
    return (time.perf_counter() - began) * 1000


def _count_commits(gateway: Gateway, task: Task, database: Database) -> float:
    """How many commits one call makes, in all threads together."""
    whole, made = Database.transaction, [0]

    @contextmanager
    def transaction(self: Database) -> Iterator[None]:
        with whole(self):
            yield
        made[0] += 1

    with patch.object(Database, "transaction", transaction):
        calls = len(list(_calls(gateway, task, database, 1)))
    # Each call has one more, which is not timed: the row of the call itself.
    return made[0] / (calls + _WARM_UP) - 1


def _calls(gateway: Gateway, task: Task, database: Database, rounds: int) -> Iterator[float]:
    """One command after the other, from the call's row to the result that the model may read."""
    sessions = SessionStore(database)
    first = len(sessions.list_calls(task.id))
    for number in range(first, first + rounds + _WARM_UP):
        arguments = json.dumps({"sandbox": "main", "argv": ["echo", str(number)]})
        call = new_call_id()
        with database.transaction():
            sessions.insert_calls(
                task.id,
                number,
                [
                    NewCall(
                        id=call,
                        position=0,
                        provider_call_id=call,
                        tool=SandboxExec.name,
                        arguments=protect(arguments, Channel.TOOL_ARGUMENTS),
                        arguments_intact=True,
                    )
                ],
            )
        given = GivenCall(id=call, tool=SandboxExec.name, arguments_json=arguments)
        began = time.perf_counter()
        end = gateway.dispatch(task, given, CancelToken())
        took_ms = (time.perf_counter() - began) * 1000
        if not isinstance(end, Answered) or end.failed:
            raise RuntimeError("the call did not succeed")
        if number >= first + _WARM_UP:
            yield took_ms


@contextmanager
def _gateway(database: Database, path: Path) -> Iterator[tuple[Gateway, Task]]:
    """A gateway with one sandbox behind a real serializer, and a task that is running."""
    settings = parts.sandbox_settings(parse_config(_CONFIG))
    nodes = Nodes({_NODE: MemoryBackend()})
    serializer = SandboxSerializer.start(
        slot=1,
        database_path=path,
        nodes=nodes,
        language=Language.en,
        actions=CATALOG,
        alarm=Alarm(),
    )
    try:
        serializer.ask(Ready())
        _make_sandbox(database, nodes, settings)
        runner = SerializerRunner(
            serializers={1: serializer}, nodes=nodes, database=lambda: database
        )
        registry = Registry((sandbox_family(settings, lambda _: runner, Language.en),))
        ceremony = Ceremony(
            database=database,
            policy=read_policy(None),
            issuer=TicketIssuer(
                database=database, owners=frozenset({_OWNER}), language=Language.en, actions=CATALOG
            ),
            executors=registry.executors(database),
            ring_outbox=lambda: None,
        )
        gateway = Gateway(database=database, registry=registry, ceremony=ceremony)
        yield gateway, _begin_task(database)
    finally:
        serializer.stop()


def _make_sandbox(database: Database, nodes: Nodes, settings: SandboxSettings) -> None:
    backend = nodes.of(_NODE)
    image = SandboxImage(
        reference="bench",
        digest=MemoryBackend().current_image()[0],
        introduction="in memory",
        revision=1,
    )
    spec = SandboxSpec(
        name=SandboxName("main"), purpose="bench", node=_NODE, limits=settings.limits
    )
    made = backend.create(new_operation_id(), spec, image.digest)
    store = SandboxStore(database)
    with database.transaction():
        store.set_image(image)
        row = store.reserve(spec, image, protect("bench", Channel.TOOL_ARGUMENTS))
        store.move(
            row.id,
            before=SandboxState.creating,
            after=SandboxState.ready,
            instance=made.instance,
        )


def _begin_task(database: Database) -> Task:
    message = IncomingGroupMessage(
        group_id=_GROUP,
        message_id=MessageId(1),
        real_seq=1,
        user_id=_OWNER,
        self_id=_SELF,
        sent_at_ms=now_ms(),
        display_name="owner",
        segments=(Segment(kind=SegmentKind.text, text="bench"),),
    )
    tasks = TaskStore(database)
    with database.transaction():
        row = MessageStore(database).insert_message(
            message,
            kind="trigger",
            display_name=protect("owner", Channel.MESSAGE),
            content=protect("bench", Channel.MESSAGE),
            attachments=(),
        )
        if row is None:
            raise RuntimeError("the message was stored before")
        task = tasks.create_task(
            trigger_row=row,
            requester_id=_OWNER,
            group_id=_GROUP,
            policy_version="bench",
            context_version="1",
        )
        if task is None:
            raise RuntimeError("another task is alive")
        for before, after in (
            (TaskState.received, TaskState.contextualizing),
            (TaskState.contextualizing, TaskState.running),
        ):
            task = tasks.move_task(task.id, before=before, after=after)
    return task
