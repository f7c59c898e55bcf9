"""Bar charts as values that a template writes down as inline SVG; nothing is drawn by a script.

Bars of one day are stacked. Beside the picture stands a table with the same figures.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perlica.console.wording import Wording

HEIGHT: Final = 160
"""Of the plotting area, in the units of the drawing."""
WIDTH: Final = 640
LEFT: Final = 48
TOP: Final = 12
BOTTOM: Final = 24
_GRID_LINES: Final = 4
_BAR_SHARE: Final = 0.68
_LABELS_AT_MOST: Final = 10
_NICE: Final = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One coloured piece of a day's bar; `colour` counts from 1."""

    x: str
    y: str
    width: str
    height: str
    colour: int
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A line of the grid or a day below, with its label."""

    at: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One kind of figure: its name, its colour and its figures by day."""

    name: str
    colour: int
    figures: tuple[str, ...]
    total: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A whole chart; `is_empty` when all figures are nought."""

    key: str
    title: str
    about: str
    total: str
    width: int
    height: int
    left: int
    floor: int
    bars: tuple[Bar, ...] = field(repr=False)
    grid: tuple[Mark, ...]
    ticks: tuple[Mark, ...]
    days: tuple[str, ...]
    series: tuple[Series, ...]
    is_empty: bool


def draw_chart(
    *,
    key: str,
    title: str,
    about: str,
    days: tuple[str, ...],
    series: Mapping[str, tuple[int, ...]],
    wording: Wording,
) -> Chart:
    """The chart of figures by day; all series have one figure for each day."""
    sums = [sum(figures[day] for figures in series.values()) for day in range(len(days))]
    top = nice_ceiling(max(sums, default=0))
    shown = tuple(
        Series(
            name=name,
            colour=number,
            figures=tuple(wording.number(figure) for figure in figures),
            total=wording.number(sum(figures)),
        )
        for number, (name, figures) in enumerate(series.items(), start=1)
    )
    return Chart(
        key=key,
        title=title,
        about=about,
        total=wording.say("usage.total", total=wording.number(sum(sums))),
        width=WIDTH,
        height=TOP + HEIGHT + BOTTOM,
        left=LEFT,
        floor=TOP + HEIGHT,
        bars=_bars(days, series, top, wording),
        grid=_grid(top, wording),
        ticks=_ticks(days),
        days=days,
        series=shown,
        is_empty=not any(sums),
    )


def nice_ceiling(highest: int) -> int:
    """The least of 4, 8, 20, 40, 80, 200 … that is not below the highest figure."""
    step = 1
    while True:
        for factor in _NICE:
            if factor * step * _GRID_LINES >= highest:
                return factor * step * _GRID_LINES
        step *= 10


def _bars(
    days: tuple[str, ...], series: Mapping[str, tuple[int, ...]], top: int, wording: Wording
) -> tuple[Bar, ...]:
    room = (WIDTH - LEFT) / max(1, len(days))
    bars = []
    for number, day in enumerate(days):
        below = 0.0
        for colour, (name, figures) in enumerate(series.items(), start=1):
            height = HEIGHT * figures[number] / top
            if not height:
                continue
            bars.append(
                Bar(
                    x=f"{LEFT + number * room + room * (1 - _BAR_SHARE) / 2:.1f}",
                    y=f"{TOP + HEIGHT - below - height:.1f}",
                    width=f"{room * _BAR_SHARE:.1f}",
                    height=f"{height:.1f}",
                    colour=colour,
                    title=f"{day} {name}: {wording.number(figures[number])}",
                )
            )
            below += height
    return tuple(bars)


def _grid(top: int, wording: Wording) -> tuple[Mark, ...]:
    return tuple(
        Mark(
            at=f"{TOP + HEIGHT - HEIGHT * line / _GRID_LINES:.1f}",
            label=_short(top * line // _GRID_LINES, wording),
        )
        for line in range(_GRID_LINES + 1)
    )


def _short(figure: int, wording: Wording) -> str:
    """A figure that fits beside the grid."""
    for unit, size in (("M", 1_000_000), ("k", 10_000)):
        if figure >= size:
            whole = 1_000_000 if unit == "M" else 1_000
            return f"{figure / whole:g}{unit}"
    return wording.number(figure)


def _ticks(days: tuple[str, ...]) -> tuple[Mark, ...]:
    room = (WIDTH - LEFT) / max(1, len(days))
    every = -(-len(days) // _LABELS_AT_MOST)
    return tuple(
        Mark(at=f"{LEFT + (number + 0.5) * room:.1f}", label=day)
        for number, day in enumerate(days)
        if (len(days) - 1 - number) % every == 0
    )
