"""Every place where a protected text can be cut, one after the other."""

import pytest

from perlica.protection import Protected, head_of, restore, split, truncate
from perlica.protection.placeholder import ANY

LONGEST = "⟦凭据:" + "k" * 40 + ":99999⟧"
TEXTS = {
    "one behind the other": "⟦凭据:password:12⟧" * 20,
    "between words": "a ⟦凭据:password:12⟧ b " * 20,
    "between Chinese words": "密码⟦凭据:password:12⟧，" * 20,
    "the longest that there are": LONGEST * 8,
}
SIZES = range(64, 260)


def stored(text: str) -> Protected:
    return restore(text, "redacted", "1", text.count("⟦"))


def is_whole(text: str) -> bool:
    """No half of a placeholder is left when the whole ones are gone."""
    rest = ANY.sub("", text)
    return "⟦" not in rest and "⟧" not in rest and "凭据:" not in rest


@pytest.mark.parametrize("name", TEXTS)
def test_no_truncation_of_any_size_divides_a_placeholder(name: str) -> None:
    for size in SIZES:
        for keep in ("head", "both"):
            cut = truncate(stored(TEXTS[name]), size, keep=keep)
            assert is_whole(cut.content), (size, keep)
            assert len(cut.content) <= size


@pytest.mark.parametrize("name", TEXTS)
def test_no_split_of_any_size_divides_a_placeholder(name: str) -> None:
    for size in SIZES:
        for part in split(stored(TEXTS[name]), size):
            assert is_whole(part.content), size
            assert 0 < len(part.content) <= size


@pytest.mark.parametrize("name", TEXTS)
def test_no_beginning_of_any_size_divides_a_placeholder(name: str) -> None:
    for size in SIZES:
        head = head_of(TEXTS[name], size)
        assert is_whole(head), size
        assert TEXTS[name].startswith(head)
        assert size - len(LONGEST) <= len(head) <= size or len(head) == len(TEXTS[name])
