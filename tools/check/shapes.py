"""Rules for the size and the names of Python code: short files, short functions, telling names."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 50
# Names under which anything could hide.
_EMPTY_NAMES = frozenset({"utils", "util", "helpers", "helper", "manager", "data", "info", "misc"})


def find_faults(paths: Sequence[Path]) -> Iterator[str]:
    """Yield one `file:line: reason` for each fault."""
    for path in paths:
        if path.suffix != ".py":
            continue
        for part in path.with_suffix("").parts:
            if part in _EMPTY_NAMES:
                yield f"{path}: '{part}' says nothing about what is inside"
        yield from _find_sizes(path)


def _find_sizes(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    lines = text.count("\n")
    if lines > MAX_FILE_LINES:
        yield f"{path}: {lines} lines, more than {MAX_FILE_LINES}"
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        length = (node.end_lineno or node.lineno) - node.lineno + 1
        if length > MAX_FUNCTION_LINES:
            yield (
                f"{path}:{node.lineno}: {node.name} has {length} lines, "
                f"more than {MAX_FUNCTION_LINES}"
            )
