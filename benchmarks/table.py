"""One measured figure, and the table of all of them. `benchmarks.__main__` fills and prints it."""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, model_validator
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

Verdict = Literal["met", "missed", "no target", "not measured"]


class Row(BaseModel):
    """A figure. `name` carries its unit at the end where it has one (`idle_memory_mib`).

    `peer_or_floor` is what it is held against: another program's figure, or the least that any
    program would need; a number in the same unit or a text. `ratio` is value over that.
    `target` is the bound that was promised, `met` whether it holds; both None without a promise.
    A figure that could not be measured has no value and says in `why` what was missing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str
    value: float | int | None = None
    unit: str = ""
    peer_or_floor: float | int | str | None = None
    ratio: float | None = None
    target: float | int | str | None = None
    met: bool | None = None
    why: str = ""
    measured_at: str = ""

    @model_validator(mode="after")
    def _is_whole(self) -> "Row":
        if (self.value is None) != bool(self.why):
            raise ValueError(f"{self.name}: either a value, or the reason why there is none")
        if self.value is not None and (self.target is None) != (self.met is None):
            raise ValueError(f"{self.name}: a target needs a verdict, and a verdict a target")
        return self

    @property
    def verdict(self) -> Verdict:
        """What the figure says about its promise."""
        if self.value is None:
            return "not measured"
        if self.met is None:
            return "no target"
        return "met" if self.met else "missed"


_COLOURS: dict[Verdict, str] = {
    "met": "green",
    "missed": "bold red",
    "no target": "dim",
    "not measured": "yellow",
}


def build_table(rows: Sequence[Row]) -> Table:
    """Return the table that a person reads."""
    table = Table(title="Perlica, measured on this machine")
    table.add_column("figure", no_wrap=True, overflow="ignore")
    for title in ("value", "peer or floor", "ratio", "target"):
        table.add_column(title, justify="right")
    table.add_column("verdict")
    for row in rows:
        value = "" if row.value is None else f"{_short(row.value)} {row.unit}".strip()
        verdict = f"[{_COLOURS[row.verdict]}]{row.verdict}[/]"
        texts = (value, _short(row.peer_or_floor), _short(row.ratio), _short(row.target))
        table.add_row(row.name, *texts, f"{verdict} {row.why}".strip())
    return table


def print_table(table: Table, console: Console) -> None:
    """Print it; outside of a terminal as wide as it is, so that each figure has one whole line."""
    if not console.is_terminal:
        unbounded = console.options.update(max_width=_UNBOUNDED)
        console.width = Measurement.get(console, unbounded, table).maximum
    console.print(table)


_UNBOUNDED = 10_000


def merge_rows(older: Iterable[Row], newer: Sequence[Row]) -> list[Row]:
    """Return the newer rows and those older ones whose figure was not measured again."""
    names = {row.name for row in newer}
    return [*(row for row in older if row.name not in names), *newer]


def _short(value: float | str | None) -> str:
    if value is None:
        return ""
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
