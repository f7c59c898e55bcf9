"""Private keys in armour: PEM, OpenSSH, SSH2, PGP, PuTTY, OpenVPN; whole, cut off at either end,
or on one line.

A key pasted in pieces is still a key: lines of its body go with whichever end is there.
"""

import re
from typing import Final

from perlica.protection.engine import KEY, LINE, linear
from perlica.protection.sheet import Sheet

KINDS: Final = frozenset({"private_key"})

_LABEL: Final = (
    r"(?:[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?|OpenVPN (?:Static key V1|tls-crypt-v2 (?:client|"
    r"server) key)"
    r"|SSH2 [A-Z ]{0,20}PRIVATE KEY|XRPL? [A-Z ]{0,20}KEY|AGE ENCRYPTED FILE KEY)"
)
_LABELS: Final = ("PRIVATE KEY", "OpenVPN ", "BEGIN XRP", "END XRP", "AGE ENCRYPTED")
_BEGIN: Final = linear(rf"-{{3,5}} ?BEGIN {_LABEL} ?-{{3,5}}", gates=_LABELS, reach=LINE)
_END: Final = linear(rf"-{{3,5}} ?END {_LABEL} ?-{{3,5}}", gates=_LABELS, reach=LINE)
_LITERAL_BREAKS: Final = re.compile(rb"(?:\\{1,4}[nr])*")
_LONGEST_KEY: Final = 32 * 1024
_LONGEST_BODY_LINES: Final = 400
_SHORTEST_BODY: Final = 24
_BASE64: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
_BODY_LINE: Final = re.compile(
    rb"""^[ \t]*(?:[>|+#*/\d:.\-]{0,8}[ \t]+|["'`>]|\d{1,4}[:|])?[ \t]*["']?
    (?:[A-Za-z0-9+/=]{20,100}|[A-Za-z0-9+/]{1,100}={0,2}|=[A-Za-z0-9+/]{4}
    |(?:Proc-Type|DEK-Info|Version|Comment|Charset|Hash|X-[\w-]+|Subject|MessageID):[ ].*|)
    (?:\\n|\\r)*["']?[ \t]*[+,;\\]?[ \t]*\r?$""",
    re.VERBOSE,
)
_ONE_LINE_BODY: Final = linear(
    r"(?:[A-Za-z0-9+/=]{1,100}|\\[nr]|%0[AaDd]|%2[BbFf]|%3[Dd]|&#\d+;| )+"
)
_DER_START: Final = linear(
    r"(?:MII[A-Za-z0-9+/]{3}(?:IBAAKC|IBADANBgkqhkiG9w0BAQ|BgkqhkiG9w0BBQ)|MII[A-Za-z0-9+/]"
    r"IBAAJB|MI[A-Za-z0-9+/]{2}AgEAMB[AM]GByqGSM49"
    r"|MH[cQ]CAQEE|MIG[kH]AgEBBD|MC4CAQAwBQYDK2V|MFECAQEwBQYDK2V|b3BlbnNzaC1rZXktdjE|MIIE[a-z]"
    r"gIBAA|MIIJ[A-Z][a-z]*IBAA)"
    r"[A-Za-z0-9+/=\r\n]{20,}",
    gates=("MII", "MIG", "MHcCAQEE", "MHQCAQEE", "MC4CAQAw", "MFECAQEw", "b3BlbnNz"),
    reach=KEY,
)
_PUTTY: Final = linear(
    r"Private-Lines: *\d{1,3}\r?\n((?:[> \t]{0,6}[A-Za-z0-9+/=]{4,100}\r?\n?)+)",
    gates=("Private-Lines:",),
    reach=KEY,
)
_XML_RSA: Final = linear(
    r"<(?:D|P|Q|DP|DQ|InverseQ)>([A-Za-z0-9+/=\s]{20,})</",
    gates=("<D>", "<P>", "<Q>", "<DP>", "<DQ>", "<InverseQ>"),
    reach=KEY,
)
_JWK: Final = linear(
    r"(?:^|[\s{,\"'])(?:d|p|q|dp|dq|qi|k)[\"']?\s{0,3}[:=]\s{0,3}[\"']?([A-Za-z0-9_\-]{20,})"
)


def detect(sheet: Sheet) -> None:
    """Find private keys."""
    data = sheet.data
    if b"PRIVATE KEY" in data or b"OpenVPN" in data:
        _find_armoured(sheet)
    for match in sheet.matches(_DER_START):
        if not _is_inside_certificate(data, match.start()):
            _add(sheet, match.start(), match.end(), "private_key.der")
    if b"Private-Lines:" in data:
        for match in sheet.matches(_PUTTY):
            _add(sheet, *match.span(1), "private_key.putty")
    if b"<InverseQ>" in data or b"<D>" in data:
        for match in sheet.matches(_XML_RSA):
            _add(sheet, *match.span(1), "private_key.xml")
    if b"kty" in data:
        for match in sheet.matches(_JWK):
            _add(sheet, *match.span(1), "private_key.jwk")


def _find_armoured(sheet: Sheet) -> None:
    data = sheet.data
    begins = [match.span() for match in sheet.matches(_BEGIN)]
    ends = [match.span() for match in sheet.matches(_END)]
    taken = -1
    for index, (start, head_end) in enumerate(begins):
        sheet.budget.spend(1)
        limit = begins[index + 1][0] if index + 1 < len(begins) else len(data)
        limit = min(limit, head_end + _LONGEST_KEY)
        while taken + 1 < len(ends) and ends[taken + 1][0] < head_end:
            taken += 1
            _find_tail(sheet, ends[taken][0], begins[index - 1][1] if index else 0, ends[taken][1])
        if taken + 1 < len(ends) and ends[taken + 1][0] < limit:
            taken += 1
            stop = _behind_breaks(data, ends[taken][1])
            if _has_body(data[head_end : ends[taken][0]]):
                _add(sheet, start, stop, "private_key.armour")
            continue
        stop = _body_end(data, head_end, limit)
        if _has_body(data[head_end:stop]):
            _add(sheet, start, stop, "private_key.cut")
    floor = begins[-1][1] if begins else 0
    for end_start, end_stop in ends[taken + 1 :]:
        _find_tail(sheet, end_start, floor, end_stop)
        floor = end_stop


def _find_tail(sheet: Sheet, end_start: int, floor: int, stop: int) -> None:
    """The last lines of a key whose beginning is missing."""
    data = sheet.data
    start = end_start
    for _ in range(_LONGEST_BODY_LINES):
        previous = data.rfind(b"\n", floor, max(floor, start - 1))
        begin = previous + 1 if previous >= 0 else floor
        line = data[begin : start - 1]
        if start <= floor or not _BODY_LINE.match(line) or not line.strip():
            break
        start = begin
    if start < end_start and _has_body(data[start:end_start]):
        _add(sheet, start, stop, "private_key.tail")


def _body_end(data: bytes, at: int, limit: int) -> int:
    """Return where the body of a key without an END line stops."""
    one_line = _ONE_LINE_BODY.match(data, at, limit)
    end = one_line.end() if one_line else at
    position = data.find(b"\n", end, limit)
    if position < 0:
        return end
    for _ in range(_LONGEST_BODY_LINES):
        next_line = data.find(b"\n", position + 1, limit)
        stop = next_line if next_line >= 0 else limit
        line = data[position + 1 : stop]
        if not _BODY_LINE.match(line):
            break
        if line.strip(b" \t\r>|"):
            end = stop
        if next_line < 0:
            break
        position = next_line
    return end


def _behind_breaks(data: bytes, at: int) -> int:
    r"""Return the place behind literal `\\n` that belong to the key, as JSON has them."""
    breaks = _LITERAL_BREAKS.match(data, at)
    return breaks.end() if breaks else at


def _has_body(body: bytes) -> bool:
    """True when there is key material, not an ellipsis."""
    if b"..." in body and len(body) < 120:
        return False
    material = sum(1 for byte in body[:4000] if byte in _BASE64)
    return material >= _SHORTEST_BODY and len(set(body[:4000])) > 12


def _is_inside_certificate(data: bytes, at: int) -> bool:
    begin = data.rfind(b"-----BEGIN ", max(0, at - 4096), at)
    return (
        begin >= 0
        and data.startswith((b"-----BEGIN CERT", b"-----BEGIN PUBL"), begin)
        and data.find(b"-----END", begin, at) < 0
    )


def _add(sheet: Sheet, start: int, end: int, rule: str) -> None:
    while end > start and sheet.data[end - 1] in b"\r\n \t":
        end -= 1
    sheet.add(start, end, kind="private_key", rule=rule, rank=90)
