"""Encodings and accidents that hide a credential from a plain pattern."""

import base64
import gzip
import json
import zlib
from collections.abc import Callable
from urllib.parse import quote

import pytest

from perlica.protection import Channel, protect
from tests.protection.made import TOKENS, Dice

TOKEN = TOKENS["github classic"](Dice(11))
HALF = len(TOKEN) // 2


def full_width(text: str) -> str:
    return "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text)


def mathematical(text: str) -> str:
    small, capital = 0x1D68A - ord("a"), 0x1D670 - ord("A")
    return "".join(
        chr(ord(c) + (small if c.islower() else capital)) if c.isalpha() else c for c in text
    )


ALTERED: dict[str, str] = {
    "zero width": TOKEN[:5] + "\u200b" + TOKEN[5:9] + "\u2060" + TOKEN[9:],
    "bidi": TOKEN[:7] + "\u202d" + TOKEN[7:] + "\u202c",
    "full width": full_width(TOKEN),
    "mathematical letters": mathematical(TOKEN),
    "colour codes": f"\x1b[31m{TOKEN[:6]}\x1b[1m{TOKEN[6:]}\x1b[0m",
    "line break": f"{TOKEN[:HALF]}\n{TOKEN[HALF:]}",
    "shell continuation": f"{TOKEN[:HALF]}\\\n{TOKEN[HALF:]}",
    "concatenation": f'"{TOKEN[:HALF]}" + "{TOKEN[HALF:]}"',
    "php concatenation": f"'{TOKEN[:HALF]}' .\n  '{TOKEN[HALF:]}'",
    "percent": "".join(f"%{ord(char):02X}" for char in TOKEN),
    "percent twice": quote(quote("token=" + TOKEN, safe=""), safe=""),
    "unicode escapes": "".join(f"\\u{ord(char):04x}" for char in TOKEN),
    "x escapes": "".join(f"\\x{ord(char):02x}" for char in TOKEN),
    "entities": "".join(f"&#{ord(char)};" for char in TOKEN),
}
WRAPPED: dict[str, Callable[[str], str]] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base64 twice": lambda text: base64.b64encode(base64.b64encode(text.encode())).decode(),
    "base64 in lines": lambda text: base64.encodebytes(text.encode()).decode(),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hexadecimal": lambda text: text.encode().hex(),
    "gzip": lambda text: base64.b64encode(gzip.compress(text.encode())).decode(),
    "zlib": lambda text: base64.b64encode(zlib.compress(text.encode())).decode(),
    "UTF-16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "JSON in JSON in JSON": lambda text: json.dumps({"a": json.dumps({"b": json.dumps(text)})}),
}


@pytest.mark.parametrize("name", ALTERED)
def test_an_altered_token_is_found(name: str) -> None:
    protected = protect(f"部署用 {ALTERED[name]} 谢谢", Channel.MESSAGE)

    assert ALTERED[name] not in protected.content
    assert protected.content.startswith("部署用 ")
    assert protected.content.endswith(" 谢谢")
    assert TOKEN[-8:] not in protected.content


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapped_password_is_found(name: str) -> None:
    password = Dice(12).password()
    wrapped = WRAPPED[name](f"数据库\ndb_password={password}\n谢谢")

    content = protect(wrapped, Channel.MESSAGE).content

    assert wrapped not in content
    assert password not in content


@pytest.mark.parametrize("name", WRAPPED)
def test_a_wrapped_greeting_stays(name: str) -> None:
    wrapped = WRAPPED[name]("你好，今天晚上八点部署 perlica，大家留意日志 hello world")

    assert protect(wrapped, Channel.MESSAGE).content == wrapped
