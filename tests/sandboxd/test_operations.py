"""Each operation happens at most once, whatever is repeated, killed or restarted."""

import threading

import pytest

from sandboxd import wire
from tests.sandboxd.client import Answered, Box, Client, Refusal, new_id
from tests.sandboxd.process import Daemon, wait_for

pytestmark = pytest.mark.root
COUNT = "echo x >> /root/count; wc -l < /root/count"


class Running:
    """A command that runs in a thread of its own."""

    def __init__(self, box: Box, script: str, **fields: object) -> None:
        self.operation = new_id()
        self.outcome: wire.ExecOutcome | None = None
        self._box = box
        self._script = script
        self._fields = fields
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        assert wait_for(lambda: self.operation in box.state().running_operations, within_s=10), (
            "the command did not start"
        )

    def _run(self) -> None:
        try:
            self.outcome = self._box.shell(self._script, operation=self.operation, **self._fields)
        except (Answered, OSError, ValueError):
            self.outcome = None

    def join(self) -> wire.ExecOutcome | None:
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.outcome


@pytest.mark.evidence(14)
def test_the_same_operation_again_returns_the_same_outcome_and_runs_nothing(box: Box) -> None:
    operation = new_id()
    first = box.shell(COUNT, operation=operation)

    second = box.shell(COUNT, operation=operation)

    assert second == first
    assert box.says("wc -l < /root/count") == "1"


@pytest.mark.evidence(14)
def test_an_outcome_is_remembered_across_kill_nine(daemon: Daemon, box: Box) -> None:
    operation = new_id()
    first = box.shell(COUNT, operation=operation)
    daemon.kill()
    daemon.start()

    second = box.shell(COUNT, operation=operation)

    assert second == first
    assert box.says("wc -l < /root/count") == "1"


@pytest.mark.evidence(14)
def test_a_command_that_was_killed_with_the_daemon_is_interrupted_and_never_repeated(
    daemon: Daemon, box: Box, refusal: Refusal
) -> None:
    running = Running(box, "echo x >> /root/count; sync; sleep 1000")
    assert wait_for(lambda: box.says("cat /root/count || true") == "x", within_s=10)
    daemon.kill()
    running.join()
    daemon.start()

    report = daemon.client.report(running.operation)
    again = refusal(
        lambda: box.shell("echo x >> /root/count; sync; sleep 1000", operation=running.operation)
    )

    assert report.state == "interrupted"
    assert again.error == "unknown_outcome"
    assert box.says("wc -l < /root/count; ps | grep -c '[s]leep 1000' || true") == "1\n0"


def test_the_same_id_with_another_body_is_refused(box: Box, refusal: Refusal) -> None:
    operation = new_id()
    box.shell("true", operation=operation)

    answer = refusal(lambda: box.shell("false", operation=operation))

    assert answer.error == "refused"
    assert "another request" in answer.message


def test_a_running_operation_sent_again_is_busy(box: Box, refusal: Refusal) -> None:
    running = Running(box, "sleep 1000")

    answer = refusal(lambda: box.shell("sleep 1000", operation=running.operation))
    box.client.cancel(running.operation)
    running.join()

    assert answer.error == "busy"


def test_a_creation_sent_again_makes_no_second_sandbox(client: Client, image: str) -> None:
    operation = new_id()
    first = client.create("box", image, operation=operation)

    second = client.create("box", image, operation=operation)

    assert second.instance == first.instance
    assert len(client.sandboxes()) == 1


def test_a_deletion_sent_again_returns_the_recorded_proof(daemon: Daemon, box: Box) -> None:
    operation = new_id()
    first = box.delete(operation=operation)
    daemon.kill()
    daemon.start()

    assert box.delete(operation=operation) == first


def test_a_fault_before_anything_was_done_leaves_the_id_unused(
    client: Client, image: str, refusal: Refusal
) -> None:
    operation = new_id()
    answer = refusal(lambda: client.create("box", f"sha256:{'0' * 64}", operation=operation))

    created = client.create("box", image, operation=operation)

    assert not answer.recorded
    assert created.name == "box"


def test_reports_tell_unknown_started_and_finished(client: Client, box: Box) -> None:
    running = Running(box, "sleep 1000")

    states = [client.report(new_id()).state, client.report(running.operation).state]
    client.cancel(running.operation)
    running.join()
    states.append(client.report(running.operation).state)

    assert states == ["unknown", "started", "finished"]


def test_a_report_holds_the_output_until_it_is_acknowledged(client: Client, box: Box) -> None:
    operation = new_id()
    box.shell("echo precious", operation=operation)
    before = client.report(operation)

    client.acknowledge(operation)
    after = client.report(operation)

    assert isinstance(before.outcome, wire.ExecOutcome)
    assert before.outcome.stdout == b"precious\n"
    assert after.state == "output_lost"
    assert isinstance(after.outcome, wire.ExecOutcome)
    assert after.outcome.exit_code == 0
    assert after.outcome.stdout == b""
    assert after.outcome.stdout_bytes == 9


def test_an_unacknowledged_output_survives_kill_nine_on_a_tmpfs(
    daemon: Daemon, client: Client, box: Box
) -> None:
    operation = new_id()
    box.shell("echo precious", operation=operation)
    daemon.kill()
    daemon.start()

    report = client.report(operation)

    assert isinstance(report.outcome, wire.ExecOutcome)
    assert report.outcome.stdout == b"precious\n"


@pytest.mark.evidence(5)
def test_no_content_reaches_journal_records_or_log(daemon: Daemon, box: Box) -> None:
    canary = "canary-7f3a9c"
    box.shell(f"echo {canary}; echo {canary} >&2; cat", stdin_base64=wire.encode_bytes(b"x"))
    box.run(f"/{canary}")
    box.write(f"/root/{canary}", canary.encode(), create_parents=True)
    with pytest.raises(Answered):
        box.read(f"/none/{canary}")

    files = [f for f in daemon.state.rglob("*") if f.is_file() and f.name != "disk.xfs"]
    kept = [f for f in (*files, daemon.log) if canary.encode() in f.read_bytes()]

    assert len(files) >= 4
    assert kept == []


def test_an_older_epoch_is_refused_also_after_a_restart(
    daemon: Daemon, client: Client, box: Box, refusal: Refusal
) -> None:
    newer = client.epoch + 1
    box.run("/bin/true", epoch=newer)
    before = refusal(lambda: box.run("/bin/true"))
    daemon.kill()
    daemon.start()

    after = refusal(lambda: box.run("/bin/true"))

    assert before.error == after.error == "refused"
    assert f"older than {newer}" in after.message
    assert client.health().epoch == newer


def forget_ending(daemon: Daemon, operation: str) -> None:
    """As if the daemon had been killed after the effect and before it wrote that down."""
    journal = daemon.state / "journal"
    lines = journal.read_text("ascii").splitlines(keepends=True)
    ending = f'"t":"finished","op":"{operation}"'
    journal.write_text("".join(line for line in lines if ending not in line), "ascii")


@pytest.mark.evidence(14)
def test_a_creation_that_was_done_but_not_recorded_is_recorded_by_the_next_daemon(
    daemon: Daemon, client: Client, image: str
) -> None:
    operation = new_id()
    created = client.create("box", image, operation=operation)
    daemon.kill()
    forget_ending(daemon, operation)
    daemon.start()

    assert client.report(operation).outcome == created
    assert client.create("box", image, operation=operation) == created


@pytest.mark.evidence(14)
def test_a_deletion_that_was_done_but_not_recorded_is_proved_by_the_next_daemon(
    daemon: Daemon, client: Client, box: Box
) -> None:
    operation = new_id()
    box.delete(operation=operation)
    daemon.kill()
    forget_ending(daemon, operation)
    daemon.start()

    outcome = client.report(operation).outcome

    assert isinstance(outcome, wire.DeletionProof)
    assert outcome.files_absent


def test_a_stop_that_was_not_recorded_is_true_after_the_restart(
    daemon: Daemon, client: Client, box: Box
) -> None:
    operation = new_id()
    box.run("/bin/true")
    box.stop(operation=operation)
    daemon.kill()
    forget_ending(daemon, operation)
    daemon.start()

    outcome = client.report(operation).outcome

    assert isinstance(outcome, wire.SandboxState)
    assert outcome.state == "stopped"


def test_a_command_that_runs_when_the_daemon_is_stopped_is_cancelled_and_says_so(
    daemon: Daemon, client: Client, box: Box
) -> None:
    running = Running(box, "echo begun; sleep 1000")

    daemon.stop()
    outcome = running.join()
    daemon.start()

    assert outcome is not None
    assert outcome.ended == "cancelled"
    assert client.report(running.operation).state in {"finished", "output_lost"}


def test_stopping_a_sandbox_cancels_what_runs_in_it(box: Box) -> None:
    running = Running(box, "sleep 1000")

    stopped = box.stop()
    outcome = running.join()

    assert stopped.state == "stopped"
    assert outcome is not None
    assert outcome.ended == "cancelled"
