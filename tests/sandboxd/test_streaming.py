"""Output that comes while the command runs, and what may come into its environment."""

import pytest

from sandboxd import wire
from tests.sandboxd.client import Box, Refusal, new_id
from tests.sandboxd.process import wait_for

pytestmark = pytest.mark.root


def text_of(lines: list[wire.StreamOutput | wire.StreamEnd], stream: str) -> bytes:
    pieces = [p for p in lines if isinstance(p, wire.StreamOutput) and p.stream == stream]
    return b"".join(piece.content for piece in pieces)


def test_output_arrives_before_the_command_has_ended(box: Box) -> None:
    stream = iter(box.stream("echo first; read -r line < /root/fifo 2>/dev/null; sleep 1000"))

    first = next(stream)
    (running,) = box.state().running_operations
    box.client.cancel(running)
    last = list(stream)[-1]

    assert isinstance(first, wire.StreamOutput)
    assert first.content == b"first\n"
    assert isinstance(last, wire.StreamEnd)
    assert last.outcome is not None
    assert last.outcome.ended == "cancelled"


def test_a_streams_pieces_and_its_end_say_what_a_plain_exec_says(box: Box) -> None:
    lines = list(box.stream("echo out; echo err >&2; exit 3"))

    end = lines[-1]
    assert text_of(lines, "stdout") == b"out\n"
    assert text_of(lines, "stderr") == b"err\n"
    assert isinstance(end, wire.StreamEnd)
    assert end.outcome is not None
    assert (end.outcome.exit_code, end.outcome.stdout) == (3, b"out\n")


def test_a_caller_that_does_not_read_keeps_neither_the_command_nor_the_daemon_waiting(
    box: Box,
) -> None:
    operation = new_id()
    stream = box.stream("head -c 50000000 /dev/zero; echo end", operation=operation)

    ended = wait_for(lambda: box.client.report(operation).state == "finished", within_s=20)
    lines = list(stream)

    assert ended
    end = lines[-1]
    skipped = sum(p.skipped_bytes for p in lines if isinstance(p, wire.StreamOutput))
    streamed = len(text_of(lines, "stdout"))
    assert isinstance(end, wire.StreamEnd)
    assert end.outcome is not None
    assert end.outcome.stdout_bytes == 50_000_004
    assert streamed + skipped <= 50_000_004
    assert streamed < 20_000_000


def test_a_caller_that_hangs_up_does_not_end_the_command(box: Box) -> None:
    operation = new_id()
    stream = box.stream("echo begun; sleep 0.3; echo done > /root/done", operation=operation)

    next(iter(stream))
    stream.close()

    assert wait_for(lambda: box.client.report(operation).state == "finished", within_s=10)
    assert box.says("cat /root/done") == "done"


def test_a_stream_that_is_refused_is_refused_as_a_plain_exec_is(box: Box, refusal: Refusal) -> None:
    answer = refusal(lambda: box.stream("true", instance="0" * 32))

    assert answer.error == "not_found"


def test_a_stream_asked_for_again_gives_the_recorded_end(box: Box) -> None:
    operation = new_id()
    first = list(box.stream("echo once >> /root/count; cat /root/count", operation=operation))

    again = list(box.stream("echo once >> /root/count; cat /root/count", operation=operation))

    assert again == [first[-1]]
    assert box.says("cat /root/count") == "once"


def test_a_name_that_is_not_let_in_is_refused_and_not_repeated(box: Box, refusal: Refusal) -> None:
    answer = refusal(lambda: box.run("/bin/env", env={"SECRET_TOKEN": "canary-value"}))

    assert answer.error == "refused"
    assert not answer.recorded
    assert "SECRET_TOKEN" not in answer.model_dump_json()
    assert "canary-value" not in answer.model_dump_json()
    assert "LC_*" in answer.remedy
