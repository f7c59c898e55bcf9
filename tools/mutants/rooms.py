"""The rooms whose changes must not go unnoticed, and the tests that look after each.

Asked by the command line; a room is measured with the tests that run in minutes, so the harnesses
of kills, races and floods are left out: what only they notice counts as unnoticed.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """`sources` are folders of the product, `tests` folders or files of tests."""

    name: str
    sources: tuple[str, ...]
    tests: tuple[str, ...]

    def files(self, root: Path) -> list[Path]:
        """The room's modules, relative to `root`, in a stable order."""
        found = (path for folder in self.sources for path in (root / folder).rglob("*.py"))
        return sorted(path.relative_to(root) for path in found)

    def test_files(self, root: Path) -> list[str]:
        """The files of its tests, relative to `root`, without those that take too long."""
        found = {path for test in self.tests for path in _test_files(root / test)}
        return sorted({str(path.relative_to(root)) for path in found} - _LEFT_OUT)


def _test_files(test: Path) -> Iterator[Path]:
    yield from [test] if test.is_file() else test.rglob("test_*.py")


_NODE: Final = ("tests/sandboxd",)
_LEFT_OUT: Final = frozenset(
    {
        "tests/protection/test_added_corpus.py",
        "tests/protection/test_corpus.py",
        "tests/napcat/test_fuzz.py",
        "tests/napcat/test_outbox_kill.py",
        "tests/sandboxes/test_a_project.py",
        "tests/sandboxes/test_configured_image.py",
        "tests/sandboxes/test_gate_joined.py",
        "tests/sandboxes/test_kills.py",
        "tests/sandboxes/test_races.py",
        "tests/sandboxes/test_real_cuts.py",
        "tests/sandboxes/test_real_node.py",
        "tests/sandboxes/test_remote_nodes.py",
        "tests/sandboxes/test_the_readmes_way.py",
        "tests/sandboxes/test_tree.py",
        "tests/stores/test_kill.py",
    }
)
"""Harnesses of kills and races, whole corpora, and what needs a sandbox of the kernel's."""

ROOMS: Final = (
    Room(
        name="domain",
        sources=("perlica/domain",),
        tests=("tests/domain", "tests/commands", "tests/session", "tests/stores"),
    ),
    Room(name="protection", sources=("perlica/protection",), tests=("tests/protection",)),
    Room(
        name="gateway",
        sources=("perlica/gateway",),
        tests=(
            "tests/gateway",
            "tests/commands",
            "tests/attack",
            "tests/sandboxes/test_installs.py",
            "tests/sandboxes/test_owner_commands.py",
            "tests/sandboxes/test_order.py",
        ),
    ),
    Room(
        name="session",
        sources=("perlica/session", "perlica/tasks", "perlica/runtimes"),
        tests=("tests/session", "tests/model", "tests/commands"),
    ),
    Room(
        name="commands",
        sources=("perlica/commands",),
        tests=("tests/commands",),
    ),
    Room(
        name="stores",
        sources=("perlica/stores",),
        tests=(
            "tests/stores",
            "tests/console/test_long_lists.py",
            "tests/console/test_pages.py",
            "tests/console/test_read_by_people.py",
        ),
    ),
    Room(
        name="actors",
        sources=("actors",),
        tests=("tests/napcat", "tests/attack"),
    ),
    Room(name="runtime", sources=("sandboxd/runtime",), tests=_NODE),
    Room(name="network", sources=("sandboxd/network",), tests=_NODE),
    Room(name="ledger", sources=("sandboxd/ledger",), tests=_NODE),
    Room(name="storage", sources=("sandboxd/storage",), tests=_NODE),
)
