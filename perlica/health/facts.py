"""What the health server is given: its settings, and what only the running process knows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FIGURES_EVERY_S = 10.0
"""The database is looked at this often at most, however often it is asked."""
READINESS_EVERY_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthSettings:
    """Where to listen (port 0: any free one), where backups lie, how much disk must be left."""

    host: str
    port: int
    backups: Path
    min_free_bytes: int
    figures_every_s: float = FIGURES_EVERY_S
    readiness_every_s: float = READINESS_EVERY_S


def no_queues() -> Mapping[str, int]:
    """For a process without queues worth showing, or without anything dropped."""
    return {}


def no_fault() -> str:
    """For a process whose database nobody checks."""
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class HealthFacts:
    """Filled by wiring. The callables are called in the health server's threads and must not block.

    `connection_fault` gives "" when NapCat is ready, otherwise a code; `database_fault` the code of
    what the last check of the database found; `actors` says of each actor
    by name whether it lives; `queues` gives the length of queues by name, such as `inbound`;
    `dropped` gives how many of NapCat's frames were dropped since the start, by reason;
    `versions` become the labels of `perlica_info`.
    """

    connection_fault: Callable[[], str]
    actors: Callable[[], Mapping[str, bool]]
    queues: Callable[[], Mapping[str, int]] = no_queues
    dropped: Callable[[], Mapping[str, int]] = no_queues
    database_fault: Callable[[], str] = no_fault
    versions: Mapping[str, str] = field(default_factory=dict)
