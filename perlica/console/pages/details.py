"""Details of audit events and targets of plans, labelled for people; the raw value stays visible.

The audit's list and the pages about tickets are made of them.
"""

from collections.abc import Mapping
from typing import Final

from perlica.console.pages.pieces import Pairs, is_digest, pairs_of, read_map, rows_of
from perlica.console.wording import NAME_CODE_POINTS, Wording
from perlica.console.words.records import KEYS, VALUES
from perlica.domain.actions import SCOPES
from perlica.domain.texts import Text
from perlica.domain.texts.notices import REASONS
from perlica.domain.texts.sandboxes import NODE_STATES
from perlica.stores.views.columns import Excerpt
from perlica.stores.views.tickets import TicketView

_NAMES_FIRST: Final = ("sandbox", "name", "reference", "node", "instance")
_LINE_ROWS: Final = 4
_KIB: Final = 1024
_PLAIN: Final = frozenset({"true", "false"})
_NODES: Final = {state.value: word for state, word in NODE_STATES.items()}
_VALUES: Final[Mapping[str, Mapping[str, Text]]] = {
    **VALUES,
    "before": _NODES,
    "after": _NODES,
    "reason": {reason.value: word for reason, word in REASONS.items()},
}


def labelled_pairs(document: Excerpt, wording: Wording) -> Pairs:
    """The detail of an event with keys and known values in the page's language."""
    found = pairs_of(document, wording)
    rows = tuple(_label(name, value, wording) for name, value in found.rows)
    return Pairs(rows=rows, raw=found.raw, note=found.note)


def target_pairs(ticket: TicketView, wording: Wording) -> Pairs:
    """What a ticket's plan aims at: names first, digests last; its summary where that is gone."""
    rows = _target_rows(ticket)
    if not rows:
        return Pairs(raw=ticket.target_summary.text)
    return Pairs(rows=tuple(_label(name, value, wording) for name, value in rows))


def target_line(ticket: TicketView, wording: Wording) -> str:
    """The same on one line of a list: what has a name, or else what is no digest."""
    rows = _target_rows(ticket)
    named = [row for row in rows if row[0] in _NAMES_FIRST]
    named = named or [row for row in rows if not is_digest(row[1])] or rows
    if not named:
        return wording.name(ticket.target_summary.text)
    short = ((name, value[:NAME_CODE_POINTS]) for name, value in named[:_LINE_ROWS])
    labelled = (_label(name, value, wording) for name, value in short)
    return wording.name(" · ".join(f"{name} {value}" for name, value in labelled))


def policy_of(plan: Excerpt, wording: Wording) -> str:
    """The version of the policy that judged a plan, which its hash covers."""
    version = {} if plan.is_cut else read_map(plan.text)
    return wording.name(str(version.get("policy_version") or "—"))


def _target_rows(ticket: TicketView) -> list[tuple[str, str]]:
    plan = {} if ticket.plan.is_cut else read_map(ticket.plan.text)
    target = plan.get("target")
    if not isinstance(target, dict) or not target:
        return []
    return sorted(rows_of(target), key=_rank)


def _rank(row: tuple[str, str]) -> tuple[bool, int]:
    name, value = row
    place = _NAMES_FIRST.index(name) if name in _NAMES_FIRST else len(_NAMES_FIRST)
    return is_digest(value), place


def name_of_key(name: str, wording: Wording) -> str:
    """Each part of a dotted name in words; what has none keeps its own name."""
    parts = (KEYS.get(part) or _field_label(part, wording) for part in name.split("."))
    said = (part.say(wording.language) if part else "" for part in parts)
    return " · ".join(word or part for word, part in zip(said, name.split("."), strict=True))


def _field_label(key: str, wording: Wording) -> Text | None:
    """What the action that has such a field calls it."""
    actions = wording.actions
    return actions.field_label("target", key) or actions.field_label("effect", key)


def _value_word(key: str, value: str, wording: Wording) -> Text | None:
    """The word for a value that our own program writes into a field of this name."""
    if key == "action":
        spec = wording.actions.find(value)
        return spec.label if spec is not None else None
    if key == "scope":
        return _VALUES["scope"].get(value) or SCOPES.get(value)
    return _VALUES.get(key, {}).get(value) or wording.actions.words_of(key).get(value)


def _measure(name: str, value: str, wording: Wording) -> str:
    """A number of bytes or milliseconds in words, the number itself behind it."""
    if not value.isascii() or not value.isdigit():
        return value
    number = int(value)
    if name.endswith("_bytes"):
        return f"{wording.size(number)} ({value})" if number >= _KIB else value
    if name.endswith("_at_ms"):
        return f"{wording.moment(number).full} ({value})"
    return f"{wording.duration(number)} ({value})" if name.endswith("_ms") else value


def _label(name: str, value: str, wording: Wording) -> tuple[str, str]:
    """Key and value in words; a value's own form stays behind its word, for searches."""
    last = name.rpartition(".")[2]
    word = _value_word(last, value, wording)
    label = name_of_key(name, wording)
    if word is None:
        return label, _measure(last, value, wording)
    said = word.say(wording.language)
    return label, said if value in {said, *_PLAIN} else f"{said} ({value})"
