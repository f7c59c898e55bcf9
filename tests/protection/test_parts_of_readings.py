"""The small questions behind the readings: escapes, wide signs, lines that go on."""

import re
from typing import cast

import pytest

from perlica.protection import Channel, protect
from perlica.protection.engine import Match
from perlica.protection.escapes import unescaped
from perlica.protection.folding import _follows_wide
from perlica.protection.wrapped_lines import _goes_on


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (b"%41", b"A"),
        (b"%E4%B8%AD", "中".encode()),
        (b"&amp;", b"&"),
        (b"&#65;", b"A"),
        (b"&zzz;", None),
        (b"\\u0041", b"A"),
        (b"\\u{41}", b"A"),
        (b"\\u{110000}", b"?"),
        (b"\\ud83d\\ude00", "😀".encode()),
        (b"\\x41\\x42", b"AB"),
        (b"\\101", b"A"),
        (b"\\n", b"\n"),
        (b'\\"', b'"'),
        (b'\\\\\\"', b'"'),
        (b"\\z", b"z"),
    ],
)
def test_an_escape_is_read_as_what_it_stands_for(written: bytes, meant: bytes | None) -> None:
    match = re.match(rb".*", written, re.DOTALL)
    assert match is not None

    assert unescaped(cast("Match", match)) == meant


@pytest.mark.parametrize(
    ("before", "follows"),
    [
        ("密码Ａ", True),
        ("Ａ", True),
        ("密码ａ中", False),
        ("密码：", False),
        ("a", False),
        ("", False),
    ],
)
def test_a_wide_mark_counts_behind_a_wide_letter_alone(before: str, follows: bool) -> None:
    data = f"{before}！２".encode()

    assert _follows_wide(data, len(before.encode())) is follows


@pytest.mark.parametrize(
    ("left", "right", "goes_on"),
    [
        (b"ghp_x9K2", b"mQ7vR4tY8w", True),
        (b"a1", b"mQ7vR4tY8w", False),
        (b"second", b"mQ7vR4tY8w", False),
        (b"x9K2mQ7v", b"second", False),
        (b"x9K2mQ7v", b"LOG_LEVEL=info", False),
        (b"x9K2mQ7v", b"my-app-name", False),
    ],
)
def test_a_line_goes_on_where_both_sides_are_pieces(
    left: bytes, right: bytes, goes_on: bool
) -> None:
    assert bool(_goes_on(left, right)) is goes_on


def test_a_signature_that_is_a_plain_uuid_goes_too() -> None:
    plain = "12121212-3434-1212-3434-121212121212"

    content = protect(f"https://x.example/f?sig={plain}", Channel.MESSAGE).content

    assert content == "https://x.example/f?sig=⟦凭据:signed_url:1⟧"
