"""The commands for operators, and what they find that belongs to nothing."""

import json
import shutil
from pathlib import Path

import pytest

from sandboxd.images.demo import build_demo_layout
from tests.sandboxd.client import Box, Client, new_id
from tests.sandboxd.layouts import add, layer, write_layout
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root


def orphaned_disk(daemon: Daemon, name: str) -> Path:
    home = daemon.state / "sandboxes" / name
    home.mkdir()
    (home / "disk.xfs").write_bytes(b"somebody's work")
    return home


def test_ls_shows_each_sandbox_for_people_and_programs(daemon: Daemon, box: Box) -> None:
    box.run("/bin/true")

    table, listed = daemon.command("ls"), daemon.command("ls", "--json")

    assert (table.returncode, listed.returncode) == (0, 0)
    assert "box" in table.stdout
    assert "ready" in table.stdout
    assert box.instance in table.stdout
    assert json.loads(listed.stdout)["sandboxes"][0]["instance"] == box.instance


def test_inspect_shows_one_and_knows_no_other(daemon: Daemon, box: Box) -> None:
    shown, parsed = daemon.command("inspect", "box"), daemon.command("inspect", "box", "--json")
    unknown = daemon.command("inspect", "nobody")

    assert box.instance in shown.stdout
    assert json.loads(parsed.stdout)["name"] == "box"
    assert unknown.returncode == 1
    assert "no sandbox nobody" in unknown.stderr


def test_ops_tell_what_became_of_operations_without_their_output(daemon: Daemon, box: Box) -> None:
    operation = new_id()
    box.shell("echo canary-ops", operation=operation)

    table = daemon.command("ops", "--sandbox", "box")
    listed = daemon.command("ops", "--json", "--last", "1")

    (newest,) = json.loads(listed.stdout)["operations"]
    assert operation in table.stdout
    assert (newest["operation"], newest["kind"], newest["state"]) == (operation, "exec", "finished")
    assert "canary-ops" not in table.stdout + listed.stdout


def test_logs_show_what_was_done_without_content(daemon: Daemon, box: Box) -> None:
    box.shell("echo canary-log")

    shown, parsed = daemon.command("logs"), daemon.command("logs", "--json", "--last", "1")

    (line,) = json.loads(parsed.stdout)["lines"]
    assert "exec box" in shown.stdout
    assert line["level"] == "INFO"
    assert "canary-log" not in shown.stdout + parsed.stdout


def test_top_shows_what_a_sandbox_uses(daemon: Daemon, box: Box) -> None:
    box.run("/bin/true")

    shown, parsed = daemon.command("top"), daemon.command("top", "--json")

    report = json.loads(parsed.stdout)
    (use,) = report["sandboxes"]
    assert "box" in shown.stdout
    assert use["pids"] >= 1
    assert use["memory_bytes"] > 0
    assert use["disk_used_bytes"] > 0
    assert 0 < report["resident_bytes"] < 60 * 1024**2


def test_without_a_daemon_every_question_ends_with_code_two(tmp_path: Path) -> None:
    daemon = Daemon(tmp_path / "state", tmp_path)

    for words in (("ls",), ("inspect", "box"), ("ops",), ("logs",), ("top",), ("gc",)):
        done = daemon.command(*words)
        assert done.returncode == 2, words
        assert "no daemon answers" in done.stderr
        assert "remedy: start it" in done.stderr


def test_a_disk_without_a_record_is_listed_and_left_alone(daemon: Daemon, client: Client) -> None:
    home = orphaned_disk(daemon, "ab" * 16)
    try:
        dry = daemon.command("gc", "--dry-run", "--json")
        done = daemon.command("gc", "--json")
        kept = home.exists()
        named = daemon.command("gc", "--json", "--disk", home.name)
    finally:
        shutil.rmtree(home, ignore_errors=True)

    (orphan,) = json.loads(dry.stdout)["orphans"]
    assert (orphan["kind"], orphan["name"], orphan["evidence"]) == ("disk", home.name, "")
    assert json.loads(done.stdout)["removed"] == []
    assert kept
    assert json.loads(named.stdout)["removed"] == [f"disk {home.name}"]


def test_a_disk_whose_deletion_is_recorded_is_removed_with_that_evidence(
    daemon: Daemon, box: Box
) -> None:
    operation = new_id()
    box.delete(operation=operation)
    home = orphaned_disk(daemon, box.instance)

    dry, done = daemon.command("gc", "--dry-run"), daemon.command("gc")

    assert f"the operation {operation} deleted its sandbox" in dry.stdout
    assert f"removed  disk {box.instance}" in done.stdout
    assert not home.exists()


def test_the_disk_of_a_sandbox_is_no_orphan_whatever_is_asked(daemon: Daemon, box: Box) -> None:
    box.says("echo work > /root/work")

    done = daemon.command("gc", "--disk", box.instance)

    assert done.returncode == 1
    assert "kept" in done.stdout
    assert box.says("cat /root/work") == "work"


def test_an_orphan_is_named_in_the_log_at_the_start(daemon: Daemon) -> None:
    daemon.stop()
    home = orphaned_disk(daemon, "cd" * 16)
    try:
        daemon.start()
        assert f"found disk {home.name} that belongs to nothing" in daemon.log.read_text("utf-8")
    finally:
        shutil.rmtree(home)


def test_unused_images_are_collected_and_used_ones_kept(
    daemon: Daemon, box: Box, image: str, tmp_path: Path
) -> None:
    tar = layer(lambda archive: add(archive, "file", b"unused"))
    directory = write_layout(tmp_path / "layout", tar)
    imported = daemon.command("image", "import", str(directory))
    unused = json.loads(imported.stdout)["digest"]

    young = daemon.command("gc", "--images-older-than", "1", "--json")
    done = daemon.command("gc", "--images-older-than", "0", "--json")

    assert unused not in json.loads(young.stdout)["removed"]
    assert unused in json.loads(done.stdout)["removed"]
    left = [held.digest for held in daemon.client.images()]
    assert unused not in left
    assert image in left
    assert box.run("/bin/true").exit_code == 0


def test_what_a_killed_import_left_is_collected(daemon: Daemon, client: Client) -> None:
    scratch = daemon.state / "images" / "import-dead"
    (scratch / "tree").mkdir(parents=True)

    done = daemon.command("gc", "--json")

    assert json.loads(done.stdout)["removed"] == ["image_file import-dead"]
    assert not scratch.exists()


def test_verify_tells_a_changed_image_from_a_whole_one(tmp_path: Path, needs_node: None) -> None:
    daemon = Daemon(tmp_path / "state", tmp_path)
    build_demo_layout(tmp_path / "layout")
    held = json.loads(daemon.command("image", "import", str(tmp_path / "layout")).stdout)
    whole = daemon.command("image", "verify")
    name = held["digest"].removeprefix("sha256:")
    with (daemon.state / "images" / f"{name}.squashfs").open("r+b") as file:
        file.write(b"changed")

    changed = daemon.command("image", "verify", held["digest"], "--json")

    assert (whole.returncode, whole.stdout.split()) == (0, ["ok", held["digest"]])
    assert (changed.returncode, json.loads(changed.stdout)) == (1, {held["digest"]: False})
