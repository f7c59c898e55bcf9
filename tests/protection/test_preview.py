"""What operators see when they try a text: which rule spoke where, never the secret."""

from perlica.protection import Place, preview
from tests.protection.failing import failing_rule
from tests.protection.made import TOKENS, Dice

TOKEN = TOKENS["npm"](Dice(31))


def test_it_names_line_kind_and_rule() -> None:
    shown = preview(f"one\ntwo\n  {TOKEN}\nfour")

    assert shown.places == (Place(line=3, kind="npm_token", rule="token.npm_token"),)
    assert shown.protected.content == "one\ntwo\n  ⟦凭据:npm_token:1⟧\nfour"


def test_it_never_holds_the_secret() -> None:
    assert TOKEN not in repr(preview(TOKEN))
    assert TOKEN not in preview(TOKEN).protected.content


def test_a_clean_text_has_no_places() -> None:
    assert preview("hello").places == ()


def test_a_scan_that_fails_shows_nothing() -> None:
    with failing_rule():
        shown = preview(TOKEN)

    assert (shown.protected.content, shown.places) == ("", ())
