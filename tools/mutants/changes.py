"""What is changed: one operator, constant, condition or statement at a time, as text.

A change keeps the file readable by Python and leaves alone what no behaviour depends on:
docstrings, annotations, log lines, the words of errors, patterns and texts.
"""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_ARITHMETIC: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_OPPOSITES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_SPEECH: Final = frozenset({"debug", "info", "warning", "error", "critical", "exception"})
_LARGEST_NUMBER: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replaces `before`, which stands at byte `start` of its file, by `after`."""

    path: str
    line: int
    start: int
    before: str
    after: str
    what: str

    @property
    def key(self) -> str:
        """What tells it from any other change, also after lines were added above it."""
        return f"{self.path}|{self.before}|{self.after}|{self.what}"

    def applied(self, source: bytes) -> bytes:
        """The file's content with the change made."""
        old = self.before.encode()
        return source[: self.start] + self.after.encode() + source[self.start + len(old) :]

    def __str__(self) -> str:
        """One line for people."""
        before, after = (" ".join(text.split()) for text in (self.before, self.after))
        return f"{self.path}:{self.line}: {self.what}: `{before}` → `{after}`"


def find_changes(path: str, source: bytes) -> list[Change]:
    """Every change of the file, in the order of its lines."""
    tree = ast.parse(source)
    offsets = _line_offsets(source)
    found: dict[tuple[int, str], Change] = {}
    for node, what, new in _visit(tree):
        if not isinstance(node, ast.expr | ast.stmt):
            continue
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[(node.end_lineno or node.lineno) - 1] + (node.end_col_offset or 0)
        before, after = source[start:end].decode(), _text_of(new, node)
        if before != after:
            change = Change(
                path=path, line=node.lineno, start=start, before=before, after=after, what=what
            )
            found.setdefault((start, after), change)
    return sorted(found.values(), key=lambda change: (change.start, change.after))


def _line_offsets(source: bytes) -> list[int]:
    offsets, at = [], 0
    for line in source.splitlines(keepends=True):
        offsets.append(at)
        at += len(line)
    return offsets


def _text_of(new: ast.AST, node: ast.AST) -> str:
    text = ast.unparse(new)
    return f"({text})" if isinstance(node, ast.expr) and not isinstance(new, ast.Constant) else text


def _visit(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    for child in _children(node):
        yield from _changes_of(child)
        yield from _visit(child)


def _children(node: ast.AST) -> Iterator[ast.AST]:
    """Everything below that behaviour depends on."""
    if _is_speech(node) or isinstance(node, ast.JoinedStr | ast.Raise | ast.Assert):
        return
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params", "bases"}:
            continue
        values = value if isinstance(value, list) else [value]
        yield from (child for child in values if isinstance(child, ast.AST))


def _is_speech(node: ast.AST) -> bool:
    """A log line, or a bare string: nothing but words."""
    call = node.value if isinstance(node, ast.Expr) else node
    if isinstance(call, ast.Constant):
        return isinstance(node, ast.Expr)
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _SPEECH
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "_log"
    )


def _changes_of(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    yield from _changes_of_operators(node)
    yield from _changes_of_values(node)
    yield from _changes_of_statements(node)


def _changes_of_operators(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            compared = copy.deepcopy(node)
            compared.ops = [_COMPARISONS[type(operator)]()]
            yield node, "comparison", compared
        case ast.BinOp(op=operator) if type(operator) in _ARITHMETIC and not _is_text(node):
            reckoned = copy.deepcopy(node)
            reckoned.op = _ARITHMETIC[type(operator)]()
            yield node, "arithmetic", reckoned
        case ast.BoolOp(values=[first, *_] as values):
            swapped = copy.deepcopy(node)
            swapped.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield node, "and/or", swapped
            yield node, "condition dropped", values[-1]
            yield node, "condition dropped", first
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, "not dropped", operand


def _changes_of_values(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    match node:
        case ast.Constant(value=bool() as flag):
            yield node, "constant", ast.Constant(value=not flag)
        case ast.Constant(value=int() as number) if abs(number) < _LARGEST_NUMBER:
            yield node, "constant", ast.Constant(value=number + 1)
        case ast.Call(func=ast.Name(id=name)) if name in _OPPOSITES:
            opposite = copy.deepcopy(node)
            opposite.func = ast.Name(id=_OPPOSITES[name], ctx=ast.Load())
            yield node, "opposite", opposite


def _changes_of_statements(node: ast.AST) -> Iterator[tuple[ast.AST, str, ast.AST]]:
    match node:
        case ast.If(test=test):
            yield test, "condition forced", ast.Constant(value=True)
            yield test, "condition forced", ast.Constant(value=False)
        case ast.Expr(value=ast.Call()) if not _is_speech(node):
            yield node, "call dropped", ast.Pass()
        case ast.Return(value=ast.expr() as value) if not _is_nothing(value):
            yield node, "result dropped", ast.Return(value=ast.Constant(value=None))
        case ast.Raise():
            yield node, "error dropped", ast.Pass()


def _is_text(node: ast.BinOp) -> bool:
    sides = (node.left, node.right)
    return any(
        isinstance(side, ast.JoinedStr)
        or (isinstance(side, ast.Constant) and isinstance(side.value, str | bytes))
        for side in sides
    )


def _is_nothing(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
