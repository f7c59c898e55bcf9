"""The rooms whose changes must not go unnoticed, and the tests that look after each.

Asked by the command line; a room is measured with the tests that run in minutes, so the harnesses
of kills, races and floods are left out: what only they notice counts as unnoticed.
"""

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


_ACTING: Final = ("tests/behaviour", "tests/attack", "tests/napcat", "tests/session")
_NODE: Final = ("tests/sandboxd",)

ROOMS: Final = (
    Room(
        name="domain",
        sources=("perlica/domain",),
        tests=("tests/commands", "tests/stores", "tests/sandboxes", *_ACTING),
    ),
    Room(name="protection", sources=("perlica/protection",), tests=("tests/protection",)),
    Room(
        name="gateway",
        sources=("perlica/gateway",),
        tests=("tests/commands", "tests/sandboxes", *_ACTING),
    ),
    Room(
        name="commands",
        sources=("perlica/commands",),
        tests=("tests/commands", "tests/behaviour", "tests/attack", "tests/sandboxes"),
    ),
    Room(
        name="stores",
        sources=("perlica/stores",),
        tests=("tests/stores", "tests/sandboxes", "tests/console", *_ACTING),
    ),
    Room(
        name="actors",
        sources=("actors",),
        tests=("tests/napcat", "tests/behaviour", "tests/attack", "tests/sandboxes"),
    ),
    Room(name="runtime", sources=("sandboxd/runtime",), tests=_NODE),
    Room(name="network", sources=("sandboxd/network",), tests=_NODE),
    Room(name="ledger", sources=("sandboxd/ledger",), tests=_NODE),
    Room(name="storage", sources=("sandboxd/storage",), tests=_NODE),
)
