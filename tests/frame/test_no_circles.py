"""No two modules need each other: each can be read, tested and imported by itself."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import grimp
import pytest

ROOMS = ("perlica", "actors", "sandboxd", "gate", "tools")


def circles(imports: Mapping[str, frozenset[str]]) -> Iterator[list[str]]:
    """Groups of modules each of which reaches the others (strongly connected components)."""
    reached = {module: _reach(module, imports) for module in imports}
    left = set(imports)
    while left:
        module = min(left)
        group = {module, *(other for other in reached[module] & left if module in reached[other])}
        left -= group
        if len(group) > 1:
            yield sorted(group)


def _reach(module: str, imports: Mapping[str, frozenset[str]]) -> set[str]:
    found: set[str] = set()
    todo = [module]
    while todo:
        new = imports.get(todo.pop(), frozenset()) - found
        found |= new
        todo += new
    return found


def read_imports(*rooms: str) -> dict[str, frozenset[str]]:
    """What each module imports when it runs, inside of functions too."""
    graph = grimp.build_graph(*rooms, cache_dir=None, exclude_type_checking_imports=True)
    return {
        module: frozenset(graph.find_modules_directly_imported_by(module))
        for module in graph.modules
    }


def test_no_modules_of_the_tree_go_round_in_a_circle() -> None:
    imports = read_imports(*ROOMS)

    assert len(imports) > 500
    assert list(circles(imports)) == []


def test_a_circle_is_found_also_through_a_package_and_a_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = tmp_path / "house_of_circles"
    house.mkdir()
    (house / "__init__.py").write_text("from house_of_circles.hall import Hall\n")
    (house / "hall.py").write_text("from house_of_circles.stairs import climb\n\nHall = climb\n")
    (house / "stairs.py").write_text("def climb():\n    from house_of_circles import Hall\n")
    (house / "cellar.py").write_text("from house_of_circles import hall\n")
    monkeypatch.syspath_prepend(tmp_path)

    found = list(circles(read_imports("house_of_circles")))

    assert found == [["house_of_circles", "house_of_circles.hall", "house_of_circles.stairs"]]
