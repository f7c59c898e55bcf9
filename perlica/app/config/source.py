"""Reads the file itself: who may write it, how large it is, whether it is TOML.

The configuration says who is an Owner, so a file that others can write is as bad as none.
"""

import os
import re
import stat
import tomllib
from pathlib import Path

from perlica.app.config.faults import FAULTS, Fault
from perlica.app.config.problems import ConfigInvalid, Problem, filled
from perlica.app.descriptor import opened, read_at_most
from perlica.domain.texts import Language, Text

MAX_FILE_BYTES = 256 * 1024

_LANGUAGE = re.compile(r"""^\s*language\s*=\s*["'](zh|en)["']""", re.MULTILINE)
_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_NOT_TOML = Text(
    zh="第 {line} 行第 {column} 列不是合法的 TOML（{reason}）",
    en="line {line}, column {column} is not TOML ({reason})",
)
_NOT_TOML_AT_END = Text(
    zh="到文件末尾还不完整，不是合法的 TOML（{reason}）",
    en="ends too early, it is not TOML ({reason})",
)
_LOOK_THERE = Text(
    zh="检查那一行和上一行的引号、等号、括号，以及键是否重复",
    en="Look there and in the line above for quotes, equal signs, brackets and a key written twice",
)


def read_source(path: Path, language: Language | None) -> str:
    """The text of the file.

    Raises: ConfigInvalid when it is missing, not ours alone to write, too large or not UTF-8.
    """
    said_in = language or Language.zh
    try:
        with opened(path) as descriptor:
            fault = _fault_of(os.fstat(descriptor))
            raw = b"" if fault else read_at_most(descriptor, MAX_FILE_BYTES)
    except FileNotFoundError:
        raise _invalid("file_missing", path, said_in) from None
    except OSError:
        raise _invalid("file_unreadable", path, said_in) from None
    if fault:
        raise _invalid(fault, path, said_in)
    if len(raw) > MAX_FILE_BYTES:
        raise _invalid("file_too_large", path, said_in)
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        raise _invalid("file_not_utf8", path, said_in) from None
    if text.startswith("\ufeff"):
        raise _invalid("file_not_utf8", path, said_in)
    return text


def parse_toml(text: str, *, file: str, language: Language | None) -> dict[str, object]:
    """The tables of a TOML text.

    Raises: ConfigInvalid with line and column.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = _not_toml(str(error))
        said_in = language or guess_language(text)
        raise ConfigInvalid([problem], language=said_in, file=file) from None


def guess_language(text: str) -> Language:
    """The language that a file asks for, even one that is not valid."""
    match = _LANGUAGE.search(text)
    return Language(match.group(1)) if match else Language.zh


def _fault_of(status: os.stat_result) -> str | None:
    if not stat.S_ISREG(status.st_mode):
        return "file_not_a_file"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH) or status.st_uid not in {0, os.geteuid()}:
        return "file_open_to_others"
    return None


def _invalid(code: str, path: Path, language: Language) -> ConfigInvalid:
    fault: Fault = FAULTS[code]
    problem = Problem(key="", code=code, wrong=fault.wrong, remedy=fault.remedy)
    return ConfigInvalid([problem], language=language, file=str(path))


def _not_toml(message: str) -> Problem:
    place = _PLACE.search(message)
    reason = message[: place.start()] if place else message
    if place and place.group(1):
        line, column = int(place.group(1)), int(place.group(2))
        wrong = filled(_NOT_TOML, line=line, column=column, reason=reason)
        return Problem(key="", code="not_toml", line=line, wrong=wrong, remedy=_LOOK_THERE)
    wrong = filled(_NOT_TOML_AT_END, reason=reason)
    return Problem(key="", code="not_toml", wrong=wrong, remedy=_LOOK_THERE)
