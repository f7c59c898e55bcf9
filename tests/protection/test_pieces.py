"""What is cut is looked at first: a piece of foreign bytes, with what stands around it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perlica.protection import Channel, Piece, ProtectionStatus, Stretch, protect, protect_pieces
from perlica.protection.armour import begins_inside_armour
from perlica.protection.placeholder import ANY
from tests.protection.failing import failing_rule
from tests.protection.made import HEXADECIMAL, KEYED, TOKENS, Dice, pem

WINDOW = 8
KINDS = (*sorted(TOKENS), *sorted(KEYED), "private key", "password in Chinese", "database address")
MARGIN = 16 * 1024


def make_secret(kind: str, dice: Dice) -> tuple[str, str]:
    """A line or lines as they stand in a file, and the part of them that must never be seen."""
    if kind in TOKENS:
        secret = TOKENS[kind](dice)
        return f"export TOKEN={secret}", secret
    if kind in KEYED:
        name, maker = KEYED[kind]
        secret = maker(dice)
        return f"{name}={secret}", secret
    if kind == "private key":
        key = pem(dice, "EC PRIVATE" + " KEY", size=dice.randrange(120, 700))
        return key, "".join(key.splitlines()[1:-1])
    password = dice.mixed(16)
    if kind == "password in Chinese":
        return f"数据库密码：{password}", password
    return f"DATABASE_URL=postgres://app:{password}@db.internal:5432/app", password


def fill(dice: Dice, size: int) -> str:
    """Ordinary output, with characters of one to four bytes."""
    lines = ("step done, nothing to report", "编译完成，没有错误", "ok 😀", "", "    indented = 3")
    text = list[str]()
    while sum(map(len, text)) < size:
        text.append(dice.choice(lines))
    return "\n".join(text)


def shows_of(secret: str, text: str) -> str | None:
    """A window of eight signs of the secret that stands in the text."""
    windows = {secret[at : at + WINDOW] for at in range(max(1, len(secret) - WINDOW + 1))}
    return next((window for window in windows if window in text), None)


def cut(data: bytes, begin: int, end: int, margin: int = MARGIN) -> Piece:
    """A range as whoever reads a file cuts it: only a margin around it is known."""
    first = max(0, begin - margin)
    known = data[first : end + margin]
    shown = (begin - first, min(end, len(data)) - first)
    stretch = Stretch(data=known, shown=(shown,), is_cut=first > 0)
    ((piece,),) = protect_pieces([stretch], Channel.TOOL_RESULT)
    return piece


@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10_000),
    where=st.floats(0, 1),
    size=st.integers(0, 4_000),
)
@settings(max_examples=150, deadline=None)
def test_no_range_shows_eight_signs_of_a_secret_wherever_it_begins_and_ends(
    kind: str, seed: int, where: float, size: int
) -> None:
    dice = Dice(seed)
    lines, secret = make_secret(kind, dice)
    data = f"{fill(dice, 500)}\n{lines}\n{fill(dice, 500)}\n".encode()
    at = data.index(lines.encode())
    begin = at + int(where * len(lines.encode()))

    front = cut(data, 0, begin)
    middle = cut(data, begin, begin + size)
    back = cut(data, begin, len(data))

    for piece in (front, middle, back):
        assert piece.protected.is_usable
        assert shows_of(secret, piece.protected.content) is None
    halves = front.protected.content + back.protected.content
    assert shows_of(secret, halves.replace("\n", "")) is None


@given(seed=st.integers(0, 10_000), size=st.integers(20, 900), kind=st.sampled_from(KINDS))
@settings(max_examples=60, deadline=None)
def test_reading_on_where_the_last_piece_ended_loses_nothing_and_repeats_nothing(
    seed: int, size: int, kind: str
) -> None:
    dice = Dice(seed)
    lines, _ = make_secret(kind, dice)
    text = f"{fill(dice, 700)}\n{lines}\n{fill(dice, 700)}\n"
    data, at, read = text.encode(), 0, list[str]()

    while at < len(data):
        piece = cut(data, at, at + size)
        read.append(piece.protected.content)
        assert piece.end > at - min(at, MARGIN)
        at = max(0, at - MARGIN) + piece.end

    whole = protect(text, Channel.TOOL_RESULT).content
    assert ANY.sub("⟦⟧", "".join(read)) == ANY.sub("⟦⟧", whole)


def test_a_range_that_begins_inside_a_secret_begins_with_its_placeholder() -> None:
    secret = TOKENS["gitlab"](Dice(1))
    data = f"first\ntoken={secret}\nlast\n".encode()

    piece = cut(data, data.index(secret.encode()) + 3, len(data))

    assert piece.protected.content == "⟦凭据:gitlab_token:1⟧\nlast\n"
    assert piece.protected.status is ProtectionStatus.REDACTED


def test_a_range_that_ends_inside_a_secret_ends_behind_it() -> None:
    secret = TOKENS["gitlab"](Dice(1))
    data = f"first\ntoken={secret}\nlast\n".encode()

    piece = cut(data, 0, data.index(secret.encode()) + 3)

    assert piece.protected.content == "first\ntoken=⟦凭据:gitlab_token:1⟧"
    assert piece.end == data.index(b"\nlast")


def test_a_cut_does_not_divide_a_placeholder_that_the_text_itself_has() -> None:
    data = "x ⟦凭据:password:7⟧ y".encode()

    first, second = cut(data, 0, 9), cut(data, 9, len(data))

    assert first.protected.content == "x ⟦凭据:password:7⟧"
    assert first.end == data.index(b" y")
    assert second.protected.content == "⟦凭据:password:7⟧ y"


def test_a_character_at_a_cut_belongs_to_one_piece_alone() -> None:
    data = "好好好".encode()

    first = cut(data, 0, 4)

    assert first.protected.content == "好"
    assert cut(data, first.end, len(data)).protected.content == "好好"


def test_bytes_that_are_no_text_are_shown_as_such_and_move_no_cut() -> None:
    secret = TOKENS["npm"](Dice(2))
    data = b"\xff\xfe\n" * 20 + f"token={secret}\nlast\n".encode()

    piece = cut(data, 0, data.index(secret.encode()) + 9)

    assert piece.protected.content.endswith("token=⟦凭据:npm_token:1⟧")
    assert piece.protected.content.startswith("\ufffd\ufffd\n")
    assert piece.end == data.index(b"\nlast")


def test_different_secrets_of_one_result_have_different_numbers() -> None:
    dice = Dice(3)
    one, other = (f"token={TOKENS['gitlab'](dice)}".encode() for _ in range(2))
    stretches = [Stretch(data=data, shown=((0, len(data)),)) for data in (one, other, one)]

    pieces = protect_pieces(stretches, Channel.TOOL_RESULT)

    numbers = [ANY.findall(piece.protected.content)[0][-2] for (piece,) in pieces]
    assert numbers == ["1", "2", "1"]


def test_where_the_scan_fails_in_the_margin_nothing_is_shown() -> None:
    data = b"harmless " * 20 + b"poison"

    with failing_rule(when="poison"):
        piece = cut(data, 0, 9)

    assert (piece.protected.status, piece.protected.content) == (
        ProtectionStatus.SCAN_INCOMPLETE,
        "",
    )


@pytest.mark.parametrize("size", [40_000, 200_000, 500_000])
def test_a_private_key_of_any_length_vanishes_whole(size: int) -> None:
    key = pem(Dice(size), size=size)
    before, behind = "before\n" * 9000, "\n" + "behind\n" * 9000

    protected = protect(before + key + behind, Channel.TOOL_RESULT)

    assert protected.content == before + "⟦凭据:private_key:1⟧" + behind


@pytest.mark.parametrize("half", ["beginning", "end"])
def test_half_of_a_very_long_private_key_vanishes_whole(half: str) -> None:
    lines = pem(Dice(8), size=200_000).splitlines()
    middle = len(lines) // 2
    kept = lines[:middle] if half == "beginning" else lines[middle:]

    protected = protect("talk about it\n" + "\n".join(kept) + "\n", Channel.TOOL_RESULT)

    assert not any(line in protected.content for line in kept[1:-1])


def test_the_middle_of_a_key_longer_than_any_margin_is_not_shown() -> None:
    key = pem(Dice(9), size=200_000)
    data = f"before\n{key}\nbehind\n".encode()
    middle = len(data) // 2

    piece = cut(data, middle, middle + 1000)

    assert piece.protected.content == "⟦凭据:private_key:1⟧"


def test_the_end_of_a_key_longer_than_any_margin_is_not_shown() -> None:
    data = f"before\n{pem(Dice(9), size=200_000)}\nbehind\n".encode()

    piece = cut(data, len(data) - 1000, len(data))

    assert piece.protected.content == "⟦凭据:private_key:1⟧\nbehind\n"


def test_a_certificate_chain_longer_than_any_margin_is_shown() -> None:
    chain = pem(Dice(10), "CERTIFICATE", size=30_000)
    data = f"{chain}\nbehind\n".encode()

    piece = cut(data, len(data) - 100, len(data))

    assert piece.protected.content.endswith("-----END CERTIFICATE-----\nbehind\n")
    assert piece.protected.finding_count == 0


@pytest.mark.parametrize(
    "line",
    ["word", "2026-12-01 00:00:00 INFO step done", Dice(4).text(HEXADECIMAL, 64)],
)
def test_a_long_text_of_other_lines_does_not_look_like_the_middle_of_a_key(line: str) -> None:
    data = f"{line}\n".encode() * (3 * MARGIN // len(line))

    assert not begins_inside_armour(data, MARGIN)


def test_the_middle_of_armour_is_told_from_the_rest() -> None:
    body = "\n".join(pem(Dice(5), size=3 * MARGIN).splitlines()[1:-1])

    assert begins_inside_armour(body.encode(), MARGIN)
    assert not begins_inside_armour(body.encode()[:MARGIN], MARGIN)
