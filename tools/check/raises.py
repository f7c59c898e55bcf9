"""A rule for public functions of the product: what they raise themselves, their docstring says.

Whoever calls reads the docstring and not the body. A raise inside a nested function or of something
that is no class by its name is not looked at; `Raises:` may name a base of it instead, as "our own
errors" do in `sandboxd`, whose docstrings stand under the gate's report and are not looked at.
"""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROOMS = frozenset({"perlica", "actors", "gate"})
# Faults of whoever calls: no answer that anybody waits for.
_PROGRAMMING = frozenset({"AssertionError", "TypeError", "RuntimeError"})
_SEE_ELSEWHERE = "See "


def find_faults(paths: Sequence[Path]) -> Iterator[str]:
    """Yield one `file:line: reason` for each public function that hides what it raises."""
    for path in paths:
        if path.suffix == ".py" and path.parts[0] in _ROOMS:
            yield from find_in(path)


def find_in(path: Path) -> Iterator[str]:
    """The faults of one file."""
    yield from _walk(ast.parse(path.read_text(encoding="utf-8"), filename=str(path)), path)


def _walk(node: ast.AST, path: Path) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from _walk(child, path)
        elif isinstance(child, ast.FunctionDef) and _is_public(child.name):
            doc = ast.get_docstring(child) or ""
            hidden = ", ".join(sorted(name for name in _raised(child) if name not in doc))
            if hidden and not doc.startswith(_SEE_ELSEWHERE):
                yield f"{path}:{child.lineno}: {child.name} does not say: Raises {hidden}"


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in {"__init__", "__post_init__"}


def _raised(node: ast.AST) -> set[str]:
    """Names of the classes that are raised right here."""
    found: set[str] = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            continue
        if isinstance(child, ast.Raise) and child.exc is not None:
            raised = child.exc.func if isinstance(child.exc, ast.Call) else child.exc
            name = raised.attr if isinstance(raised, ast.Attribute) else getattr(raised, "id", "")
            if name[:1].isupper() and name not in _PROGRAMMING:
                found.add(name)
        found |= _raised(child)
    return found
