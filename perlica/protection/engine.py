"""The matching engine: RE2 over bytes, so that no pattern takes more than linear time.

Every rule compiles its patterns here. Bytes are matched as Latin-1 on UTF-8 text: classes and bounds are
ASCII, Chinese words stand as their bytes, and no offsets need translating.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, Protocol, cast

import re2


class Match(Protocol):
    """What rules use of a match."""

    def start(self, group: int = 0) -> int:
        """Return the offset where the group begins, -1 when it took no part."""

    def end(self, group: int = 0) -> int:
        """Return the offset behind the group, -1 when it took no part."""

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return both offsets."""

    def group(self, group: int = 0) -> bytes | None:
        """Return the bytes of the group."""


class Pattern(Protocol):
    """What rules use of a compiled pattern."""

    def finditer(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> Iterator[Match]:
        """Yield the matches from left to right."""

    def match(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> Match | None:
        """Match at `pos`."""

    def search(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> Match | None:
        """Return the first match."""

    def fullmatch(
        self, text: bytes, pos: int | None = None, endpos: int | None = None
    ) -> Match | None:
        """Match from `pos` to the end."""


_PART: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|[^\x00-\x7f]|[\x00-\x7f]", re.DOTALL)


def _options(*, ignore_case: bool) -> Any:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options


_EXACT_CASE = _options(ignore_case=False)
_ANY_CASE = _options(ignore_case=True)


def linear(pattern: str, *, ignore_case: bool = False) -> Pattern:
    """Compile `pattern`, written in characters, to match UTF-8 bytes.

    A negated class never reaches into a placeholder (see `placeholder.FILLER`).

    Raises:
        re2.error: RE2 does not take the pattern (look-around, back reference, repetition over 1,000).
    """
    source = _in_bytes(pattern).replace(b"[^", b"[^\\xff")
    return cast(Pattern, re2.compile(source, _ANY_CASE if ignore_case else _EXACT_CASE))


def _in_bytes(pattern: str) -> bytes:
    """Return the pattern with every character of several bytes as one group: `了?` means the whole of it."""
    if pattern.isascii():
        return pattern.encode()
    return "".join(_grouped(part) for part in _PART.findall(pattern)).encode()


def _grouped(part: str) -> str:
    if part.isascii():
        return part
    if part[0] != "[":
        return f"(?:{part})"
    plain = "".join(char for char in part[1:-1] if char.isascii())
    others = [char for char in part[1:-1] if not char.isascii()]
    return "(?:" + "|".join([f"[{plain}]", *others] if plain else others) + ")"


def is_linear(pattern: str) -> bool:
    """Return whether RE2 takes the pattern."""
    try:
        linear(pattern)
    except re2.error:
        return False
    return True
