"""What intake keeps of a command and of a file: never a code, never a credential."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perlica.clients.napcat import InboundFrame
from perlica.commands import Parsed, parse_line
from perlica.commands.grammar import FREE_TEXT_ARGUMENTS
from perlica.domain.approval import digest_code
from perlica.domain.ids import GroupId
from tests.napcat.intake import open_intake
from tests.napcat.rig import BOT, MING, OUR_GROUP
from tests.stores.rows import draw, new_ticket

SECRET = "gh" + "p_" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9bC1dE3fG5"


def _frame(*segments: dict[str, Any]) -> InboundFrame:
    frame = {
        "time": int(time.time()),
        "self_id": BOT,
        "post_type": "message",
        "message_type": "group",
        "group_id": OUR_GROUP,
        "user_id": MING,
        "message_id": 1,
        "real_seq": "1",
        "message": list(segments),
    }
    return InboundFrame(frame=frame)


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": text}}


def _keep(directory: Path, *segments: dict[str, Any], table: str) -> list[dict[str, Any]]:
    """The rows of a table once intake has taken one message of an Owner."""
    with open_intake(directory / "state" / "perlica.sqlite3") as intake:
        intake.take([_frame(*segments)])
        return [dict(row) for row in intake.database.query(f"SELECT * FROM {table}")]


@pytest.mark.evidence(10)
@pytest.mark.parametrize(
    "line", [".approve K7Q2M 482913", "。approve K7Q2M 482913", ".aprove K7Q2M 482913"]
)
def test_a_command_is_kept_without_its_code(tmp_path: Path, line: str) -> None:
    (row,) = _keep(tmp_path, _text(line), table="group_messages")

    assert row["kind"] == "control"
    assert row["content"].endswith("K7Q2M ******")


@pytest.mark.evidence(10)
def test_a_command_keeps_nothing_of_the_lines_below_it(tmp_path: Path) -> None:
    (row,) = _keep(tmp_path, _text(".status\n482913 秘密"), table="group_messages")

    assert row["content"] == ".status"


FREE_TEXTS = [
    f".recovery resolve op-0123456789abcdef01234567 {SECRET}",
    f".sbx describe main {SECRET}",
    f".image intro {SECRET}",
    f".image switch 0123456789ab {SECRET}",
]


def _key_of(line: str) -> str:
    """The argument that holds a person's own words."""
    parsed = parse_line(line)
    assert isinstance(parsed, Parsed)
    (key,) = [key for key, value in parsed.arguments.items() if SECRET in value]
    return key


def test_every_argument_with_a_persons_own_words_is_protected_before_it_is_kept() -> None:
    assert {_key_of(line) for line in FREE_TEXTS} == FREE_TEXT_ARGUMENTS


@pytest.mark.evidence(5)
@pytest.mark.parametrize("line", FREE_TEXTS)
def test_an_owners_own_words_in_a_command_are_kept_without_their_credential(
    tmp_path: Path, line: str
) -> None:
    (row,) = _keep(tmp_path, _text(line), table="commands")

    files = (tmp_path / "state").iterdir()
    assert SECRET not in row["arguments"]
    assert _key_of(line) in row["arguments"]
    assert not any(SECRET.encode() in file.read_bytes() for file in files)


@pytest.mark.evidence(5)
@pytest.mark.parametrize("kind", ["image", "file", "record", "video"])
def test_a_file_whose_handle_holds_a_credential_is_kept_without_its_handle(
    tmp_path: Path, kind: str
) -> None:
    data = {"file": f"{SECRET}.bin", "file_id": SECRET, "file_size": "12"}

    (row,) = _keep(tmp_path, {"type": kind, "data": data}, table="attachments")

    assert row["handle"] == ""
    assert SECRET not in str(row)
    assert row["size_bytes"] == 12


@pytest.mark.parametrize("kind", ["image", "file", "record", "video"])
def test_an_ordinary_file_keeps_its_handle(tmp_path: Path, kind: str) -> None:
    data = {"file": "a.bin", "file_id": "a.bin"}

    (row,) = _keep(tmp_path, {"type": kind, "data": data}, table="attachments")

    assert row["handle"] == "a.bin"


@pytest.mark.evidence(10)
def test_a_name_that_repeats_a_pending_approval_is_kept_without_it(tmp_path: Path) -> None:
    sender = {"user_id": MING, "nickname": "K7Q2M 424242", "card": ""}
    frame = InboundFrame(frame={**_frame(_text("你好")).frame, "sender": sender})
    ticket = replace(new_ticket(ticket="K7Q2M"), group_id=GroupId(OUR_GROUP))
    with open_intake(tmp_path / "state" / "perlica.sqlite3") as intake:
        draw(intake.database, replace(ticket, code_digest=digest_code(ticket.id, "424242")))
        intake.take([frame])
        (row,) = intake.database.query("SELECT display_name FROM group_messages")

    assert row["display_name"] == "[审批编号] [短码]"
