"""`python -m tools.figures [--against REV]`: what the tree is like, beside what it was.

Everything is read, nothing is imported: an older tree is unpacked with git into a temporary folder.
What each figure counts stands under the table.
"""

import argparse
import ast
import io
import json
import re
import statistics
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.check import references
from tools.check.shapes import MAX_FILE_LINES, MAX_FUNCTION_LINES

_PRODUCT = ("perlica", "actors", "sandboxd", "gate")
_TOOLING = ("tools",)
_LEVELS = ("low", "medium", "high")
_NOTES = """\
A place of a tool is a file of the product that spells the name of its action: the policy, the tool,
its words, and whatever else decides something by that name. Actions are those that code plans.
A circle is a group of modules each of which reaches the others, with imports inside of functions;
the parents of an imported module are imported too, imports for types alone are not counted.
Files and functions are those of the product; their sizes are lines.
A reference leads nowhere when what it points at is not in the repository."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A Python file of the tree."""

    name: str
    path: Path
    lines: int
    tree: ast.Module


def measure(root: Path) -> dict[str, str]:
    """Every figure of the tree at `root`, by what it is called."""
    modules = read_modules(root, _PRODUCT)
    more = [*modules, *read_modules(root, _TOOLING)]
    places = places_of_actions(root)
    circles = find_circles(more)
    files = [module.lines for module in modules]
    functions = list(_function_lines(modules))
    actors = [m for m in modules if m.path.parts[0] == "actors" and m.path.name != "__init__.py"]
    flat = [module for module in actors if len(module.path.parts) == 2]
    dangling = references.dangling(root)
    return {
        "places of a tool (median, most)": _middle_and_most([len(at) for at in places.values()]),
        "files flat in actors/ (of all)": f"{len(flat)} of {len(actors)}",
        "circles of imports (largest)": f"{len(circles)} ({max(map(len, circles), default=0)})",
        "lines of a function (median, p90)": _quantiles(functions),
        f"functions above {MAX_FUNCTION_LINES} lines": str(
            sum(length > MAX_FUNCTION_LINES for length in functions)
        ),
        "lines of a file (median, p90)": _quantiles(files),
        f"files above {MAX_FILE_LINES} lines": str(sum(n > MAX_FILE_LINES for n in files)),
        "files, functions": f"{len(files)}, {len(functions)}",
        "references that lead nowhere": str(len(dangling)),
    }


def read_modules(root: Path, rooms: Sequence[str]) -> list[Module]:
    """The Python files of these folders."""
    found = []
    for room in rooms:
        for path in sorted((root / room).rglob("*.py")):
            inside = path.relative_to(root)
            parts = inside.with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            text = path.read_text("utf-8")
            found.append(
                Module(name=name, path=inside, lines=text.count("\n"), tree=ast.parse(text))
            )
    return found


# --- places -----------------------------------------------------------------------------------


def places_of_actions(root: Path) -> dict[str, list[str]]:
    """For each action that code plans, the files that spell its name."""
    policy = root / "perlica" / "gateway" / "policy.toml"
    if not policy.is_file():
        return {}
    table = tomllib.loads(policy.read_text("utf-8"))
    names = {action for level in _LEVELS for action in table.get(level, {})}
    spelled: dict[str, list[str]] = {name: [policy.relative_to(root).as_posix()] for name in names}
    planned: set[str] = set()
    for module in read_modules(root, _PRODUCT):
        texts = _texts_of(module.tree)
        for name in names & texts:
            spelled[name].append(module.path.as_posix())
        planned |= names & _planned_in(module.tree)
    return {name: spelled[name] for name in sorted(planned)}


def _texts_of(tree: ast.Module) -> set[str]:
    return {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def _planned_in(tree: ast.Module) -> set[str]:
    """Texts of a module that makes plans: one that says `ActionPlan` and is no table of words."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return _texts_of(tree) if "ActionPlan" in names and "Planned" in names else set()


# --- circles ----------------------------------------------------------------------------------


def find_circles(modules: Sequence[Module]) -> list[list[str]]:
    """Groups of modules each of which reaches the others."""
    known = {module.name for module in modules}
    imports = {module.name: _imports_of(module, known) for module in modules}
    reached = {name: _reach(name, imports) for name in imports}
    circles, left = [], set(imports)
    while left:
        name = min(left)
        group = {name, *(other for other in reached[name] & left if name in reached[other])}
        left -= group
        if len(group) > 1:
            circles.append(sorted(group))
    return circles


def _imports_of(module: Module, known: set[str]) -> set[str]:
    found: set[str] = set()
    for node in _runtime_nodes(module.tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            chain = {".".join(parts[: end + 1]) for end in range(len(parts))}
            found |= {
                part for part in chain & known if not f"{module.name}.".startswith(f"{part}.")
            }
    return found - {module.name}


def _runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        yield child
        yield from _runtime_nodes(child)


def _reach(name: str, imports: Mapping[str, set[str]]) -> set[str]:
    found: set[str] = set()
    todo = [name]
    while todo:
        new = imports.get(todo.pop(), set()) - found
        found |= new
        todo += new
    return found


# --- sizes ------------------------------------------------------------------------------------


def _function_lines(modules: Sequence[Module]) -> Iterator[int]:
    for module in modules:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (node.end_lineno or node.lineno) - node.lineno + 1


def _quantiles(values: Sequence[int]) -> str:
    if len(values) < 2:
        return ", ".join(map(str, values)) or "none"
    p90 = statistics.quantiles(values, n=10, method="inclusive")[-1]
    return f"{statistics.median(values):g}, {p90:g}"


def _middle_and_most(values: Sequence[int]) -> str:
    return f"{statistics.median(values):g}, {max(values)}" if values else "none"


# --- printing ---------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(prog="python -m tools.figures", description=__doc__)
    parser.add_argument("--against", metavar="REV", help="another column: the tree of this commit")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--verbose", action="store_true", help="list circles and places too")
    given = parser.parse_args(arguments)
    columns = {"now": measure(Path())}
    if given.against:
        columns = {given.against: _measure_revision(given.against), **columns}
    print(json.dumps(columns, indent=2) if given.json else _table(columns))
    if given.verbose:
        print(_details(Path()))
    return 0


def _measure_revision(revision: str) -> dict[str, str]:
    if not re.fullmatch(r"[\w./~^-]{1,80}", revision):
        raise SystemExit(f"no name of a commit: {revision!r}")
    packed = subprocess.run(
        ["git", "archive", "--format=tar", revision], capture_output=True, check=True
    ).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return measure(Path(folder))


def _table(columns: Mapping[str, Mapping[str, str]]) -> str:
    names = list(columns)
    rows = [["", *names]]
    rows += [[what, *(columns[name][what] for name in names)] for what in columns["now"]]
    widths = [max(len(row[at]) for row in rows) for at in range(len(names) + 1)]
    lines = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return "\n".join([*lines, "", _NOTES])


def _details(root: Path) -> str:
    modules = [*read_modules(root, _PRODUCT), *read_modules(root, _TOOLING)]
    lines = [f"circle: {' '.join(circle)}" for circle in find_circles(modules)]
    lines += [f"{name}: {' '.join(at)}" for name, at in places_of_actions(root).items()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
