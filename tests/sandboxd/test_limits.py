"""Limits hold under attack, and what lies beside the attacked sandbox stays well."""

import pytest

from sandboxd import wire
from tests.sandboxd.client import Box, Client, MakeBox

pytestmark = pytest.mark.root
MIB = 1024 * 1024
FORK_BOMB = "bomb() { bomb | bomb & }; bomb; sleep 1"


@pytest.mark.evidence(7)
def test_a_fork_bomb_stays_below_the_number_of_processes(client: Client, make_box: MakeBox) -> None:
    box = make_box(limits={"pids": 64})

    outcome = box.shell(f"{FORK_BOMB}; ls -d /proc/[0-9]* | wc -l", timeout_ms=3000)
    box.stop()

    assert outcome.ended in {"exited", "timed_out", "signalled"}
    assert client.health().protocol == wire.PROTOCOL_VERSION
    assert box.says("echo well") == "well"


@pytest.mark.evidence(7)
def test_a_fork_bomb_is_ended_by_its_time_out(make_box: MakeBox) -> None:
    box = make_box(limits={"pids": 64})

    outcome = box.shell("bomb() { bomb | bomb & wait; }; bomb", timeout_ms=2000)

    assert outcome.duration_ms < 8000
    assert box.says("ls -d /proc/[0-9]* | wc -l").isdigit()


@pytest.mark.evidence(7)
def test_a_memory_hog_is_killed_and_the_sandbox_lives(make_box: MakeBox) -> None:
    box = make_box(limits={"memory_bytes": 64 * MIB})

    outcome = box.run("/bin/dd", "if=/dev/zero", "of=/dev/null", "bs=200M", "count=1")

    assert (outcome.ended, outcome.signal) == ("signalled", 9)
    assert box.says("echo alive") == "alive"


@pytest.mark.evidence(7)
def test_a_full_disk_is_enospc_and_deleting_makes_room_again(box: Box) -> None:
    full = box.shell("cat /dev/zero > /filler")
    freed = box.shell("rm /filler && echo fine > /small && cat /small")

    assert b"No space left on device" in full.stderr
    assert freed.stdout == b"fine\n"


@pytest.mark.evidence(7)
def test_df_inside_shows_the_sandboxs_own_disk(box: Box) -> None:
    blocks = int(box.says("df -k / | tail -n1 | awk '{print $2}'"))

    assert 200 * 1024 < blocks < 321 * 1024


@pytest.mark.evidence(7)
def test_the_number_of_open_files_is_limited(make_box: MakeBox) -> None:
    box = make_box(limits={"nofile": 64})

    assert box.says("ulimit -n; ulimit -Hn; ulimit -c") == "64\n64\n0"


@pytest.mark.evidence(7)
def test_cpu_time_is_limited(make_box: MakeBox) -> None:
    box = make_box(limits={"cpu_millis": 200})

    outcome = box.shell("timeout 3 sh -c 'while :; do :; done'; times", timeout_ms=10_000)

    used_s = float(outcome.stdout.split()[-2].rstrip(b"s").partition(b"m")[2])
    assert 0.2 < used_s < 1.2


@pytest.mark.evidence(7)
def test_an_attacked_sandbox_does_not_disturb_another(make_box: MakeBox) -> None:
    attacked, other = make_box("attacked", limits={"pids": 64}), make_box("other")
    attacked.shell(FORK_BOMB, timeout_ms=1500)

    assert other.says("echo undisturbed") == "undisturbed"
