"""Protection of output that arrives in pieces: where a piece ends decides nothing.

Tool runners feed it what they read; the gateway takes the protected whole at the end. Output up
to the
hold is scanned in one go; of longer output the front is settled with enough text around every cut.
"""

import codecs
from typing import Final

from perlica.protection import document, placeholder, redaction
from perlica.protection.budget import OVERLAP_BYTES, ScanIncomplete
from perlica.protection.entry import protect
from perlica.protection.rules import is_kind
from perlica.protection.seal import Channel, Finding, Protected, ProtectionStatus, seal, withheld

HOLD_BYTES: Final = 1024 * 1024
MAX_BYTES: Final = 16 * 1024 * 1024
_PATIENCE: Final = 4


class OutputStream:
    """Collects output and protects it as a whole.

    Args:
        channel: the door that the output is about to pass.
        hold_bytes: how much raw output is held before its front is settled.
        max_bytes: input beyond this is dropped, and the text says so.
    """

    def __init__(
        self, channel: Channel, *, hold_bytes: int = HOLD_BYTES, max_bytes: int = MAX_BYTES
    ) -> None:
        """Start empty."""
        self._channel = channel
        self._hold_bytes = max(hold_bytes, 4 * OVERLAP_BYTES)
        self._max_bytes = max_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._context = b""
        self._pending = b""
        self._settled: list[bytes] = []
        self._findings: list[Finding] = []
        self._numbering = placeholder.Numbering("")
        self._taken_bytes = self._dropped_bytes = 0
        self._failed = False

    def feed(self, chunk: bytes) -> None:
        """Take the next piece of output; undecodable bytes become U+FFFD. Never raises."""
        room = self._max_bytes - self._taken_bytes
        kept = chunk[: max(0, room)]
        self._taken_bytes += len(kept)
        self._dropped_bytes += len(chunk) - len(kept)
        self._pending += self._decoder.decode(kept).encode()
        if len(self._pending) > self._hold_bytes and not self._failed:
            self._try_settling(final=False)

    def finish(self) -> Protected:
        """Return everything as one protected text; `scan_incomplete` when any part could not be
        scanned.
        """
        self._pending += self._decoder.decode(b"", final=True).encode()
        if not self._settled and not self._failed:
            return protect(self._pending.decode() + self._notice(), self._channel)
        self._try_settling(final=True)
        if self._failed:
            return withheld(ProtectionStatus.SCAN_INCOMPLETE)
        again = protect(b"".join(self._settled).decode() + self._notice(), self._channel)
        if not again.is_usable:
            return again
        return seal(again.content, (*self._findings, *again.findings))

    def _notice(self) -> str:
        dropped = self._dropped_bytes
        return f"\n…（输出过长，其后 {dropped} 字节未保留）" if dropped else ""

    def _try_settling(self, *, final: bool) -> None:
        try:
            self._settle(final=final)
        except Exception:  # noqa: BLE001 - part of the scan boundary: a failure leaves no text
            self._failed = True
            self._pending = self._context = b""
            self._settled.clear()

    def _settle(self, *, final: bool) -> None:
        """Redact the front of what is pending, up to a line end that no finding crosses."""
        text = placeholder.escape_look_alikes((self._context + self._pending).decode(), is_kind)
        data, begin = text.encode(), len(self._context)
        spans = document.find_spans(text)
        if any(span.start < begin < span.end for span in spans):
            raise ScanIncomplete("a finding crosses a settled cut")
        cut = len(data) if final else _last_cut(data, begin, spans)
        if cut is None:
            if len(data) > _PATIENCE * self._hold_bytes:
                raise ScanIncomplete("no place to cut")
            return
        inside = tuple(span for span in spans if begin <= span.start and span.end <= cut)
        moved = tuple(
            redaction.Span(span.start - begin, span.end - begin, span.kind, span.rule)
            for span in inside
        )
        redacted, _ = redaction.replace(data[begin:cut], moved, self._numbering)
        self._settled.append(redacted)
        self._findings.extend(redaction.findings(inside))
        self._context = _tail(data[:cut])
        self._pending = data[cut:]


def _last_cut(data: bytes, begin: int, spans: tuple[redaction.Span, ...]) -> int | None:
    """Return the last line end with an overlap behind it and no finding over or near it."""
    at = len(data) - OVERLAP_BYTES
    while True:
        newline = data.rfind(b"\n", begin, at)
        if newline < 0:
            return None
        cut = newline + 1
        near = [span for span in spans if span.start < cut < span.end]
        if not near:
            return cut
        at = min(span.start for span in near)


def _tail(data: bytes) -> bytes:
    """Return the last overlap of `data`, from a line start on where there is one."""
    start = max(0, len(data) - OVERLAP_BYTES)
    newline = data.find(b"\n", start)
    start = newline + 1 if 0 <= newline < len(data) - 1 else start
    while start < len(data) and 0x80 <= data[start] < 0xC0:
        start += 1
    return data[start:]
