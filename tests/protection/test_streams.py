"""Output in pieces: where a piece ends decides nothing."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perlica.protection import Channel, OutputStream, ProtectionStatus, protect
from perlica.protection.testing import failing_rule
from tests.protection.made import TOKENS, Dice, pem

DICE = Dice(41)
TOKEN = TOKENS["gitlab"](DICE)
TEXT = f"开始\nexport T={TOKEN}\n{pem(DICE)}\n密码：{DICE.password()}\n结束 😀\n"


@given(cuts=st.lists(st.integers(0, len(TEXT.encode())), max_size=12))
def test_pieces_make_the_same_text_as_the_whole(cuts: list[int]) -> None:
    stream, data, at = OutputStream(Channel.TOOL_RESULT), TEXT.encode(), 0

    for cut in [*sorted(cuts), len(data)]:
        stream.feed(data[at:cut])
        at = max(at, cut)

    assert stream.finish().content == protect(TEXT, Channel.TOOL_RESULT).content


def long_output(lines: int) -> tuple[bytes, list[str]]:
    dice, secrets, text = Dice(42), [], []
    for number in range(lines):
        text.append(f"{number:08d} INFO step finished in 31 ms, nothing to report here")
        if number % 97 == 0:
            secrets.append(TOKENS["npm"](dice))
            text.append(f"token={secrets[-1]}")
    return "\n".join(text).encode(), secrets


@pytest.mark.parametrize("piece", [997, 65_536])
def test_output_too_long_to_hold_is_protected_all_the_same(piece: int) -> None:
    data, secrets = long_output(6000)
    stream = OutputStream(Channel.TOOL_RESULT, hold_bytes=64 * 1024)

    for at in range(0, len(data), piece):
        stream.feed(data[at : at + piece])
    protected = stream.finish()

    assert not any(secret in protected.content for secret in secrets)
    assert protected.finding_count == len(secrets)
    assert protected.content.count("\n") == data.count(b"\n")


def test_the_same_secret_keeps_its_number_through_the_whole_output() -> None:
    line = f"token={TOKEN}\n" + "nothing to see\n" * 20_000
    stream = OutputStream(Channel.TOOL_RESULT, hold_bytes=64 * 1024)

    for _ in range(2):
        stream.feed(line.encode())

    assert stream.finish().content.count("⟦凭据:gitlab_token:1⟧") == 2


def test_a_private_key_across_a_settled_front_vanishes() -> None:
    filler = b"a line of ordinary output\n"
    key = pem(Dice(43), size=2000).encode()
    stream = OutputStream(Channel.TOOL_RESULT, hold_bytes=64 * 1024)

    stream.feed(filler * 2200)
    stream.feed(key[:700])
    stream.feed(key[700:] + b"\n" + filler * 3000)

    assert stream.finish().content.count("⟦凭据:private_key:1⟧") == 1


def test_output_beyond_the_limit_is_dropped_and_the_text_says_so() -> None:
    stream = OutputStream(Channel.TOOL_RESULT, max_bytes=1000)

    stream.feed(b"x" * 1500)

    assert "500" in stream.finish().content


def test_half_a_character_at_the_end_is_no_failure() -> None:
    stream = OutputStream(Channel.TOOL_RESULT)

    stream.feed("好".encode()[:2])

    assert stream.finish().content == "\ufffd"


def test_a_failure_in_the_middle_leaves_no_text() -> None:
    stream = OutputStream(Channel.TOOL_RESULT, hold_bytes=64 * 1024)

    with failing_rule(when="poison"):
        stream.feed(b"a line of ordinary output\n" * 3000 + b"poison\n")
        stream.feed(b"a line of ordinary output\n" * 6000)
    stream.feed(b"more\n" * 100)
    protected = stream.finish()

    assert (protected.status, protected.content) == (ProtectionStatus.SCAN_INCOMPLETE, "")


SMALLEST_HOLD = 32 * 1024


def secrets_in_a_row(dice: Dice, size: int) -> tuple[str, list[str]]:
    """Output longer than the hold, with secrets of one and of many lines close to one another."""
    text, secrets = list[str](), list[str]()
    while sum(len(piece) for piece in text) < size:
        filler = "step done, nothing to report\n" * dice.randrange(1, 60)
        key, token, password = pem(dice, size=600), TOKENS["npm"](dice), dice.password()
        text.append(f"{filler}{key}\nexport T={token}\n{filler}数据库密码：{password}\n")
        secrets += [key.splitlines()[3], token, password]
    return "".join(text), secrets


@given(seed=st.integers(0, 10_000), sizes=st.lists(st.integers(1, 40_000), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_where_a_cut_falls_never_decides_whether_a_secret_passes(
    seed: int, sizes: list[int]
) -> None:
    text, secrets = secrets_in_a_row(Dice(seed), 4 * SMALLEST_HOLD)
    data, at, turn = text.encode(), 0, 0
    stream = OutputStream(Channel.TOOL_RESULT, hold_bytes=SMALLEST_HOLD)

    while at < len(data):
        size = sizes[turn % len(sizes)]
        stream.feed(data[at : at + size])
        at, turn = at + size, turn + 1
    protected = stream.finish()

    assert protected.content == protect(text, Channel.TOOL_RESULT).content
    assert not any(secret in protected.content for secret in secrets)
