"""Results of sandbox actions, placeholders in a plan and installs, each told word by word."""

from typing import Any

import pytest

from perlica.domain.errors import Refused
from perlica.domain.ids import OperationId, SandboxName
from perlica.domain.plan import ActionPlan, Level, Origin
from perlica.domain.ports import JobOutcome
from perlica.domain.sandbox import (
    Absence,
    BackendSandbox,
    CommandOutcome,
    FileEntry,
    FileRead,
    FilesListed,
    FileWritten,
    LinesRead,
    Surroundings,
)
from perlica.domain.task import EndReason
from perlica.gateway.core.execution import unknown_end
from perlica.gateway.core.outcomes import WITHHELD, Answered, Ended, answer, refusal
from perlica.gateway.core.placeholders import find_placeholder, refuse_placeholders
from perlica.gateway.families.sandbox.installs import find_installs
from perlica.gateway.families.sandbox.results import present
from perlica.protection import Protected, not_scanned

MARK = "⟦凭据:password:1⟧"


def told(outcome: JobOutcome) -> str:
    text = present("lab", outcome).text
    return text.content if isinstance(text, Protected) else text


def ended(**changed: Any) -> CommandOutcome:
    values: dict[str, Any] = {
        "ended": "exited",
        "exit_code": 0,
        "signal": None,
        "stdout": b"",
        "stderr": b"",
        "stdout_bytes": len(changed.get("stdout", b"")),
        "stderr_bytes": len(changed.get("stderr", b"")),
        "duration_ms": 7,
    }
    return CommandOutcome(**{**values, **changed})


@pytest.mark.parametrize(
    ("changed", "words", "failed"),
    [
        ({}, "exit code 0, 7 ms", False),
        ({"exit_code": 3}, "exit code 3, 7 ms", True),
        ({"ended": "signalled", "signal": 9}, "ended by signal 9, 7 ms", True),
        ({"ended": "timed_out"}, "stopped: time limit reached, 7 ms", True),
        ({"ended": "cancelled"}, "stopped: cancelled, 7 ms", True),
        ({"ended": "failed_to_start"}, "could not be started, 7 ms", True),
        ({"ended": "odd"}, "odd, 7 ms", True),
    ],
)
def test_a_command_is_told_as_it_ended(changed: dict[str, Any], words: str, failed: bool) -> None:
    result = present("lab", ended(**changed))

    assert told(ended(**changed)) == words
    assert result.failed is failed
    assert result.source == "sandbox:lab"


def test_memory_and_a_lost_output_are_told() -> None:
    assert "memory limit" in told(ended(out_of_memory=True))
    assert "lost with the node daemon" in told(ended(output_lost=True))


def test_both_outputs_stand_under_their_names() -> None:
    said = told(ended(stdout=b"out", stderr=b"err!"))

    assert said == "exit code 0, 7 ms\nstdout (3 bytes):\nout\nstderr (4 bytes):\nerr!"


def test_an_output_of_just_the_limit_is_shown_whole() -> None:
    assert told(ended(stdout=b"0123456789", output_limit_bytes=10)).endswith("0123456789")


def test_of_a_longer_output_half_is_shown_from_either_end() -> None:
    said = told(ended(stdout=b"abcdefghijk", output_limit_bytes=5))

    assert said.endswith("\nab\n[... the middle of 11 bytes is left out ...]\nijk")


def test_of_an_output_with_a_gap_both_sides_of_the_gap_are_shown() -> None:
    outcome = ended(
        stdout=b"a b c de . u", stdout_bytes=999, stdout_head_bytes=6, output_limit_bytes=5
    )

    said = told(outcome)

    assert said.endswith("\na \n[... the middle of 999 bytes is left out ...]\n. u")


def test_a_short_side_of_a_gap_is_shown_whole_and_no_more() -> None:
    outcome = ended(stdout=b"a. ", stdout_bytes=99, stdout_head_bytes=1, output_limit_bytes=8)

    assert told(outcome).endswith("\na\n[... the middle of 99 bytes is left out ...]\n. ")


def read(content: bytes, **changed: Any) -> FileRead:
    values: dict[str, Any] = {"size_bytes": len(content), "offset_bytes": 0, "content": content}
    return FileRead(**{**values, **changed})


def test_a_piece_of_a_file_says_where_it_goes_on() -> None:
    assert told(read(b"abc")) == "bytes 0 to 3 of 3:\nabc"
    assert told(read(b"abc", size_bytes=9)) == "bytes 0 to 3 of 9, more from offset_bytes 3:\nabc"
    around = Surroundings(before=b"01", behind=b"56")
    middle = read(b"234", size_bytes=9, offset_bytes=2, around=around)
    assert told(middle) == "bytes 2 to 5 of 9, more from offset_bytes 5:\n234"


def test_a_piece_of_one_character_moves_on_all_the_same() -> None:
    part = "中".encode()[:1]

    assert told(read(part, size_bytes=3)).startswith("bytes 0 to 1 of 3, more from offset_bytes 1")


def test_what_is_no_text_is_not_shown() -> None:
    binary = "binary file, 40 bytes: not shown"

    assert told(read(b"a\0" * 20)) == binary
    assert told(read(b"\xff" * 5 + b"a" * 35)) == binary
    assert told(read(b"\xff" * 4 + b"a" * 36)) != binary
    assert told(read(b"\xff\xff")) != "binary file, 2 bytes: not shown"
    assert told(read(b"\xff\xff\xff")) == "binary file, 3 bytes: not shown"


def lines(**changed: Any) -> str:
    values: dict[str, Any] = {
        "size_bytes": 9,
        "first_line": 2,
        "last_line": 3,
        "at_end": False,
        "content": b"b\nc\n",
    }
    return told(LinesRead(**{**values, **changed}))


def test_lines_say_whether_more_follow() -> None:
    assert lines() == "lines 2 to 3, more from line 4:\nb\nc\n"
    assert lines(at_end=True) == "lines 2 to 3, the end:\nb\nc\n"
    assert lines(first_line=4, content=b"") == "the file has no line 4, 9 bytes"
    assert lines(first_line=3, content=b"c") == "lines 3 to 3, more from line 4:\nc"
    assert lines(content=b"\0") == "binary file, 9 bytes: not shown"


def test_a_listing_shows_kind_mode_size_and_whether_it_was_cut() -> None:
    entry = FileEntry(name="a", kind="file", size_bytes=12, mode=0o104755)

    assert told(FilesListed(entries=(), complete=True)) == "(empty directory)"
    whole = told(FilesListed(entries=(entry,), complete=True))
    assert whole == "file      4755         12 a"
    cut = told(FilesListed(entries=(entry,), complete=False))
    assert cut == whole + "\n… more entries are not shown"


def test_writes_states_and_absences_are_told() -> None:
    assert told(FileWritten(size_bytes=3, replaced=True)) == "replaced, 3 bytes"
    assert told(FileWritten(size_bytes=3, replaced=False)) == "created, 3 bytes"
    name = SandboxName("lab")
    stopped = BackendSandbox(
        name=name,
        instance="i",
        state="stopped",
        image_digest="d",
        disk_bytes=1,
        disk_used_bytes=None,
    )
    assert told(stopped) == "sandbox lab is stopped"
    gone = Absence(name=name, instance="i", checked_at_ms=1)
    assert told(gone) == "sandbox lab is deleted"
    assert not present("lab", gone).failed


def test_a_result_that_could_not_be_protected_is_withheld() -> None:
    assert answer(not_scanned(), source="s").content.content in {"", WITHHELD}
    assert answer("", source="s").content.content == ""
    assert answer("hello", source="s").content.content == "hello"
    assert not answer("hello", source="s").failed
    assert refusal("no").failed
    assert refusal("no").source == "perlica gateway"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("plain", None),
        ("凭据 in words", None),
        (f"a {MARK} b", MARK),
        ("⟦凭 据", "⟦凭 据"),
        ("⟦凭\u200b据:password:1⟧", MARK),
        ("[凭据:password:1", "[凭据:password:1"),
        ("[凭据:PASSWORD:1", "[凭据:PASSWORD:1"),
        ("[凭据:nonsense:1 [凭据:password:2", "[凭据:password:2"),
        ("[凭据:nonsense:1", None),
    ],
)
def test_a_placeholder_is_known_also_when_it_was_copied_badly(text: str, found: str | None) -> None:
    assert find_placeholder(text) == found


@pytest.mark.parametrize(
    ("target", "effect", "where"),
    [
        ({"path": MARK}, {}, "target"),
        ({}, {"argv": ["a", MARK]}, "argv"),
        ({}, {"environment": {MARK: "x"}}, "environment"),
        ({}, {"environment": {"A": MARK}}, "environment"),
        ({}, {MARK: "x"}, "a parameter"),
        ({}, {"pairs": [["a", [MARK]]]}, "pairs"),
    ],
)
def test_a_plan_that_holds_one_anywhere_is_refused_by_the_name_of_its_field(
    target: dict[str, Any], effect: dict[str, Any], where: str
) -> None:
    plan = ActionPlan(
        action="a",
        origin=Origin(kind="task", id="T"),
        identity="i",
        target=target,
        scope="s",
        effect=effect,
        destination="d",
        expected="x",
        policy_version="1",
    )

    with pytest.raises(Refused) as refused:
        refuse_placeholders(plan)

    assert refused.value.code == "placeholder"
    assert f"{where} holds the placeholder" in refused.value.text


@pytest.mark.parametrize(
    ("argv", "stdin", "tools"),
    [
        ([], "", ()),
        (["ls"], "", ()),
        (["pip", "install", "x"], "", ("pip",)),
        (["/usr/bin/pip3.12", "install", "x"], "", ("pip",)),
        (["pip", "install", "--dry-run", "x"], "", ()),
        (["pip", "list"], "", ()),
        (["python3", "-m", "pip", "install", "x"], "", ("pip",)),
        (["python3", "-I", "-X", "utf8", "-m", "pip", "install", "x"], "", ("pip",)),
        (["python3", "run.py", "-m", "pip", "install"], "", ()),
        (["python3", "-m"], "", ()),
        (["sh", "-c", "cd a && pip install x; npm install; pip install y"], "", ("pip", "npm")),
        (["sh", "-c", "echo pip install x"], "", ()),
        (["sh", "-c", "true # ; pip install x"], "", ()),
        (["sh", "-c", "true # x\npip install x"], "", ("pip",)),
        (["sh", "-c", "cat <<E\npip install x\nE\nnpm install"], "", ("npm",)),
        (["sh", "-c", "echo > pip install x"], "", ()),
        (["sh", "-c", "'pip install x"], "", ()),
        (["sh", "-c", "pip \\\n install x"], "", ("pip",)),
        (["sh", "-c", "a=1 if pip install x; then true; fi"], "", ("pip",)),
        (["sh"], "pip install x", ("pip",)),
        (["sh", "-s"], "pip install x", ("pip",)),
        (["sh", "a.sh"], "pip install x", ()),
        (["busybox", "sh", "-c", "pip install x"], "", ("pip",)),
        (["eval", "pip install x"], "", ("pip",)),
        (["su", "-c", "pip install x", "bob"], "", ("pip",)),
        (["env", "-u", "A", "B=1", "pip", "install", "x"], "", ("pip",)),
        (["sudo", "-u", "bob", "pip", "install", "x"], "", ("pip",)),
        (["timeout", "-k", "5", "60", "pip", "install", "x"], "", ("pip",)),
        (["timeout", "60"], "", ()),
        (["nice"], "", ()),
        (["sh", "-c", "sh -c 'sh -c \"eval pip install x\"'"], "", ("pip",)),
        (["sh", "-c", "eval eval eval eval pip install x"], "", ()),
        (["sh", "-c", "pip install x" + " " * 200_000], "", ()),
    ],
    ids=range(33),
)
def test_an_install_is_seen_where_a_shell_would_run_it(
    argv: list[str], stdin: str, tools: tuple[str, ...]
) -> None:
    assert find_installs(argv, stdin) == tools


@pytest.mark.parametrize("level", list(Level))
def test_an_unknown_outcome_ends_a_task_where_the_action_was_high(level: Level) -> None:
    end = unknown_end(OperationId("op-1"), level)

    if level is Level.high:
        assert end == Ended(reason=EndReason.outcome_unknown, operation=OperationId("op-1"))
    else:
        assert isinstance(end, Answered)
        assert end.failed
        assert end.operation == "op-1"
