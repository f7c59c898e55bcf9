"""Text that talks about credentials, refers to them or merely looks like one stays as it is."""

from pathlib import Path

import pytest

from perlica.protection import Channel, ProtectionStatus, protect

LINES = (Path(__file__).parent / "left_alone.txt").read_text(encoding="utf-8").splitlines()


@pytest.mark.parametrize("line", LINES)
def test_it_stays(line: str) -> None:
    protected = protect(line, Channel.MESSAGE)

    assert protected.content == line
    assert protected.status is ProtectionStatus.SCANNED_NO_FINDINGS


def test_all_of_it_together_stays() -> None:
    text = "\n\n".join(LINES)

    assert protect(text, Channel.TOOL_RESULT).content == text
