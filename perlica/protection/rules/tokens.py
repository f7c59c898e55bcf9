"""Self-identifying tokens: one pass finds the prefixes, an anchored pattern reads each token to
its end.

Also the shapes without a prefix that are still unmistakable, such as a JWT.
"""

import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from perlica.protection.engine import EXACT_GATES, LINE, linear
from perlica.protection.rules.token_table import TABLES
from perlica.protection.runs import Alphabet
from perlica.protection.sheet import Gated, Sheet
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
    body: re.Pattern[bytes]
    usual: int
    guard: str


@cache
def _body(alphabet: str, least: int) -> re.Pattern[bytes]:
    """Return the pattern of what stands behind a prefix; rows alike share it.

    It is read at one place only and can be read in one way only: linear without RE2, and cheaper.
    """
    return re.compile(f"{_ALPHABETS[alphabet]}{{{least},}}".encode())


def _rows() -> dict[bytes, tuple[Token, ...]]:
    rows: dict[bytes, tuple[Token, ...]] = {}
    for line in "".join(TABLES).split("\n"):
        if not line:
            continue
        kind, prefixes, alphabet, least, usual, guard = line.split()
        for prefix in prefixes.split(","):
            whole = int(usual) and len(prefix) + int(usual)
            row = Token(kind, prefix.encode(), _body(alphabet, int(least)), whole, guard)
            rows[row.prefix] = (*rows.get(row.prefix, ()), row)
    return rows


_TOKENS: Final = _rows()
EXACT_GATES.register(prefix.decode() for prefix in _TOKENS)
_GATES: Final = {prefix.decode(): prefix for prefix in _TOKENS}

_SHAPES: Final = (
    ("jwt", "eyJ", r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*){1,3}"),
    ("telegram_token", ":A", r"\b\d{8,10}:A[A-Za-z0-9_\-]{34}"),
    ("serverchan_key", "SCT", r"\bSCT\d{3,8}T[A-Za-z0-9]{20,}"),
    ("azure_secret", "Q~", r"[A-Za-z0-9_~.\-]{3}\dQ~[A-Za-z0-9_~.\-]{31,34}"),
    ("terraform_token", ".atlasv1.", r"\b[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-=]{40,}"),
    ("azure_devops_token", "AZDO", r"\b[A-Za-z0-9]{76}AZDO[A-Za-z0-9]{4}"),
    ("baidu_key", "bce-v3/", r"bce-v3/[A-Za-z0-9\-]{10,}/[0-9a-f]{40}"),
    ("google_fcm_key", "AAAA", r"\bAAAA[A-Za-z0-9_\-]{7}:[A-Za-z0-9_\-]{100,}"),
    (
        "braintree_token",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}",
    ),
    ("onepassword_key", "A3-", r"A3-[A-Z0-9]{6}-[A-Z0-9]{6}(?:-?[A-Z0-9]{5}){4}"),
    ("fly_token", "FlyV1 ", r"FlyV1 [A-Za-z0-9_+/=,\-]{40,}"),
    ("k3s_token", "K10", r"K10[0-9a-f]{64}::[a-z]+:[0-9a-f]{32}"),
    ("clickup_token", "pk_", r"pk_\d{6,10}_[A-Z0-9]{32}"),
    ("proxmox_token", "PVEAPIToken=", r"PVEAPIToken=[^\s=]+=[0-9a-f\-]{36}"),
    (
        "postgres_scram",
        "SCRAM-SHA",
        r"SCRAM-SHA-256\$\d+:[A-Za-z0-9+/=]{16,}\$[A-Za-z0-9+/=:]{40,}",
    ),
    ("password_hash", "$2", r"\$2[abxy]?\$\d\d\$[./A-Za-z0-9]{50,53}"),
    (
        "password_hash",
        "$apr1$|$1$|$5$|$6$|$7$|$y$|$gy$|$sha1$",
        r"\$(?:apr1|1|5|6|7|y|gy|sha1)\$(?:rounds=\d+\$)?[./A-Za-z0-9$]{8,}",
    ),
    (
        "password_hash",
        "$argon2|$scrypt|$pbkdf2",
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
        "{SHA|{SSHA|{MD5|{SMD5|{CRYPT|{PBKDF2",
        r"\{(?:S?SHA\d{0,3}|S?MD5|CRYPT|PBKDF2[A-Z0-9\-]*)\}[A-Za-z0-9+/=$.]{16,}",
    ),
)
_SHAPED: Final = tuple(
    (kind, linear(pattern, gates=gate.split("|"), reach=LINE)) for kind, gate, pattern in _SHAPES
)
_BEHIND_HEX: Final = (
    ("zhipu_key", 32, re.compile(rb"\.[A-Za-z0-9]{16}")),
    ("mailchimp_key", 32, re.compile(rb"-us\d{1,2}")),
    ("ghost_key", 24, re.compile(rb":[0-9a-f]{64}")),
)
_BEFORE_HEX: Final = (
    ("airtable_token", 64, re.compile(rb"(?<![A-Za-z0-9])pat[A-Za-z0-9]{14}\.$")),
    ("asana_token", 32, re.compile(rb"(?<![A-Za-z0-9])[012]/\d{13,17}(?:/\d{13,17})?:$")),
    ("password_hash", 40, re.compile(rb"\*$")),
)
_PREFIXES_BETWEEN_CHECKS: Final = 64
_REACH_BEFORE: Final = 48
_LONGEST_TOKEN: Final = 16 * 1024
_WORD: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
_GLUE: Final = frozenset(b"-_./+")
_GATED: Final = Gated([pattern for _, pattern in _SHAPED])
# Read at one place only, each character in one way only: linear without RE2, and cheaper.
_NATS: Final = re.compile(rb"(?<![A-Za-z0-9_])S[UAOCNX][A-Z2-7]{56}(?![A-Za-z0-9_])")
_NATS_RUNS: Final = Alphabet(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 58)
_DISCORD: Final = re.compile(
    rb"(?<![A-Za-z0-9_])[MNO][A-Za-z0-9_\-]{23,27}\.[A-Za-z0-9_\-]{6}\.[A-Za-z0-9_\-]{27,45}"
)
_DISCORD_HEAD, _DISCORD_TAIL = 28, 60
KINDS: Final = (
    frozenset(row.kind for rows in _TOKENS.values() for row in rows)
    | {kind for kind, _, _ in (*_SHAPES, *_BEHIND_HEX, *_BEFORE_HEX)}
    | {"nats_seed", "discord_token"}
)


def detect(sheet: Sheet) -> None:
    """Find prefixed tokens and unmistakable shapes."""
    data = sheet.data
    _find_prefixed(sheet)
    for number in sheet.possible(_GATED):
        kind, pattern = _SHAPED[number]
        for shape in sheet.matches(pattern):
            if shape.start() == 0 or data[shape.start() - 1] not in _WORD:
                _add_shape(sheet, *shape.span(), kind)
    _find_in_runs(sheet)
    for start, end in sheet.hex_runs():
        _read_around_hex(sheet, start, end)


def _find_in_runs(sheet: Sheet) -> None:
    """Shapes without a literal, which stand in or at the end of a long run."""
    data = sheet.data
    for start, end in sheet.encoded_runs():
        if end - start >= _NATS_RUNS.least:
            for first, last in _NATS_RUNS.runs(data[start:end]):
                seed = _NATS.search(data, start + first, start + last)
                if seed:
                    _add_shape(sheet, *seed.span(), "nats_seed")
        if data[end : end + 1] == b".":
            bot = _DISCORD.search(data, max(start, end - _DISCORD_HEAD), end + _DISCORD_TAIL)
            if bot:
                _add_shape(sheet, *bot.span(), "discord_token")


def _find_prefixed(sheet: Sheet) -> None:
    """Read the tokens whose prefix stands at the beginning of a word; the longest prefix counts."""
    data, behind, before = sheet.data, 0, -1
    words = sheet.seen().intersection(_GATES)
    places = (
        (at, -len(word), _GATES[word])
        for word in words
        for at in sheet.occurrences(word)
        if at == 0 or data[at - 1] not in _WORD
    )
    for number, (at, _, prefix) in enumerate(sorted(places), 1):
        if number % _PREFIXES_BETWEEN_CHECKS == 0:
            sheet.budget.spend(_PREFIXES_BETWEEN_CHECKS)
        if at < behind or at == before:
            continue
        before, behind = at, max(at + len(prefix), _read_token(sheet, at, prefix))


def _read_around_hex(sheet: Sheet, start: int, end: int) -> None:
    """Shapes that are told by what stands beside a run of hexadecimal digits."""
    data, length = sheet.data, end - start
    for kind, usual, behind in _BEHIND_HEX:
        found = behind.match(data, end) if length == usual else None
        if found and (start == 0 or data[start - 1] not in _WORD):
            _add_shape(sheet, start, found.end(), kind)
    if start == 0 or data[start - 1] not in b".:*":
        return
    for kind, usual, before in _BEFORE_HEX:
        if length == usual:
            found = before.search(data[max(0, start - _REACH_BEFORE) : start])
            if found:
                _add_shape(sheet, start - len(found.group()), end, kind)


def _read_token(sheet: Sheet, start: int, prefix: bytes) -> int:
    """Read the token at `start`; return where the next one may begin."""
    behind = start
    for row in _TOKENS[prefix]:
        found = row.body.match(sheet.data, start + len(prefix), start + _LONGEST_TOKEN)
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


def _add_shape(sheet: Sheet, start: int, end: int, kind: str) -> None:
    data = sheet.data
    text = data[start:end].rstrip(b".")
    if _FILLER.search(text):
        return
    end = start + len(text)
    while end < len(data) and data[end] in _WORD:
        end += 1
    sheet.add(start, end, kind=kind, rule=f"shape.{kind}", rank=70)


def _prefix_of(run: bytes) -> bytes | None:
    """Return the token prefix that `run` begins with."""
    for prefix in _BY_START.get(run[:2], ()):
        if run.startswith(prefix):
            return prefix
    return None


def _by_start() -> dict[bytes, tuple[bytes, ...]]:
    found: dict[bytes, tuple[bytes, ...]] = {}
    for prefix in sorted(_TOKENS, reverse=True):
        found[prefix[:2]] = (*found.get(prefix[:2], ()), prefix)
    return found


_BY_START: Final = _by_start()


def begins(run: bytes) -> bool:
    """Return whether `run` begins like a token (asked before lines are joined)."""
    return _prefix_of(run) is not None


def completes(run: bytes) -> bool:
    """Return whether `run` is a token of a fixed length that is all there (asked before lines are
    joined).
    """
    prefix = _prefix_of(run)
    return prefix is not None and any(
        row.usual and len(run) >= row.usual and row.body.match(run, len(prefix))
        for row in _TOKENS[prefix]
    )
