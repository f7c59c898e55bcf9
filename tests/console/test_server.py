"""The server comes up, goes away without a trace, and outlives a database that is gone."""

import shutil
import socket
import threading
import time
from pathlib import Path

import pytest

from perlica.console import ConsoleSettings, start_console
from perlica.domain.errors import Misconfigured
from perlica.gateway.known_actions import CATALOG
from perlica.stores.database import Database
from tests.console.people import Person, text_of
from tests.console.seeder import Seeder, add_viewer, make_database


def open_files(path: Path) -> list[str]:
    """What this process holds open of a database."""
    targets = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            targets.append(str(entry.readlink()))
        except OSError:
            continue
    return [target for target in targets if target.startswith(str(path))]


def test_nothing_is_left_after_a_stop(path: Path) -> None:
    threads_before = set(threading.enumerate())
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(console) as person:
        person.log_in()
        for page in ("/", "/tasks", "/audit", "/usage"):
            person.read(page)
        held_while_running = open_files(path)
    console.stop()

    assert held_while_running
    assert open_files(path) == []
    assert {t for t in threading.enumerate() if t.is_alive()} - threads_before == set()
    assert not console.is_alive


def test_a_stop_waits_for_no_open_page(path: Path) -> None:
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    idle = socket.create_connection(("127.0.0.1", console.port), timeout=5)
    half = socket.create_connection(("127.0.0.1", console.port), timeout=5)
    half.sendall(b"GET / HTTP/1.1\r\nHost: ")
    stopper = threading.Thread(target=console.stop)
    stopper.start()
    stopper.join(15)
    idle.close()
    half.close()

    assert not stopper.is_alive()
    assert not console.is_alive


def test_connections_that_say_nothing_hold_no_thread(path: Path) -> None:
    console = start_console(ConsoleSettings(actions=CATALOG, threads=1), path)
    silent = [socket.create_connection(("127.0.0.1", console.port), timeout=5) for _ in range(8)]
    began_s = time.monotonic()
    with Person(console) as person:
        status = person.log_in().status_code
    took_s = time.monotonic() - began_s
    for connection in silent:
        connection.close()
    console.stop()

    assert status == 303
    assert took_s < 2.0


def test_a_taken_address_is_told_with_the_remedy(path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = ConsoleSettings(actions=CATALOG, port=taken.getsockname()[1])

        with pytest.raises(Misconfigured, match="console_unusable") as refused:
            start_console(settings, path)
    assert "console.listen" in refused.value.remedy


def test_without_a_database_every_page_says_so_and_it_recovers(tmp_path: Path) -> None:
    path = tmp_path / "perlica.db"
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(console) as person:
        missing = person.get("/")
        make_database(path)
        login = person.log_in()
        shown = person.get("/tasks").status_code
    console.stop()

    assert missing.status_code == 503
    assert "no_database" in text_of(missing)
    assert (login.status_code, shown) == (303, 200)


def test_a_database_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    old = make_database(tmp_path / "perlica.db")
    new = make_database(tmp_path / "new" / "perlica.db")
    with Database.open(new) as db:
        task = Seeder(db).begin("只在新库里")
        db.truncate_wal()
    console = start_console(ConsoleSettings(actions=CATALOG, threads=2), old)
    with Person(console) as person:
        person.log_in()
        before = person.read("/tasks")
        for leftover in ("perlica.db-wal", "perlica.db-shm"):
            (tmp_path / leftover).unlink(missing_ok=True)
        new.replace(old)
        person.log_in()
        after = person.read("/tasks?state=everything")
    console.stop()

    assert task not in before
    assert task in after


def test_a_damaged_database_is_said_and_ends_nothing(tmp_path: Path) -> None:
    path = make_database(tmp_path / "perlica.db")
    console = start_console(ConsoleSettings(actions=CATALOG, threads=1), path)
    with Person(console) as person:
        person.log_in()
        copy = tmp_path / "copy"
        shutil.copyfile(path, copy)
        copy.write_bytes(b"not a database at all" * 500)
        copy.replace(path)
        answer = person.get("/tasks")
        again = person.get("/login")
    console.stop()

    assert answer.status_code == again.status_code == 503
    assert "数据库读不了" in text_of(answer)


def test_a_locked_database_is_no_hindrance(path: Path) -> None:
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(console) as person, Database.open(path) as writer:
        person.log_in()
        with writer.transaction():
            add_in_transaction = writer.change(
                "INSERT INTO service_state (key, value) VALUES ('k', 'v') RETURNING key"
            )
            status = person.get("/").status_code
    console.stop()

    assert add_in_transaction
    assert status == 200


def test_a_fault_in_a_page_is_a_page_and_the_next_one_works(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(console) as person:
        person.log_in()
        with monkeypatch.context() as broken:
            broken.setattr("perlica.console.frame.list_pages", lambda *_: 1 / 0)
            failed = person.get("/tasks")
        works = person.get("/tasks")
    console.stop()

    assert failed.status_code == 500
    assert "ZeroDivisionError" not in failed.text
    assert "Traceback" not in failed.text
    assert "a page of the console failed" in caplog.text
    assert works.status_code == 200


def test_a_viewer_added_while_it_runs_can_log_in(path: Path) -> None:
    console = start_console(ConsoleSettings(actions=CATALOG), path)
    with Person(console) as person:
        before = person.log_in("a-new-token").status_code
        with Database.open(path) as db:
            add_viewer(db, name="阿杰", token="a-new-token")
        after = person.log_in("a-new-token").status_code
    console.stop()

    assert (before, after) == (403, 303)
