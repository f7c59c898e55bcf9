"""Every dependency is wanted, explained, and fixed to bytes that were seen."""

import ast
import re
import sys
from importlib import metadata
from pathlib import Path

import pytest

from tests.frame.checkout import ROOT, read_tree_file
from tools.check.tree import list_files
from tools.lock import WITHIN

FOLDER = ROOT / "tools" / "requirements"
OURS = {"perlica", "actors", "sandboxd", "benchmarks", "tools", "tests", "gate", "_typeshed"}


def _wanted(name: str) -> set[str]:
    lines = (FOLDER / f"{name}.in").read_text(encoding="utf-8").splitlines()
    return {re.split(r"[<>=\[]", line)[0] for line in lines if line and not line.startswith("#")}


def _blocks(name: str) -> list[str]:
    """One text for each locked package: its line with version, hashes and remarks."""
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    return re.findall(r"^[a-z0-9].*(?:\n[ #].*)*", text, flags=re.MULTILINE)


def _pins(name: str) -> dict[str, str]:
    pairs = (re.match(r"([a-z0-9.-]+)==(\S+)", block) for block in _blocks(name))
    return {pair[1]: pair[2] for pair in pairs if pair}


# Scripts that run in an environment of their own, installed from a lock beside them.
ELSEWHERE = {"tests/peers/read_with_nonebot.py"}


def _imported(folders: set[str]) -> set[str]:
    """Distributions that modules of these folders import."""
    distributions = metadata.packages_distributions()
    modules = set()
    for path in list_files():
        if path.suffix == ".py" and path.parts[0] in folders and str(path) not in ELSEWHERE:
            modules |= _top_imports(ROOT / path)
    outside = modules - set(sys.stdlib_module_names) - OURS
    names = {name for module in outside for name in distributions.get(module, [module])}
    return {name.lower().replace("_", "-") for name in names}


def _top_imports(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("name", WITHIN)
def test_each_locked_package_has_one_version_and_hashes(name: str) -> None:
    blocks = _blocks(name)

    assert blocks
    assert [block for block in blocks if "==" not in block or "--hash=sha256:" not in block] == []


@pytest.mark.parametrize("name", WITHIN)
def test_each_wanted_package_is_locked(name: str) -> None:
    assert _wanted(name) - set(_pins(name)) == set()


@pytest.mark.parametrize("name", WITHIN)
def test_a_lock_names_no_host(name: str) -> None:
    text = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")

    assert "://" not in text
    assert "index-url" not in text
    assert "find-links" not in text


@pytest.mark.parametrize("name", WITHIN)
def test_locks_for_one_environment_agree(name: str) -> None:
    pins = _pins(name)

    for other in WITHIN[name]:
        shared = pins.keys() & _pins(other).keys()
        assert {key: pins[key] for key in shared} == {key: _pins(other)[key] for key in shared}


def test_the_package_demands_what_the_lock_holds() -> None:
    demanded = {
        re.split(r"[ ;<>=\[]", line)[0]
        for line in metadata.requires("perlica") or []
        if "extra ==" not in line
    }

    assert demanded == _wanted("run")


def test_the_installed_versions_are_the_locked_ones() -> None:
    pins = {
        name: version
        for lock in ("build", "run", "demo", "dev")
        for name, version in _pins(lock).items()
    }

    installed = {name: metadata.version(name) for name in pins}

    assert installed == pins


def test_what_the_service_imports_is_declared() -> None:
    demo = {path.parts[1] for path in list_files() if path.parts[:2] == ("perlica", "demo")}

    assert demo
    assert _imported({"perlica", "actors", "sandboxd"}) - _wanted("run") - _wanted("demo") == set()


def test_what_is_declared_is_imported() -> None:
    used = _imported({"perlica", "actors", "sandboxd"})

    assert (_wanted("run") | _wanted("demo")) - used == set()


def test_what_tests_and_tools_import_is_declared() -> None:
    allowed = set().union(*(_wanted(name) for name in ("run", "demo", "dev")))

    assert _imported({"tests", "tools", "benchmarks"}) - allowed == set()


@pytest.mark.parametrize("name", WITHIN)
def test_each_dependency_has_a_line_that_says_why(name: str) -> None:
    text = read_tree_file("CONTRIBUTING.md")

    assert {wanted for wanted in _wanted(name) if f"| {wanted} |" not in text} == set()
