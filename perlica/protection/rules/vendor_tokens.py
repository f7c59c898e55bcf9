"""Tokens of vendors that no table knows: a lower-case prefix, then a long stretch that nobody
chose by hand.

Many vendors mark their tokens so that scanners can find them; the rule reads the mark without the
list.
"""

import re
from typing import Final

from perlica.protection.engine import Match, linear
from perlica.protection.sheet import Sheet
from perlica.protection.values import FILE_ENDINGS, HEXADECIMAL, UUID
from perlica.protection.wording import class_count, is_dice

KINDS: Final = frozenset({"vendor_token", "client_secret"})

_MARKED: Final = linear(
    r"\b([A-Za-z][A-Za-z]{1,15}(?:[_\-][A-Za-z0-9]{1,10}){0,3}[_\-])([A-Za-z0-9][A-Za-z0-9_\-]"
    r"{21,}[A-Za-z0-9=]{1,3})"
)
_CLIENT_SECRET: Final = linear(
    r"\b[a-z]{2,8}_[A-Za-z0-9]{8,}_secret_[A-Za-z0-9]{12,}", gates=("_secret_",)
)
_TELLING: Final = re.compile(
    r"(?:^|[_\-])(?:[a-z]*keys?|tok|[a-z]*token|[a-z]*secret|sk|pat|api|live|prod|prd|test|auth|"
    r"access|bot|sec|cred|oauth|pass|sess|svc|refresh|admin|private)[_\-]",
    re.IGNORECASE,
)
_NO_SECRET: Final = frozenset(
    """
    sha sha1 sha256 sha384 sha512 md5 blake2b pk pub public phc cs pi cus ch evt in sub price
    req chatcmpl call msg resp file asst thread run step org proj user usr batch ft toolu
    msgbatch ami vpc subnet snap vol sg rtb eni igw arn img image index main chunk vendor bundle
    module style css js font icon page node pod job task build commit branch tag rev trace span
    request session cache etag object blob layer volume container network disk dev uuid guid id
    ids ref urn group channel team app bundle doc document folder album video photo media track
    track event order invoice payment customer product plan item cursor next prev after before
    data test_id testid class section figure table chapter
    """.split()
)
_BENIGN_NAME: Final = re.compile(
    rb"""(?:cursor|next|prev|page|etag|hash|digest|sha\d*|checksum|integrity|nonce|trace|span|request|version|revision|commit
    |ref|node|object|file|path|url|src|href|image|data|name|uid|uuid|guid|id|ids|slug|key_?id|fingerprint|h1|resource|tag)
    ["']?\s{0,2}[:=]\s{0,2}["']?$""",
    re.VERBOSE | re.IGNORECASE,
)
# Members of a JWK that are public: RFC 7517 and RFC 7518, section 6.
_PUBLIC_NUMBER: Final = re.compile(
    rb"(?:^|[\s{,\"'])(?:n|x|y|e|kid|x5t(?:\#S256)?)\\{0,3}[\"']?\s{0,2}[:=]?\s{0,2}\\{0,3}[\"']?$"
)
_EXTENSION: Final = re.compile(rb"\.(?:md|zip|mov|" + FILE_ENDINGS.encode() + rb")(?![A-Za-z0-9])")
_SHORTEST_MARKED: Final = 23
_SHORTEST: Final = 24
_SHORTEST_UNTOLD: Final = 32


def detect(sheet: Sheet) -> None:
    """Find tokens by a vendor's mark."""
    data = sheet.data
    for start, end in sheet.encoded_runs():
        if end - start < _SHORTEST_MARKED or not _has_mark(data[start:end]):
            continue
        for match in _MARKED.finditer(data, start, end + 3):
            if _is_token(data, match):
                sheet.add(*match.span(), kind="vendor_token", rule="vendor.mark", rank=18)
    if b"_secret_" in sheet.data:
        for match in sheet.matches(_CLIENT_SECRET):
            sheet.add(*match.span(), kind="client_secret", rule="vendor.client", rank=55)


def _has_mark(run: bytes) -> bool:
    return b"_" in run or b"-" in run


def _is_token(data: bytes, match: Match) -> bool:
    start, end = match.span()
    if start and data[start - 1] in b"/.+=@#$%&-_" and data[start - 1 : start] != b"=":
        return False
    mark = match.group(1).decode("latin-1")
    goes_on = data[end : end + 1] in {b"/", b".", b"@"} and data[end + 1 : end + 2].isalnum()
    if goes_on and not (_TELLING.search(mark) and _EXTENSION.match(data, end)):
        return False
    body = match.group(2).decode("latin-1").rstrip("=")
    if mark.split("_")[0].split("-")[0].lower() in _NO_SECRET or UUID.search(body):
        return False
    before, told = data[max(0, start - 24) : start], bool(_TELLING.search(mark))
    if _BENIGN_NAME.search(before):
        return False
    if not told and (_PUBLIC_NUMBER.search(before) or not _is_chosen(mark)):
        return False
    return _is_random(body, told=told)


def _is_chosen(mark: str) -> bool:
    """True for a mark that somebody chose: words in one case, and numbers; dice have both cases."""
    return not any(
        part[1:].lower() != part[1:] and not part.isupper() for part in re.split(r"[_\-]", mark)
    )


def _is_random(body: str, *, told: bool) -> bool:
    parts = [part for part in re.split(r"[_\-]", body) if part]
    longest = max(parts, key=len)
    if HEXADECIMAL.match(longest):
        return told and len(longest) >= _SHORTEST_UNTOLD
    if len(body) < (_SHORTEST if told else _SHORTEST_UNTOLD) or not is_dice("".join(parts)):
        return False
    if told:
        return len(longest) >= 12 or len(parts) <= 3 + len(body) // 16
    return class_count(body.replace("_", "").replace("-", "")) == 3 and is_dice(longest)
