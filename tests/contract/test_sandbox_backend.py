"""What every sandbox backend promises, whoever stands behind it."""

import threading
import time

import pytest

from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Cancelled, Refused
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import (
    Command,
    CommandOutcome,
    FileRead,
    FilesListed,
    FileWritten,
    ListFiles,
    OperationFate,
    ReadFile,
    WriteFile,
)
from tests.contract.conftest import Node


def _run(*argv: str, within_ms: int = 20_000) -> Command:
    return Command(argv=argv, within_ms=within_ms)


@pytest.mark.evidence(18)
def test_a_command_gives_its_output_and_its_exit_code(node: Node) -> None:
    box = node.create()

    said = node.do(box, _run("echo", "hello"))
    failed = node.do(box, _run("false"))

    assert isinstance(said, CommandOutcome)
    assert (said.ended, said.exit_code, said.stdout) == ("exited", 0, b"hello\n")
    assert isinstance(failed, CommandOutcome)
    assert failed.exit_code == 1


def test_what_was_written_is_read_back_and_listed(node: Node) -> None:
    box = node.create()

    first = node.do(box, WriteFile(path="/tmp/perlica-a.txt", content="内容\n".encode()))
    second = node.do(box, WriteFile(path="/tmp/perlica-a.txt", content=b"other"))
    read = node.do(box, ReadFile(path="/tmp/perlica-a.txt", offset_bytes=1, limit_bytes=3))
    listed = node.do(box, ListFiles(path="/tmp"))

    assert isinstance(first, FileWritten)
    assert isinstance(second, FileWritten)
    assert (first.replaced, second.replaced) == (False, True)
    assert isinstance(read, FileRead)
    assert (read.content, read.size_bytes) == (b"the", 5)
    assert isinstance(listed, FilesListed)
    assert "perlica-a.txt" in [entry.name for entry in listed.entries]


def test_a_file_that_is_not_there_is_refused(node: Node) -> None:
    box = node.create()

    with pytest.raises(Refused):
        node.do(box, ReadFile(path="/tmp/nothing"))


def test_the_same_operation_again_runs_nothing_and_gives_the_same_answer(node: Node) -> None:
    box = node.create()
    operation = new_operation_id()
    action = WriteFile(path="/tmp/once", content=b"1")

    first = node.do(box, action, operation=operation)
    node.do(box, WriteFile(path="/tmp/once", content=b"2"))
    again = node.do(box, action, operation=operation)

    read = node.do(box, ReadFile(path="/tmp/once"))
    assert first == again
    assert isinstance(read, FileRead)
    assert read.content == b"2"


def test_a_cancel_ends_a_command_within_two_seconds(node: Node) -> None:
    box = node.create()
    cancel = CancelToken()
    ends: list[str] = []

    def sleep() -> None:
        try:
            outcome = node.do(box, _run("sleep", "1000", within_ms=60_000), cancel=cancel)
        except Cancelled:
            ends.append("cancelled")
        else:
            assert isinstance(outcome, CommandOutcome)
            ends.append(outcome.ended)

    thread = threading.Thread(target=sleep)
    thread.start()
    time.sleep(0.5)
    began = time.monotonic()
    cancel.set()
    thread.join(10)

    assert ends == ["cancelled"]
    assert time.monotonic() - began < 2


def test_a_time_limit_ends_a_command(node: Node) -> None:
    box = node.create()

    outcome = node.do(box, _run("sleep", "1000", within_ms=300))

    assert isinstance(outcome, CommandOutcome)
    assert outcome.ended == "timed_out"


def test_a_name_is_taken_until_its_sandbox_is_gone(node: Node) -> None:
    box = node.create()

    with pytest.raises(Refused):
        node.create()
    node.backend.delete(new_operation_id(), box.name, box.instance)
    successor = node.create()

    assert successor.instance != box.instance


def test_another_instance_of_the_same_name_is_not_touched(node: Node) -> None:
    old = node.create()
    node.backend.delete(new_operation_id(), old.name, old.instance)
    new = node.create()

    with pytest.raises(Refused):
        node.do(old, _run("true"))
    with pytest.raises(Refused):
        node.backend.delete(new_operation_id(), old.name, old.instance)

    assert node.backend.inspect(new.name) is not None


def test_a_deletion_is_proved_and_the_sandbox_is_gone(node: Node) -> None:
    box = node.create()

    absence = node.backend.delete(new_operation_id(), box.name, box.instance)

    assert absence.instance == box.instance
    assert node.backend.inspect(box.name) is None
    assert node.backend.reconcile() == ()


@pytest.mark.evidence(18)
def test_files_outlive_a_stop(node: Node) -> None:
    box = node.create()
    node.do(box, WriteFile(path="/tmp/kept", content=b"kept"))

    node.backend.stop(new_operation_id(), box.name, box.instance)
    read = node.do(box, ReadFile(path="/tmp/kept"))

    assert isinstance(read, FileRead)
    assert read.content == b"kept"


def test_an_operation_can_be_looked_up_afterwards(node: Node) -> None:
    box = node.create()
    operation = new_operation_id()
    node.do(box, _run("echo", "x"), operation=operation)

    found = node.backend.look_up(operation)
    unknown = node.backend.look_up(new_operation_id())

    assert found.fate is OperationFate.finished
    assert isinstance(found.outcome, CommandOutcome)
    assert found.outcome.stdout == b"x\n"
    assert unknown.fate is OperationFate.not_seen


def test_an_image_that_is_not_there_makes_no_sandbox(node: Node) -> None:
    node.image_digest = "sha256:" + "f" * 64

    with pytest.raises(Refused):
        node.create()

    assert node.backend.inspect(SandboxName("contract")) is None


def test_a_survey_shows_node_images_and_everything_that_exists(node: Node) -> None:
    box = node.create()

    survey = node.backend.survey()

    assert survey.node == "test-node"
    assert node.image_digest in {image.digest for image in survey.images}
    assert [(seen.name, seen.instance) for seen in survey.sandboxes] == [(box.name, box.instance)]
    assert survey.sandboxes[0].image_digest == node.image_digest


def test_looking_and_surveying_start_nothing(node: Node) -> None:
    node.create()
    before = node.backend.reconcile()

    node.backend.survey()
    node.backend.inspect(SandboxName("contract"))

    assert [box.state for box in node.backend.reconcile()] == [box.state for box in before]


def test_limits_are_those_of_the_spec(node: Node) -> None:
    box = node.create()

    assert box.disk_bytes == 336 * 2**20


def test_a_stopped_sandbox_is_the_same_instance_and_can_be_deleted(node: Node) -> None:
    box = node.create()
    node.backend.stop(new_operation_id(), box.name, box.instance)

    seen = node.backend.inspect(box.name)
    absence = node.backend.delete(new_operation_id(), box.name, box.instance)

    assert seen is not None
    assert seen.instance == absence.instance == box.instance


def test_the_same_deletion_again_gives_the_same_proof(node: Node) -> None:
    box = node.create()
    operation = new_operation_id()

    first = node.backend.delete(operation, box.name, box.instance)

    assert node.backend.delete(operation, box.name, box.instance) == first


def test_the_same_creation_again_makes_no_second_sandbox(node: Node) -> None:
    operation = new_operation_id()

    first = node.create(operation=operation)
    again = node.create(operation=operation)

    assert again.instance == first.instance
    assert len(node.backend.reconcile()) == 1
