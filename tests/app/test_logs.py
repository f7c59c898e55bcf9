"""What reaches the log, and what must not."""

import ast
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import pykka
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.app.config.sections import LogSection
from perlica.app.logs import ID_FIELDS, LineFormatter, start_logging
from perlica.app.logs.handlers import DescriptorSink, FileSink, LineHandler
from perlica.domain.errors import Retryable
from perlica.protection import Channel, protect

CANARIES = (
    "ghp_" + "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8",
    "Authorization: Bearer q8ZkR3vT7xW2mN5pL9dH4sJ6fG1aB0cY",
    "AKIA" + "Z7QX4M2NRT6LWP3K",
    "mysql://root:Xk9-vQ2mZ7pL@10.0.0.5/db",
)
SECRET_PARTS = (CANARIES[0], "q8ZkR3vT7xW2mN5p", CANARIES[2], "Xk9-vQ2mZ7pL")
TOKEN = "our-own-napcat-token/+="


@pytest.fixture(autouse=True)
def untouched_root() -> Iterator[None]:
    """Give the root logger, the hooks and the warnings back as they were."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    hook, thread_hook, raising = sys.excepthook, threading.excepthook, logging.raiseExceptions
    for handler in handlers:
        root.removeHandler(handler)
    yield
    for handler in list(root.handlers):
        root.removeHandler(handler)
        handler.close()
    for handler in handlers:
        root.addHandler(handler)
    root.setLevel(level)
    logging.captureWarnings(capture=False)
    sys.excepthook, threading.excepthook, logging.raiseExceptions = hook, thread_hook, raising


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    path = tmp_path / "perlica.log"
    start_logging(LogSection(file=path, level="debug", repeat_within_s=0), secrets=[TOKEN])
    return path


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def test_a_line_says_when_who_what_and_which_task(log_file: Path) -> None:
    logging.getLogger("perlica.test").info("task moved", extra={"task": "T-7F3KQ2", "step": 3})

    (line,) = lines_of(log_file)
    assert line["level"] == "info"
    assert line["logger"] == "perlica.test"
    assert line["event"] == "task moved"
    assert line["task"] == "T-7F3KQ2"
    assert line["step"] == 3
    assert str(line["at"]).endswith("Z")


@pytest.mark.evidence(5)
@pytest.mark.parametrize("canary", CANARIES)
def test_no_credential_survives_wherever_it_was_put(log_file: Path, canary: str) -> None:
    log = logging.getLogger("perlica.test")
    log.warning("said %s", canary)
    log.warning(f"said {canary}", extra={"reason": canary})  # noqa: G004
    log.warning("%(key)s", {"key": canary})
    failure = Retryable("x", canary)
    failure.__cause__ = OSError(canary)
    log.error("failed with %r", {"deep": [canary]}, exc_info=failure)
    logging.getLogger("urllib3.connectionpool").warning("retrying %s", canary)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(canary, stacklevel=1)

    written = log_file.read_text("utf-8")
    assert len(written.splitlines()) == 6
    assert not any(part in written for part in SECRET_PARTS)
    for line in written.splitlines():
        assert protect(line, Channel.LOG).content == line


def test_our_own_secrets_are_hidden_in_every_spelling(log_file: Path) -> None:
    log = logging.getLogger("perlica.test")
    log.info("connecting with our-own-napcat-token/+= now")
    log.info("GET /?access_token=our-own-napcat-token%2F%2B%3D")

    written = log_file.read_text("utf-8")
    assert "our-own-napcat-token" not in written
    assert written.count("[secret]") == 2


class Talkative(pykka.ThreadingActor):
    """An actor that knows no message."""


class Shouting:
    """A message whose repr would show what a person wrote."""

    def __repr__(self) -> str:
        return "密码是我家狗的名字"


def test_pykka_cannot_log_what_a_person_wrote(log_file: Path) -> None:
    actor = Talkative.start()
    actor.tell(Shouting())
    actor.stop()

    written = log_file.read_text("utf-8")
    assert "Unexpected message" in written
    assert "狗" not in written


def test_an_exception_tells_where_but_not_what_it_was_given(log_file: Path) -> None:
    try:
        int("我家狗的名字")
    except ValueError:
        logging.getLogger("actors.test").exception("could not read a frame")

    written = log_file.read_text("utf-8")
    (line,) = lines_of(log_file)
    assert "狗" not in written
    assert '"type":"ValueError"' in written
    assert "test_logs.py" in str(line["errors"])


def test_an_exception_keeps_its_chain_and_stops_at_a_circle(log_file: Path) -> None:
    outer, inner = OSError("outer"), TypeError("inner")
    outer.__cause__ = inner
    inner.__cause__ = outer
    logging.getLogger("perlica.test").error("broken", exc_info=outer)

    (line,) = lines_of(log_file)
    errors = line["errors"]
    assert isinstance(errors, list)
    assert [error["message"] for error in errors] == ["outer", "inner"]


class Hostile:
    """A value that cannot even be turned into text."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__


def test_nothing_that_is_logged_raises_or_breaks_the_line(log_file: Path) -> None:
    log = logging.getLogger("perlica.test")
    log.info("%s", Hostile())
    log.info(Hostile())
    log.info("too few %s %s", "one")  # noqa: PLE1206
    log.info("half a character \ud800 and a line\nend \u2028 \x00")
    log.info("hostile id", extra={"task": Hostile()})
    log.info("x" * 1_000_000)

    lines = lines_of(log_file)
    assert len(lines) == 6
    assert all(len(json.dumps(line)) < 5_000 for line in lines)
    assert len(log_file.read_bytes().split(b"\n")) == 7


def test_only_known_ids_of_extra_are_written(log_file: Path) -> None:
    logging.getLogger("perlica.test").info("x", extra={"content": "秘密", "task": "T-7F3KQ2"})

    assert "秘密" not in log_file.read_text("utf-8")


def _logged_fields() -> set[str]:
    """Every name in an `extra={…}` of the program."""
    names: set[str] = set()
    for folder in ("perlica", "actors"):
        for file in (Path(__file__).parents[2] / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.keyword) and isinstance(node.value, ast.Dict):
                    keys = node.value.keys if node.arg == "extra" else []
                    names |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return names


def test_every_id_that_the_program_logs_is_written() -> None:
    assert _logged_fields() <= set(ID_FIELDS)


def test_equal_lines_are_counted_and_told_once(tmp_path: Path) -> None:
    path = tmp_path / "perlica.log"
    handler = start_logging(LogSection(file=path, repeat_within_s=3600))
    log = logging.getLogger("perlica.test")
    for _ in range(1000):
        log.warning("the same")
    log.warning("another")
    log.warning("the same", extra={"task": "T-7F3KQ2"})
    handler.close()

    lines = lines_of(path)
    assert [line.get("repeated") for line in lines] == [None, None, None, 999]


def test_lines_about_different_tickets_outbox_rows_or_sandboxes_are_not_counted_as_one(
    tmp_path: Path,
) -> None:
    path = tmp_path / "perlica.log"
    handler = start_logging(LogSection(file=path, repeat_within_s=3600))
    log = logging.getLogger("perlica.test")
    for name in ("ticket", "outbox", "sandbox", "call", "operation", "node"):
        log.info("moved", extra={name: "A"})
        log.info("moved", extra={name: "B"})
    log.info("moved", extra={"message_row": 1})
    log.info("moved", extra={"message_row": 2})
    handler.close()

    lines = lines_of(path)
    assert len(lines) == 14
    assert [line["repeated"] for line in lines if "repeated" in line] == [1]


def test_a_list_of_names_is_written_as_a_list(tmp_path: Path) -> None:
    path = tmp_path / "perlica.log"
    handler = start_logging(LogSection(file=path, repeat_within_s=0))
    logging.getLogger("perlica.test").info("late", extra={"actors": ("outbox", "ledger")})
    handler.close()

    assert lines_of(path)[0]["actors"] == ["outbox", "ledger"]


def test_a_flood_of_different_lines_does_not_fill_the_memory(tmp_path: Path) -> None:
    handler = LineHandler([], secrets=[], repeat_within_s=3600)
    for number in range(2_000):
        handler.handle(
            logging.LogRecord("perlica", logging.INFO, "", 0, f"line {number}", (), None)
        )

    assert len(handler._gate._seen) <= 257
    handler.close()


def test_a_log_file_is_private_and_replaced_when_it_has_grown(tmp_path: Path) -> None:
    path = tmp_path / "perlica.log"
    start_logging(LogSection(file=path, max_bytes=65_536, keep_files=2, repeat_within_s=0))
    log = logging.getLogger("perlica.test")
    for number in range(700):
        log.info("%s %d", "line " * 60, number)

    files = sorted(tmp_path.iterdir())
    assert [file.name for file in files] == ["perlica.log", "perlica.log.1", "perlica.log.2"]
    assert all(file.stat().st_size <= 65_536 for file in files)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_full_disk_does_not_stop_the_service_and_is_told_later() -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    reader, writer = os.pipe()
    sink = DescriptorSink(full)
    handler = LineHandler([sink], secrets=[], repeat_within_s=0)
    record = logging.LogRecord("perlica", logging.INFO, "", 0, "x", (), None)
    handler.handle(record)
    handler.handle(record)
    sink._descriptor = writer
    handler.handle(record)
    os.close(writer)

    with os.fdopen(reader) as pipe:
        lines = [json.loads(line) for line in pipe]
    os.close(full)
    assert lines[0]["event"] == "log lines were lost"
    assert lines[0]["count"] >= 2
    assert lines[1]["event"] == "x"


def test_the_log_never_follows_a_link(tmp_path: Path) -> None:
    (tmp_path / "target").touch()
    (tmp_path / "perlica.log").symlink_to(tmp_path / "target")
    sink = FileSink(tmp_path / "perlica.log", max_bytes=65_536, keep_files=1)
    sink.write(b"x\n")
    sink.close()

    assert sink.lost == 1
    assert (tmp_path / "target").read_bytes() == b""


def test_an_uncaught_exception_ends_as_one_protected_line(tmp_path: Path) -> None:
    program = (
        "from perlica.app.config.sections import LogSection\n"
        "from perlica.app.logs import start_logging\n"
        "import threading\n"
        "start_logging(LogSection())\n"
        f"thread = threading.Thread(target=lambda: int({CANARIES[0]!r}))\n"
        "thread.start(); thread.join()\n"
        f"raise ValueError({CANARIES[0]!r})\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=50
    )

    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert ended.returncode == 1
    assert [line["level"] for line in lines] == ["critical", "critical"]
    assert CANARIES[0] not in ended.stderr


@given(st.text(st.characters(), max_size=200), st.text(st.characters(), max_size=50))
def test_every_text_becomes_one_json_line(message: str, argument: str) -> None:
    record = logging.LogRecord("perlica", logging.INFO, "", 0, message, (argument,), None)
    line = LineFormatter([argument]).format(record)

    assert isinstance(json.loads(line), dict)
    assert "\n" not in line
    line.encode("utf-8")
