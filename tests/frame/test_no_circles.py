"""No module needs itself: what may be loaded first is never a question of luck.

Looked for in all imports that run, those inside of functions too; what is imported for types alone
does not run.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
import pytest

OURS = ("perlica", "actors", "sandboxd", "gate")

Imports = Mapping[str, frozenset[str]]


def read_imports(*packages: str) -> Imports:
    """Of each module, the modules that it imports."""
    graph = grimp.build_graph(*packages, exclude_type_checking_imports=True, cache_dir=None)
    return {
        module: frozenset(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }


def find_circles(imports: Imports) -> list[frozenset[str]]:
    """The sets of modules that all need each other: whatever remains of the tangle at both ends."""
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
    left: list[str] = [*imports[start]]
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left.extend(_known(imports, module))
    return frozenset(seen)


def _known(imports: Imports, module: str) -> Iterable[str]:
    return imports.get(module, frozenset())


def write_package(folder: Path, **modules: str) -> None:
    package = folder / "circled"
    package.mkdir()
    (package / "__init__.py").touch()
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text, encoding="utf-8")


def test_no_module_needs_itself() -> None:
    imports = read_imports(*OURS)

    assert len(imports) > 400
    assert find_circles(imports) == []


@pytest.mark.parametrize(
    "closing",
    [
        "import circled.a",
        "from circled.a import x",
        "from circled import a",
        "def load() -> None:\n    from circled.a import x\n",
        "try:\n    import circled.a\nexcept ImportError:\n    pass\n",
    ],
)
def test_a_circle_is_found_however_it_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closing: str
) -> None:
    write_package(
        tmp_path, a="import circled.b", b="import circled.c", c=closing, d="import circled.a"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert find_circles(read_imports("circled")) == [{"circled.a", "circled.b", "circled.c"}]


def test_what_is_imported_for_types_alone_closes_no_circle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closing = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import circled.a\n"
    write_package(tmp_path, a="import circled.b", b=closing)
    monkeypatch.syspath_prepend(tmp_path)

    assert find_circles(read_imports("circled")) == []
