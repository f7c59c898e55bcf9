"""What a setting means and which values it takes, said from its declaration.

Every field of `sections` carries a `Meaning`; error texts are made from it and from the field's own
type and bounds, so that what is said and what is checked cannot differ.
"""

import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from perlica.domain.texts import Language, Text, say_list

_Number = int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What a setting is for, in both languages, and one value as it is written in TOML."""

    zh: str
    en: str
    example: str

    def say(self, language: Language) -> str:
        """The meaning in one language."""
        return self.zh if language is Language.zh else self.en


_KINDS: Mapping[type, Text] = {
    bool: Text(zh=" true 或 false", en="true or false"),
    int: Text(zh="整数", en="a whole number"),
    float: Text(zh="数字", en="a number"),
    str: Text(zh="文字（加引号）", en="a text in quotes"),
    Path: Text(zh="绝对路径（加引号）", en="an absolute path in quotes"),
}
_LIST = Text(zh="列表，每一项是{item}", en="a list, each of it {item}")
_SECTION = Text(zh="一个 [小节]", en="a [section] of its own")
_BETWEEN = Text(zh="{kind}，{low} 到 {high}", en="{kind} from {low} to {high}")
_ONE_OF = Text(zh=" {words} 之一", en="one of {words}")


def meaning_of(field: FieldInfo) -> Meaning:
    """The field's `Meaning`; every field has one (a test holds that)."""
    return next(item for item in field.metadata if isinstance(item, Meaning))


def say_expected(field: FieldInfo, language: Language) -> str:
    """Which values the field takes, such as `整数，1 到 300`."""
    return _say_bounded(field.annotation, field.metadata, language)


def say_expected_item(field: FieldInfo, language: Language) -> str:
    """Which values one item of the field's list takes."""
    arguments = get_args(field.annotation)
    if not arguments or get_origin(arguments[0]) is not Annotated:
        return say_expected(field, language)
    kind, *metadata = get_args(arguments[0])
    bounds = [rule for item in metadata for rule in getattr(item, "metadata", ())]
    return _say_bounded(kind, bounds, language)


def is_narrow(field: FieldInfo) -> bool:
    """Whether a setting takes numbers of a range or one of a few words only."""
    annotation = field.annotation
    is_word = isinstance(annotation, type) and issubclass(annotation, Enum)
    return annotation in {int, float} or is_word or get_origin(annotation) is Literal


def section_of(annotation: object) -> type[BaseModel] | None:
    """The section class that a field holds, looking through `… | None` and tuples."""
    for candidate in (annotation, *get_args(annotation)):
        if isinstance(candidate, type) and issubclass(candidate, BaseModel):
            return candidate
    return None


def _say_bounded(annotation: object, metadata: Iterable[object], language: Language) -> str:
    kind = _say_type(annotation, language)
    low, high = _bounds(metadata)
    if low is None or high is None or annotation not in {int, float}:
        return kind
    return _BETWEEN.say(language, kind=kind, low=_plain(low), high=_plain(high))


def _say_type(annotation: object, language: Language) -> str:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _say_type(arguments[0], language)
    if origin is Literal:
        return _ONE_OF.say(language, words=say_list(map(str, arguments), language))
    if origin is tuple:
        return _LIST.say(language, item=_say_type(arguments[0], language))
    if origin in {Union, types.UnionType}:
        return _say_type(next(a for a in arguments if a is not type(None)), language)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _ONE_OF.say(language, words=say_list((m.value for m in annotation), language))
    if section_of(annotation) is not None or not isinstance(annotation, type):
        return _SECTION.say(language)
    return _KINDS[annotation].say(language)


def _bounds(metadata: Iterable[object]) -> tuple[_Number | None, _Number | None]:
    low: _Number | None = None
    high: _Number | None = None
    for item in metadata:
        if isinstance(item, annotated_types.Ge) and isinstance(item.ge, int | float):
            low = item.ge
        if isinstance(item, annotated_types.Le) and isinstance(item.le, int | float):
            high = item.le
    return low, high


def _plain(number: _Number) -> str:
    return str(int(number)) if number == int(number) else str(number)
