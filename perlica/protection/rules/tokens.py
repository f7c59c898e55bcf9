"""Self-identifying tokens: one pass finds the prefixes, an anchored pattern reads each token to
its end.

Also the shapes without a prefix that are still unmistakable, such as a JWT.
"""

import re
from dataclasses import dataclass
from typing import Final

from perlica.protection.engine import Gates, Match, Pattern, linear
from perlica.protection.rules.token_table import TABLES
from perlica.protection.sheet import Sheet
from perlica.protection.wording import is_dice

_ALPHABETS: Final = {
    "a": r"[A-Za-z0-9]",
    "u": r"[A-Za-z0-9_\-]",
    "d": r"[A-Za-z0-9._\-]",
    "b": r"[A-Za-z0-9+/=_\-]",
    "h": r"[0-9a-fA-F]",
    "U": r"[A-Z0-9]",
    "l": r"[a-z0-9]",
}
_SHORT_PREFIX: Final = 4
_LONGEST_JUDGED: Final = 512
_FILLER: Final = re.compile(
    rb"[xX]{6,}|(?:EXAMPLE|example|your|YOUR|placeholder)|\.\.\.|0{12,}|\*{3}"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One row of the table, compiled. `usual` is the usual whole length, 0 when it varies."""

    kind: str
    prefix: bytes
    pattern: Pattern
    usual: int
    guard: str


def _rows() -> dict[bytes, tuple[Token, ...]]:
    rows: dict[bytes, tuple[Token, ...]] = {}
    for line in "".join(TABLES).split("\n"):
        if not line:
            continue
        kind, prefixes, alphabet, least, usual, guard = line.split()
        for prefix in prefixes.split(","):
            body = f"{re.escape(prefix)}{_ALPHABETS[alphabet]}{{{least},}}"
            whole = int(usual) and len(prefix) + int(usual)
            row = Token(kind, prefix.encode(), linear(body), whole, guard)
            rows[row.prefix] = (*rows.get(row.prefix, ()), row)
    return rows


_TOKENS: Final = _rows()
_PREFIXES: Final = linear("|".join(re.escape(p.decode()) for p in sorted(_TOKENS, reverse=True)))

_SHAPES: Final = (
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){1,3}"),
    ("telegram_token", ":A", r"\b\d{8,10}:A[A-Za-z0-9_\-]{34}"),
    ("zhipu_key", ".", r"\b[0-9a-f]{32}\.[A-Za-z0-9]{16}"),
    (
        "discord_token",
        ".",
        r"\b[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,45}",
    ),
    ("serverchan_key", "SCT", r"\bSCT\d{3,8}T[A-Za-z0-9]{20,}"),
    ("mailchimp_key", "-us", r"\b[0-9a-f]{32}-us\d{1,2}"),
    ("azure_secret", "Q~", r"[A-Za-z0-9_~.\-]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}"),
    ("terraform_token", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{40,}"),
    ("azure_devops_token", "AZDO", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("airtable_token", "pat", r"\bpat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("baidu_key", "bce-v3/", r"bce-v3/[A-Za-z0-9\-]{10,}/[0-9a-f]{40}"),
    ("google_fcm_key", "AAAA", r"\bAAAA[A-Za-z0-9_\-]{7}:[A-Za-z0-9_\-]{100,}"),
    (
        "braintree_token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    ("nats_seed", "S", r"\bS[UAOCNX][A-Z2-7]{56}\b"),
    ("onepassword_key", "A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4}"),
    ("fly_token", "FlyV1 ", r"FlyV1 [A-Za-z0-9_+/=,\-]{40,}"),
    ("k3s_token", "K10", r"K10[0-9a-f]{64}::[a-z]+:[0-9a-f]{32}"),
    ("asana_token", ":", r"\b[012]/\d{13,17}(?:/\d{13,17})?:[0-9a-f]{32}"),
    ("ghost_key", ":", r"\b[0-9a-f]{24}:[0-9a-f]{64}"),
    ("clickup_token", "pk_", r"pk_\d{6,10}_[A-Z0-9]{32}"),
    ("proxmox_token", "PVEAPIToken=", r"PVEAPIToken=[^\s=]+=[0-9a-f\-]{36}"),
    (
        "postgres_scram",
        "SCRAM-SHA",
        r"SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=]{16,}\$[A-Za-z0-9+/=:]{40,}",
    ),
    ("password_hash", "$2", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,53}"),
    ("password_hash", "$", r"\$(?:apr1|1|5|6|7|y|gy|sha1)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{8,}"),
    (
        "password_hash",
        "$",
        r"\$(?:argon2(?:id|i|d)?|scrypt|pbkdf2(?:-sha\d+)?)\$[./A-Za-z0-9$=,+\-]{30,}",
    ),
    ("password_hash", "pbkdf2", r"pbkdf2(?:_sha\d+|:sha\d+)?[$:][./A-Za-z0-9$:=,+\-]{40,}"),
    (
        "password_hash",
        "rypt",
        r"s?bcrypt(?:_sha\d+)?\$[./A-Za-z0-9$:=,+\-]{40,}|scrypt:\d+:[./A-Za-z0-9$:=,+\-]{40,}",
    ),
    (
        "password_hash",
        "}",
        r"\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[A-Z0-9\-]*)\}[A-Za-z0-9+/=$.]{16,}",
    ),
    ("password_hash", "*", r"\*[0-9A-F]{40}\b"),
)
_SHAPED: Final = tuple((kind, gate, linear(pattern)) for kind, gate, pattern in _SHAPES)
_GATES: Final = Gates(gate for _, gate, _ in _SHAPES)
_LONGEST_TOKEN: Final = 16 * 1024
_WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_GLUE: Final = frozenset(b"-_./+")
KINDS: Final = frozenset(row.kind for rows in _TOKENS.values() for row in rows) | {
    kind for kind, _, _ in _SHAPES
}


def detect(sheet: Sheet) -> None:
    """Find prefixed tokens and unmistakable shapes."""
    data = sheet.data
    behind = 0
    for match in sheet.matches(_PREFIXES):
        start = match.start()
        if start >= behind and (start == 0 or data[start - 1] not in _WORD):
            behind = _read_token(sheet, start, match.group())
    present = _GATES.present(data)
    for kind, gate, pattern in _SHAPED:
        if gate in present:
            for match in sheet.matches(pattern):
                if match.start() == 0 or data[match.start() - 1] not in _WORD:
                    _read_shape(sheet, match, kind)


def _read_token(sheet: Sheet, start: int, prefix: bytes) -> int:
    """Read the token at `start`; return where the next one may begin."""
    behind = start
    for row in _TOKENS[prefix]:
        found = row.pattern.match(sheet.data, start, start + _LONGEST_TOKEN)
        if found is None:
            continue
        if _is_token(sheet.data, row, start, found.end()):
            end = start + len(sheet.data[start : found.end()].rstrip(b"."))
            sheet.add(start, end, kind=row.kind, rule=f"token.{row.kind}", rank=60)
            return end
        if found.end() - start > _LONGEST_JUDGED:
            behind = found.end()
    return behind


def _is_token(data: bytes, row: Token, start: int, end: int) -> bool:
    body = data[start + len(row.prefix) : end]
    if _FILLER.search(body) or len(set(body)) < 3:
        return False
    if row.guard == "-" and len(row.prefix) >= _SHORT_PREFIX:
        return True
    if start and data[start - 1] in _GLUE:
        return False
    return _passes_guard(row, body.decode("latin-1"))


def _passes_guard(row: Token, body: str) -> bool:
    if row.guard == "-":
        return True
    if row.guard == "uuid":
        return bool(re.fullmatch(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", body))
    if row.usual and len(body) + len(row.prefix) != row.usual:
        return False
    return is_dice(body) or _has_dice_part(body)


def _has_dice_part(body: str) -> bool:
    return any(is_dice(part) for part in re.split(r"[-_.]", body))


def _read_shape(sheet: Sheet, match: Match, kind: str) -> None:
    start, end = match.span()
    data = sheet.data
    text = data[start:end].rstrip(b".")
    if _FILLER.search(text):
        return
    end = start + len(text)
    while end < len(data) and data[end] in _WORD:
        end += 1
    sheet.add(start, end, kind=kind, rule=f"shape.{kind}", rank=70)


def begins(run: bytes) -> bool:
    """Return whether `run` begins like a token (asked before lines are joined)."""
    return _PREFIXES.match(run) is not None


def completes(run: bytes) -> bool:
    """Return whether `run` is a token of a fixed length that is all there (asked before lines are
    joined).
    """
    match = _PREFIXES.match(run)
    if not match:
        return False
    return any(
        row.usual and len(run) >= row.usual and row.pattern.match(run)
        for row in _TOKENS[match.group()]
    )
