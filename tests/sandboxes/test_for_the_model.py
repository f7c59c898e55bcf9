"""What the model's sandbox tools show and refuse."""

from collections.abc import Callable

import pytest

from perlica.domain.errors import Refused
from perlica.domain.sandbox import FileRead, ReadFile, ReadLines
from perlica.sandboxes.lines import read_lines
from perlica.sandboxes.ranges import PIECE_BYTES
from tests.sandboxes.rig import Rig

TEXT = "".join(f"line {n}\n" for n in range(1, 301))


def read_from(content: bytes, first: int, last: int, **limits: int) -> str:
    """The lines of a file in memory, with what was said about them."""
    read = read_lines(
        ReadLines(
            path="/x",
            first_line=first,
            last_line=last,
            limit_bytes=limits.pop("limit", 1000),
            **limits,
        ),
        lambda piece: _piece(content, piece),
    )
    end = "end" if read.at_end else "more"
    return f"{read.first_line}-{read.last_line} {end}: {read.content.decode()}"


def _piece(content: bytes, piece: ReadFile) -> FileRead:
    end = piece.offset_bytes + piece.limit_bytes
    return FileRead(
        size_bytes=len(content),
        offset_bytes=piece.offset_bytes,
        content=content[piece.offset_bytes : end],
    )


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        (1, 1, "1-1 more: a\n"),
        (2, 3, "2-3 end: b\nc"),
        (3, 9, "3-3 end: c"),
        (4, 9, "4-3 end: "),
        (1, 9, "1-3 end: a\nb\nc"),
    ],
)
def test_whole_lines_are_found(first: int, last: int, expected: str) -> None:
    assert read_from(b"a\nb\nc", first, last) == expected


def test_a_line_end_at_the_end_makes_no_further_line() -> None:
    assert read_from(b"a\nb\n", 1, 9) == "1-2 end: a\nb\n"


def test_an_empty_file_has_no_lines() -> None:
    assert read_from(b"", 1, 9) == "1-0 end: "


def test_lines_are_found_over_the_edges_of_pieces() -> None:
    content = b"".join(b"%06d\n" % n for n in range(PIECE_BYTES // 7 * 3))
    at = PIECE_BYTES // 7 + 1

    assert read_from(content, at, at + 1) == f"{at}-{at + 1} more: {at - 1:06d}\n{at:06d}\n"


def test_what_does_not_fit_is_left_for_the_next_read() -> None:
    assert read_from(b"aaaa\nbbbb\ncccc\n", 1, 9, limit=11) == "1-2 more: aaaa\nbbbb\n"


def test_a_line_that_alone_is_too_long_is_refused() -> None:
    with pytest.raises(Refused, match="line_too_long"):
        read_from(b"x" * 5000, 1, 1)


def test_long_lines_before_the_wanted_ones_cost_no_memory_and_hinder_nothing() -> None:
    assert read_from(b"x" * 3_000_000 + b"\nhere\n", 2, 2) == "2-2 end: here\n"


def test_lines_too_far_behind_are_refused() -> None:
    with pytest.raises(Refused, match="too_far"):
        read_from(b"x\n" * 1_000_000, 900_000, 900_001, scan_bytes=2**20)


def test_a_range_of_lines_is_read_with_what_follows(rig: Rig) -> None:
    rig.create("main")
    rig.call("sandbox_write", sandbox="main", path="/tmp/text", content=TEXT)

    middle = rig.call("sandbox_read", sandbox="main", path="/tmp/text", first_line=10, last_line=11)
    end = rig.call("sandbox_read", sandbox="main", path="/tmp/text", first_line=299)
    behind = rig.call("sandbox_read", sandbox="main", path="/tmp/text", first_line=400)

    assert middle == "lines 10 to 11, more from line 12:\nline 10\nline 11\n"
    assert end == "lines 299 to 300, the end:\nline 299\nline 300\n"
    assert behind == f"the file has no line 400, {len(TEXT)} bytes"


@pytest.mark.parametrize(
    "wrong",
    [
        {"first_line": 3, "last_line": 2},
        {"first_line": 0},
        {"first_line": 1, "offset_bytes": 5},
        {"directory": True, "last_line": 5},
    ],
)
def test_a_range_that_is_none_is_refused(rig: Rig, wrong: dict[str, object]) -> None:
    rig.create("main")

    said = rig.call("sandbox_read", sandbox="main", path="/tmp/text", **wrong)

    assert said.startswith("not executed")


@pytest.mark.parametrize(
    ("content", "is_text"),
    [
        ("普通文字\n".encode(), True),
        ("文".encode()[1:] + b"abc", True),
        (b"\x7fELF\x02\x01\x01\0\0\0", False),
        (bytes(range(128, 256)) * 4, False),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(200, 250)), False),
    ],
)
def test_a_binary_file_is_named_and_not_shown(rig: Rig, content: bytes, *, is_text: bool) -> None:
    rig.create("main")
    backend = rig.backends["test-node"]
    next(iter(backend._held.values())).files["/bin/file"] = content

    said = rig.call("sandbox_read", sandbox="main", path="/bin/file")

    assert said.startswith("bytes 0 to") is is_text
    assert (said == f"binary file, {len(content)} bytes: not shown") is not is_text


def test_a_piece_says_where_the_next_one_begins(rig: Rig) -> None:
    rig.create("main")
    backend = rig.backends["test-node"]
    next(iter(backend._held.values())).files["/big"] = b"y" * 70_000

    said = rig.call("sandbox_read", sandbox="main", path="/big")

    assert said.startswith("bytes 0 to 65536 of 70000, more from offset_bytes 65536:\n")


def test_more_than_the_limit_is_not_written_at_once(rig: Rig) -> None:
    rig.create("main")

    said = rig.call("sandbox_write", sandbox="main", path="/big", content="界" * 30_000)

    assert "90000 bytes at once are too many, the limit is 65536" in said
    assert "/big" not in next(iter(rig.backends["test-node"]._held.values())).files


def test_reading_by_lines_is_a_use_and_looking_at_the_list_is_none(rig: Rig) -> None:
    rig.create("main")
    rig.call("sandbox_write", sandbox="main", path="/a", content="x\n")
    used = "SELECT last_active_at_ms FROM sandboxes"
    before = rig.column(used)

    rig.call("sandbox_manage", action="list")
    rig.call("sandbox_manage", action="keep", name="main")
    rig.call("sandbox_manage", action="describe", name="main", purpose="y")
    unchanged = rig.column(used)
    rig.call("sandbox_read", sandbox="main", path="/a", first_line=1)

    assert unchanged == before
    assert rig.column(used) > before


def test_limits_network_and_lifecycle_stand_in_the_plan_and_stay(rig: Rig) -> None:
    import json

    rig.create("main")

    (plan,) = rig.column("SELECT plan FROM operations WHERE action = 'sandbox.create'")
    effect = json.loads(str(plan))["effect"]
    assert effect["network"] == "none"
    assert effect["idle_ms"] == 7 * 86_400_000
    assert effect["memory_bytes"] == 2**28
    assert "image" not in {key for key in effect if key == "image"}
    assert rig.column("SELECT idle_ms FROM sandboxes") == [7 * 86_400_000]


def test_no_image_can_be_chosen_for_a_single_sandbox(rig: Rig) -> None:
    said = rig.call("sandbox_manage", action="create", name="main", image="other")

    assert "do not fit the tool's schema" in said


def test_the_configuration_decides_the_network_of_new_sandboxes(
    make_rig: Callable[..., Rig],
) -> None:
    rig = make_rig(network="egress")
    rig.create("main")

    assert rig.column("SELECT network FROM sandboxes") == ["egress"]


def test_the_model_cannot_choose_a_network(rig: Rig) -> None:
    answer = rig.create("main", network="egress")

    assert "network" in answer
    assert rig.living() == []
