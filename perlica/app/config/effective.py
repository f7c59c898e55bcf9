"""The configuration as it is in force: every setting, its value, and where that comes from.

`perlica config` prints it. The configuration holds paths of secrets and never a secret, and what is
printed passes content protection like everything that leaves the process.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from perlica.app.config.meaning import section_of
from perlica.app.config.positions import KeyPath, line_of, locate_keys
from perlica.app.config.reading import parse_config
from perlica.app.config.root import Config
from perlica.app.config.source import read_source
from perlica.domain.texts import Language

Plain = str | int | float | bool | list["Plain"] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting; where the file gives it, in which line (of an inline table: the table's)."""

    key: str
    value: Plain = field(repr=False)
    is_given: bool
    line: int | None


def read_settings(
    path: Path, *, language: Language | None = None
) -> tuple[Config, tuple[Setting, ...]]:
    """The configuration, and every setting of it in the order of the example.

    Raises: ConfigInvalid.
    """
    text = read_source(path, language)
    config = parse_config(text, file=str(path), language=language)
    positions = locate_keys(text)
    settings: list[Setting] = []
    for name, declared in Config.model_fields.items():
        if section_of(declared.annotation) is not None:
            section = getattr(config, name)
            settings += () if section is None else _of_section((name,), section, positions)
    return config, tuple(settings)


def _of_section(
    path: KeyPath, section: BaseModel, positions: dict[KeyPath, int], number: int = 0
) -> Iterator[Setting]:
    """`number` counts the tables of one list; only the first one's lines are known."""
    shown = ".".join(path) + (f"[{number}]" if number else "")
    inner: list[tuple[KeyPath, BaseModel, int]] = []
    for name, declared in type(section).model_fields.items():
        value = getattr(section, name)
        if section_of(declared.annotation) is None:
            is_given = name in section.model_fields_set
            yield Setting(
                key=f"{shown}.{name}",
                value=_plain(value, declared),
                is_given=is_given,
                line=line_of(positions, (*path, name)) if is_given and number <= 1 else None,
            )
        elif isinstance(value, BaseModel):
            inner.append(((*path, name), value, 0))
        elif isinstance(value, tuple):
            inner += [((*path, name), each, at) for at, each in enumerate(value, start=1)]
    for inner_path, value, at in inner:
        yield from _of_section(inner_path, value, positions, at)


def _plain(value: object, declared: FieldInfo) -> Plain:
    """A value as JSON has it."""
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, tuple):
        return [_plain(each, declared) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def as_toml(value: Plain) -> str:
    """A value as it would be written into the file; `<none>` where there is none."""
    if value is None:
        return "<none>"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)
