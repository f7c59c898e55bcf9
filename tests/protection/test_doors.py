"""A plain str is refused at every door by the type checker: stores, clients, gateway, outbox.

The doors are found by their annotations, so that a new one is tried as well. For each, one line is
written that passes a `Protected` and one that passes a `str`; one run of mypy judges them all.
"""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import actors
import perlica.clients
import perlica.conversation
import perlica.gateway
import perlica.runtimes
import perlica.session
import perlica.stores
import perlica.tasks
from perlica.protection import Protected

_PROJECT = Path(__file__).parents[2]
_ROOMS = (
    perlica.stores,
    perlica.clients,
    perlica.gateway,
    perlica.runtimes,
    perlica.session,
    perlica.tasks,
    actors,
)
_KNOWN = (
    "perlica.stores.approvals.NewTicket(plan)",
    "perlica.stores.audit.AuditStore.add_event(detail)",
    "perlica.stores.messages.MessageStore.insert_message(content)",
    "perlica.stores.messages.MessageStore.insert_message(display_name)",
    "perlica.stores.messages.StoredAttachment(name)",
    "perlica.stores.operations.NewOperation(plan)",
    "perlica.stores.operations.OperationStore.finish(outcome)",
    "perlica.stores.outbox.OutboxStore.enqueue(content)",
    "perlica.stores.progress.ProgressStore.note(last_line)",
    "perlica.stores.sandboxes.SandboxStore.reserve(purpose)",
    "perlica.stores.sealed.columns(value)",
    "perlica.stores.sessions.SessionStore.append_event(body)",
    "perlica.stores.sessions.SessionStore.insert_output(content)",
    "perlica.stores.sessions.SessionStore.insert_summary(content)",
    "perlica.conversation.SystemMessage(content)",
    "perlica.conversation.ToolMessage(content)",
    "perlica.conversation.UserMessage(content)",
    "perlica.clients.onebot.calls.build_send(text)",
    "perlica.gateway.core.outcomes.Answered(content)",
    "perlica.session.wrapper.wrap_result(content)",
)
_ERROR = re.compile(r"^(?P<file>\w+)\.py:(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")
_MOST_S = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """A parameter that takes protected text: where it is, and how it is called with `x` there."""

    name: str
    module: str
    call: str


def _modules() -> Iterator[ModuleType]:
    yield perlica.conversation
    for room in _ROOMS:
        if not hasattr(room, "__path__"):
            yield room
            continue
        for found in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            yield importlib.import_module(found.name)


def _doors() -> Iterator[Door]:
    for module in _modules():
        for name, member in vars(module).items():
            if getattr(member, "__module__", None) != module.__name__ or name.startswith("_"):
                continue
            if inspect.isfunction(member):
                yield from _parameters(module, name, member, f"{module.__name__}.{name}")
            elif inspect.isclass(member) and not getattr(member, "_is_protocol", False):
                yield from _of_class(module, name, member)


def _of_class(module: ModuleType, name: str, of: type) -> Iterator[Door]:
    call = f"{module.__name__}.{name}"
    if "__init__" in vars(of):
        yield from _parameters(module, name, vars(of)["__init__"], call)
    for method, member in vars(of).items():
        if inspect.isfunction(member) and not method.startswith("_"):
            called = f"typing.cast({call}, any_).{method}"
            yield from _parameters(module, f"{name}.{method}", member, called)


def _parameters(module: ModuleType, name: str, function: object, call: str) -> Iterator[Door]:
    try:
        hints = typing.get_type_hints(function)
        signature = inspect.signature(typing.cast("typing.Callable[..., object]", function))
    except (NameError, TypeError, ValueError):
        return
    given = [p for p in signature.parameters.values() if p.name != "self" and p.kind in _PASSABLE]
    for door in given:
        if hints.get(door.name) in (Protected, Protected | None):
            passed = ", ".join(_argument(p, door.name) for p in given if _must(p, door.name))
            yield Door(
                name=f"{module.__name__}.{name}({door.name})",
                module=module.__name__,
                call=f"{call}({passed})",
            )


_PASSABLE = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def _must(parameter: inspect.Parameter, door: str) -> bool:
    return parameter.default is inspect.Parameter.empty or parameter.name == door


def _argument(parameter: inspect.Parameter, door: str) -> str:
    return f"{parameter.name}={'x' if parameter.name == door else 'any_'}"


def _snippets(doors: list[Door], kind: str) -> str:
    """One function for each door, on one line: its number is the line's."""
    lines = [
        f"def door_{number}(x: {kind}, any_: typing.Any) -> None: {door.call}"
        for number, door in enumerate(doors)
    ]
    imports = "; ".join(f"import {name}" for name in sorted({door.module for door in doors}))
    head = f"import typing; from perlica.protection import Protected; {imports}"
    return "\n".join([head, *lines, ""])


@pytest.mark.timeout(_MOST_S)
def test_a_str_is_refused_by_the_type_checker_at_every_door(tmp_path: Path) -> None:
    doors = sorted(set(_doors()), key=lambda door: door.name)
    (tmp_path / "sealed.py").write_text(_snippets(doors, "Protected"))
    (tmp_path / "plain.py").write_text(_snippets(doors, "str"))

    judged = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(_PROJECT / "setup.cfg"), "--strict",
         "--follow-imports", "silent", "--no-error-summary", "--hide-error-context",
         "--cache-dir", str(_PROJECT / "build" / "mypy-doors"), "sealed.py", "plain.py"],
        cwd=tmp_path, env={"MYPYPATH": str(_PROJECT), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, check=False, timeout=_MOST_S,
    )  # fmt: skip
    errors = [match for line in judged.stdout.splitlines() if (match := _ERROR.match(line))]
    refused = {
        int(e["line"]) - 2 for e in errors if (e["file"], e["code"]) == ("plain", "arg-type")
    }

    assert {door.name for door in doors} >= set(_KNOWN)
    assert [match.group() for match in errors if match["file"] != "plain"] == [], judged.stderr
    assert [door.name for number, door in enumerate(doors) if number not in refused] == []
