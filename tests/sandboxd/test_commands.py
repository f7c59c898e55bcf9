"""Commands: their streams, their end, cancel, time-out, what stays of a long output."""

import hashlib
import threading
import time
from typing import Any

import pytest

from sandboxd import wire
from tests.sandboxd.client import Answered, Box, Client, Refusal, new_id
from tests.sandboxd.process import wait_for

pytestmark = pytest.mark.root


def start_in_thread(
    box: Box, *argv: str, **fields: object
) -> tuple[str, threading.Thread, list[Any]]:
    """Runs a command beside the test; returns when the daemon shows it as running."""
    operation, outcomes = new_id(), list[Any]()

    def act() -> None:
        try:
            outcomes.append(box.run(*argv, operation=operation, **fields))
        except Answered as error:
            outcomes.append(error.answer)

    thread = threading.Thread(target=act)
    thread.start()
    assert wait_for(lambda: operation in box.state().running_operations, within_s=10)
    return operation, thread, outcomes


def test_stdout_and_stderr_come_back_apart(box: Box) -> None:
    outcome = box.shell("echo out; echo err >&2; exit 3")

    assert (outcome.stdout, outcome.stderr) == (b"out\n", b"err\n")
    assert (outcome.ended, outcome.exit_code) == ("exited", 3)


def test_argv_is_no_shell(box: Box) -> None:
    outcome = box.run("/bin/echo", "$HOME; `id`", "*", "a b")

    assert outcome.stdout == b"$HOME; `id` * a b\n"


def test_stdin_arrives_whole_and_ends(box: Box) -> None:
    raw = bytes(range(256)) * 8192

    outcome = box.run(
        "/bin/sha256sum", stdin_base64=wire.encode_bytes(raw), output_limit_bytes=1000
    )

    assert outcome.stdout.split()[0].decode() == hashlib.sha256(raw).hexdigest()


def test_environment_directory_and_user_are_as_asked(box: Box) -> None:
    outcome = box.shell(
        "pwd; echo $LC_GREETING; id -u; id -g",
        cwd="/usr",
        env={"LC_GREETING": "你好"},
        user={"uid": 1000, "gid": 1001},
    )

    assert outcome.stdout.decode() == "/usr\n你好\n1000\n1001\n"


def test_a_program_that_does_not_exist_fails_to_start_and_says_so(box: Box) -> None:
    outcome = box.run("/no/such/program")

    assert outcome.ended == "failed_to_start"
    assert outcome.exit_code is None
    assert b"/no/such/program" in outcome.stderr


def test_exit_codes_above_128_are_not_mistaken_for_signals(box: Box) -> None:
    exited, killed = box.shell("exit 137"), box.shell("kill -KILL $$")

    assert (exited.ended, exited.exit_code) == ("exited", 137)
    assert (killed.ended, killed.signal, killed.exit_code) == ("signalled", 9, None)


def test_a_time_out_ends_the_command_and_all_it_started(box: Box) -> None:
    script = "trap '' TERM; (setsid sleep 1111 &); (sleep 1111 &); sleep 1111"

    outcome = box.shell(script, timeout_ms=500)

    assert outcome.ended == "timed_out"
    assert 500 <= outcome.duration_ms < 2500
    assert box.says("ps | grep -c '[s]leep 1111' || true") == "0"


def test_cancel_from_a_second_connection_takes_effect_within_two_seconds(
    client: Client, box: Box
) -> None:
    operation, thread, outcomes = start_in_thread(box, "/bin/sleep", "1000", timeout_ms=1_000_000)
    began = time.monotonic()

    answer = client.cancel(operation)
    thread.join(10)

    assert time.monotonic() - began < 2
    assert answer.state == "cancelled"
    assert outcomes[0].ended == "cancelled"


def test_cancel_leaves_another_command_of_the_same_sandbox_alone(client: Client, box: Box) -> None:
    _, kept_thread, kept = start_in_thread(
        box, "/bin/sh", "-c", "while [ ! -e /go ]; do sleep 0.05; done; echo done"
    )
    operation, thread, _ = start_in_thread(box, "/bin/sleep", "1000")

    client.cancel(operation)
    thread.join(10)
    box.says("touch /go")
    kept_thread.join(10)

    assert kept[0].stdout == b"done\n"


def test_cancel_of_something_that_does_not_run_says_so(client: Client) -> None:
    assert client.cancel(new_id()).state == "not_running"


def test_a_long_command_blocks_neither_health_nor_another_command(client: Client, box: Box) -> None:
    operation, thread, _ = start_in_thread(box, "/bin/sleep", "1000")
    began = time.monotonic()

    client.health()
    said = box.says("echo hi")
    passed_s = time.monotonic() - began
    client.cancel(operation)
    thread.join(10)

    assert said == "hi"
    assert passed_s < 2


def test_when_all_places_are_taken_work_is_busy_and_health_still_answers(
    client: Client, box: Box, refusal: Refusal
) -> None:
    running = [start_in_thread(box, "/bin/sleep", "1000") for _ in range(4)]

    answer = refusal(lambda: box.run("/bin/true"))
    count = client.health().counts.running_operations
    for operation, thread, _ in running:
        client.cancel(operation)
        thread.join(10)

    assert answer.error == "busy"
    assert count == 4
    assert box.run("/bin/true").exit_code == 0


def test_of_a_long_output_beginning_and_end_are_kept_and_all_is_counted(box: Box) -> None:
    outcome = box.shell("seq 1 100000; echo last", output_limit_bytes=1000)

    assert outcome.stdout_truncated
    assert outcome.stdout_bytes == 588895 + 5
    assert outcome.stdout.startswith(b"1\n2\n3\n")
    assert outcome.stdout.endswith(b"100000\nlast\n")
    assert len(outcome.stdout) < 1100
    assert not outcome.stderr_truncated


def test_an_endless_output_costs_the_daemon_no_memory(client: Client, box: Box) -> None:
    outcome = box.shell("dd if=/dev/zero bs=1M count=1500 2>/dev/null", output_limit_bytes=100_000)

    assert outcome.stdout_bytes == 1500 * 1024 * 1024
    assert len(outcome.stdout) < 101_000


def test_a_background_process_that_holds_the_pipes_does_not_hold_the_answer(box: Box) -> None:
    began = time.monotonic()

    outcome = box.shell("sleep 1000 & echo started")

    assert outcome.stdout == b"started\n"
    assert time.monotonic() - began < 5


def test_a_background_process_lives_on_until_the_sandbox_stops(box: Box) -> None:
    box.shell("sleep 1234 >/dev/null 2>&1 &")
    before = box.says("ps | grep -c '[s]leep 1234' || true")

    box.stop()

    assert (before, box.says("ps | grep -c '[s]leep 1234' || true")) == ("1", "0")


def test_a_command_starts_with_no_signal_blocked_or_ignored(box: Box) -> None:
    signals = box.run("/bin/grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status").stdout

    masks = [int(line.split()[-1], 16) for line in signals.splitlines()]
    internal_to_libc = 0b11 << 31  # 32 and 33 cannot be set by programs.
    assert [mask & ~internal_to_libc for mask in masks] == [0, 0]
    assert box.shell("kill -TERM $$").signal == 15


def test_zombies_are_reaped(box: Box) -> None:
    box.says("for i in $(seq 50); do (sh -c 'sleep 0 & exec true' &); done; sleep 0.5")

    assert box.says("ps -o stat | grep -c Z || true") == "0"


def test_a_timeout_above_the_bound_of_the_node_is_refused(box: Box, refusal: Refusal) -> None:
    answer = refusal(lambda: box.run("/bin/true", timeout_ms=wire.MAX_TIMEOUT_MS))

    assert answer.error == "refused"
    assert "timeout_ms" in answer.message
