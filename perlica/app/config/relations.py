"""What must hold between settings; each rule looks only at sections that are right by themselves.

So one start shows wrong values and wrong relations together.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel

from perlica.app.config.positions import KeyPath
from perlica.app.config.sections import (
    ConsoleSection,
    LogSection,
    MembersSection,
    ModelSection,
    NapcatSection,
    OutboxSection,
    PolicySection,
    SandboxSection,
    ServiceSection,
)
from perlica.app.config.values import is_inside, is_loopback

_Some = TypeVar("_Some", bound=BaseModel)

Finding = tuple[KeyPath, str]
"""A key and the code of a fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """The sections that are right by themselves; the others are None."""

    service: ServiceSection | None = None
    napcat: NapcatSection | None = None
    members: MembersSection | None = None
    model: ModelSection | None = None
    sandbox: SandboxSection | None = None
    outbox: OutboxSection | None = None
    policy: PolicySection | None = None
    console: ConsoleSection | None = None
    log: LogSection | None = None

    @classmethod
    def of(cls, sections: Mapping[str, BaseModel]) -> "Draft":
        """Put sections into their places."""
        return cls(
            service=_pick(sections, "service", ServiceSection),
            napcat=_pick(sections, "napcat", NapcatSection),
            members=_pick(sections, "members", MembersSection),
            model=_pick(sections, "model", ModelSection),
            sandbox=_pick(sections, "sandbox", SandboxSection),
            outbox=_pick(sections, "outbox", OutboxSection),
            policy=_pick(sections, "policy", PolicySection),
            console=_pick(sections, "console", ConsoleSection),
            log=_pick(sections, "log", LogSection),
        )


def _pick(sections: Mapping[str, BaseModel], name: str, kind: type[_Some]) -> _Some | None:
    section = sections.get(name)
    return section if isinstance(section, kind) else None


def check_relations(draft: Draft) -> Iterator[Finding]:
    """Every rule that is broken."""
    if draft.napcat:
        yield from _check_napcat(draft.napcat, draft.service)
    if draft.members:
        yield from _check_members(draft.members, draft.napcat)
    if draft.model:
        yield from _check_model(draft.model)
    if draft.outbox and draft.outbox.answer_within_s <= draft.outbox.napcat_within_s:
        yield ("outbox", "answer_within_s"), "order_send"
    if draft.sandbox:
        yield from _check_nodes(draft.sandbox, draft.service)
    if draft.console:
        yield from _check_console(draft.console)
    yield from _check_paths(draft)


def _check_napcat(napcat: NapcatSection, service: ServiceSection | None) -> Iterator[Finding]:
    if napcat.url is None and napcat.listen is None:
        yield ("napcat",), "napcat_no_way"
    if napcat.url is not None and napcat.listen is not None:
        yield ("napcat", "listen"), "napcat_two_ways"
    if napcat.silence_within_s <= napcat.ping_every_s:
        yield ("napcat", "silence_within_s"), "order_ping"
    if service and service.demo and not is_loopback(_host_of(napcat)):
        key = "url" if napcat.url else "listen"
        yield ("napcat", key), "demo_not_loopback"


def _host_of(napcat: NapcatSection) -> str:
    if napcat.url is not None:
        return urlsplit(napcat.url).hostname or ""
    return (napcat.listen or "127.0.0.1:0").rpartition(":")[0].strip("[]")


def _check_members(members: MembersSection, napcat: NapcatSection | None) -> Iterator[Finding]:
    seen: set[int] = set()
    for key, numbers in (("owners", members.owners), ("members", members.members)):
        if len(set(numbers)) < len(numbers) or seen & set(numbers):
            yield ("members", key), "number_twice"
        if napcat and napcat.self_id in numbers:
            yield ("members", key), "self_is_member"
        seen |= set(numbers)


def _check_model(model: ModelSection) -> Iterator[Finding]:
    if model.key_file is None and not is_inside(urlsplit(model.base_url).hostname or ""):
        yield ("model", "key_file"), "key_file_needed"
    if model.call_within_s < model.first_token_within_s:
        yield ("model", "call_within_s"), "order_model_times"
    if model.total_within_s < model.call_within_s:
        yield ("model", "total_within_s"), "order_model_times"
    if model.context_tokens <= model.max_output_tokens:
        yield ("model", "context_tokens"), "order_model_tokens"


def _check_console(console: ConsoleSection) -> Iterator[Finding]:
    url = urlsplit(console.public_url or "")
    if url.path:
        yield ("console", "public_url"), "console_url_path"
    host = (console.listen or "127.0.0.1:0").rpartition(":")[0].strip("[]")
    if not is_loopback(host) and url.scheme != "https":
        yield ("console", "listen"), "console_open"


def _check_nodes(sandbox: SandboxSection, service: ServiceSection | None) -> Iterator[Finding]:
    if len(set(sandbox.node_names)) < len(sandbox.node_names):
        yield ("sandbox", "remote_nodes" if sandbox.remote_nodes else "nodes"), "node_twice"
    for node in sandbox.remote_nodes:
        if service and _is_within(node.key_file, service.state_dir):
            yield ("sandbox", "remote_nodes", "key_file"), "secret_in_state"


def _check_paths(draft: Draft) -> Iterator[Finding]:
    named = list(_paths(draft))
    for index, (key, path) in enumerate(named):
        if any(path == other for _, other in named[:index]):
            yield key, "paths_equal"
    service = draft.service
    if service is None:
        return
    for key, path in named:
        is_secret = key[-1] in {"token_file", "key_file", "proxy_secret_file"}
        if is_secret and _is_within(path, service.state_dir):
            yield key, "secret_in_state"


def _paths(draft: Draft) -> Iterator[tuple[KeyPath, Path]]:
    if draft.service:
        yield ("service", "state_dir"), draft.service.state_dir
    if draft.napcat:
        yield ("napcat", "token_file"), draft.napcat.token_file
    if draft.model and draft.model.key_file:
        yield ("model", "key_file"), draft.model.key_file
    if draft.sandbox:
        yield ("sandbox", "socket"), draft.sandbox.socket
        for node in draft.sandbox.nodes:
            yield ("sandbox", "nodes", "socket"), node.socket
        if draft.sandbox.gate_report:
            yield ("sandbox", "gate_report"), draft.sandbox.gate_report
    if draft.console and draft.console.proxy_secret_file:
        yield ("console", "proxy_secret_file"), draft.console.proxy_secret_file
    if draft.policy and draft.policy.file:
        yield ("policy", "file"), draft.policy.file
    if draft.log and draft.log.file:
        yield ("log", "file"), draft.log.file


def _is_within(path: Path, directory: Path) -> bool:
    return path != directory and path.is_relative_to(directory)
