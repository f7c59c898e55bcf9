"""Secrets whose name stands apart: name/value pairs, Kubernetes Secrets, tables, colon-separated
files.

Names beside their values belong to `keyed`; here the name is in another attribute, line or column.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final

from perlica.protection.engine import LINE, Match, linear
from perlica.protection.judgement import Setting, is_secret
from perlica.protection.rules.keyed import Value, read_value
from perlica.protection.sheet import Sheet
from perlica.protection.values import is_stand_in, is_strong
from perlica.protection.vocabulary import Announces, KeyName, understand

KINDS: Final = frozenset({"secret_data", "table_password", "pgpass"})

_NAMED: Final = linear(
    r"(?:name|key|field|variable|var|env|option|id|label|param|property|header|k)(?:\\?[\"'])"
    r"?\s*[=:>]{1,2}\s*(?:\\?[\"'])?"
    r"([A-Za-z0-9_.$\\\-\x80-\xff]{2,})(?:\\?[\"'])?\s*(?:[,;]|</[a-z]{1,10}>|<)?\s*(?:(?:type|encrypted|"
    r"masked|protected|sensitive|isSecret|secret)(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])?\w{1,"
    r"20}(?:\\?[\"'])?[,\s]+)?"
    r"(?:\\?[\"']|-\s|<)?(?:value|val|default|defaultvalue|content)(?:\\?[\"'])"
    r"?\s*[=:>]{1,2}\s*",
    ignore_case=True,
    gates=("val", "default", "content"),
)
_ELEMENT: Final = linear(
    r"<[A-Za-z][\w.\-]*[ \t][^<>]*(?:key|name|id)=[\"']([A-Za-z0-9_.\-\x80-\xff]{2,})[\"'][^<>]*>",
    ignore_case=True,
    gates=("</",),
)
_TAGGED: Final = linear(
    r"<(?:[A-Za-z][\w\-]{0,20}:)?([A-Za-z\x80-\xff][A-Za-z0-9_.\-\x80-\xff]{1,60})"
    r"(?:[ \t\n][^<>]{0,300})?>\s{0,80}",
    gates=("</",),
)
_CLOSES: Final = re.compile(rb"\s{0,80}(?:\]\]>\s{0,40})?</")
_VALUED: Final = linear(
    r"(?:value|val|v)(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])([^\"'\\\r\n]{4,})(?:\\?[\"'])\s*,"
    r"?\s*(?:\\?[\"'])?(?:name|key|k)(?:\\?[\"'])?\s*[=:]\s*(?:\\?[\"'])([A-Za-z0-9_.\-\x80-\xff]{2,})"
    r"(?:\\?[\"'])",
    ignore_case=True,
    gates=("val", '"v"', "'v'"),
)
_MANIFEST: Final = linear(
    r"(?:^|\n)([> \t]*(?:- )?)[\"']?kind[\"']?:[ \t]*[\"']?Secret[\"']?[ \t]*(?:[\r\n]|$)",
    gates=("Secret",),
    reach=LINE,
)
_JSON_KIND: Final = linear(r"\"kind\"\s*:\s*\"Secret\"", gates=("Secret",))
_DATA: Final = re.compile(rb"^(?:data|stringData|binaryData):[ \t]*\r?$")
_SEPARATOR: Final = linear(r"\n[> \t]*---[ \t]*[\r\n]")
_JSON_DATA: Final = linear(r"\"(?:data|stringData)\"\s*:\s*\{([^{}]{1,})\}")
_ENTRY: Final = re.compile(rb"^([> \t]*)[\w.\-\"'/]+:[ \t]*(?:!!binary[ \t]*)?(\S.*?)?[ \t]*\r?$")
_JSON_ENTRY: Final = re.compile(rb'"([\w.\-/]{1,120})"\s*:\s*"([^"\\]{1,20000})"')
_PGPASS: Final = linear(
    r"(?:^|\n)[> \t]{0,20}(?:[A-Za-z0-9*][A-Za-z0-9.\-*]*):(?:\d{2,5}|\*):[A-Za-z0-9_*.\-]"
    r"+:[A-Za-z0-9_*.@\-]+:([^\s:\"'\\]{3,})[ \t]*(?:[\r\n\"'\\]|$)"
)
_USER_LINE: Final = linear(
    r"(?:^|\n)[> \t]{0,8}([a-z_][a-z0-9_\-]{0,31}):([^\s:/\"'<>|,]{8,64})[ \t]*\r?(?:\n|$)"
)
_HEADER: Final = linear(
    r"(?:^|\n)([^\n:={}()<>\\$;]*(?:passw|pwd|\bpass\b|secret|token|api.?key|access.?key|密码|口令|"
    r"密钥|令牌)[^\n:={}()<>\\$;]*)\r?\n",
    ignore_case=True,
    gates=("passw", "pwd", "pass", "secret", "token", "key", "密码", "口令", "密钥", "令牌"),
    reach=LINE,
)
_CHINESE_HEADERS: Final = {
    "密码": "password",
    "口令": "password",
    "密钥": "secret_key",
    "令牌": "token",
    "初始密码": "password",
    "登录密码": "password",
}
_DELIMITERS: Final = (b"|", b"\t", b",")
_TITLE: Final = re.compile(
    r"[^\W\d][^\W\d_]*(?:[ _\-/][^\W\d]+){0,3}[ ]?(?:[(（][^)）]{0,20}[)）])?$|#?$"
)
_LONGEST_MANIFEST: Final = 16 * 1024
_MOST_ROWS: Final = 500
_STEPS_OF_A_TABLE: Final = 8
_BYTES_OF_A_STEP: Final = 64
_COLUMN_GAP: Final = re.compile(rb"[ \t]{2,}|\t")
_TABLE_SETTING: Final = Setting(quoted=False, alone=True, firm=True)
_PAIR_SETTING: Final = Setting(quoted=True, alone=True, firm=True)


def detect(sheet: Sheet) -> None:
    """Find values whose name stands elsewhere."""
    data = sheet.data
    for match in sheet.matches(_NAMED):
        _add_named(sheet, match)
    for match in sheet.matches(_ELEMENT):
        _add_named(sheet, match)
    for match in sheet.matches(_TAGGED):
        value = read_value(data, match.end())
        if value is not None and _CLOSES.match(data, value.end):
            _judge(sheet, understand(match.group(1).decode(errors="replace")), value)
    for match in sheet.matches(_VALUED):
        name = understand(match.group(2).decode(errors="replace"))
        _judge(sheet, name, Value(*match.span(1), quoted=True))
    _find_manifests(sheet)
    if b":" in data:
        for match in sheet.matches(_PGPASS):
            if not is_stand_in(sheet.data[match.start(1) : match.end(1)].decode("latin-1")):
                sheet.add(*match.span(1), kind="pgpass", rule="structure.pgpass", rank=36)
        _find_user_lines(sheet)
    _find_tables(sheet)


def _add_named(sheet: Sheet, match: Match) -> None:
    name = understand(match.group(1).decode(errors="replace"))
    value = read_value(sheet.data, match.end())
    if value is not None:
        _judge(sheet, name, value)


def _judge(sheet: Sheet, name: KeyName, value: Value) -> None:
    if name.announces is Announces.NOTHING:
        return
    if is_secret(name, sheet.data[value.start : value.end].decode("latin-1"), _PAIR_SETTING):
        sheet.add(value.start, value.end, kind=name.kind, rule="structure.pair", rank=21)


def _find_manifests(sheet: Sheet) -> None:
    """All values of a Kubernetes Secret, whatever their names."""
    data, behind, borders = sheet.data, -1, list[int]()
    for match in sheet.matches(_MANIFEST):
        if match.start() < behind:
            continue
        borders = borders or [0, *(found.start() for found in sheet.matches(_SEPARATOR)), len(data)]
        number = bisect_right(borders, match.start())
        first = max(borders[number - 1], match.start() - _LONGEST_MANIFEST)
        last = min(borders[number], match.end() + _LONGEST_MANIFEST)
        sheet.budget.spend((last - first) // _BYTES_OF_A_STEP)
        behind = _read_manifest(sheet, first, last, len(match.group(1)))
    for _ in sheet.matches(_JSON_KIND):
        for found in sheet.matches(_JSON_DATA):
            for entry in _JSON_ENTRY.finditer(data, *found.span(1)):
                _add_data(sheet, entry.start(2), entry.end(2))
        break


def _read_manifest(sheet: Sheet, first: int, last: int, indent: int) -> int:
    """Read the lines below `data:` and `stringData:` that stand as far in as `kind:` does.

    Return where the last of them ends.
    """
    inside, at, behind = False, first, first
    for line in sheet.data[first:last].split(b"\n"):
        depth = len(line) - len(line.lstrip(b"> \t"))
        if line.strip() and depth <= indent:
            inside = depth == indent and bool(_DATA.match(line[depth:]))
        elif inside and line.strip():
            _read_entry(sheet, at, line)
            behind = at
        at += len(line) + 1
    return behind


def _read_entry(sheet: Sheet, at: int, line: bytes) -> None:
    entry = _ENTRY.match(line)
    if entry is None:
        start, end = _stripped(line, 0, len(line))
        _add_data(sheet, at + start, at + end)
    elif entry.start(2) >= 0:
        start, end = _stripped(line, *entry.span(2))
        _add_data(sheet, at + start, at + end)


def _add_data(sheet: Sheet, start: int, end: int) -> None:
    text = sheet.data[start:end].decode("latin-1")
    if len(text) >= 4 and not is_stand_in(text) and not text.startswith(("|", ">")):
        sheet.add(start, end, kind="secret_data", rule="structure.manifest", rank=25)


def _find_user_lines(sheet: Sheet) -> None:
    """Lines `user:password` when several stand together (credential lists)."""
    matches = [match for match in sheet.matches(_USER_LINE) if _is_login(match)]
    if len(matches) >= 2:
        for match in matches:
            sheet.add(*match.span(2), kind="password", rule="structure.logins", rank=15)


def _is_login(match: Match) -> bool:
    text = match.group(2).decode("latin-1")
    mixed = any(not char.isalnum() for char in text) or any(map(str.isupper, text))
    return is_strong(text) and mixed and not is_stand_in(text) and "." not in text


def _find_tables(sheet: Sheet) -> None:
    """Rows below a header line that names a secret column."""
    data, behind = sheet.data, 0
    for match in sheet.matches(_HEADER):
        start, end = match.span(1)
        if start < behind:
            continue
        header = data[start:end]
        delimiter = next((mark for mark in _DELIMITERS if mark in header), None)
        if delimiter or _COLUMN_GAP.search(header.strip()):
            sheet.budget.spend(_STEPS_OF_A_TABLE)
            behind = _read_table(sheet, header, end + 1, delimiter)


def _read_table(sheet: Sheet, header: bytes, at: int, delimiter: bytes | None) -> int:
    """Redact the secret columns of the rows from `at` on; return where the table ends."""
    titles = [_title(header[a:b]) for a, b in _cells(header, delimiter)]
    columns = {
        index: understand(title)
        for index, title in enumerate(titles)
        if understand(title).announces >= Announces.SECRET
    }
    if not columns or sum(map(bool, titles)) < 2 or not all(map(_TITLE.match, titles)):
        return at
    for _ in range(_MOST_ROWS):
        end = sheet.data.find(b"\n", at)
        line = sheet.data[at : end if end >= 0 else len(sheet.data)]
        cells = list(_cells(line, delimiter))
        if len(cells) != len(titles):
            return at
        for index, name in columns.items():
            _read_cell(sheet, at + cells[index][0], line[slice(*cells[index])], name)
        at += len(line) + 1
    return at


def _read_cell(sheet: Sheet, at: int, cell: bytes, name: KeyName) -> None:
    a, b = _stripped(cell, 0, len(cell))
    if b > a and is_secret(name, cell[a:b].decode("latin-1"), _TABLE_SETTING):
        start = at + a
        sheet.add(start, start + b - a, kind="table_password", rule="structure.table", rank=19)


def _cells(line: bytes, delimiter: bytes | None) -> Iterator[tuple[int, int]]:
    if delimiter is None:
        at = len(line) - len(line.lstrip())
        for gap in _COLUMN_GAP.finditer(line, at):
            yield at, gap.start()
            at = gap.end()
        yield at, len(line.rstrip())
        return
    at = 0
    for cell in line.split(delimiter):
        yield at, at + len(cell)
        at += len(cell) + 1


def _stripped(line: bytes, start: int, end: int) -> tuple[int, int]:
    while start < end and line[start] in b" \t\r\"'`*":
        start += 1
    while end > start and line[end - 1] in b" \t\r\"'`*":
        end -= 1
    return start, end


def _title(cell: bytes) -> str:
    title = cell.decode(errors="replace").strip(" \t\r\"'`*#\ufffd")
    return _CHINESE_HEADERS.get(title, title)
