"""The matching engine: RE2 over bytes, so that no pattern takes more than linear time.

Every rule compiles its patterns here. Bytes are matched as Latin-1 on UTF-8 text: classes and
bounds are
ASCII, Chinese words stand as their bytes, and no offsets need translating.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import re2
from re2 import _re2

_PART: Final = re.compile(r"\\.|\[(?:\\.|[^\]\\])+\]|[^\x00-\x7f]|[\x00-\x7f]", re.DOTALL)
_FROM_HERE = _re2.RE2.Anchor.ANCHOR_START
_ANYWHERE = _re2.RE2.Anchor.UNANCHORED
_Spans = Sequence[tuple[int, int]]

Reach = tuple[int, int]
"""How many bytes before and behind its gate a match may begin and end; whole lines are added."""

LINE: Final[Reach] = (1, 1)
NEAR: Final[Reach] = (128, 256)
FAR: Final[Reach] = (512, 1024)
KEY: Final[Reach] = (512, 32 * 1024)


class Match:
    """One match: offsets and bytes of the whole (group 0) and of each group."""

    __slots__ = ("_spans", "_text")

    def __init__(self, text: bytes, spans: _Spans) -> None:
        """Keep what was searched, and where the groups are."""
        self._text = text
        self._spans = spans

    def start(self, group: int = 0) -> int:
        """Return the offset where the group begins, -1 when it took no part."""
        return self._spans[group][0]

    def end(self, group: int = 0) -> int:
        """Return the offset behind the group, -1 when it took no part."""
        return self._spans[group][1]

    def span(self, group: int = 0) -> tuple[int, int]:
        """Return both offsets."""
        return self._spans[group]

    def group(self, group: int = 0) -> bytes:
        """Return the bytes of the group, none when it took no part."""
        start, end = self._spans[group]
        return self._text[start:end] if start >= 0 else b""


class Pattern:
    """A compiled pattern over the compiled matcher of google-re2.

    The package's own wrapper spends more time on each match than the match itself takes.
    """

    __slots__ = ("_match", "gates", "groups", "ignore_case", "reach")

    def __init__(self, source: bytes, options: object) -> None:
        """Compile.

        Raises:
            re2.error: RE2 does not take the pattern.
        """
        compiled = _re2.RE2(source, options)
        if not compiled.ok():
            raise re2.error(compiled.error())
        self._match: Callable[[object, bytes, int, int], _Spans] = compiled.Match
        self.groups: int = compiled.NumberOfCapturingGroups()
        self.gates: frozenset[str] = frozenset()
        self.ignore_case = False
        self.reach = FAR

    def finditer(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Iterator[Match]:
        """Yield the matches from left to right."""
        end = len(text) if endpos is None else min(endpos, len(text))
        while pos <= end:
            spans = self._match(_ANYWHERE, text, pos, end)
            start, stop = spans[0]
            if start < 0:
                return
            yield Match(text, spans)
            pos = stop if stop > start else stop + 1

    def match(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """Match at `pos`."""
        return self._one(_FROM_HERE, text, pos, endpos)

    def search(self, text: bytes, pos: int = 0, endpos: int | None = None) -> Match | None:
        """Return the first match."""
        return self._one(_ANYWHERE, text, pos, endpos)

    def _one(self, anchor: object, text: bytes, pos: int, endpos: int | None) -> Match | None:
        end = len(text) if endpos is None else min(endpos, len(text))
        if pos > end:
            return None
        spans = self._match(anchor, text, pos, end)
        return Match(text, spans) if spans[0][0] >= 0 else None


class Gates:
    """Literal words, looked for all at once: the cheap question before an expensive pattern."""

    def __init__(self, *, ignore_case: bool) -> None:
        """Start without words; patterns bring theirs while the rules are imported."""
        self.ignore_case = ignore_case
        self._words: dict[str, None] = {}

    def register(self, words: Iterable[str]) -> None:
        """Add words, before the first question."""
        self._words.update(dict.fromkeys(words))

    def present(self, data: bytes) -> frozenset[str]:
        """Return the words that occur in `data`."""
        words, automaton, every = self._compiled
        found = automaton.Match(data)
        if found is not None:
            return frozenset(words[index] for index in found)
        # None: no word, or an automaton that outgrew its memory; then every word counts.
        return frozenset(words if every.search(data) else ())

    @cached_property
    def _compiled(self) -> "tuple[tuple[str, ...], re2.Set, Pattern]":
        options, words = _options(ignore_case=self.ignore_case), tuple(self._words)
        automaton = re2.Set.SearchSet(options)
        for word in words:
            automaton.Add(re2.escape(word.encode()))
        automaton.Compile()
        return words, automaton, Pattern(b"|".join(re2.escape(w.encode()) for w in words), options)


EXACT_GATES: Final = Gates(ignore_case=False)
ANY_CASE_GATES: Final = Gates(ignore_case=True)


def _options(*, ignore_case: bool) -> object:
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    options.log_errors = False
    options.case_sensitive = not ignore_case
    return options


_EXACT_CASE = _options(ignore_case=False)
_ANY_CASE = _options(ignore_case=True)


def linear(
    pattern: str, *, ignore_case: bool = False, gates: Iterable[str] = (), reach: Reach = FAR
) -> Pattern:
    """Compile `pattern`, written in characters, to match UTF-8 bytes.

    With `gates`, one of these words must be within `reach` of every match: the pattern is then run
    only on the lines around one. A negated class never reaches into a placeholder
    (`placeholder.FILLER`).

    Raises:
        re2.error: RE2 does not take the pattern (look-around, back reference, repetition over
            1,000).
    """
    source = _in_bytes(pattern).replace(b"[^", b"[^\\xff")
    compiled = Pattern(source, _ANY_CASE if ignore_case else _EXACT_CASE)
    words = (word.lower() for word in gates) if ignore_case else gates
    compiled.gates, compiled.ignore_case = frozenset(words), ignore_case
    compiled.reach = reach
    (ANY_CASE_GATES if ignore_case else EXACT_GATES).register(compiled.gates)
    return compiled


def unicode_linear(pattern: str) -> Pattern:
    """Compile `pattern` so that it reads UTF-8 bytes as characters: ranges beyond ASCII work."""
    options = re2.Options()
    options.log_errors = False
    return Pattern(pattern.encode(), options)


def _in_bytes(pattern: str) -> bytes:
    """Return the pattern with every character of several bytes as one group: `了?` means the whole
    of it.
    """
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
