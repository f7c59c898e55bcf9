"""What must hold for any text at all."""

from hypothesis import given, settings
from hypothesis import strategies as st

from perlica.protection import Channel, ProtectionStatus, protect
from tests.protection.made import KEYED, TOKENS, Dice

SEEDS = st.integers(0, 10_000)


@st.composite
def credentials(draw: st.DrawFn) -> str:
    dice = Dice(draw(SEEDS))
    if draw(st.booleans()):
        return draw(st.sampled_from(sorted(TOKENS.items())))[1](dice)
    name, make = draw(st.sampled_from(sorted(KEYED.values(), key=lambda pair: pair[0])))
    return f"{name}={make(dice)}"


FRAGMENTS = st.one_of(
    st.text(max_size=30),
    credentials(),
    st.sampled_from(
        (
            "\n",
            " ",
            "password: ",
            "密码：",
            '"',
            "'",
            "\\",
            "⟦凭据:password:1⟧",
            "⟦凭据",
            "%3D",
            "&#61;",
        )
    ),
)
TEXTS = st.lists(FRAGMENTS, max_size=8).map("".join)


@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_protecting_twice_is_protecting_once(text: str) -> None:
    once = protect(text, Channel.MESSAGE)

    twice = protect(once.content, Channel.MESSAGE)

    assert twice.content == once.content
    assert twice.finding_count == 0


@given(text=TEXTS)
@settings(max_examples=300, deadline=None)
def test_it_never_raises_and_text_stands_only_beside_a_finished_scan(text: str) -> None:
    protected = protect(text, Channel.MESSAGE)

    assert protected.is_usable or protected.content == ""
    assert (protected.status is ProtectionStatus.REDACTED) is (protected.finding_count > 0)


@given(text=st.text(max_size=200), secret=st.sampled_from(sorted(TOKENS)), seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_a_token_between_any_two_lines_is_found(text: str, secret: str, seed: int) -> None:
    token = TOKENS[secret](Dice(seed))

    protected = protect(f"{text}\n\n{token}\n\n{text}", Channel.MESSAGE)

    assert token not in protected.content
