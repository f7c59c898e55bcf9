"""One text on its way through the scan: escape, scan, replace, scan again until nothing is found.

The entry calls it; the preview too, which also wants to know where the findings were.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from perlica.protection import armour, json_text, placeholder, redaction
from perlica.protection.budget import (
    MAX_VALUE_BYTES,
    MOST_STEPS_OF_A_MESSAGE,
    OVERLAP_BYTES,
    UNIT_BYTES,
    Budget,
    ScanIncomplete,
)
from perlica.protection.edits import Edit, compose
from perlica.protection.placeholder import Numbering, blank
from perlica.protection.redaction import Span
from perlica.protection.rules import is_kind
from perlica.protection.scanning import scan
from perlica.protection.seal import Channel, Finding
from perlica.protection.sheet import Hit
from perlica.protection.view import View, ViewBuilder

_ROUNDS: Final = 4
_SURROUNDINGS: Final = 256
_SCANNED_AGAIN_BYTES: Final = 1024


@dataclass(frozen=True, slots=True)
class Document:
    """A redacted text, what was found in it, and which stretch of the text became which."""

    text: str
    findings: tuple[Finding, ...]
    edits: tuple[Edit, ...] = ()

    @classmethod
    def redacted(
        cls,
        text: str,
        channel: Channel,
        *,
        numbering: Numbering | None = None,
        open_until: int = 0,
    ) -> "Document":
        """Return `text` redacted.

        With `numbering` it shares its numbers with other texts. `open_until` > 0 says that the
        text was cut at its beginning and is shown from that byte on: what it may have begun in the
        middle of counts as found.

        Raises:
            ScanIncomplete: a bound was hit, or something was still found after the last round.
            UnicodeEncodeError: the text holds lone surrogates.
        """
        most_steps = MOST_STEPS_OF_A_MESSAGE if channel is Channel.MESSAGE else None
        clean = placeholder.escape_look_alikes(text, is_kind)
        data = clean.encode()
        as_json = json_text.is_json(clean)
        spans = find_spans(clean, as_json=as_json, most_steps=most_steps, open_until=open_until)
        if not spans:
            return cls(clean, ())
        found, numbering = redaction.findings(spans), numbering or Numbering(clean)
        edits: tuple[Edit, ...] = ()
        for _ in range(_ROUNDS):
            data, places = redaction.replace(data, spans, numbering)
            edits = compose(edits, spans, places)
            spans = _find_again(data, places, as_json=as_json)
            if not spans:
                result = data.decode()
                if as_json and not json_text.is_json(result):
                    raise ScanIncomplete("json")
                return cls(result, found, edits)
            found += redaction.findings(spans)
        raise ScanIncomplete("rescan")


def find_spans(
    text: str, *, as_json: bool = False, most_steps: int | None = None, open_until: int = 0
) -> tuple[Span, ...]:
    """Return what is to be replaced, in byte offsets of the UTF-8 text.

    Every door gets the same rules; `most_steps` bounds the work on each unit more tightly;
    `open_until`: see `Document.redacted`.

    Raises: ScanIncomplete when the scan cannot come to its end.
    """
    data = text.encode()
    if len(data) > MAX_VALUE_BYTES:
        raise ScanIncomplete("value size")
    hits = _hits_in(data, _units(data), most_steps)
    hits.extend(armour.find_long_keys(data))
    if open_until:
        hits.extend(armour.find_open_edge(data, open_until))
    if as_json:
        hits.extend(json_text.find_hits(blank(data), Budget.start(len(data))))
        return json_text.fit(redaction.unite(hits, data), data)
    return redaction.unite(hits, data)


def _hits_in(
    data: bytes, stretches: Iterable[tuple[int, int]], most_steps: int | None
) -> list[Hit]:
    return [
        hit.moved(start)
        for start, end in stretches
        for hit in scan(data[start:end], Budget.start(end - start, most_steps=most_steps))
    ]


def _units(data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the stretches to scan; neighbours overlap, so that no cut decides what is found."""
    if len(data) <= UNIT_BYTES + OVERLAP_BYTES:
        yield 0, len(data)
        return
    start = 0
    while start < len(data):
        end = min(len(data), start + UNIT_BYTES)
        first = _line_start(data, max(0, start - OVERLAP_BYTES))
        yield first, len(data) if end >= len(data) else _line_end(data, end)
        start = end


def _line_start(data: bytes, at: int) -> int:
    """Return the start of the line that `at` is in, or of its character where the line is long."""
    newline = data.rfind(b"\n", max(0, at - OVERLAP_BYTES), at)
    start = newline + 1 if newline >= 0 else at
    while 0 < start < len(data) and 0x80 <= data[start] < 0xC0:
        start -= 1
    return start


def _line_end(data: bytes, at: int) -> int:
    """Return the end of the line that `at` is in, or of its character where the line is long."""
    limit = min(len(data), at + OVERLAP_BYTES)
    newline = data.find(b"\n", at, limit)
    end = newline + 1 if newline >= 0 else limit
    while end < len(data) and 0x80 <= data[end] < 0xC0:
        end += 1
    return end


def _find_again(
    data: bytes, places: Sequence[tuple[int, int]], *, as_json: bool
) -> tuple[Span, ...]:
    """Return what is found in redacted `data`; of a long text only the surroundings of what
    changed.
    """
    if len(data) <= _SCANNED_AGAIN_BYTES:
        return find_spans(data.decode(), as_json=as_json)
    hits = [hit for view in _windows(data, places) for hit in _hits_in_view(view)]
    spans = redaction.unite(hits, data)
    return json_text.fit(spans, data) if as_json else spans


def _hits_in_view(view: View) -> Iterator[Hit]:
    for hit in scan(view.data, Budget.start(len(view.data))):
        start, end = view.to_base(hit.start, hit.end)
        yield replace(hit, start=start, end=end)


def _windows(data: bytes, places: Sequence[tuple[int, int]]) -> Iterator[View]:
    """Yield views that hold the surroundings of the placeholders, many to a view."""
    builder = ViewBuilder()
    for start, end in _surroundings(data, places):
        builder.separate(start)
        builder.copy(data, start, end)
        if builder.length > UNIT_BYTES:
            yield builder.build()
            builder = ViewBuilder()
    if builder.length:
        yield builder.build()


def _surroundings(data: bytes, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    start = end = 0
    for first, last in places:
        if first - _SURROUNDINGS > end or last - start > UNIT_BYTES:
            if end > start:
                yield start, end
            start = _line_start(data, max(0, first - _SURROUNDINGS))
        end = _line_end(data, min(len(data), last + _SURROUNDINGS))
    if end > start:
        yield start, end
