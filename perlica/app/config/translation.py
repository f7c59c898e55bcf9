"""Turns pydantic's errors into problems that name the key, what stands there and what to write.

Called by `reading` for each section of the file.
"""

import difflib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from perlica.app.config.faults import FAULTS, Fault
from perlica.app.config.meaning import meaning_of, say_expected, say_expected_item, section_of
from perlica.app.config.positions import KeyPath, line_of
from perlica.app.config.problems import Problem, filled
from perlica.domain.texts import Language, Text

_MISSING = Text(zh="没有写", en="is missing")
_IS_KIND = Text(zh="现在是{kind}，应当是{expected}", en="is {kind}, but must be {expected}")
_ITEM_IS_KIND = Text(
    zh="第 {item} 项是{kind}，应当是{expected}", en="item {item} is {kind}, but must be {expected}"
)
_WRITE = Text(zh="请写 {key} = {example}（{meaning}）", en="Write {key} = {example} ({meaning})")
_UNKNOWN = Text(zh="没有这个设置", en="is no setting")
_DID_YOU_MEAN = Text(zh="是不是想写 {key}", en="Did you mean {key}")
_BELONGS = Text(zh="它属于 [{section}]，请移过去", en="It belongs into [{section}]; move it there")
_KNOWN_KEYS = Text(zh="这里可以写：{keys}", en="These exist here: {keys}")
_SECRETS_LIVE_IN_FILES = Text(
    zh="密钥不能写进配置：放进单独的文件（权限 0600），再写 {key} 指向它",
    en="Secrets never stand in here: put it into its own file (mode 0600) and name that in {key}",
)
SECRET_FILES: Mapping[str, str] = {
    "token_file": "napcat",
    "key_file": "model",
    "proxy_secret_file": "console",
}
"""Settings that name a secret's file, each with its section."""

_SECRET_WORDS = ("token", "key", "secret", "password", "passwd", "credential")

_KINDS: Mapping[type, Text] = {
    bool: Text(zh="布尔值", en="true or false"),
    str: Text(zh="文字", en="a text"),
    list: Text(zh="列表", en="a list"),
    dict: Text(zh="小节", en="a section"),
    int: Text(zh="整数", en="a whole number"),
    float: Text(zh="小数", en="a number with a fraction"),
    datetime: Text(zh="日期时间", en="a date and time"),
    date: Text(zh="日期", en="a date"),
    time: Text(zh="时间", en="a time"),
}
_NOT_A_NUMBER = Text(zh="无效数字 nan", en="nan, which is no number")
_INFINITE = Text(zh="无穷大", en="infinite")
_NUMBER = Text(zh=" {number}", en="{number}")
_WORD = Text(zh="“{word}”", en='"{word}"')
_RANGE_ERRORS = frozenset({"greater_than_equal", "less_than_equal", "finite_number"})
_CHOICE_ERRORS = frozenset({"literal_error", "enum"})
_HARMLESS_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{0,19}")
"""What may be shown of a wrong word: a credential in its place would be longer or hold digits."""
_SHOWN_BY_EXAMPLE = frozenset({"listen_bad"})
"""Faults of a value whose remedy is the setting's own example."""
_SIZES: Mapping[str, Text] = {
    "too_short": Text(
        zh="有 {actual_length} 项，至少要有 {min_length} 项",
        en="has {actual_length} items, but needs at least {min_length}",
    ),
    "too_long": Text(
        zh="有 {actual_length} 项，最多 {max_length} 项",
        en="has {actual_length} items, but takes at most {max_length}",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFacts:
    """What translation may look at: where keys stand, and every key that exists."""

    positions: dict[KeyPath, int]
    root: type[BaseModel]


def translate(error: ValidationError, section: str, facts: FileFacts) -> Iterator[Problem]:
    """One problem for each thing that is wrong in a section."""
    details = error.errors(include_url=False)
    wrong_lists = {loc[:-1] for d in details if (loc := d["loc"]) and isinstance(loc[-1], int)}
    for detail in details:
        if detail["type"] == "too_short" and detail["loc"] in wrong_lists:
            continue  # its items were refused, each with a problem of its own
        path = (section, *(part for part in detail["loc"] if isinstance(part, str)))
        item = next((part for part in detail["loc"] if isinstance(part, int)), None)
        if detail["type"] == "extra_forbidden":
            yield unknown_key(path, facts)
        elif detail["type"] == "missing":
            yield from _missing_keys(path, facts)
        else:
            yield _wrong_value(detail, path, item, facts)


def missing_key(path: KeyPath, facts: FileFacts) -> Problem:
    """A section or a key without a default is not there."""
    return _problem(path, "missing", facts, wrong=_MISSING, remedy=_what_to_write(path, facts))


def _missing_keys(path: KeyPath, facts: FileFacts) -> Iterator[Problem]:
    """A key; of a section that is not there, everything in it that has no default."""
    field = _field_at(path, facts.root)
    section = section_of(field.annotation) if field else None
    if section is None:
        yield missing_key(path, facts)
        return
    for name, inner in section.model_fields.items():
        if inner.is_required():
            yield from _missing_keys((*path, name), facts)


def unknown_key(path: KeyPath, facts: FileFacts) -> Problem:
    """A key or section that does not exist, with what was perhaps meant."""
    remedy = _guess(path, facts)
    return _problem(path, "unknown_key", facts, wrong=_UNKNOWN, remedy=remedy)


def fault_at(path: KeyPath, fault: Fault, facts: FileFacts) -> Problem:
    """A fault of the table, at a key."""
    return _problem(path, fault.code, facts, wrong=fault.wrong, remedy=fault.remedy)


def _problem(path: KeyPath, code: str, facts: FileFacts, *, wrong: Text, remedy: Text) -> Problem:
    return Problem(
        key=".".join(path),
        code=code,
        line=line_of(facts.positions, path),
        wrong=wrong,
        remedy=remedy,
    )


def _wrong_value(
    detail: ErrorDetails, path: KeyPath, item: int | None, facts: FileFacts
) -> Problem:
    code = detail["type"]
    remedy = _what_to_write(path, facts)
    fault = FAULTS.get(code)
    if fault is not None and code in _SHOWN_BY_EXAMPLE:
        return _problem(path, code, facts, wrong=fault.wrong, remedy=remedy)
    if fault is not None:
        return fault_at(path, fault, facts)
    if code in _SIZES:
        wrong = filled(_SIZES[code], **{key: str(value) for key, value in detail["ctx"].items()})
        return _problem(path, _plain_code(code), facts, wrong=wrong, remedy=remedy)
    field = _field_at(path, facts.root)
    kind = _kind_of(detail["input"], code)
    wrong = _both(lambda language: _say_kind(kind, field, item, language))
    return _problem(path, _plain_code(code), facts, wrong=wrong, remedy=remedy)


def _plain_code(code: str) -> str:
    """Our own stable code of a pydantic error."""
    if code in _RANGE_ERRORS:
        return "out_of_range"
    return "wrong_size" if code.endswith(("too_long", "too_short")) else "wrong_type"


def _say_kind(kind: Text, field: FieldInfo | None, item: int | None, language: Language) -> str:
    said = kind.say(language)
    if field is None or item is None:
        expected = say_expected(field, language) if field else ""
        return _IS_KIND.say(language, kind=said, expected=expected)
    expected = say_expected_item(field, language)
    return _ITEM_IS_KIND.say(language, kind=said, expected=expected, item=item + 1)


def _kind_of(value: object, code: str) -> Text:
    if isinstance(value, float) and math.isnan(value):
        return _NOT_A_NUMBER
    if isinstance(value, float) and math.isinf(value):
        return _INFINITE
    if code in _RANGE_ERRORS and isinstance(value, int | float):
        return filled(_NUMBER, number=str(value)[:24])
    if code in _CHOICE_ERRORS and isinstance(value, str) and _HARMLESS_WORD.fullmatch(value):
        return filled(_WORD, word=value)
    return _KINDS.get(type(value), Text(zh="别的", en="something else"))


def _what_to_write(path: KeyPath, facts: FileFacts) -> Text:
    field = _field_at(path, facts.root)
    if field is None or section_of(field.annotation) is not None:
        return filled(_KNOWN_KEYS, keys=", ".join(_keys_in(path, facts.root)))
    meaning = meaning_of(field)
    return _both(
        lambda language: _WRITE.say(
            language, key=".".join(path), example=meaning.example, meaning=meaning.say(language)
        )
    )


def _guess(path: KeyPath, facts: FileFacts) -> Text:
    """Where a secret goes, the section that has this key, the nearest key, or all that exist."""
    parent, name = path[:-1], path[-1].lower()
    here = _keys_in(parent, facts.root)
    if any(word in name for word in _SECRET_WORDS):
        return filled(_SECRETS_LIVE_IN_FILES, key=_secret_setting(parent, here))
    sections = _keys_in((), facts.root)
    elsewhere = [other for other in sections if name in _keys_in((other,), facts.root)]
    if elsewhere:
        return filled(_BELONGS, section=elsewhere[0])
    close = difflib.get_close_matches(name, here, n=1)
    if close:
        return filled(_DID_YOU_MEAN, key=".".join((*parent, close[0])))
    return filled(_KNOWN_KEYS, keys=", ".join(here))


def _secret_setting(parent: KeyPath, here: Iterable[str]) -> str:
    """The setting that names a secret's file: in this section if it has one, else both."""
    files = [".".join((*parent, key)) for key in here if key in SECRET_FILES]
    return files[0] if files else " / ".join(f"{s}.{key}" for key, s in SECRET_FILES.items())


def _keys_in(path: KeyPath, root: type[BaseModel]) -> tuple[str, ...]:
    """Names of what may stand in a section; none if the path is no section."""
    section: type[BaseModel] | None = root
    for part in path:
        field = section.model_fields.get(part) if section else None
        section = section_of(field.annotation) if field else None
    return tuple(section.model_fields) if section else ()


def _field_at(path: KeyPath, root: type[BaseModel]) -> FieldInfo | None:
    section: type[BaseModel] | None = root
    field: FieldInfo | None = None
    for part in path:
        field = section.model_fields.get(part) if section else None
        section = section_of(field.annotation) if field else None
    return field


def _both(say: Callable[[Language], str]) -> Text:
    return filled(
        Text(zh="{said}", en="{said_en}"), said=say(Language.zh), said_en=say(Language.en)
    )
