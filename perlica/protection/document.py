"""One text on its way through the scan: escape, scan, replace, scan again until nothing is found.

The entry calls it; the preview too, which also wants to know where the findings were.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from perlica.protection import placeholder, redaction
from perlica.protection.budget import (
    MAX_VALUE_BYTES,
    OVERLAP_BYTES,
    UNIT_BYTES,
    Budget,
    ScanIncomplete,
)
from perlica.protection.redaction import Span
from perlica.protection.rules import KINDS
from perlica.protection.scanning import scan
from perlica.protection.seal import Channel, Finding
from perlica.protection.sheet import Hit

_ROUNDS: Final = 4
_SURROUNDINGS: Final = 2048


@dataclass(frozen=True, slots=True)
class Document:
    """A redacted text and what was found in it."""

    text: str
    findings: tuple[Finding, ...]

    @classmethod
    def redacted(cls, text: str, channel: Channel) -> "Document":
        """Return `text` redacted.

        Raises:
            ScanIncomplete: a bound was hit, or something was still found after the last round.
            UnicodeEncodeError: the text holds lone surrogates.
        """
        del channel  # every door gets the same rules; the channel is for callers' own records
        clean = placeholder.escape_look_alikes(text, KINDS.__contains__)
        data = clean.encode()
        spans = find_spans(clean)
        if not spans:
            return cls(clean, ())
        found, numbering = redaction.findings(spans), placeholder.Numbering(clean)
        for _ in range(_ROUNDS):
            data, places = redaction.replace(data, spans, numbering), spans
            spans = _find_again(data, places)
            if not spans:
                result = data.decode()
                _hold_json(clean, result)
                return cls(result, found)
            found += redaction.findings(spans)
        raise ScanIncomplete("rescan")


def find_spans(text: str) -> tuple[Span, ...]:
    """Return what is to be replaced, in byte offsets of the UTF-8 text."""
    data = text.encode()
    if len(data) > MAX_VALUE_BYTES:
        raise ScanIncomplete("value size")
    hits: list[Hit] = []
    for offset, unit in _units(text, data):
        hits.extend(
            Hit(hit.start + offset, hit.end + offset, hit.kind, hit.rule, hit.rank)
            for hit in scan(unit, Budget.start())
        )
    return redaction.unite(hits, data)


def _units(text: str, data: bytes) -> Iterator[tuple[int, str]]:
    """Yield offset and text of each unit; neighbours overlap, so that no cut decides what is found."""
    if len(data) <= UNIT_BYTES + OVERLAP_BYTES:
        yield 0, text
        return
    start = 0
    while start < len(data):
        end = min(len(data), start + UNIT_BYTES)
        first = _line_start(data, max(0, start - OVERLAP_BYTES))
        last = len(data) if end >= len(data) else _line_end(data, end)
        yield first, data[first:last].decode()
        start = end


def _line_start(data: bytes, at: int) -> int:
    """Return the start of the line that `at` is in, or of its character where the line is long."""
    newline = data.rfind(b"\n", max(0, at - OVERLAP_BYTES), at)
    start = newline + 1 if newline >= 0 else at
    while 0 < start < len(data) and 0x80 <= data[start] < 0xC0:
        start -= 1
    return start


def _line_end(data: bytes, at: int) -> int:
    limit = min(len(data), at + OVERLAP_BYTES)
    newline = data.find(b"\n", at, limit)
    end = newline if newline >= 0 else limit
    while end < len(data) and 0x80 <= data[end] < 0xC0:
        end += 1
    return end


def _find_again(data: bytes, places: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return what is found in redacted `data`; of a long text only the surroundings of what changed."""
    del places
    return find_spans(data.decode())


def _hold_json(before: str, after: str) -> None:
    """A valid JSON text must stay valid."""
    if before[:1] not in {"{", "["} or not _is_json(before):
        return
    if not _is_json(after):
        raise ScanIncomplete("json")


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True
