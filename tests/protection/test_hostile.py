"""Lines made to keep a scanner busy: each is scanned to the end or withheld, and soon."""

import base64
import random
import time
from typing import Final

import pytest

from perlica.protection import Channel, ProtectionStatus, protect

SIZE: Final = 200_000
ALLOWED_S: Final = 1.5
"""Processor time: one second for each line, and half as much again for a busy machine."""

REPEATED = (
    "password", " ", "a", "key=", "password=", "password: ", '"', "\\", "%25", "(", "eyJ",
        "eyJhbGciOi.",
    "0123456789", "[", '{"a":', "\u200b", "sk-", "://", "a://b:", "=\n", "\\u0041", "密码",
        "密码是",
        "密码：",
    "mysql -u ", "curl -u a:", "abandon ", "cookie: a=b; ", "ghp_abc ", ",", "\n", "|", "password|",
        "&amp;",
    "ａ", "аa", '"a"+', "name: x value: ", "-", ".", "a@", "kind: Secret\n", "kind: Secret\n---\n",
    "  a: YWJjZA==\n", "⟦凭据:password:1⟧", "⟦凭据:", "$2a$10$", "MIIEpAIBAAKCAQEA\n",
        "[CQ:at,qq=1]",
    "authorization: ", "password\tuser\n", "<password>", "echo a | ", "x= ", "Basic ", "token ",
        "{{",
    "-----BEGIN RSA PRIVATE KEY-----\n", "-----END RSA PRIVATE KEY-----\n", "root:",
        "a,b,password\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", REPEATED)
def test_a_hostile_line_costs_little(piece: str) -> None:
    line = (piece * (SIZE // len(piece) + 1))[:SIZE]

    started = time.thread_time()
    protected = protect(line, Channel.MESSAGE)
    took_s = time.thread_time() - started

    assert took_s < ALLOWED_S
    assert protected.is_usable or protected.status is ProtectionStatus.SCAN_INCOMPLETE


@pytest.mark.parametrize("seed", range(3))
def test_noise_costs_little(seed: int) -> None:
    noise = base64.b64encode(random.Random(seed).randbytes(SIZE * 3 // 4)).decode()

    started = time.thread_time()
    protect(noise, Channel.MESSAGE)

    assert time.thread_time() - started < ALLOWED_S


def test_four_thousand_begin_lines_are_no_key() -> None:
    lines = "-----BEGIN RSA PRIVATE" + " KEY-----\n"

    assert protect(lines * 4000, Channel.TOOL_RESULT).status is ProtectionStatus.SCANNED_NO_FINDINGS


def test_base64_in_base64_in_base64_ends_somewhere() -> None:
    text = "x" * 40
    for _ in range(14):
        text = base64.b64encode(text.encode()).decode()

    started = time.thread_time()
    protect(text, Channel.MESSAGE)

    assert time.thread_time() - started < ALLOWED_S


def test_a_message_that_costs_too_much_work_is_withheld_on_every_machine() -> None:
    assert protect("ａ" * 60_000, Channel.MESSAGE).status is ProtectionStatus.SCAN_INCOMPLETE


@pytest.mark.parametrize(
    "line",
    [
        "| key{0} | token{0} | session | {0} |\n",
        "- name: app-{0}\n  key: value-{0}\n  secretName: s-{0}\n  author: me\n",
        "今天把密码改了，密钥也换了，登录的时候用新的账号{0}，令牌是谁的？\n",
        '{{"ts": {0}, "auth": "ok", "sid": {0}, "msg": "signed in, token refreshed"}}\n',
    ],
)
def test_long_output_full_of_names_is_not_withheld(line: str) -> None:
    output = "".join(line.format(number) for number in range(3000))

    assert protect(output, Channel.TOOL_RESULT).is_usable
