"""Cleaning text that came from outside, and the fingerprint that finds our own text again.

Intake cleans before protection scans; the outbox and intake compare fingerprints.
"""

import hashlib
import re

from perlica.protection import Channel, protect_beginning

_MARGIN_CODE_POINTS = 16_384
_REPLACEMENT = "\ufffd"
_DIRTY = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
_LINE_END = re.compile(r"\r\n?")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SPACE = re.compile(r"\s+")


def clean_text(text: str) -> str:
    r"""The text with `\n` as line end, U+FFFD for lone surrogates, no control but `\n` and `\t`."""
    if not _DIRTY.search(text):
        return text
    return _CONTROL.sub("", _SURROGATE.sub(_REPLACEMENT, _LINE_END.sub("\n", text)))


def one_line(text: str, max_code_points: int) -> str:
    """The cleaned text on one line without square brackets, so that it cannot end a placeholder.

    What is longer is protected before it is cut, so that the cut hides no credential by half.
    """
    flat = _SPACE.sub(" ", clean_text(text)).translate({0x5B: None, 0x5D: None}).strip()
    if len(flat) <= max_code_points:
        return flat
    return protect_beginning(
        flat, max_code_points, Channel.MESSAGE, margin_code_points=_MARGIN_CODE_POINTS
    ).rstrip()


def hash_text(text: str) -> str:
    """SHA-256 (hex) of the text without white space.

    QQ trims messages and NapCat rewrites line ends, so white space cannot tell two texts apart.
    """
    return hashlib.sha256(_SPACE.sub("", clean_text(text)).encode()).hexdigest()
