"""Every field that the code logs is one that the log may show; another would be lost unseen."""

import ast
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import TypeGuard

from perlica.app.logs.lines import ID_FIELDS
from perlica.clients.napcat.inbound import DropCounts

PROJECT = Path(__file__).parents[2]
LOGGING = frozenset({"debug", "info", "warning", "error", "critical", "exception", "log"})


def logged_fields() -> Iterator[tuple[str, str]]:
    """Where a field is logged, and its name, for all that are spelled out."""
    for room in ("perlica", "actors"):
        for path in sorted((PROJECT / room).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if _is_logging(node):
                    yield from _extra_of(path, node)


def _is_logging(node: ast.AST) -> TypeGuard[ast.Call]:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOGGING
    )


def _extra_of(path: Path, call: ast.Call) -> Iterator[tuple[str, str]]:
    for keyword in call.keywords:
        if keyword.arg == "extra" and isinstance(keyword.value, ast.Dict):
            for key in keyword.value.keys:
                if isinstance(key, ast.Constant):
                    yield f"{path.name}:{call.lineno}", str(key.value)


def test_no_field_is_logged_that_the_log_leaves_out() -> None:
    found = list(logged_fields())

    assert len(found) > 50
    assert [(place, name) for place, name in found if name not in ID_FIELDS] == []


def test_every_reason_for_a_drop_can_be_logged() -> None:
    assert {field.name for field in fields(DropCounts)} <= set(ID_FIELDS)
