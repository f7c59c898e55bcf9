"""What every sandbox backend keeps of a long output: both ends, and a margin at either side."""

from dataclasses import replace

import pytest

from perlica.domain.sandbox import Command, CommandOutcome, WriteFile
from tests.contract.conftest import Node

LIMIT, MARGIN = 1_000, 300
CAT = Command(argv=("cat", "/tmp/long"), output_limit_bytes=LIMIT, margin_bytes=MARGIN)


def _kept(node: Node, size: int, command: Command) -> tuple[bytes, CommandOutcome]:
    """What was written, and the outcome of a command that writes it."""
    box = node.create()
    raw = (b"%06d\n" * (size // 7 + 1) % tuple(range(size // 7 + 1)))[:size]
    node.do(box, WriteFile(path="/tmp/long", content=raw))
    outcome = node.do(box, command)
    assert isinstance(outcome, CommandOutcome)
    return raw, outcome


@pytest.mark.parametrize("size", [10, LIMIT, LIMIT + 2 * MARGIN])
def test_an_output_that_fits_with_its_margins_is_kept_whole(node: Node, size: int) -> None:
    raw, outcome = _kept(node, size, CAT)

    assert outcome.stdout == raw
    assert outcome.stdout_head_bytes is None


def test_a_longer_output_keeps_both_ends_with_their_margins(node: Node) -> None:
    raw, outcome = _kept(node, 5_000, CAT)

    edge = LIMIT // 2 + MARGIN
    assert outcome.stdout == raw[:edge] + raw[-edge:]
    assert outcome.stdout_head_bytes == edge
    assert (outcome.stdout_bytes, outcome.output_limit_bytes) == (5_000, LIMIT)


def test_an_odd_limit_keeps_the_byte_more_at_the_end(node: Node) -> None:
    raw, outcome = _kept(node, 5_000, replace(CAT, output_limit_bytes=LIMIT + 1))

    edge = LIMIT // 2 + MARGIN
    assert outcome.stdout == raw[:edge] + raw[-(edge + 1) :]
