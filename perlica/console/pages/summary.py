"""The summary that a session leaves behind, as a task's page shows it: figures and operations."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from perlica.console.pages.pieces import Fact, Link, operation_link, read_map
from perlica.console.wording import Badge, Wording
from perlica.stores.views.columns import Excerpt

_FIGURES = ("model_calls", "tool_calls")


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationLine:
    """An operation of the session."""

    link: Link
    action: str
    state: Badge


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What is left of a session; `raw` instead, where it is not of the form that we write."""

    facts: tuple[Fact, ...] = ()
    operations: tuple[OperationLine, ...] = ()
    raw: str = field(default="", repr=False)


def summary_of(document: Excerpt, wording: Wording, badges: Mapping[str, Badge]) -> Summary:
    """A session's summary for showing; `badges` say how operations stand now, by their id.

    One that went on after its task had ended would stand there as it was then for ever.
    """
    found = {} if document.is_cut else read_map(document.text)
    facts = tuple(_facts(found, wording))
    if not facts:
        return Summary(raw=document.text)
    return Summary(facts=facts, operations=_operations(found.get("operations"), wording, badges))


def _facts(found: Mapping[str, object], wording: Wording) -> list[Fact]:
    say = wording.say
    facts = []
    if isinstance(found.get("reason"), str):
        reason = wording.end_reason(str(found["reason"]))
        facts.append(Fact(label=say("task.reason"), text=reason))
    elapsed_ms = found.get("elapsed_ms")
    if isinstance(elapsed_ms, int):
        facts.append(Fact(label=say("task.lasted"), text=wording.duration(elapsed_ms)))
    for name in _FIGURES:
        count = found.get(name)
        if isinstance(count, int):
            facts.append(Fact(label=say(f"task.{name}"), text=wording.number(count)))
    return [*facts, *_tokens(found, wording)]


def _tokens(found: Mapping[str, object], wording: Wording) -> list[Fact]:
    given, made = found.get("input_tokens"), found.get("output_tokens")
    if not isinstance(given, int) or not isinstance(made, int):
        return []
    text = f"{wording.number(given)} / {wording.number(made)}"
    if found.get("usage_is_estimate") is True:
        text += wording.say("task.estimate")
    return [Fact(label=wording.say("task.tokens"), text=text)]


def _operations(
    listed: object, wording: Wording, badges: Mapping[str, Badge]
) -> tuple[OperationLine, ...]:
    entries = listed if isinstance(listed, list) else []
    return tuple(
        OperationLine(
            link=operation_link(wording.name(str(entry.get("id")))),
            action=wording.action(str(entry.get("action"))),
            state=badges.get(str(entry.get("id")))
            or wording.badge("state.operation", str(entry.get("state"))),
        )
        for entry in entries
        if isinstance(entry, dict)
    )
