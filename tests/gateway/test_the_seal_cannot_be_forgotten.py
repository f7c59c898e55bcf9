"""What leaves the process is known from the kind of work and the destination, never from a flag."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from perlica.app.config import parse_config
from perlica.app.families import build_families
from perlica.domain.errors import Refused
from perlica.domain.plan import Level
from perlica.domain.ports import SANDBOX_EXECUTOR
from perlica.domain.sandbox import SandboxState
from perlica.gateway.core.registry import Registry
from perlica.gateway.core.tool import CallContext, Planned, Tool
from perlica.gateway.core.work import Change, Queued, Read, Remote, Work, leaves_process
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from perlica.stores.sandboxes import SandboxStore
from tests.app.configs import MINIMAL, SANDBOX
from tests.gateway.plans import CANARY, DONE, ceremony_over, command, plan_of
from tests.stores.rows import reserve

ARGUMENTS: Mapping[str, list[dict[str, Any]]] = {
    "sandbox_exec": [{"sandbox": "dev", "argv": ["id"], "cwd": "/", "stdin": "x"}],
    "sandbox_read": [
        {"sandbox": "dev", "path": "/a"},
        {"sandbox": "dev", "path": "/a", "directory": True},
        {"sandbox": "dev", "path": "/a", "offset_bytes": 3},
        {"sandbox": "dev", "path": "/a", "first_line": 2, "last_line": 4},
    ],
    "sandbox_write": [{"sandbox": "dev", "path": "/a", "content": "x", "executable": True}],
    "sandbox_manage": [
        {"action": "image"},
        {"action": "list"},
        {"action": "create", "name": "new", "purpose": "x"},
        *({"action": act, "name": "dev", "purpose": "x"} for act in ("describe", "keep", "stop")),
        {"action": "delete", "name": "dev"},
    ],
    "group_recent_context": [{}],
    "group_search_history": [{"query": "x"}],
}


def nowhere(_database: Database) -> Any:
    return None


def registry() -> Registry:
    return Registry(build_families(parse_config(MINIMAL + SANDBOX), nowhere))


@pytest.fixture
def context(db: Database) -> CallContext:
    """A database with an image and one usable sandbox."""
    row = reserve(db, "dev")
    with db.transaction():
        SandboxStore(db).move(row.id, before=row.state, after=SandboxState.ready, instance="i-1")
    return CallContext(caller=command(), database=db, policy_version="1")


def plans(context: CallContext) -> Iterator[tuple[Tool, Planned]]:
    for tool in registry().all():
        for given in ARGUMENTS[tool.name]:
            yield tool, tool.plan(tool.arguments.model_validate_json(json.dumps(given)), context)


def test_of_every_registered_tool_it_is_known_whether_its_plans_leave(
    context: CallContext,
) -> None:
    seen = {tool.name for tool, _ in plans(context)}
    leaving = {
        planned.plan.action
        for _, planned in plans(context)
        if leaves_process(planned.work, planned.plan.destination)
    }

    assert seen == set(ARGUMENTS)
    assert leaving == set()


def test_every_field_of_every_plan_has_a_name_and_every_action_its_words(
    context: CallContext,
) -> None:
    for _, planned in plans(context):
        plan, spec = planned.plan, CATALOG.find(planned.plan.action)
        assert spec is not None
        assert plan.scope in spec.scopes
        assert set(plan.target) <= set(spec.targets), plan.action
        assert set(plan.effect) <= set(spec.effects), plan.action


def remote(_: object = None) -> Work:
    return Remote(call=lambda _: DONE, within_s=1, is_repeatable=True)


def queued(executor: str = SANDBOX_EXECUTOR) -> Work:
    return Queued(executor=executor, prepare=lambda _: None, present=lambda _: DONE, within_s=1)


READ, CHANGE = Read(run=lambda: DONE), Change(run=lambda _: DONE)


@pytest.mark.parametrize(
    ("work", "destination", "leaves"),
    [
        (READ, "perlica", False),
        (CHANGE, "perlica", False),
        (CHANGE, "nodes:a,b", False),
        (queued(), "sandbox:dev", False),
        (queued(), "node:one", False),
        (queued(), "sandboxes:dev", True),
        (queued("mailer"), "mail:example.org", True),
        (queued("mailer"), "node:8080", True),
        (remote(), "web:example.org", True),
    ],
)
def test_what_leaves_is_read_from_work_and_destination(
    work: Work, destination: str, leaves: bool
) -> None:
    assert leaves_process(work, destination) is leaves


@pytest.mark.parametrize(
    ("work", "destination"),
    [
        (READ, "web:example.org"),
        (READ, ""),
        (CHANGE, "mail:example.org"),
        (CHANGE, ""),
        (queued(), ""),
        (remote(), ""),
        (remote(), "perlica"),
        (remote(), "sandbox:dev"),
    ],
)
def test_a_plan_whose_destination_does_not_go_with_its_work_is_refused(
    db: Database, work: Work, destination: str
) -> None:
    planned = plan_of(command(), work, destination=destination)

    with pytest.raises(Refused, match="bad_destination"):
        ceremony_over(db, {SANDBOX_EXECUTOR: object()}).judge(planned)  # type: ignore[dict-item]


@pytest.mark.parametrize("level", [Level.low, Level.medium, Level.high])
@pytest.mark.parametrize(
    ("work", "destination"), [(remote(), "web:example.org"), (queued("mailer"), "mail:x")]
)
def test_a_credential_does_not_leave_at_whatever_level(
    db: Database, level: Level, work: Work, destination: str
) -> None:
    ceremony = ceremony_over(
        db,
        {"mailer": object()},  # type: ignore[dict-item]
        {("history.recent", "group"): level},
    )

    with pytest.raises(Refused, match="plan_holds_credential"):
        ceremony.judge(plan_of(command(), work, destination=destination, effect={"text": CANARY}))

    assert ceremony.judge(plan_of(command(), work, destination=destination)) is level


def test_what_stays_inside_may_hold_what_protection_would_change(db: Database) -> None:
    inside = plan_of(command(), queued(), destination="sandbox:dev", effect={"stdin": CANARY})

    level = ceremony_over(db, {SANDBOX_EXECUTOR: object()}).judge(inside)  # type: ignore[dict-item]

    assert level is Level.low


def test_work_that_nobody_carries_out_is_refused_before_anything_is_asked(db: Database) -> None:
    with pytest.raises(Refused, match="no_executor"):
        ceremony_over(db).judge(plan_of(command(), queued("mailer"), destination="mail:x"))
