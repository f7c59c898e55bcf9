"""What the ordinary run draws a seeded sample of, and `--long` runs in whole.

Every sample is listed here and nowhere else (`SHARES`, `ROUNDS`); CONTRIBUTING.md shows the same
list. The seed is drawn anew for each run, at home and in CI, and printed at its head and its end;
`--sample-seed` repeats it.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import pytest

Drawn = TypeVar("Drawn")
LONG = "--long"
SEED = "--sample-seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Of points that are found at run time: at least one of each kind, and `part` of all."""

    what: str
    part: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Rounds:
    """Of repetitions: how many the ordinary run has, and how many the long one."""

    what: str
    sampled: int
    whole: int


SHARES: Mapping[str, Share] = {
    "crash": Share(
        what="points at which the service is killed; every story and place in the code once",
        part=0.25,
    ),
    "sandbox kills": Share(
        what="steps at which service or node daemon is killed; every kind of step once",
        part=0.25,
    ),
    "dojo": Share(
        what="attacks of AgentDojo; every user task and every injection once",
        part=0.25,
    ),
}
ROUNDS: Mapping[str, Rounds] = {
    "race": Rounds(what="rounds of each race of Owners for a ticket", sampled=50, whole=200),
    "tickets": Rounds(
        what="rounds of each race of connections for a ticket", sampled=60, whole=200
    ),
    "sandbox races": Rounds(
        what="rounds of each race for a sandbox; head starts in ten turns", sampled=50, whole=200
    ),
    "outbox": Rounds(what="kills between a message's write and its answer", sampled=20, whole=50),
    "fuzz": Rounds(what="seconds of frames that NapCat never sends", sampled=10, whole=60),
}


class Sample:
    """Draws for one run. What was drawn is kept in `notes`, to be printed."""

    def __init__(self, seed: int, *, is_long: bool) -> None:
        self.seed = seed
        self.is_long = is_long
        self.notes: dict[str, str] = {}

    def rounds(self, name: str) -> int:
        """How often to repeat what `ROUNDS` has under this name."""
        rounds = ROUNDS[name]
        number = rounds.whole if self.is_long else rounds.sampled
        self.notes[name] = f"{number} of {rounds.whole}"
        return number

    def pick(
        self,
        name: str,
        points: Sequence[Drawn],
        *,
        of: str,
        kinds: Callable[[Drawn], Iterable[Hashable]],
    ) -> list[Drawn]:
        """Of `points` those to be tried, in their order; `of` says whose points they are.

        Every kind that `kinds` gives any point is among them. The same seed picks the same of the
        same points.
        """
        picked = list(points)
        if not self.is_long:
            draw = random.Random(f"{self.seed} {name} {of}")
            places = _draw([tuple(kinds(point)) for point in points], SHARES[name].part, draw)
            picked = [points[place] for place in places]
        self.note(name, of=of, picked=len(picked), whole=len(points))
        return picked

    def note(self, name: str, *, of: str, picked: int, whole: int) -> None:
        """Have it printed at the end of the run."""
        self.notes[f"{name} ({of})"] = f"{picked} of {whole}"


def _draw(kinds: Sequence[Sequence[Hashable]], part: float, draw: random.Random) -> list[int]:
    """Places, in order: one at least for each kind, `part` of all if that is more."""
    found: dict[Hashable, list[int]] = defaultdict(list)
    for place, several in enumerate(kinds):
        for kind in several:
            found[kind].append(place)
    places: set[int] = set()
    for same in found.values():
        if places.isdisjoint(same):
            places.add(draw.choice(same))
    rest = [place for place in range(len(kinds)) if place not in places]
    places.update(_spread(rest, round(part * len(kinds)) - len(places), draw))
    return sorted(places)


def _spread(places: Sequence[int], wanted: int, draw: random.Random) -> list[int]:
    """So many of them, evenly spread, from a start that is drawn."""
    if wanted <= 0 or not places:
        return []
    step = len(places) / wanted
    start = draw.random() * step
    return [places[int(start + number * step)] for number in range(wanted)]


class SamplePlugin:
    """Says the seed at the head of a run, and at its end what was drawn with it."""

    def __init__(self, config: pytest.Config) -> None:
        given = config.getoption(SEED)
        seed = random.SystemRandom().getrandbits(32) if given is None else int(given)
        config.option.sample_seed = seed
        self.sample = Sample(seed, is_long=bool(config.getoption(LONG)))

    def pytest_report_header(self) -> str:
        """How to have the same sample again."""
        if self.sample.is_long:
            return "samples: none, everything is run"
        return f"samples: {SEED}={self.sample.seed} (or everything: {LONG})"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """What was left out of this run."""
        if not self.sample.notes:
            return
        terminalreporter.section("samples")
        terminalreporter.write_line(self.pytest_report_header())
        for name, drawn in sorted(self.sample.notes.items()):
            terminalreporter.write_line(f"  {name}: {drawn}")
