"""A scan that does not end leaves no text."""

import json

import pytest

from perlica.protection import Channel, JsonValue, ProtectionStatus, join, protect, protect_line
from tests.protection.failing import exhausted_deadline, failing_rule
from tests.protection.made import Dice

REMARK = "a remark that must not survive"


@pytest.mark.evidence(6)
def test_a_rule_that_raises_leaves_no_text() -> None:
    with failing_rule():
        protected = protect(REMARK, Channel.MESSAGE)

    assert protected.status is ProtectionStatus.SCAN_INCOMPLETE
    assert protected.content == ""
    assert protected.findings == ()


@pytest.mark.evidence(6)
def test_a_deadline_that_passes_leaves_no_text() -> None:
    with exhausted_deadline():
        protected = protect(REMARK, Channel.MESSAGE)

    assert (protected.status, protected.content) == (ProtectionStatus.SCAN_INCOMPLETE, "")


def test_the_hook_can_be_aimed_at_one_text() -> None:
    with failing_rule(when="poison"):
        poisoned, other = (protect(text, Channel.MESSAGE) for text in ("some poison", "water"))

    assert not poisoned.is_usable
    assert other.content == "water"


def test_the_hook_leaves_nothing_behind() -> None:
    with failing_rule():
        pass

    assert protect(REMARK, Channel.MESSAGE).content == REMARK


def test_a_failure_in_an_encoded_part_counts_as_well() -> None:
    inside = "c29tZSBwb2lzb24gaW4gYmFzZTY0IHRleHQ="

    with failing_rule(when="poison"):
        assert not protect(f"payload: {inside}", Channel.MESSAGE).is_usable


def test_a_log_line_that_cannot_be_scanned_becomes_a_fixed_text() -> None:
    with failing_rule():
        line = protect_line(REMARK)

    assert REMARK not in line
    assert "withheld" in line


@pytest.mark.parametrize("text", ["\ud800", "a\udfffb"])
def test_a_lone_surrogate_is_not_scanned_past(text: str) -> None:
    assert protect(text, Channel.MESSAGE).status is ProtectionStatus.SCAN_INCOMPLETE


@pytest.mark.parametrize("value", [float("nan"), {"a": float("inf")}])
def test_a_value_that_json_cannot_hold_is_withheld(value: JsonValue) -> None:
    assert protect(value, Channel.TOOL_ARGUMENTS).status is ProtectionStatus.SCAN_INCOMPLETE


def test_a_value_that_holds_itself_is_withheld() -> None:
    endless: list[JsonValue] = []
    endless.append(endless)

    assert protect(endless, Channel.TOOL_ARGUMENTS).status is ProtectionStatus.SCAN_INCOMPLETE


def test_a_compression_bomb_is_withheld() -> None:
    import base64
    import gzip

    bomb = base64.b64encode(gzip.compress(b"a" * 20_000_000)).decode()

    assert protect(f"echo {bomb}", Channel.MESSAGE).status is ProtectionStatus.SCAN_INCOMPLETE


def test_more_secrets_than_anybody_pastes_are_withheld() -> None:
    dice = Dice(6)
    text = "\n".join(f"password={dice.password()}" for _ in range(3000))

    assert protect(text, Channel.TOOL_RESULT).status is ProtectionStatus.SCAN_INCOMPLETE


def test_one_part_without_text_leaves_nothing_of_a_joined_whole() -> None:
    with failing_rule(when="poison"):
        parts = [protect(text, Channel.MESSAGE) for text in (REMARK, "poison")]

    joined = join(parts, "\n")

    assert (joined.status, joined.content) == (ProtectionStatus.SCAN_INCOMPLETE, "")


def test_protection_answers_for_a_deep_document() -> None:
    deep = json.loads("[" * 400 + "]" * 400)

    assert protect(deep, Channel.TOOL_RESULT).content == "[" * 400 + "]" * 400
