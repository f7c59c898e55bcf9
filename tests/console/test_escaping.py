"""Nothing gets through `to_html` that is not seen, or that is more than text."""

import unicodedata
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perlica.console.escaping import show_hidden, to_html

ANY_TEXT = st.text(st.characters(), max_size=60)


@given(ANY_TEXT)
@example("\ud800\udfff")
@example("\u3164\u2800\u00ad\u034f")
def test_no_character_hides_reorders_or_ends_the_text(text: str) -> None:
    shown = to_html(text)

    assert not set(shown) & set("<>\"'")
    hidden = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
    assert [c for c in shown if unicodedata.category(c) in hidden and c not in "\n\t"] == []


@given(st.text("abc 中文，。!<>&\"'\n\t", max_size=60))
def test_ordinary_text_is_read_back_as_it_was(text: str) -> None:
    assert unescape(to_html(text)) == text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("a\u202eb", "a\\u{202e}b"),
        ("x\ufe0fy", "x\\u{fe0f}y"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("⟦凭据:password:1⟧", "⟦凭据:password:1⟧"),
        ("e\u0301", "e\u0301"),
        ("e\u0301\u0301\u0301", "e\u0301\u0301\\u{301}"),
        ("a\r\nb\rc", "a\nb\\u{d}c"),
        ("\U000e0041", "\\u{e0041}"),
        ("😀 ─┐ ﷽", "😀 ─┐ ﷽"),
    ],
)
def test_what_is_shown_for(given: str, shown: str) -> None:
    assert show_hidden(given) == shown
