"""Placeholders: numbered, inert, and never to be imitated."""

from perlica.protection import Channel, ProtectionStatus, protect
from tests.protection.made import TOKENS, Dice


def content_of(text: str) -> str:
    protected = protect(text, Channel.MESSAGE)
    assert protected.is_usable
    return protected.content


def test_the_same_value_keeps_its_number_and_another_gets_the_next() -> None:
    dice = Dice(1)
    first, second = (TOKENS["github classic"](dice) for _ in range(2))

    assert content_of(f"{first} {second} {first}") == (
        "⟦凭据:github_token:1⟧ ⟦凭据:github_token:2⟧ ⟦凭据:github_token:1⟧"
    )


def test_numbers_begin_again_in_the_next_text() -> None:
    dice = Dice(2)

    assert [content_of(TOKENS["npm"](dice)) for _ in range(2)] == ["⟦凭据:npm_token:1⟧"] * 2


def test_a_number_that_the_text_already_uses_is_not_given_again() -> None:
    token = TOKENS["npm"](Dice(3))

    assert content_of(f"⟦凭据:password:4⟧ {token}") == "⟦凭据:password:4⟧ ⟦凭据:npm_token:5⟧"


def test_a_placeholder_is_never_a_finding() -> None:
    text = "密码：⟦凭据:password:1⟧ token=⟦凭据:github_token:2⟧"

    protected = protect(text, Channel.MESSAGE)

    assert protected.content == text
    assert protected.status is ProtectionStatus.SCANNED_NO_FINDINGS


def test_a_secret_behind_a_placeholder_is_found() -> None:
    token = TOKENS["gitlab"](Dice(4))

    assert token not in content_of(f"⟦凭据:password:1⟧ {token}")


def test_an_imitation_with_an_unknown_kind_is_changed() -> None:
    assert content_of("⟦凭据:hunter2_is_my_secret:1⟧").startswith("〔凭据")


def test_half_a_placeholder_is_changed() -> None:
    assert content_of("⟦凭据:password") == "〔凭据:password"


def test_an_imitation_with_hidden_characters_is_changed() -> None:
    assert content_of("⟦\u200b凭据:password:1⟧").startswith("〔")


def test_brackets_of_mathematics_stay() -> None:
    assert content_of("⟦x⟧ = {y | y ≤ x}") == "⟦x⟧ = {y | y ≤ x}"
