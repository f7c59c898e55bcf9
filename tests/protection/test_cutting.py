"""Cuts: at good places, of the right size, never through a placeholder or a character."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.protection import (
    Channel,
    Protected,
    ProtectionStatus,
    join,
    not_scanned,
    protect,
    restore,
    split,
    truncate,
)

PLACEHOLDER = "⟦凭据:password:12⟧"
PIECES = st.sampled_from(
    (
        PLACEHOLDER,
        "密码。",
        "word ",
        "\n",
        "\n\n",
        "e\u0301",
        "👩‍👩‍👧‍👦",
        "🇨🇳",
        "👍🏽",
        "한",
        "ก็",
        "，",
    )
)
TEXTS = st.lists(PIECES, max_size=120).map("".join)


def stored(text: str) -> Protected:
    return restore(text, "redacted", "1", text.count("⟦"))


def holds_no_torn_placeholder(text: str) -> bool:
    return text.replace(PLACEHOLDER, "").count("⟦") == text.replace(PLACEHOLDER, "").count("⟧") == 0


def begins_whole(text: str) -> bool:
    return not text or (unicodedata.combining(text[0]) == 0 and text[0] not in "\u200d\U0001f3fd")


@given(text=TEXTS, most=st.integers(0, 300), keep=st.sampled_from(("head", "both")))
def test_a_truncated_text_fits_and_tears_nothing(text: str, most: int, keep: str) -> None:
    cut = truncate(stored(text), most, keep="both" if keep == "both" else "head").content

    assert len(cut) <= most
    assert holds_no_torn_placeholder(cut)


@given(text=TEXTS, most=st.integers(64, 200))
def test_the_parts_of_a_split_text_fit_and_tear_nothing(text: str, most: int) -> None:
    parts = split(stored(text), most)

    for part in parts:
        assert len(part.content) <= most
        assert holds_no_torn_placeholder(part.content)
        assert begins_whole(part.content)


@given(text=TEXTS, most=st.integers(64, 200))
def test_a_split_loses_nothing_but_white_space(text: str, most: int) -> None:
    parts = split(stored(text), most)

    assert "".join("".join(part.content.split()) for part in parts) == "".join(text.split())


def test_a_short_text_is_not_touched() -> None:
    protected = stored("短")

    assert truncate(protected, 10) is protected
    assert split(protected, 64) == (protected,)


def test_a_truncated_text_says_how_much_is_missing() -> None:
    cut = truncate(stored("字" * 500), 100).content

    kept = cut.count("字", 0, cut.index("…"))
    assert f"略去 {500 - kept} 字" in cut


def test_both_ends_can_be_kept() -> None:
    cut = truncate(stored("开头" + "x" * 500 + "结尾"), 100, keep="both").content

    assert cut.startswith("开头")
    assert cut.endswith("结尾")


def test_a_truncated_text_keeps_its_findings() -> None:
    cut = truncate(stored(PLACEHOLDER + "x" * 500), 100)

    assert (cut.status, cut.finding_count) == (ProtectionStatus.REDACTED, 1)


def test_a_paragraph_is_the_first_choice_for_a_split() -> None:
    text = "a" * 50 + "\n\n" + "b" * 20 + "\n" + "c" * 50

    assert [part.content[0] for part in split(stored(text), 80)] == ["a", "b"]


def test_a_sentence_comes_before_a_character() -> None:
    parts = split(stored("天" * 40 + "。" + "地" * 40), 64)

    assert [part.content[-1] for part in parts] == ["。", "地"]


def test_each_part_counts_its_own_findings() -> None:
    parts = split(stored(PLACEHOLDER + "x" * 60 + "\n" + "y" * 60), 80)

    assert [part.finding_count for part in parts] == [1, 0]


def test_a_part_is_never_smaller_than_a_placeholder() -> None:
    with pytest.raises(ValueError, match="64"):
        split(stored("x" * 500), 40)


def test_a_letter_with_a_thousand_marks_is_cut_all_the_same() -> None:
    parts = split(stored("e" + "\u0301" * 1000), 100)

    assert all(len(part.content) <= 100 for part in parts)


def test_joined_parts_count_together() -> None:
    dice_free = [protect(text, Channel.MESSAGE) for text in ("你好", "密码：Qwer@20261", "再见")]

    joined = join(dice_free, "\n")

    assert joined.content == "你好\n密码：⟦凭据:password:1⟧\n再见"
    assert joined.finding_count == 1


def test_nothing_joined_is_an_empty_clean_text() -> None:
    assert join([], "\n").status is ProtectionStatus.SCANNED_NO_FINDINGS


def test_a_part_that_was_not_scanned_leaves_no_text() -> None:
    joined = join([protect("hello", Channel.MESSAGE), not_scanned()], "\n")

    assert (joined.content, joined.status) == ("", ProtectionStatus.NOT_SCANNED)


def test_a_secret_in_two_halves_is_found_when_they_are_joined() -> None:
    halves = ("ghp" + "_aB3dE5fG7hI9kL1", "mN2oP4qR6sT8uV0wX1yZ")

    joined = join([protect(half, Channel.MESSAGE) for half in halves], "")

    assert "kL1mN2" not in joined.content
