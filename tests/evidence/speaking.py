"""What a marked test says for itself: what it shows, and that it asserts anything.

Read from its source when it is collected. A test says what it shows by a name that is a sentence,
or by the first line of its docstring; it asserts where it, or a function of the tests that it
calls by name, holds an assertion or expects an error.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

_FEWEST_WORDS: Final = 4
"""A name of fewer words is a title, no sentence."""
_EXPECTING: Final = frozenset({"raises", "warns", "fail"})
_DEEPEST: Final = 4


def what_it_shows(function: Callable[..., Any]) -> str:
    """The sentence of a test, "" where it says none."""
    inner = _innermost(function)
    documented = (inspect.getdoc(inner) or "").partition("\n")[0].strip()
    words = inner.__name__.removeprefix("test_").replace("_", " ")
    return documented or (words if len(words.split()) >= _FEWEST_WORDS else "")


def asserts_anything(function: Callable[..., Any]) -> bool:
    """Whether running it can fail on what it saw, and not only on what broke."""
    return _asserts(_innermost(function), set(), 0)


def _asserts(function: FunctionType, seen: set[FunctionType], depth: int) -> bool:
    if function in seen or depth > _DEEPEST:
        return False
    seen.add(function)
    tree = _tree_of(function)
    if any(_is_assertion(node) for node in ast.walk(tree)):
        return True
    return any(_asserts(called, seen, depth + 1) for called in _called(tree, function))


def _is_assertion(node: ast.AST) -> bool:
    match node:
        case ast.Assert():
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="pytest"), attr=name)):
            return name in _EXPECTING
        case ast.Raise(exc=ast.Call(func=ast.Name(id="AssertionError"))):
            return True
        case _:
            return False


def _called(tree: ast.AST, function: FunctionType) -> Iterator[FunctionType]:
    """The functions of the tests that it calls by name, also those of an imported module."""
    known = function.__globals__
    for node in ast.walk(tree):
        found: object = None
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found = known.get(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=name)):
                module = known.get(owner)
                found = getattr(module, name, None) if isinstance(module, ModuleType) else None
        if isinstance(found, FunctionType) and _is_of_the_tests(found, function):
            yield found


def _is_of_the_tests(found: FunctionType, function: FunctionType) -> bool:
    return found.__module__ == function.__module__ or found.__module__.startswith("tests.")


def _tree_of(function: FunctionType) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _innermost(function: Callable[..., Any]) -> FunctionType:
    """The function as it was written, below the decorators of hypothesis and others."""
    of_hypothesis = getattr(function, "hypothesis", None)
    inner = inspect.unwrap(getattr(of_hypothesis, "inner_test", function))
    if not isinstance(inner, FunctionType):
        raise TypeError(f"{function!r} is no function")
    return inner
