"""One daemon for each directory, and state files that are not what the daemon wrote: the start ends
with file, line and remedy, and never with a fresh beginning or a traceback.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd.faults import Misconfigured
from sandboxd.ledger.epoch import Epoch
from sandboxd.ledger.journal import Journal
from sandboxd.storage.records import Records
from sandboxd.storage.state_files import check_state, journal_key, node_id
from tests.sandboxd.client import Box, new_id
from tests.sandboxd.process import CHECKOUT, Daemon

STARTED = '{"t":"started","op":"a","kind":"exec","box":"b","inst":"i","hash":"h","at":1}'
RECORD = (
    '{"name":"box","instance":"%s","image_digest":"sha256:%s","created_at_ms":1,"limits":{},'
    '"network":"none","slot":0,"operation":"operation-1","phase":"present"}'
)
INSTANCE = "0" * 32
LINES = (
    "null",
    "{}",
    "[]",
    "1",
    "",
    "garbage",
    "\x00\x00",
    '{"t":null,"op":"a"}',
    '{"t":"started","op":""}',
    '{"t":"started","op":"a","kind":"exec","box":"b","inst":"i","hash":"h","at":"1"}',
    '{"t":"started","op":"a","kind":null,"box":"b","inst":"i","hash":"h","at":1}',
    '{"t":"finished","op":"a","at":1,"ok":"yes","out":"{}"}',
    '{"t":"finished","op":"a","at":1,"ok":true}',
    '{"t":"interrupted","op":"a"}',
    '{"t":"acked"}',
    '{"t":"another","op":"a"}',
)


@pytest.mark.parametrize("line", LINES)
def test_a_line_that_the_journal_never_wrote_is_named_with_its_number(
    tmp_path: Path, line: str
) -> None:
    file = tmp_path / "journal"
    file.write_text(f"{STARTED}\n{line}\n{STARTED}\n", "utf-8")

    with pytest.raises(Misconfigured) as caught:
        Journal(file, keep=100)

    assert caught.value.message.startswith(f"{file}, line 2: ")
    assert "restore" in caught.value.remedy
    assert file.read_text("utf-8").startswith(STARTED)


@pytest.mark.parametrize("text", ["", "null", "{}", "-1", "1.5", "x", "1\n2", "9" * 30, "\x00"])
def test_an_epoch_that_is_no_number_is_no_fresh_beginning(tmp_path: Path, text: str) -> None:
    file = tmp_path / "epoch"
    file.write_text(text)

    with pytest.raises(Misconfigured) as caught:
        Epoch(file)

    assert caught.value.message.startswith(f"{file}, line 1: ")
    assert "epoch of the service's database" in caught.value.remedy


@pytest.mark.parametrize("text", ["", "null", "{}", "ab", "zz" * 32, "0" * 63, "\x00"])
def test_a_cut_or_empty_key_or_node_id_is_never_used(tmp_path: Path, text: str) -> None:
    for name, read in (("journal-key", journal_key), ("node-id", node_id)):
        (tmp_path / name).write_text(text)
        with pytest.raises(Misconfigured) as caught:
            read(tmp_path)
        assert str(tmp_path / name) in caught.value.message
        assert "restore" in caught.value.remedy


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "{}",
        "[]",
        "garbage",
        RECORD % (INSTANCE, "z" * 64),
        RECORD % ("1" * 32, "a" * 64),
    ],
)
def test_a_damaged_record_of_a_sandbox_names_its_file(tmp_path: Path, text: str) -> None:
    records = Records(tmp_path / "sandboxes")
    home = records.home(INSTANCE)
    home.mkdir()
    (home / "record.json").write_text(text)

    with pytest.raises(Misconfigured) as caught:
        records.load_all()

    assert str(home / "record.json") in caught.value.message
    assert "restore the file" in caught.value.remedy


def test_two_sandboxes_never_share_their_host_ids(tmp_path: Path) -> None:
    records = Records(tmp_path / "sandboxes")
    for instance in (INSTANCE, "1" * 32):
        records.home(instance).mkdir()
        text = RECORD % (instance, "a" * 64)
        (records.home(instance) / "record.json").write_text(text)

    with pytest.raises(Misconfigured, match="the slot is also that of"):
        records.load_all()


@pytest.fixture
def used(tmp_path: Path) -> Path:
    """A state directory that a daemon has worked in."""
    (tmp_path / "journal").write_text(f"{STARTED}\n")
    (tmp_path / "epoch").write_text("3")
    (tmp_path / "journal-key").write_text("ab" * 32)
    (tmp_path / "node-id").write_text("ab" * 6)
    return tmp_path


@pytest.mark.parametrize("name", ["journal", "epoch", "journal-key", "node-id"])
def test_a_file_that_is_gone_from_a_used_directory_is_missed(used: Path, name: str) -> None:
    check_state(used)
    (used / name).unlink()

    with pytest.raises(Misconfigured) as caught:
        check_state(used)

    assert caught.value.message.startswith(f"{used / name} is missing")
    assert "restore it from a backup" in caught.value.remedy


@pytest.mark.parametrize("there", [(), ("node-id",), ("node-id", "journal")])
def test_a_first_start_that_was_cut_off_may_begin_again(
    tmp_path: Path, there: tuple[str, ...]
) -> None:
    for name in there:
        (tmp_path / name).touch()

    check_state(tmp_path)

    assert {file.name for file in tmp_path.iterdir()} == set(there)


@pytest.fixture
def runs() -> Iterator[list[Path]]:
    made = [Path("/dev/shm") / f"sbx-{new_id()[:8]}" for _ in range(2)]
    for run in made:
        run.mkdir()
    yield made
    for run in made:
        shutil.rmtree(run, ignore_errors=True)


def serve(daemon: Daemon) -> subprocess.CompletedProcess[str]:
    """A start that has to end by itself."""
    return subprocess.run(
        [sys.executable, "-m", "sandboxd", "--config", str(daemon.config), "serve"],
        env=dict(os.environ) | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.root
@pytest.mark.parametrize("shared", ["state_dir", "run_dir", "socket"])
def test_a_second_daemon_in_one_of_the_firsts_places_ends_and_the_first_goes_on(
    box: Box, daemon: Daemon, tmp_path: Path, runs: list[Path], shared: str
) -> None:
    box.says("echo kept > /root/file")
    (tmp_path / "second").mkdir()
    second = Daemon(tmp_path / "second" / "state", runs[1])
    text = second.config.read_text("utf-8")
    places = {
        "state_dir": (str(second.state), str(daemon.state)),
        "run_dir": (f'run_dir = "{runs[1]}"', f'run_dir = "{daemon.run}"'),
        "socket": (f"{runs[1]}/sandboxd.sock", str(daemon.socket)),
    }
    second.config.write_text(text.replace(*places[shared]), "utf-8")

    ended = serve(second)

    assert ended.returncode == 2
    assert "another sandboxd uses" in ended.stderr
    assert f"use another {shared}" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert box.says("cat /root/file") == "kept"
    assert daemon.client.health().counts.sandboxes == 1


@pytest.mark.root
@pytest.mark.parametrize(
    ("name", "text"),
    [("journal", "null\n"), ("epoch", ""), ("journal-key", ""), ("node-id", "")],
)
def test_a_daemon_on_damaged_files_ends_with_file_and_remedy(
    needs_node: None, tmp_path: Path, runs: list[Path], name: str, text: str
) -> None:
    (tmp_path / "node").mkdir()
    daemon = Daemon(tmp_path / "node" / "state", runs[0])
    daemon.start()
    daemon.stop()
    (daemon.state / "epoch").write_text("1")
    (daemon.state / name).write_text(text)

    ended = serve(daemon)

    assert ended.returncode == 2
    assert f"sandboxd: {daemon.state / name}, line 1: " in ended.stderr
    assert "remedy: " in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.root
def test_a_daemon_with_a_damaged_record_of_an_image_ends_and_its_remedy_helps(
    layout: Path, tmp_path: Path, runs: list[Path]
) -> None:
    (tmp_path / "node").mkdir()
    daemon = Daemon(tmp_path / "node" / "state", runs[0])
    assert daemon.command("image", "import", str(layout)).returncode == 0
    (record,) = (daemon.state / "images").glob("*.json")
    record.write_text("{}")

    ended = serve(daemon)
    record.unlink()
    again = daemon.command("image", "import", str(layout))

    assert ended.returncode == 2
    assert str(record) in ended.stderr
    assert f"remedy: remove {record}, then import the image again" in ended.stderr
    assert again.returncode == 0, again.stderr
