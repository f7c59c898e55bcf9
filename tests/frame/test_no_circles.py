"""No module needs itself: what may be loaded first is never a question of luck.

Looked for in all imports that run, those inside of functions too; what is imported for types alone
does not run.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT

OURS = ("perlica", "actors", "sandboxd", "gate")

Imports = Mapping[str, frozenset[str]]


def read_imports(root: Path, *packages: str) -> Imports:
    """Of each module in the packages below `root`, the modules of them that it imports."""
    files = {
        _name_of(path.relative_to(root)): path
        for package in packages
        for path in (root / package).rglob("*.py")
    }
    return {
        module: frozenset(_imported(ast.parse(path.read_text("utf-8")), frozenset(files)))
        for module, path in files.items()
    }


def _name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(tree: ast.Module, modules: frozenset[str]) -> Iterator[str]:
    """`from a import b` needs `a.b` where that is a module, else `a`; relative ones are banned."""
    for node in _nodes_that_run(tree):
        match node:
            case ast.Import(names=names):
                wanted = [name.name for name in names]
            case ast.ImportFrom(module=str(origin), names=names):
                inner = [f"{origin}.{name.name}" for name in names]
                wanted = [one if one in modules else origin for one in inner]
            case _:
                continue
        yield from (name for name in wanted if name in modules)


def _nodes_that_run(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _nodes_that_run(other)
            continue
        yield child
        yield from _nodes_that_run(child)


def find_circles(imports: Imports) -> list[frozenset[str]]:
    """The sets of modules that all need each other."""
    reached = {module: _reach(imports, module) for module in imports}
    circles = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in imports
        if module in reached[module]
    }
    return sorted(circles, key=sorted)


def _reach(imports: Imports, start: str) -> frozenset[str]:
    """Every module that is loaded because of `start`; itself only where it stands in a circle."""
    seen: set[str] = set()
    left = [*imports[start]]
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left.extend(imports[module])
    return frozenset(seen)


def write_package(folder: Path, **modules: str) -> None:
    package = folder / "circled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")


def test_no_module_needs_itself() -> None:
    imports = read_imports(ROOT, *OURS)

    assert len(imports) > 400
    assert "perlica.clients.model.openai" in imports["perlica.clients.model.opening"]
    assert find_circles(imports) == []


@pytest.mark.parametrize(
    "closing",
    [
        "import circled.a",
        "from circled.a import x",
        "from circled import a",
        "def load() -> None:\n    from circled.a import x\n",
        "try:\n    import circled.a\nexcept ImportError:\n    pass\n",
        "import typing\nif typing.TYPE_CHECKING:\n    pass\nelse:\n    import circled.a\n",
    ],
)
def test_a_circle_is_found_however_it_closes(tmp_path: Path, closing: str) -> None:
    outside = "import circled.a"
    write_package(tmp_path, a="import circled.b", b="import circled.c", c=closing, d=outside)

    assert find_circles(read_imports(tmp_path, "circled")) == [
        {"circled.a", "circled.b", "circled.c"}
    ]


def test_a_package_that_needs_its_own_module_and_is_needed_by_it_is_a_circle(
    tmp_path: Path,
) -> None:
    write_package(tmp_path, a="from circled import x")
    (tmp_path / "circled" / "__init__.py").write_text("from circled.a import y\n")

    assert find_circles(read_imports(tmp_path, "circled")) == [{"circled", "circled.a"}]


def test_what_is_imported_for_types_alone_closes_no_circle(tmp_path: Path) -> None:
    closing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import circled.a\n"
    write_package(tmp_path, a="import circled.b", b=closing)

    assert find_circles(read_imports(tmp_path, "circled")) == []
