"""A sandbox from its creation to the proof that it is gone, across stops and crashes."""

import hashlib
import os
import signal

import pytest

from tests.sandboxd.client import Box, Client, MakeBox, Refusal
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
CONTENT = bytes(range(256)) * 4096


def sha256_in(box: Box, path: str) -> str:
    return box.says(f"sha256sum {path}").split()[0]


def test_a_new_sandbox_is_stopped_until_the_first_command_and_then_ready(box: Box) -> None:
    before = box.state().state

    box.run("/bin/true")

    assert (before, box.state().state) == ("stopped", "ready")


@pytest.mark.evidence(18)
def test_a_file_survives_stop_and_remount_byte_for_byte(box: Box) -> None:
    box.write("/root/data", CONTENT)

    stopped = box.stop()

    assert stopped.state == "stopped"
    assert box.read("/root/data", limit_bytes=len(CONTENT)).content == CONTENT


@pytest.mark.evidence(18)
def test_a_file_survives_kill_nine_of_the_daemon_byte_for_byte(daemon: Daemon, box: Box) -> None:
    box.write("/root/data", CONTENT)
    box.says("sync")

    daemon.kill()
    daemon.start()

    assert sha256_in(box, "/root/data") == hashlib.sha256(CONTENT).hexdigest()


@pytest.mark.evidence(18)
def test_changes_anywhere_in_the_root_file_system_persist(box: Box) -> None:
    box.says("echo changed > /etc/os-release; rm /etc/profile; mkdir -m 750 /opt; chown 7:8 /opt")

    box.stop()

    assert box.says("cat /etc/os-release; ls /etc/profile 2>&1 | wc -l; stat -c %a,%u,%g /opt") == (
        "changed\n1\n750,7,8"
    )


@pytest.mark.evidence(18)
def test_hard_links_of_the_image_stay_one_file_after_a_change_and_a_remount(box: Box) -> None:
    box.says("echo more >> /usr/share/demo/numbers")

    box.stop()

    both = box.says("cd /usr/share/demo; stat -c %i,%h numbers same-numbers; tail -n1 same-numbers")
    first, second, last_line = both.splitlines()
    assert first == second
    assert first.endswith(",2")
    assert last_line == "more"


@pytest.mark.evidence(18)
def test_a_directory_of_the_image_can_be_renamed_and_stays_renamed(box: Box) -> None:
    box.says("mv /usr/share/demo /usr/share/renamed")

    box.stop()

    assert box.says("ls /usr/share; head -n1 /usr/share/renamed/numbers") == "renamed\n1"


def test_a_deletion_proves_that_nothing_is_left(daemon: Daemon, box: Box) -> None:
    box.run("/bin/true")

    proof = box.delete()

    assert proof.runtime_absent
    assert proof.processes_absent
    assert proof.mounts_absent
    assert proof.loop_device_absent
    assert proof.files_absent
    assert not (daemon.state / "sandboxes" / box.instance).exists()


def test_a_name_can_be_used_again_but_the_instance_is_another(
    box: Box, make_box: MakeBox, refusal: Refusal
) -> None:
    box.delete()

    again = make_box()

    assert again.instance != box.instance
    assert refusal(lambda: box.run("/bin/true")).error == "not_found"


def test_a_running_sandbox_of_a_killed_daemon_is_ended_and_mounts_again(
    daemon: Daemon, box: Box
) -> None:
    box.says("touch /marker; (sleep 1000 >/dev/null 2>&1 &)")

    daemon.kill()
    daemon.start()

    assert box.state().state == "stopped"
    assert box.says("ls /marker; ps | grep -c '[s]leep 1000' || true") == "/marker\n0"


def test_commands_go_on_whenever_the_container_was_killed(daemon: Daemon, box: Box) -> None:
    init = daemon.run / "bundles" / box.instance / "pid"
    box.says("echo kept > /root/file")

    said = []
    for _ in range(10):
        os.kill(int(init.read_text("ascii")), signal.SIGKILL)
        said.append(box.says("cat /root/file"))

    assert said == ["kept"] * 10


def test_a_half_made_sandbox_is_removed_by_the_next_daemon(daemon: Daemon, box: Box) -> None:
    record = daemon.state / "sandboxes" / box.instance / "record.json"
    daemon.kill()
    record.write_text(record.read_text().replace('"present"', '"creating"'))

    daemon.start()

    assert daemon.client.sandboxes() == ()
    assert not record.parent.exists()


def test_a_half_done_deletion_is_finished_by_the_next_daemon(daemon: Daemon, box: Box) -> None:
    record = daemon.state / "sandboxes" / box.instance / "record.json"
    daemon.kill()
    record.write_text(record.read_text().replace('"present"', '"deleting"'))

    daemon.start()

    assert daemon.client.sandboxes() == ()
    assert not record.parent.exists()


def test_sigterm_ends_everything_within_ten_seconds(daemon: Daemon, make_box: MakeBox) -> None:
    for name in ("box-a", "box-b", "box-c"):
        make_box(name).says("(trap '' TERM; sleep 1000 >/dev/null 2>&1 &)")

    took_s = daemon.stop()

    assert took_s < 10
    assert daemon.leftovers() == []


def test_the_number_of_sandboxes_is_limited(make_box: MakeBox, refusal: Refusal) -> None:
    for name in ("box-a", "box-b", "box-c"):
        make_box(name)

    answer = refusal(lambda: make_box("box-d"))

    assert answer.error == "refused"
    assert "3 sandboxes" in answer.message


def test_limits_above_the_ceiling_of_the_node_are_refused(
    make_box: MakeBox, refusal: Refusal
) -> None:
    answer = refusal(lambda: make_box(limits={"memory_bytes": 1 << 40}))

    assert answer.error == "refused"
    assert "memory_bytes" in answer.message


def test_an_unknown_image_is_not_found(client: Client, refusal: Refusal) -> None:
    answer = refusal(lambda: client.create("box", f"sha256:{'0' * 64}"))

    assert answer.error == "not_found"
    assert "image import" in answer.remedy


def test_a_second_daemon_on_the_same_state_is_refused(daemon: Daemon) -> None:
    second = daemon.command("serve")

    assert second.returncode == 2
    assert "another sandboxd" in second.stderr
