"""Fields of a turn that its provider wants back unchanged: what they are, and how they are kept.

The OpenAI reader collects them, `session_events.opaque` keeps them over a restart, the next request
carries them at the same place. Nobody else reads them: no page, no message, no log.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from perlica.clients.model.thinking import write_opaque
from perlica.domain.plan import JsonValue


class Place(StrEnum):
    """Where in an assistant message the field stands."""

    call = "call"
    turn = "turn"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedField:
    """One field, and which provider wants it back."""

    place: Place
    name: str
    source: str


WANTED_BACK: Final[tuple[WantedField, ...]] = (
    WantedField(
        place=Place.call,
        name="extra_content",
        source="Gemini and Vertex, OpenAI interface: thought_signature; pi issue 6733",
    ),
    WantedField(
        place=Place.call,
        name="thought_signature",
        source="gateways over Gemini",
    ),
    WantedField(
        place=Place.call,
        name="provider_specific_fields",
        source="LiteLLM's proxy: thought_signature of Gemini",
    ),
    WantedField(
        place=Place.turn, name="extra_content", source="Gemini: the signature of a turn's text"
    ),
    WantedField(
        place=Place.turn,
        name="reasoning_details",
        source="OpenRouter: to be returned with tool results; MiniMax with reasoning_split",
    ),
    WantedField(
        place=Place.turn, name="thinking_blocks", source="LiteLLM's proxy: Claude's signed thinking"
    ),
)
_CALL_FIELDS: Final = tuple(row.name for row in WANTED_BACK if row.place is Place.call)
_TURN_FIELDS: Final = tuple(row.name for row in WANTED_BACK if row.place is Place.turn)
_TEXTS: Final = ("text", "summary", "thinking")
_Fields = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """The fields of one turn and, in their order, of each of its calls."""

    turn: Mapping[str, JsonValue] = field(default_factory=dict, repr=False)
    calls: tuple[Mapping[str, JsonValue], ...] = field(default=(), repr=False)


def collect_turn(kept: dict[str, object], message: _Fields) -> None:
    """Add to `kept` what `message`, a piece of a turn, holds of a turn's fields."""
    _collect(kept, message, _TURN_FIELDS)


def collect_call(kept: dict[str, object], piece: _Fields) -> None:
    """Add to `kept` what `piece` of a call holds of a call's fields."""
    _collect(kept, piece, _CALL_FIELDS)


def pack_returned(turn: _Fields, calls: Sequence[_Fields]) -> bytes | None:
    """The fields as bytes, None for none. Raises: as `write_opaque`."""
    if not turn and not any(calls):
        return None
    return write_opaque({"turn": turn, "calls": list(calls)})


def unpack_returned(opaque: bytes | None) -> Returned:
    """The fields again, equal to what was packed; none of bytes that another API's reader wrote."""
    value = json.loads(opaque) if opaque else {}
    if not isinstance(value, dict):
        return Returned()
    turn, calls = value.get("turn"), value.get("calls")
    return Returned(
        turn=turn if isinstance(turn, dict) else {},
        calls=tuple(one if isinstance(one, dict) else {} for one in calls)
        if isinstance(calls, list)
        else (),
    )


def _collect(kept: dict[str, object], piece: _Fields, names: Sequence[str]) -> None:
    for name in names:
        value = piece.get(name)
        if isinstance(value, list) and isinstance(known := kept.setdefault(name, []), list):
            for part in value:
                _join(known, part)
        elif value is not None and value not in ({}, ""):
            kept[name] = value


def _join(parts: list[object], part: object) -> None:
    """Append `part`, or lengthen the last one when the stream only goes on with it."""
    last = parts[-1] if parts else None
    if not (isinstance(last, dict) and isinstance(part, dict) and _goes_on(last, part)):
        parts.append(dict(part) if isinstance(part, dict) else part)
        return
    for name, value in part.items():
        before = last.get(name)
        if name in _TEXTS and isinstance(value, str) and isinstance(before, str):
            last[name] = before + value
        elif value is not None:
            last[name] = value


def _goes_on(last: Mapping[str, object], part: Mapping[str, object]) -> bool:
    same = all(last.get(name) == part.get(name) for name in ("type", "index"))
    is_text = any(isinstance(part.get(name), str) for name in (*_TEXTS, "signature"))
    return same and is_text and not last.get("signature") and not last.get("data")
