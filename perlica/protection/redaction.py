"""From hits to redacted text: spans are united, numbered and replaced, then the result is scanned
again.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from perlica.protection.placeholder import Numbering
from perlica.protection.seal import Finding
from perlica.protection.sheet import Hit


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the text to be replaced, named by the most specific hit in it.

    `is_bare` marks a JSON value without quotes: its placeholder needs them.
    """

    start: int
    end: int
    kind: str
    rule: str
    is_bare: bool = False


def unite(hits: Iterable[Hit], data: bytes) -> tuple[Span, ...]:
    """Return the union of overlapping hits in order, each edge moved outward to a whole
    character.
    """
    return tuple(_united(sorted(hits, key=lambda hit: (hit.start, -hit.end)), data))


def _united(hits: Sequence[Hit], data: bytes) -> Iterator[Span]:
    start, end, best = 0, 0, None
    for hit in hits:
        if best is not None and hit.start < end:
            end = max(end, hit.end)
            if hit.rank > best.rank:
                best = hit
            continue
        if best is not None:
            yield _whole(start, end, best, data)
        start, end, best = hit.start, hit.end, hit
    if best is not None:
        yield _whole(start, end, best, data)


def _whole(start: int, end: int, hit: Hit, data: bytes) -> Span:
    while start > 0 and _continues(data, start):
        start -= 1
    while end < len(data) and _continues(data, end):
        end += 1
    return Span(start, end, hit.kind, hit.rule)


def _continues(data: bytes, at: int) -> bool:
    """True when `at` lies inside the UTF-8 bytes of one character."""
    return 0x80 <= data[at] < 0xC0


def replace(
    data: bytes, spans: Sequence[Span], numbering: Numbering
) -> tuple[bytes, tuple[tuple[int, int], ...]]:
    """Return `data` with each span replaced by a placeholder, and where these stand."""
    pieces: list[bytes] = []
    places: list[tuple[int, int]] = []
    at = length = 0
    for span in spans:
        before = data[at : span.start]
        placed = numbering.place(span.kind, data[span.start : span.end]).encode()
        if span.is_bare or _is_bare_value(data, span):
            placed = b'"' + placed + b'"'
        pieces.extend((before, placed))
        length += len(before) + len(placed)
        places.append((length - len(placed), length))
        at = span.end
    pieces.append(data[at:])
    return b"".join(pieces), tuple(places)


def _is_bare_value(data: bytes, span: Span) -> bool:
    """True for `"pin": 1234` in a line of JSON: the placeholder takes quotes, so that the line
    stays valid.
    """
    before = data[max(0, span.start - 4) : span.start].rstrip(b" ")
    after = data[span.end : span.end + 1]
    return before.endswith(b'":') and after in {b",", b"}", b"]"} and data[span.start] != ord('"')


def findings(spans: Iterable[Span]) -> tuple[Finding, ...]:
    """Return what may be told about the spans."""
    return tuple(Finding(kind=span.kind, rule=span.rule) for span in spans)
