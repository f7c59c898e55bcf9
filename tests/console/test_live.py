"""Open pages stay fresh, and many of them cost little: one snapshot, few threads, bounded."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from perlica.console import ConsoleServer
from perlica.console.snapshots import MAX_KEPT, Snapshot, Snapshots
from perlica.domain.task import TaskState
from perlica.stores.database import Database
from tests.console.conftest import StartConsole
from tests.console.people import Person, text_of, wait_until
from tests.console.seeder import Seeder, add_viewer

PART = {"X-Console-Part": "live"}
VIEWERS = 50


def look(person: Person, path: str, tag: str = "") -> tuple[int, str, str]:
    """What an open page asks: status, new tag, text."""
    answer = person.get(path, headers={**PART, "If-None-Match": tag} if tag else PART)
    return answer.status_code, answer.headers.get("ETag", ""), text_of(answer)


def test_a_part_holds_the_page_and_what_waits_but_no_frame(viewer: Person) -> None:
    part = viewer.get("/tasks", headers=PART).text

    assert 'id="live"' in part
    assert 'id="page-list"' in part
    assert "<script" not in part
    assert "查看者" not in part


def test_what_has_not_changed_is_not_sent_again(viewer: Person) -> None:
    status, tag, _ = look(viewer, "/tasks")
    again = look(viewer, "/tasks", tag)

    assert (status, again[0], again[2]) == (200, 304, "")
    assert re.fullmatch(r'"[0-9a-f]{32}"', tag)


def test_a_running_task_is_seen_step_by_step(path: Path, viewer: Person) -> None:
    _, tag, text = look(viewer, "/active")
    assert "没有正在进行的任务" in text
    with Database.open(path) as db:
        seeder = Seeder(db)
        task = seeder.begin("数一数文件")

        wait_until(lambda: f"任务 {task}" in look(viewer, "/active", tag)[2])
        seeder.turn(task, "assistant", {"text": "先列出文件"})
        wait_until(lambda: "先列出文件" in look(viewer, "/active")[2])
        seeder.move(task, TaskState.completing, TaskState.completed, reason="answered")
        wait_until(lambda: "上一个任务" in look(viewer, "/active")[2])


def test_an_open_page_is_told_when_its_login_has_ended(viewer: Person) -> None:
    viewer.ask("POST", "/logout")

    answer = viewer.get("/tasks", headers=PART)
    assert answer.status_code == 401
    assert "Location" not in answer.headers


def test_fifty_viewers_are_served_by_a_few_threads(start: StartConsole, path: Path) -> None:
    with Database.open(path) as db:
        Seeder(db).begin("一个很长的任务")
    threads_before = threading.active_count()
    console = start(threads=3)
    people = [Person(console) for _ in range(VIEWERS)]
    tokens = [f"token-of-viewer-{number}" for number in range(VIEWERS)]
    with Database.open(path) as db:
        for number, token in enumerate(tokens):
            add_viewer(db, name=f"viewer {number}", token=token)
    with ThreadPoolExecutor(max_workers=VIEWERS) as pool:
        logins = list(pool.map(lambda p, t: p.log_in(t).status_code, people, tokens))
        answers = [list(pool.map(lambda p: look(p, "/active")[0], people)) for _ in range(4)]
        busiest = threading.active_count()
    for person in people:
        person.__exit__(None, None, None)

    assert logins == [303] * VIEWERS
    assert answers == [[200] * VIEWERS] * 4
    assert busiest - threads_before <= VIEWERS + 3 + 2  # and the two that accept


def test_a_page_is_made_once_for_all_who_ask_for_it_at_once() -> None:
    snapshots, made = Snapshots(), []
    together = threading.Barrier(8)

    def make() -> Snapshot:
        made.append(threading.get_ident())
        return Snapshot(title="", news="", navigation="", content="x", age_s=30.0)

    def take() -> str:
        together.wait(10)
        return snapshots.take("/", make).content

    with ThreadPoolExecutor(max_workers=8) as pool:
        contents = list(pool.map(lambda _: take(), range(8)))

    assert contents == ["x"] * 8
    assert len(made) == 1


def test_an_old_snapshot_is_made_anew_and_a_failed_one_is_not_kept() -> None:
    snapshots = Snapshots()

    def fail() -> Snapshot:
        raise LookupError

    with pytest.raises(LookupError):
        snapshots.take("/", fail)
    first = snapshots.take(
        "/", lambda: Snapshot(title="1", news="", navigation="", content="", age_s=0.0)
    )
    second = snapshots.take(
        "/", lambda: Snapshot(title="2", news="", navigation="", content="", age_s=9.0)
    )
    third = snapshots.take(
        "/", lambda: Snapshot(title="3", news="", navigation="", content="", age_s=9.0)
    )

    assert (first.title, second.title, third.title) == ("1", "2", "2")


def test_snapshots_are_bounded() -> None:
    snapshots = Snapshots()
    for number in range(3 * MAX_KEPT):
        content = str(number)
        made = Snapshot(title="", news="", navigation="", content=content, age_s=60.0)
        snapshots.take(f"/{number}", lambda made=made: made)  # type: ignore[misc]

    assert len(snapshots._places) == MAX_KEPT


def test_a_snapshot_that_may_not_be_shown_any_more_is_let_go() -> None:
    snapshots = Snapshots()
    for number in range(5):
        made = Snapshot(title="", news="", navigation="", content="x", age_s=0.0)
        snapshots.take(f"/{number}", lambda made=made: made)  # type: ignore[misc]

    assert list(snapshots._places) == ["/4"]


def test_languages_have_their_own_snapshots(console: ConsoleServer) -> None:
    with Person(console) as one, Person(console) as other:
        one.log_in()
        other.log_in()
        other.get("/?lang=en")

        assert "任务" in one.read("/tasks")
        assert "No tasks." in other.read("/tasks")
