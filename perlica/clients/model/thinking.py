"""Signed thinking blocks as opaque bytes: kept whole, replayed unchanged, read by the scan only.

Written by the Anthropic reader, stored in `session_events.opaque`, checked by
`perlica.session.transcript`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from perlica.clients.model.attempt_failure import AttemptFailure
from perlica.clients.model.drafts import read_count, read_list, read_map, write_json
from perlica.conversation import MAX_OPAQUE_BYTES
from perlica.domain.errors import Refused
from perlica.domain.nesting import is_too_deep


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """A block as the provider sent it, and how many text or tool blocks stood before it."""

    after: int
    block: dict[str, object] = field(repr=False)


def write_opaque(value: Mapping[str, object] | list[dict[str, object]]) -> bytes:
    """What a provider wants back, as bytes.

    Raises: Refused above `MAX_OPAQUE_BYTES`; AttemptFailure for what JSON has not, or what is
    nested so deep that whoever reads it later might not come to its end.
    """
    if is_too_deep(value):
        raise AttemptFailure("model_bad_stream", "the model's stream is nested too deep")
    packed = write_json(value).encode()
    if len(packed) > MAX_OPAQUE_BYTES:
        raise Refused("model_answer_too_large", "the model's thinking is too long to keep")
    return packed


def pack_thinking(blocks: Sequence[ThinkingBlock]) -> bytes | None:
    """The blocks as bytes, None for none. Raises: as `write_opaque`."""
    if not blocks:
        return None
    rows: list[dict[str, object]] = [
        {"after": block.after, "block": block.block} for block in blocks
    ]
    return write_opaque(rows)


def unpack_thinking(opaque: bytes | None) -> tuple[ThinkingBlock, ...]:
    """The blocks again, equal to what was packed."""
    rows = [read_map(row) for row in read_list(json.loads(opaque))] if opaque else []
    return tuple(
        ThinkingBlock(after=read_count(row.get("after")) or 0, block=read_map(row.get("block")))
        for row in rows
    )
