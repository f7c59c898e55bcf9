"""HTTP headers: credentials behind an authorization scheme, and cookies.

Headers named like a key (`X-API-Key`, `PRIVATE-TOKEN`) are left to the key-value rule.
"""

import base64
import binascii
import re
from typing import Final

from perlica.protection.engine import LINE, NEAR, linear
from perlica.protection.sheet import Sheet
from perlica.protection.values import is_reference, is_stand_in, is_strong
from perlica.protection.vocabulary import Announces, understand
from perlica.protection.wording import is_dice

KINDS: Final = frozenset({"basic_auth", "bearer_token", "auth_header", "cookie", "session"})

_SCHEMED: Final = linear(
    r"(authorization|auth|x-[a-z\-]{2,30}-authorization|credentials?)(?:\\?[\"'`])?\]?\s{0,"
    r"3}(?:[:=,]|=>|\s)\s{0,3}(?:\\?[\"'`])?[fb]?[\"']?"
    r"([A-Za-z][A-Za-z0-9\-]{1,24})[ \t]{1,4}([A-Za-z0-9._~+/=\-:!@#$%^&*]{8,})",
    ignore_case=True,
    gates=("auth", "credential"),
    reach=NEAR,
)
_BASIC: Final = linear(
    r"\bbasic[ \t]{1,4}([A-Za-z0-9+/_\-]{8,}={0,2})", ignore_case=True, gates=("basic",), reach=NEAR
)
_BEARER: Final = linear(
    r"\bbearer(?:[ \t]{1,4}|%20|\+)([A-Za-z0-9._~+/=\-:|]{12,})",
    ignore_case=True,
    gates=("bearer",),
    reach=NEAR,
)
_BARE: Final = linear(
    r"(?:proxy-)?authorization(?:\\?[\"'`])?\]?\s{0,3}(?:[:=,]|=>)\s{0,3}(?:\\?[\"'`])"
    r"?([A-Za-z0-9._~+/=\-]{16,})",
    ignore_case=True,
    gates=("authorization",),
    reach=NEAR,
)
_SIGV4: Final = linear(
    r"(?:AWS4|TC3|SDK|OSS4|VOLC|TOS4|HMAC)[A-Z0-9\-]{0,20}[ ,][^\r\n]"
    r"*?Signature=\"?([0-9a-zA-Z+/=]{28,200})",
    gates=("Signature=",),
    reach=LINE,
)
_SIGNATURE_V2: Final = linear(
    r"\b(?:OSS|AWS|QBox|Qiniu|OBS|UCloud|COS|QINIU|UPYUN) [A-Za-z0-9_\-]{8,64}:([A-Za-z0-9+/=_\-]"
    r"{20,100})",
    gates=("OSS ", "AWS ", "QBox ", "Qiniu ", "OBS ", "UCloud ", "COS ", "QINIU ", "UPYUN "),
    reach=LINE,
)
_DIGEST: Final = linear(
    r"Digest [^\r\n]*?response=\"?([0-9a-fA-F]{32,128})", gates=("Digest ",), reach=LINE
)
_COOKIE: Final = linear(
    r"\b((?:set-)?cookie2?)(?:\\?[\"'`])?\]?\s{0,3}(?:[:=]|=>|,)\s{0,3}(?:\\?[\"'`])?([^\r\n\"'`]"
    r"{4,})",
    ignore_case=True,
    gates=("cookie",),
    reach=NEAR,
)
_COOKIE_FLAG: Final = linear(
    r"(?:^|\s)(?:-b|--cookie)[ =]{1,3}[\"']?([^\r\n\"']{4,})", gates=("-b", "--cookie"), reach=NEAR
)
_CRUMB: Final = re.compile(rb"([^\s=;,]{1,80})=([^;\s]{1,})")
_ATTRIBUTES: Final = frozenset(
    """
    path domain expires max-age samesite secure httponly priority version comment partitioned
    """.split()
)
_HARMLESS_COOKIES: Final = re.compile(
    r"(?:lang|locale|theme|_ga.*|_gid|_gat.*|hm_l.*|utm.*|__utm.*|cna|tz|timezone|region|country|"
    r"_fbp|_pk_.*|ajs_.*"
    r"|i18n.*|currency|view|layout|nav.*|sidebar.*|consent.*|cookie.*consent.*|gdpr.*|_hj.*|"
    r"amp.*|ab_.*|exp.*)$",
    re.IGNORECASE,
)
_WORD_SCHEMES: Final = frozenset(
    "the is was header headers failed required missing invalid error for not must should will "
    "code type flow server endpoint url and or with via using of in to by on scheme provider "
    "service".split()
)


def detect(sheet: Sheet) -> None:
    """Find credentials in headers."""
    _find_authorization(sheet)
    for match in sheet.matches(_BASIC):
        if decodes_to_pair(match.group(1)):
            sheet.add(*match.span(1), kind="basic_auth", rule="header.basic", rank=55)
    for match in sheet.matches(_BEARER):
        _add_opaque(sheet, *match.span(1), kind="bearer_token", rule="header.bearer")
    _find_cookies(sheet)


def _find_authorization(sheet: Sheet) -> None:
    for match in sheet.matches(_SCHEMED):
        scheme = match.group(2).decode("latin-1").lower()
        if scheme not in _WORD_SCHEMES:
            _add_opaque(sheet, *match.span(3), kind="auth_header", rule="header.authorization")
    for match in sheet.matches(_BARE):
        if is_dice(match.group(1).decode("latin-1")):
            _add_opaque(sheet, *match.span(1), kind="auth_header", rule="header.authorization")
    for pattern in (_SIGV4, _SIGNATURE_V2, _DIGEST):
        for match in sheet.matches(pattern):
            sheet.add(*match.span(1), kind="auth_header", rule="header.signature", rank=42)


def _add_opaque(sheet: Sheet, start: int, end: int, *, kind: str, rule: str) -> None:
    text = sheet.data[start:end].decode("latin-1").rstrip(".,:;")
    if is_stand_in(text) or is_reference(text, quoted=True):
        return
    if is_strong(text) or is_dice(text) or decodes_to_pair(text.encode("latin-1")):
        sheet.add(start, start + len(text), kind=kind, rule=rule, rank=42)


def decodes_to_pair(encoded: bytes) -> bool:
    """Return whether base64 `encoded` holds `name:password`."""
    body = encoded.rstrip(b"=").replace(b"-", b"+").replace(b"_", b"/")
    try:
        raw = base64.b64decode(body + b"=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    name, colon, password = raw.partition(b":")
    return bool(colon and password) and all(0x20 <= byte < 0x7F for byte in name + password)


def _find_cookies(sheet: Sheet) -> None:
    for match in sheet.matches(_COOKIE):
        sets = match.group(1).lower().startswith(b"set")
        _read_crumbs(sheet, *match.span(2), only_first=sets)
    for match in sheet.matches(_COOKIE_FLAG):
        _read_crumbs(sheet, *match.span(1), only_first=False)


def _read_crumbs(sheet: Sheet, start: int, end: int, *, only_first: bool) -> None:
    for crumb in _CRUMB.finditer(sheet.data[start:end]):
        name = crumb.group(1).decode("latin-1")
        if name.lower() in _ATTRIBUTES:
            continue
        value = crumb.group(2).decode("latin-1").rstrip("\\,")
        if _is_session(name, value):
            at = start + crumb.start(2)
            sheet.add(at, at + len(value), kind="cookie", rule="header.cookie", rank=41)
        if only_first:
            return


def _is_session(name: str, value: str) -> bool:
    if is_stand_in(value) or _HARMLESS_COOKIES.match(name) or len(value) < 8:
        return False
    if is_dice(value):
        return True
    return understand(name).announces >= Announces.MAYBE_SECRET and is_strong(value)
