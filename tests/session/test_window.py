"""Which messages a task sees: three limits together, nothing cut in the middle."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.domain.errors import Refused
from perlica.protection import Protected
from perlica.protection.placeholder import ANY
from perlica.session.window import (
    CutBy,
    Part,
    QuotedFate,
    Window,
    WindowLimits,
    pick_window,
)
from perlica.stores.messages import StoredMessage
from tests.session.words import CREDENTIAL, NOW_MS, sealed, stored

MINUTE_MS = 60_000


def texts(window: Window) -> list[str]:
    return [entry.content.content for entry in window.entries]


def newest_first(*ages_and_texts: tuple[int, str]) -> list[StoredMessage]:
    return [stored(text, age_ms=age) for age, text in ages_and_texts]


@pytest.mark.evidence(3)
def test_messages_come_in_the_order_of_time_with_the_trigger_last() -> None:
    earlier = newest_first((1_000, "third"), (2_000, "second"), (3_000, "first"))

    window = pick_window(stored("ask"), earlier, None)

    assert texts(window) == ["first", "second", "third", "ask"]
    assert [entry.part for entry in window.entries] == [Part.context] * 3 + [Part.trigger]
    assert window.facts.as_json() == {
        "messages": 4,
        "code_points": 19,
        "cut_by": "nothing",
        "left_out": 0,
        "quoted": "none",
    }


@pytest.mark.evidence(3)
def test_fifteen_minutes_are_the_limit_and_belong_to_the_window() -> None:
    earlier = newest_first((15 * MINUTE_MS, "just"), (15 * MINUTE_MS + 1, "too old"))

    window = pick_window(stored("ask"), earlier, None)

    assert texts(window) == ["just", "ask"]
    assert (window.facts.cut_by, window.facts.left_out) == (CutBy.age, 1)


@pytest.mark.evidence(3)
def test_thirty_messages_are_the_limit_with_the_trigger_among_them() -> None:
    earlier = newest_first(*((n, str(n)) for n in range(1, 60)))

    window = pick_window(stored("ask"), earlier, None)

    assert texts(window) == [str(n) for n in range(29, 0, -1)] + ["ask"]
    assert (window.facts.cut_by, window.facts.left_out) == (CutBy.messages, 30)


@pytest.mark.evidence(3)
def test_24000_code_points_are_the_limit_and_a_message_that_does_not_fit_ends_the_window() -> None:
    earlier = newest_first((1, "字" * 10_000), (2, "🙂" * 10_000), (3, "x" * 4_000), (4, "y"))

    window = pick_window(stored("问"), earlier, None)

    assert [len(text) for text in texts(window)] == [10_000, 10_000, 1]
    assert (window.facts.cut_by, window.facts.left_out) == (CutBy.code_points, 2)


@pytest.mark.evidence(3)
def test_a_trigger_that_fills_the_window_is_alone() -> None:
    window = pick_window(stored("x" * 24_000), newest_first((1, "a")), None)

    assert window.facts.messages == 1
    assert window.facts.cut_by is CutBy.code_points


@pytest.mark.evidence(3)
def test_a_trigger_longer_than_the_window_is_refused_whole() -> None:
    with pytest.raises(Refused, match="trigger_too_large"):
        pick_window(stored("x" * 24_001), (), None)


@pytest.mark.evidence(3)
def test_a_quoted_message_joins_although_it_is_old() -> None:
    old = stored("the old error", age_ms=86_400_000, row=900_001)

    window = pick_window(stored("ask", quotes=900_001), newest_first((5, "new")), old)

    assert texts(window) == ["the old error", "new", "ask"]
    assert window.entries[0].part is Part.quoted
    assert window.facts.quoted is QuotedFate.whole


@pytest.mark.evidence(3)
def test_a_quoted_message_of_the_window_stands_at_its_time_and_counts_once() -> None:
    earlier = newest_first((1, "c"), (2, "b"), (3, "a"))

    window = pick_window(stored("ask", quotes=1), earlier, earlier[1])

    assert texts(window) == ["a", "b", "c", "ask"]
    assert [entry.part for entry in window.entries][1] is Part.quoted
    assert window.facts.left_out == 0


@pytest.mark.evidence(3)
def test_the_quoted_message_comes_before_all_context_in_the_budgets() -> None:
    quoted = stored("q" * 20_000, age_ms=10**9)

    window = pick_window(stored("ask", quotes=1), newest_first((1, "x" * 5_000)), quoted)

    assert [entry.part for entry in window.entries] == [Part.quoted, Part.trigger]


@pytest.mark.evidence(3)
def test_a_quoted_message_that_is_too_long_is_truncated_and_said_to_be() -> None:
    quoted = stored("q" * 30_000)

    window = pick_window(stored("ask", quotes=1), (), quoted)

    assert window.facts.quoted is QuotedFate.truncated
    assert window.facts.code_points <= 24_000
    assert "已截断" in window.entries[0].content.content


@pytest.mark.evidence(3)
@pytest.mark.parametrize(
    ("trigger", "limits", "quoted", "fate"),
    [
        ("x" * 23_990, WindowLimits(), stored("q" * 11), QuotedFate.no_room),
        ("x", WindowLimits(messages=1), stored("q"), QuotedFate.no_room),
        ("x", WindowLimits(), stored("q", recalled_at_ms=1), QuotedFate.not_found),
        ("x", WindowLimits(), None, QuotedFate.not_found),
    ],
)
def test_a_quoted_message_that_cannot_join_is_accounted_for(
    trigger: str, limits: WindowLimits, quoted: StoredMessage | None, fate: QuotedFate
) -> None:
    window = pick_window(stored(trigger, quotes=1), (), quoted, limits)

    assert (window.facts.quoted, window.facts.messages) == (fate, 1)


@pytest.mark.evidence(3)
def test_recalled_messages_are_never_seen() -> None:
    window = pick_window(stored("ask"), [stored("secret", recalled_at_ms=NOW_MS)], None)

    assert texts(window) == ["ask"]


PIECES = st.sampled_from(
    ["x", "字", "🙂", "👨\u200d👩\u200d👧", "e\u0301", "\n", f"口令 {CREDENTIAL} "]
)
CONTENTS = st.lists(PIECES, max_size=40).map("".join).map(sealed)
AGES = st.integers(0, 1_200_000)


@st.composite
def histories(draw: st.DrawFn) -> list[StoredMessage]:
    """Messages newest first."""
    drawn = draw(st.lists(st.tuples(AGES, CONTENTS), max_size=12))
    return [stored(content, age_ms=age) for age, content in sorted(drawn, key=lambda d: d[0])]


def whole_placeholders(content: Protected) -> bool:
    """Nothing is left of a placeholder but whole ones."""
    return "⟦" not in ANY.sub("", content.content) and "⟧" not in ANY.sub("", content.content)


@pytest.mark.evidence(3)
@given(
    trigger=CONTENTS,
    history=histories(),
    quoted=st.none() | CONTENTS,
    limits=st.builds(
        WindowLimits,
        age_ms=st.integers(0, 1_000_000),
        messages=st.integers(1, 8),
        code_points=st.integers(1, 400),
    ),
)
def test_all_limits_hold_together_and_nothing_is_torn(
    trigger: Protected,
    history: Sequence[StoredMessage],
    quoted: Protected | None,
    limits: WindowLimits,
) -> None:
    asked = stored(trigger, quotes=1)
    old = None if quoted is None else stored(quoted, age_ms=2_000_000)
    if len(trigger.content) > limits.code_points:
        with pytest.raises(Refused):
            pick_window(asked, history, old, limits)
        return

    window = pick_window(asked, history, old, limits)

    kept = [entry for entry in window.entries if entry.part is Part.context]
    assert window.entries[-1].message is asked
    assert len(window.entries) <= limits.messages
    assert sum(len(text) for text in texts(window)) <= limits.code_points
    assert all(e.message.sent_at_ms >= NOW_MS - limits.age_ms for e in kept)
    assert all(whole_placeholders(entry.content) for entry in window.entries)
    assert all(e.content == e.message.content for e in window.entries if e.part is not Part.quoted)
    assert [e.message for e in reversed(kept)] == list(history[: len(kept)])
    assert window.facts.left_out == len(history) - len(kept)
    assert (window.facts.cut_by is CutBy.nothing) == (window.facts.left_out == 0)
    times = [entry.message.sent_at_ms for entry in window.entries]
    assert times == sorted(times)
