"""Rules that an operator adds: checked first, then as good as ours."""

from collections.abc import Iterator

import pytest

from perlica.domain.errors import Misconfigured
from perlica.protection import Channel, OperatorRule, configure, protect

BADGE = OperatorRule(
    kind="badge_number",
    pattern=r"\bQX-\d{4}-\d{4}\b",
    matches=("door QX-1234-5678",),
    must_not_match=("QX-12",),
)


@pytest.fixture(autouse=True)
def own_rules_only() -> Iterator[None]:
    yield
    configure(())


def test_a_rule_counts_from_then_on() -> None:
    configure([BADGE])

    assert protect("badge QX-4711-0815", Channel.MESSAGE).content == "badge ⟦凭据:badge_number:1⟧"


def test_a_later_configuration_replaces_it() -> None:
    configure([BADGE])
    configure(())

    assert protect("badge QX-4711-0815", Channel.MESSAGE).content == "badge QX-4711-0815"


def test_its_placeholder_is_inert_and_is_no_imitation() -> None:
    configure([BADGE])
    once = protect("badge QX-4711-0815", Channel.MESSAGE).content

    assert protect(once, Channel.MODEL).content == once


def test_the_first_group_alone_is_redacted() -> None:
    configure([OperatorRule(kind="room_code", pattern=r"room code (\w{6})")])

    assert protect("room code abc123 ok", Channel.LOG).content == "room code ⟦凭据:room_code:1⟧ ok"


def test_a_keyword_must_stand_before() -> None:
    configure([OperatorRule(kind="locker", pattern=r"\b\d{3}-\d{2}\b", keywords=("储物柜",))])

    assert "123-45" not in protect("储物柜 123-45", Channel.MESSAGE).content
    assert "123-45" in protect("编号 123-45", Channel.MESSAGE).content


def test_it_reads_what_is_folded_escaped_or_encoded_as_well() -> None:
    configure([BADGE])

    assert protect("ＱＸ－４７１１－０８１５", Channel.MESSAGE).finding_count == 1
    assert protect("badge %51X-4711-0815", Channel.MESSAGE).finding_count == 1


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (OperatorRule(kind="Bad Kind", pattern="x+"), "kind"),
        (OperatorRule(kind="looks_ahead", pattern="(?=secret)x"), "pattern"),
        (OperatorRule(kind="too_long", pattern="x" * 2000), "pattern"),
        (OperatorRule(kind="nothing", pattern="x*"), "empty"),
        (OperatorRule(kind="everything", pattern=".+"), "broad"),
        (OperatorRule(kind="digits", pattern=r"\d+"), "broad"),
        (OperatorRule(kind="missed", pattern="QX-1", matches=("QX-2",)), "matches"),
        (OperatorRule(kind="hit", pattern="QX-1", must_not_match=("QX-1",)), "must_not_match"),
    ],
)
def test_a_bad_rule_stops_the_start_and_says_why(rule: OperatorRule, code: str) -> None:
    with pytest.raises(Misconfigured) as caught:
        configure([rule])

    assert caught.value.code == f"protection_rule_{code}"
    assert caught.value.remedy


def test_the_error_never_holds_an_example() -> None:
    rule = OperatorRule(kind="missed", pattern="QX-1", matches=("my-real-secret",))

    with pytest.raises(Misconfigured) as caught:
        configure([rule])

    assert "my-real-secret" not in str(caught.value)


def test_a_bad_rule_leaves_the_good_ones_of_before() -> None:
    configure([BADGE])

    with pytest.raises(Misconfigured):
        configure([OperatorRule(kind="nothing", pattern="x*")])

    assert protect("QX-4711-0815", Channel.MESSAGE).finding_count == 1
