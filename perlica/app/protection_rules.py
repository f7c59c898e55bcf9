"""The operator's own protection rules: one TOML file, checked whole before they are in force.

`perlica run` and `perlica protect` put them in force; the doctor only reads and checks them.
"""

import tomllib
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from perlica.domain.errors import Misconfigured
from perlica.protection.operators import OperatorRule, configure

_REMEDY = "write [[rule]] with kind, pattern and, if you like, keywords, matches, must_not_match"


class _Closed(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)


class _Rule(_Closed):
    """One [[rule]]; `matches` and `must_not_match` are examples that are held against it."""

    kind: str
    pattern: str
    keywords: list[str] = []
    matches: list[str] = []
    must_not_match: list[str] = []


class _File(_Closed):
    """The whole file."""

    rule: list[_Rule] = []


def read_rules(path: Path) -> tuple[OperatorRule, ...]:
    """The rules in the file; they are not in force yet.

    Raises: Misconfigured naming what is wrong, never an example or a pattern.
    """
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        text = f"protection rules: {path} cannot be read as TOML"
        raise Misconfigured("protection_rules_unreadable", text, remedy=_REMEDY) from error
    try:
        file = _File.model_validate(table)
    except ValidationError as error:
        where = "; ".join(_place(item["loc"], item["msg"]) for item in error.errors())
        text = f"protection rules: {where}"
        raise Misconfigured("protection_rules_wrong", text, remedy=_REMEDY) from None
    return tuple(
        OperatorRule(
            kind=rule.kind,
            pattern=rule.pattern,
            keywords=tuple(rule.keywords),
            matches=tuple(rule.matches),
            must_not_match=tuple(rule.must_not_match),
        )
        for rule in file.rule
    )


def put_in_force(path: Path | None) -> int:
    """Add the operator's rules to the built-in ones; how many there are.

    Raises: Misconfigured for the first rule that is not sound.
    """
    rules = () if path is None else read_rules(path)
    configure(rules)
    return len(rules)


def _place(location: tuple[int | str, ...], message: str) -> str:
    """A place a person can find: rules are counted from 1."""
    parts = [str(part + 1) if isinstance(part, int) else part for part in location]
    return f"{' '.join(parts)}: {message}"
