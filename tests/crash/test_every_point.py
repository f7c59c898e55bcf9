"""kill -9 at every commit and every external effect: nothing twice, nothing lost, one answer.

The points are those that an unharmed run passes (`tests.crash.points`); each is the end of one
process, and the next one has to finish the story. The ordinary run draws a sample of them that has
every place in the code; the long run takes all. The count is printed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue

import pytest

from tests.crash.life import Life, Record
from tests.crash.nursery import Nursery
from tests.crash.points import Point
from tests.crash.stories import STORIES
from tests.printing import printer
from tests.suite.sample import Sample

AT_ONCE = 4
"""A life mostly waits, so two cores carry four of them."""
TRACES = 4
"""Unharmed runs until two are alike."""
Moment = tuple[str, Point]
"""A story and a point of it."""
TRIES = 3
"""A point may be missed when two actors were told in another order; then it is tried again."""


@pytest.fixture(scope="module")
def nurseries() -> Iterator["SimpleQueue[Nursery]"]:
    """Warm processes, each used by one life at a time."""
    pool: SimpleQueue[Nursery] = SimpleQueue()
    with ExitStack() as stack:
        for _ in range(AT_ONCE):
            pool.put(stack.enter_context(Nursery()))
        yield pool


def _play(
    pool: "SimpleQueue[Nursery]", story: str, *, fatal: Point | None = None, traces: bool = False
) -> Record:
    nursery = pool.get()
    try:
        return Life(STORIES[story](), nursery, fatal=fatal, traces=traces).play()
    finally:
        pool.put(nursery)


def _kill_at(pool: "SimpleQueue[Nursery]", story: str, point: Point) -> Record:
    for tries_left in reversed(range(TRIES)):
        record = _play(pool, story, fatal=point)
        if record.was_killed or record.problems or not tries_left:
            return record
    raise AssertionError("the last try returns")


def _trace(pool: "SimpleQueue[Nursery]", story: str) -> set[Point]:
    """The points of an unharmed run, which another one has to pass in the same way."""
    known: list[set[Point]] = []
    for _ in range(TRACES):
        record = _play(pool, story, traces=True)
        assert record.problems == []
        points = set(record.points)
        if points in known:
            return points
        known.append(points)
    raise AssertionError(f"no two unharmed runs were alike: {_difference(known)}")


def _difference(traces: Sequence[set[Point]]) -> list[str]:
    passed = {point for trace in traces for point in trace}
    return sorted(str(point) for point in passed if not all(point in trace for trace in traces))


def _say(points: Sequence[Point]) -> str:
    kinds = Counter(point.label.partition(":")[0] for point in points)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))


@pytest.fixture(scope="module")
def moments(nurseries: "SimpleQueue[Nursery]") -> list[Moment]:
    """All points of all stories."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        traces = threads.map(lambda story: _trace(nurseries, story), sorted(STORIES))
        return [
            (story, point)
            for story, points in zip(sorted(STORIES), traces, strict=True)
            for point in sorted(points)
        ]


@pytest.fixture(scope="module")
def chosen(moments: list[Moment], sample: Sample) -> list[Moment]:
    """Those to die at: every place in the code at least once, and every story."""
    return sample.pick("crash", moments, of="points", kinds=lambda it: (it[0], it[1].label))


@pytest.mark.evidence(14)
@pytest.mark.timeout(900)
@pytest.mark.parametrize("story", sorted(STORIES))
def test_a_kill_at_any_point_does_nothing_twice_and_the_group_is_told_once(
    nurseries: "SimpleQueue[Nursery]",
    pytestconfig: pytest.Config,
    moments: list[Moment],
    chosen: list[Moment],
    story: str,
) -> None:
    passed = [point for name, point in moments if name == story]
    points = [point for name, point in chosen if name == story]

    with ThreadPoolExecutor(AT_ONCE) as threads:
        records = list(threads.map(lambda point: _kill_at(nurseries, story, point), points))

    killed = {record.fatal for record in records if record.was_killed}
    printer(pytestconfig)(
        f"{story}: killed at {len(killed)} of {len(passed)} points ({_say(points)})"
    )
    assert {str(r.fatal): r.problems for r in records if r.problems} == {}
    assert killed == set(points)
    assert points != []
