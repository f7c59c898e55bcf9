"""What a protected value promises to those who hold one."""

import copy
import dataclasses

import pytest

from perlica.protection import (
    POLICY_VERSION,
    Channel,
    Protected,
    ProtectionStatus,
    not_scanned,
    protect,
    protect_line,
    restore,
)
from tests.protection.made import TOKENS, Dice


def test_nobody_outside_the_package_can_make_one() -> None:
    with pytest.raises(TypeError):
        Protected(
            content="secret",
            status=ProtectionStatus.SCANNED_NO_FINDINGS,
            policy_version=POLICY_VERSION,
            finding_count=0,
        )


def test_its_content_cannot_be_swapped() -> None:
    protected = protect("hello", Channel.MESSAGE)

    with pytest.raises((TypeError, ValueError)):
        dataclasses.replace(protected, content="something else")


def test_it_is_not_a_text() -> None:
    assert not isinstance(protect("hello", Channel.MESSAGE), str)


def test_its_repr_holds_no_content() -> None:
    protected = protect("a private remark", Channel.MESSAGE)

    assert "private remark" not in repr(protected)


def test_a_copy_equals_it() -> None:
    protected = protect("hello", Channel.MESSAGE)

    assert copy.copy(protected) == protected


def test_a_clean_text_comes_back_as_it_was() -> None:
    text = "今天部署 perlica-v2，回滚点是 release-20261129 😀\r\n\ttabs too"

    protected = protect(text, Channel.MESSAGE)

    assert protected.content == text
    assert protected.status is ProtectionStatus.SCANNED_NO_FINDINGS
    assert protected.finding_count == 0


def test_a_credential_becomes_a_typed_placeholder() -> None:
    token = TOKENS["github classic"](Dice(1))

    protected = protect(f"给你 {token} 用完删", Channel.MESSAGE)

    assert protected.content == "给你 ⟦凭据:github_token:1⟧ 用完删"
    assert protected.status is ProtectionStatus.REDACTED
    assert protected.policy_version == POLICY_VERSION


def test_a_finding_tells_kind_and_rule_and_nothing_of_the_secret() -> None:
    token = TOKENS["github classic"](Dice(2))

    (finding,) = protect(token, Channel.MESSAGE).findings

    assert {field.name for field in dataclasses.fields(finding)} == {"kind", "rule"}
    assert token not in repr(finding)
    assert str(len(token)) not in repr(finding)


@pytest.mark.parametrize("channel", list(Channel))
def test_every_channel_redacts(channel: Channel) -> None:
    token = TOKENS["gitlab"](Dice(3))

    assert token not in protect(f"token: {token}", channel).content


def test_what_was_never_looked_at_has_no_text() -> None:
    nothing = not_scanned()

    assert (nothing.content, nothing.status) == ("", ProtectionStatus.NOT_SCANNED)
    assert not nothing.is_usable


def test_a_store_reads_back_what_it_wrote() -> None:
    protected = protect(TOKENS["npm"](Dice(4)), Channel.MESSAGE)

    again = restore(
        protected.content, protected.status, protected.policy_version, protected.finding_count
    )

    assert again.content == protected.content
    assert again.status is protected.status
    assert again.finding_count == 1


@pytest.mark.parametrize("status", ["scan_incomplete", "not_scanned"])
def test_a_store_cannot_read_back_text_that_was_never_scanned_whole(status: str) -> None:
    with pytest.raises(ValueError, match=status):
        restore("some text", status, POLICY_VERSION, 0)


def test_an_unknown_status_is_refused() -> None:
    with pytest.raises(ValueError, match="safe"):
        restore("some text", "safe", POLICY_VERSION, 0)


def test_a_log_line_is_redacted() -> None:
    token = TOKENS["slack"](Dice(5))

    assert token not in protect_line(f"ERROR login failed for {token}")
