"""The line that tells how far a command is: cut out of the end of its output, with a margin."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perlica.domain.ids import new_operation_id
from perlica.sandboxes.progress import SHOWN_BYTES, TAIL_MARGIN_BYTES, OutputWatch, StreamTail
from perlica.stores.database import Database
from perlica.stores.migrations import migrate
from tests.protection.made import TOKENS, Dice, pem
from tests.protection.test_pieces import KINDS, fill, make_secret, shows_of

TOKEN = TOKENS["github classic"](Dice(31))
KEPT = SHOWN_BYTES + TAIL_MARGIN_BYTES


def line_of(*pieces: str, missing: int = 0) -> str:
    """The last line after these pieces; in front of the last of them bytes are missing."""
    tail = StreamTail()
    for piece in pieces[:-1]:
        tail.take(piece.encode(), 0)
    tail.take(pieces[-1].encode(), missing)
    return tail.last_line().content


def test_the_last_whole_line_is_shown() -> None:
    assert line_of("first\nsecond\n", "third, not yet") == "second"


def test_without_a_whole_line_nothing_is_shown() -> None:
    assert line_of("not yet") == ""


@pytest.mark.parametrize("back", [0, 3, 20, 39])
def test_a_token_over_the_beginning_of_what_is_looked_through_is_hidden(back: int) -> None:
    line = f"{'x ' * 20_000}token={TOKEN} {'y ' * ((SHOWN_BYTES - back) // 2)}\n"

    assert shows_of(TOKEN, line_of("z\n" * 60_000, line)) is None


@pytest.mark.parametrize("back", [0, 3, 20, 39])
def test_a_token_over_the_beginning_of_what_is_kept_is_not_shown(back: int) -> None:
    line = f"token={TOKEN} {'y ' * ((KEPT - back) // 2)}\n"

    assert shows_of(TOKEN, line_of("z\n" * 60_000, line)) is None


def test_what_follows_a_gap_is_margin_first() -> None:
    assert line_of("start\n", TOKEN[:10], TOKEN[20:] + " is the token\n", missing=10) == ""
    assert line_of("start\n", f"{'z' * TAIL_MARGIN_BYTES}\nlater\n", missing=10) == "later"


def test_the_middle_of_a_key_longer_than_the_margin_is_not_shown() -> None:
    key = pem(Dice(32), size=2 * KEPT)

    assert line_of(key[: len(key) // 2] + "\n", "") in {"", "⟦凭据:private_key:1⟧"}


def test_a_line_of_the_one_stream_does_not_divide_a_token_of_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(tmp_path / "perlica.db")
    said: list[str] = []
    monkeypatch.setattr(
        "perlica.stores.progress.ProgressStore.note",
        lambda _self, _operation, _size, line: said.append(line.content),
    )

    with Database.open(tmp_path / "perlica.db") as database:
        watch = OutputWatch(database=database, operation=new_operation_id(), every_s=0.0)
        watch.take("stdout", f"token={TOKEN[:20]}".encode())
        watch.take("stderr", b"a warning\n")
        watch.take("stdout", f"{TOKEN[20:]}\n".encode())

    assert said == ["", "a warning", "token=⟦凭据:github_token:1⟧"]


@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(30, 900), min_size=1, max_size=6),
    gap=st.integers(0, 30),
)
@settings(max_examples=80, deadline=None)
def test_no_line_shows_part_of_a_secret_however_the_output_comes(
    kind: str, seed: int, sizes: list[int], gap: int
) -> None:
    dice = Dice(seed)
    lines, secret = make_secret(kind, dice)
    data = f"{fill(dice, 1_500)}\n{lines}\n{fill(dice, 300)}\n".encode()
    lost = data.index(lines.encode()) + dice.randrange(len(lines))
    tail, at, turn = StreamTail(), 0, 0

    while at < len(data):
        size = sizes[turn % len(sizes)]
        end = max(at + 1, min(at + size, lost)) if at < lost else at + size
        missing = gap if at == lost else 0
        tail.take(data[at + missing : end + missing], missing)
        at, turn = end + missing, turn + 1
        assert shows_of(secret, tail.last_line().content) is None
