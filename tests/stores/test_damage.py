"""Whatever is wrong with the database file, it is said in our own words and with a remedy."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from perlica.domain.errors import Misconfigured, PerlicaError, StoreUnavailable
from perlica.stores import faults
from perlica.stores.backup import back_up, verify
from perlica.stores.database import Database
from perlica.stores.faults import translated
from perlica.stores.health import check_database
from perlica.stores.index import rebuild_index
from perlica.stores.messages import MessageStore
from perlica.stores.migrations import migrate
from tests.stores.rows import ROOT, stored


def overwrite(path: Path, start: int, noise: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[start : start + len(noise)] = noise
    path.write_bytes(bytes(whole))


def fill(path: Path) -> None:
    with Database.open(path) as db:
        for number in range(200):
            stored(db, f"沙箱 {number} " * 10)
        db.truncate_wal()


def use(path: Path) -> None:
    """What the service does with it: migrate, write, read everything, search."""
    migrate(path)
    with Database.open(path) as db:
        db.query("SELECT sum(length(content)) AS n FROM group_messages")
        MessageStore(db).search("沙箱", after_ms=0, before_ms=2**45, limit=500)
        for number in range(100):
            stored(db, f"沙箱 {number}")


def no_database(path: Path) -> None:
    path.write_bytes(b"\xff" * 65_536)


def cut_off(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 // 4096 * 4096)


def malformed_pages(path: Path) -> None:
    overwrite(path, 4096, b"\xa5" * (path.stat().st_size - 8192))


def malformed_schema(path: Path) -> None:
    overwrite(path, 100, b"\x00" * 8)


def no_index(path: Path) -> None:
    with Database.open(path) as db, db.transaction():
        db.change("DROP TABLE message_index")


def another_schema(path: Path) -> None:
    with Database.open(path) as db, db.transaction():
        db.change("ALTER TABLE group_messages RENAME COLUMN sent_at_ms TO moment")


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "damage",
    [no_database, cut_off, malformed_pages, malformed_schema, no_index, another_schema, a_folder],
    ids=lambda damage: damage.__name__,
)
def test_every_damage_is_an_error_of_ours_with_a_remedy(
    path: Path, damage: Callable[[Path], None]
) -> None:
    fill(path)
    damage(path)

    with pytest.raises(Misconfigured) as said:
        use(path)

    assert said.value.remedy


def walk(kind: type[BaseException]) -> list[type[BaseException]]:
    return [kind, *(one for child in kind.__subclasses__() for one in walk(child))]


@pytest.mark.parametrize("kind", walk(apsw.Error), ids=lambda kind: kind.__name__)
def test_no_error_of_the_library_leaves_the_stores(kind: type[apsw.Error]) -> None:
    mistakes = faults._PROGRAMMING
    expected = kind if issubclass(kind, mistakes) else PerlicaError

    with pytest.raises(expected), translated():
        raise kind("said by SQLite")


def test_an_sqlite_without_full_text_search_is_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bare(apsw.Connection):
        def register_fts5_tokenizer(self, *_: object) -> None:
            raise apsw.NoFTS5Error("FTS5 is not available")

    monkeypatch.setattr(apsw, "Connection", Bare)
    with pytest.raises(Misconfigured, match="no_full_text") as said:
        Database.open(path)

    assert "apsw" in said.value.remedy


def test_a_full_database_takes_nothing_and_says_so(db: Database) -> None:
    pages = db.query("PRAGMA page_count")[0]["page_count"]
    db.query(f"PRAGMA max_page_count = {pages}")

    def write_on() -> None:
        for number in range(2_000):
            stored(db, f"{number} " * 200)

    with pytest.raises(StoreUnavailable, match="database_full"):
        write_on()


@pytest.mark.root
@pytest.mark.parametrize("options", ["ro", "size=64k"], ids=["read-only", "full"])
def test_a_disk_that_takes_nothing_is_an_error_of_ours(tmp_path: Path, options: str) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from perlica.domain.errors import PerlicaError\n"
        "from perlica.stores.migrations import migrate\n"
        "try: migrate(Path(sys.argv[1]) / 'perlica.db')\n"
        "except PerlicaError as error: print(bool(error.remedy))\n"
    )
    script = 'mount -t tmpfs -o "$3" none "$2" && exec "$0" -c "$1" "$2"'

    ended = subprocess.run(
        ["unshare", "-m", "sh", "-c", script, sys.executable, program, str(tmp_path), options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=50,
    )

    assert ended.stdout == "True\n", ended.stderr


def test_a_copy_that_came_out_damaged_is_no_backup(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(db.path)

    def copy_badly(_source: Path, target: Path) -> None:
        target.write_bytes(db.path.read_bytes())
        overwrite(target, target.stat().st_size // 2, b"\xa5" * 8_192)

    monkeypatch.setattr("perlica.stores.backup._copy", copy_badly)
    with pytest.raises(Misconfigured, match="backup_damaged"):
        back_up(db, tmp_path / "backups")

    assert not list((tmp_path / "backups").glob("*.sqlite3"))


# --- the index ----------------------------------------------------------------------------------


def find(path: Path, text: str) -> int:
    with Database.open(path) as db:
        found = MessageStore(db).search(text, after_ms=0, before_ms=2**45, limit=500)
    return len(found)


def lose_tokens(path: Path) -> None:
    """The index forgets rows that are there."""
    connection = apsw.Connection(str(path))
    connection.execute("DELETE FROM message_index_data WHERE id > 10").fetchall()
    connection.close()


def lose_index(path: Path) -> None:
    no_index(path)


def lose_schema_of_index(path: Path) -> None:
    """The index is not in the schema any more, but its tables are."""
    connection = apsw.Connection(str(path))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    connection.execute("PRAGMA writable_schema = ON").fetchall()
    connection.execute("DELETE FROM sqlite_schema WHERE name = 'message_index'").fetchall()
    connection.close()


@pytest.mark.parametrize(
    "damage", [lose_tokens, lose_index, lose_schema_of_index], ids=lambda damage: damage.__name__
)
def test_a_damaged_index_is_found_and_made_anew_and_nothing_is_lost(
    path: Path, damage: Callable[[Path], None]
) -> None:
    fill(path)
    damage(path)
    (finding,) = check_database(path)
    assert "rebuild-index" in finding.remedy

    made = rebuild_index(path)

    assert (made.stored, made.indexed, made.findings) == (200, 200, ())
    assert find(path, "沙箱 199") == 1
    verify(path)


def test_an_index_made_anew_is_declared_as_the_migrations_declare_it(path: Path) -> None:
    sql = "SELECT sql FROM sqlite_schema WHERE name LIKE 'message_index%' ORDER BY name"
    with Database.open(path) as db:
        before = db.query(sql)

    rebuild_index(path)

    with Database.open(path) as db:
        assert db.query(sql) == before
        stored(db, "新的消息")
    assert find(path, "新的") == 1
