"""Which lines of a Markdown text are code, by CommonMark: fences and indented blocks.

Pure; used by `perlica.tasks.sanitising`. markdown-it-py reads the blocks; what stands in a line is
not its matter here.
"""

import re
from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

_READER: Final = MarkdownIt("commonmark").enable("table").disable("inline")
_FENCE: Final = re.compile(r"(?:```+|~~~+)[^\n]*$")
_MARKUP: Final = frozenset({"fence", "code_block", "html_block"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """Whole lines that follow each other, all code or none of it; the fences are left out."""

    text: str = field(repr=False)
    is_code: bool


def split_code(text: str) -> tuple[Piece, ...]:
    """The text in pieces, in order; joined by line ends they are all of it but for the fences."""
    lines = text.split("\n")
    kinds: list[bool | None] = [False] * len(lines)
    for token in _READER.parse(text):
        if token.type in _MARKUP and token.map is not None:
            _mark(token, lines, kinds)
    kept = [(kind, line) for line, kind in zip(lines, kinds, strict=True) if kind is not None]
    return tuple(
        Piece(text="\n".join(line for _, line in together), is_code=kind)
        for kind, together in groupby(kept, key=itemgetter(0))
    )


def _mark(token: Token, lines: list[str], kinds: list[bool | None]) -> None:
    """Say of a block's lines that they are code, and of its fences that they are nothing."""
    first, after = token.map or (0, 0)
    after = min(after, len(lines))
    kinds[first:after] = [True] * (after - first)
    if token.type != "fence":
        return
    inside = token.content.removesuffix("\n").count("\n") + 1 if token.content else 0
    is_closed = inside < after - first - 1
    for position in (first, *([after - 1] if is_closed else [])):
        before = _FENCE.sub("", lines[position]).rstrip()
        lines[position], kinds[position] = before, False if before.strip(" \t>") else None
