"""Signed thinking blocks as opaque bytes: kept whole, replayed unchanged, readable for the scan
only.

Written by the Anthropic reader, stored in `session_events.opaque`, checked by
`perlica.session.transcript`.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.clients.model.drafts import read_count, read_list, read_map, read_text, write_json
from perlica.domain.errors import Refused

MAX_OPAQUE_BYTES: Final = 1_048_576
"""The bound of the column `session_events.opaque`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingBlock:
    """A block as the provider sent it, and how many text or tool blocks stood before it."""

    after: int
    block: dict[str, object] = field(repr=False)


def pack_thinking(blocks: Sequence[ThinkingBlock]) -> bytes | None:
    """The blocks as bytes, None for none. Raises: Refused above `MAX_OPAQUE_BYTES`."""
    if not blocks:
        return None
    rows = [{"after": block.after, "block": block.block} for block in blocks]
    packed = write_json(rows).encode()
    if len(packed) > MAX_OPAQUE_BYTES:
        raise Refused("model_answer_too_large", "the model's thinking is too long to keep")
    return packed


def unpack_thinking(opaque: bytes | None) -> tuple[ThinkingBlock, ...]:
    """The blocks again, equal to what was packed."""
    rows = [read_map(row) for row in read_list(json.loads(opaque))] if opaque else []
    return tuple(
        ThinkingBlock(after=read_count(row.get("after")) or 0, block=read_map(row.get("block")))
        for row in rows
    )


def read_thinking(opaque: bytes | None) -> tuple[str, ...]:
    """The readable thinking inside: what a scan must look at. Signatures and ciphertext are left
    out.
    """
    blocks = (block.block for block in unpack_thinking(opaque))
    return tuple(read_text(block.get("thinking")) for block in blocks if "thinking" in block)
