"""The one entrance: text or JSON goes in, sealed text comes out.

Intake, gateway, runtime, outbox, logs and every client call this before anything leaves their
hands.
Any failure in here is `scan_incomplete`: no text, no reason that could hold some.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from perlica.protection import cut
from perlica.protection.document import Document
from perlica.protection.seal import (
    Channel,
    Protected,
    ProtectionStatus,
    seal,
    withheld,
)

JsonValue = bool | int | float | str | None | Sequence["JsonValue"] | Mapping[str, "JsonValue"]
"""A JSON value: text, number, true, false, null, or lists and string-keyed dicts of these."""

_LINE_WITHHELD: Final = "[log line withheld: content protection did not finish]"


def protect(value: JsonValue, channel: Channel) -> Protected:
    """Return `value` scanned and redacted for `channel`; a dict or list becomes compact JSON text.

    Never raises: what cannot be scanned to the end comes back as `scan_incomplete` without text.
    """
    try:
        text = value if isinstance(value, str) else _compact(value)
        document = Document.redacted(text, channel)
        return seal(document.text, document.findings)
    except Exception:  # noqa: BLE001 - the scan boundary: whatever went wrong, no text may pass
        return withheld(ProtectionStatus.SCAN_INCOMPLETE)


def protect_line(text: str) -> str:
    """Return a finished log line, redacted; a fixed text when it could not be scanned. Never
    raises.
    """
    protected = protect(text, Channel.LOG)
    return protected.content if protected.is_usable else _LINE_WITHHELD


def join(parts: Iterable[Protected], separator: str) -> Protected:
    """Return all parts as one text, scanned again as a whole: a secret in two halves is one secret.

    `separator` is plain text of the caller's. One part without text leaves a value without text.
    """
    joined = cut.join_contents(parts, separator)
    if isinstance(joined, Protected):
        return joined
    text, findings, count = joined
    again = protect(text, Channel.AUDIT)
    if not again.is_usable:
        return again
    return seal(again.content, (*findings, *again.findings), count=count + again.finding_count)


def _compact(value: JsonValue) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_plain
    )


def _plain(value: object) -> object:
    """Let frozen mappings and other sequences pass as what they stand for."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Sequence):
        return list(value)
    raise TypeError("not a JSON value")
