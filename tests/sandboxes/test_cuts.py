"""What the model is shown of a sandbox is always a cut of something; none shows half a secret."""

import logging
import random
import re
from collections.abc import Iterator

import pytest

from perlica.domain.sandbox import MARGIN_BYTES
from perlica.protection.placeholder import ANY
from tests.protection.made import TOKENS, Dice, pem
from tests.protection.test_pieces import KINDS, fill, make_secret, shows_of
from tests.sandboxes.rig import Rig

LIMIT = 65_536
SHARES = 6
SECRET = "app:" + Dice(11).mixed(16)
URL = f"DATABASE_URL=postgres://{SECRET}@db.internal:5432/app"
_READ = re.compile(r"bytes (\d+) to (\d+) of (\d+)(?:, more from offset_bytes (\d+))?:\n", re.ASCII)


def keep(rig: Rig, path: str, content: str | bytes) -> None:
    """A file that a command of the sandbox has left there."""
    raw = content if isinstance(content, bytes) else content.encode()
    next(iter(rig.backends["test-node"]._held.values())).files[path] = raw


def stored(rig: Rig) -> bytes:
    """Everything that the service has on its disk."""
    return b"".join(p.read_bytes() for p in rig.path.parent.glob(f"{rig.path.name}*"))


def read_on(rig: Rig, path: str) -> Iterator[str]:
    """The whole file in pieces, as the tool advises."""
    at: int | None = 0
    while at is not None:
        said = rig.call("sandbox_read", sandbox="main", path=path, offset_bytes=at)
        head = _READ.match(said)
        assert head is not None, said[:200]
        assert int(head[1]) == at
        yield said[head.end() :]
        at = int(head[4]) if head[4] else None


def log_with(secret: str, at: int, size: int, line: str = "2026-12-01 INFO step done\n") -> str:
    """A log of that size with a line of its own that the byte `at` lies in the middle of."""
    middle = at - len(secret) // 2
    front = (line * (middle // len(line) + 1))[: middle - 1] + "\n"
    return (front + secret + "\n" + line * (size // len(line)))[:size]


def test_a_log_is_read_on_as_advised_and_the_address_over_the_cut_is_hidden(rig: Rig) -> None:
    rig.create("main")
    log = log_with(URL, LIMIT, 300_000)
    keep(rig, "/var/log/app", log)

    pieces = list(read_on(rig, "/var/log/app"))

    whole = "".join(pieces)
    assert shows_of(SECRET, whole) is None
    assert ANY.sub("⟦⟧", whole) == log.replace(SECRET.partition(":")[2], "⟦⟧")
    assert len(pieces) == 5


def test_two_reads_never_give_both_halves(rig: Rig) -> None:
    rig.create("main")
    token = TOKENS["github classic"](Dice(12))
    log = log_with(f"token={token}", 150_000, 300_000)
    keep(rig, "/var/log/app", log)
    middle = log.index(token) + 20

    read = {"sandbox": "main", "path": "/var/log/app"}
    front = rig.call("sandbox_read", **read, offset_bytes=middle - LIMIT)
    back = rig.call("sandbox_read", **read, offset_bytes=middle)

    assert shows_of(token, front + back) is None
    assert front.endswith("token=⟦凭据:github_token:1⟧")
    assert back.partition("\n")[2].startswith("⟦凭据:github_token:1⟧\n2026")
    assert f"more from offset_bytes {middle + len(token) - 20}" in front


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_a_key_read_a_few_lines_at_a_time_never_shows(rig: Rig, at_once: int) -> None:
    rig.create("main")
    key = pem(Dice(13), "EC PRIVATE" + " KEY", size=240)
    keep(rig, "/root/key.pem", f"# the server's key\n{key}\n# end\n")
    lines = key.count("\n") + 3

    said = [
        rig.call(
            "sandbox_read",
            sandbox="main",
            path="/root/key.pem",
            first_line=first,
            last_line=first + at_once - 1,
        )
        for first in range(1, lines + 1, at_once)
    ]

    assert shows_of("".join(key.splitlines()[1:-1]), "".join(said)) is None
    assert "# the server's key" in said[0]
    assert "# end" in said[-1]


@pytest.mark.parametrize("first", [1500, 2000, 2999])
def test_a_line_in_the_middle_of_a_key_longer_than_the_margin_is_not_shown(
    rig: Rig, first: int
) -> None:
    rig.create("main")
    key = pem(Dice(14), size=2 * MARGIN_BYTES)
    keep(rig, "/root/key.pem", key + "\n")

    said = rig.call(
        "sandbox_read", sandbox="main", path="/root/key.pem", first_line=first, last_line=first + 1
    )

    assert said == (
        f"lines {first} to {first + 1}, more from line {first + 2}:\n⟦凭据:private_key:1⟧"
    )


@pytest.mark.parametrize("size", [LIMIT + 1000, LIMIT + MARGIN_BYTES, 2 * LIMIT + 2 * MARGIN_BYTES])
@pytest.mark.parametrize("edge", ["head", "tail"])
def test_a_token_over_the_cut_of_an_output_is_hidden(rig: Rig, edge: str, size: int) -> None:
    rig.create("main")
    token = TOKENS["gitlab"](Dice(15))
    at = LIMIT // 2 if edge == "head" else size - LIMIT // 2
    keep(rig, "/out", log_with(token, at, size))

    said = rig.run("cat", "/out")

    assert shows_of(token, said) is None
    assert "⟦凭据:gitlab_token:1⟧" in said
    assert f"the middle of {size} bytes is left out" in said
    assert shows_of(token, stored(rig).decode("utf-8", "replace")) is None


def test_a_password_whose_label_is_in_what_is_left_out_is_hidden(rig: Rig) -> None:
    rig.create("main")
    password, size = Dice(16).password(), LIMIT + 2 * MARGIN_BYTES + 9000
    log = log_with("password: " + " " * 40 + password, size - LIMIT // 2 - 20, size)
    keep(rig, "/out", log)

    said = rig.run("cat", "/out")

    assert password in log[-LIMIT // 2 - 8 :]
    assert shows_of(password, said) is None


@pytest.mark.parametrize("has_end", [True, False])
def test_of_a_key_longer_than_an_output_neither_end_is_shown(rig: Rig, *, has_end: bool) -> None:
    rig.create("main")
    lines = pem(Dice(17), size=4 * MARGIN_BYTES).splitlines()
    keep(rig, "/out", "\n".join([*(lines if has_end else lines[:-1]), "", "the end", ""]))

    said = rig.run("cat", "/out")

    assert not any(line in said for line in lines[1:-1])
    assert said.rstrip("\n").endswith("the end")
    assert "⟦凭据:private_key:2⟧\n" in said


@pytest.mark.parametrize("share", range(SHARES))
def test_no_secret_of_any_kind_shows_in_any_result_row_or_log(
    rig: Rig, caplog: pytest.LogCaptureFixture, share: int
) -> None:
    caplog.set_level(logging.DEBUG)
    rig.create("main")
    dice, secrets, said = Dice(share), list[str](), list[str]()
    kinds = KINDS[share::SHARES]

    for kind in kinds:
        lines, secret = make_secret(kind, dice)
        place = dice.choice((LIMIT // 2, LIMIT, 100_000))
        size = dice.choice((LIMIT + 500, 140_000, 400_000))
        text = fill_to(dice, size, lines, place)
        keep(rig, "/file", text)
        said += _look_at(rig, dice, text.encode(), text.encode().index(lines.encode()), lines)
        secrets.append(secret)

    everything = "".join(said) + stored(rig).decode("utf-8", "replace") + caplog.text
    found = {s: shown for s in secrets if (shown := shows_of(s, everything)) is not None}
    assert found == {}
    assert len(said) == 4 * len(kinds)


def fill_to(dice: Dice, size: int, lines: str, place: int) -> str:
    """Ordinary text with `lines` across the byte `place`."""
    block = fill(dice, 3_000)
    inside = dice.randrange(1, len(lines))
    front = block.encode() * (place // len(block) + 1)
    head = front[: max(0, place - inside - 1)].decode("utf-8", "ignore")
    return f"{head}\n{lines}\n{block * (size // len(block))}"


def _look_at(rig: Rig, dice: random.Random, data: bytes, at: int, lines: str) -> list[str]:
    """The file by a command, by bytes and by lines, cut somewhere in what is to be hidden."""
    read = {"sandbox": "main", "path": "/file"}
    cut = at + dice.randrange(len(lines.encode()))
    line = data[:cut].count(b"\n") + 1
    return [
        rig.run("cat", "/file"),
        rig.call("sandbox_read", **read, offset_bytes=max(1, cut - LIMIT)),
        rig.call("sandbox_read", **read, offset_bytes=cut),
        rig.call("sandbox_read", **read, first_line=line, last_line=line + dice.randrange(2)),
    ]
