"""A placeholder is no content: no call writes one where a credential belongs."""

import json
import time
from urllib.parse import quote

import pytest

from perlica.gateway.core.placeholders import find_placeholder
from tests.protection.made import TOKENS, Dice
from tests.sandboxes.rig import Rig

TOKEN = TOKENS["npm"](Dice(61))
MARK = "⟦凭据:npm_token:1⟧"
NPMRC = f"registry=https://registry.example/\n//registry.example/:_authToken={TOKEN}\n"


def files(rig: Rig) -> dict[str, bytes]:
    """What the sandbox holds."""
    held = next(iter(rig.backends["test-node"]._held.values())).files
    assert isinstance(held, dict)
    return held


@pytest.fixture
def box(rig: Rig) -> Rig:
    """A rig whose one sandbox holds an .npmrc with a token."""
    rig.create("main")
    files(rig)["/root/.npmrc"] = NPMRC.encode()
    return rig


@pytest.mark.parametrize(
    ("field", "tool", "arguments"),
    [
        ("content", "sandbox_write", {"path": "/root/.npmrc", "content": f"a\ntoken={MARK}\n"}),
        ("path", "sandbox_write", {"path": f"/root/{MARK}", "content": "x"}),
        ("argv", "sandbox_exec", {"argv": ["sh", "-c", f'printf "password={MARK}" > /f']}),
        ("argv", "sandbox_exec", {"argv": ["echo", "a", MARK]}),
        ("stdin", "sandbox_exec", {"argv": ["tee", "/f"], "stdin": f"password={MARK}"}),
        ("cwd", "sandbox_exec", {"argv": ["true"], "cwd": f"/{MARK}"}),
        ("path", "sandbox_read", {"path": f"/root/{MARK}"}),
    ],
)
def test_a_call_with_a_placeholder_is_refused_and_names_it(
    box: Rig, field: str, tool: str, arguments: dict[str, object]
) -> None:
    before = dict(files(box))

    said = box.call(tool, sandbox="main", **arguments)

    assert said.startswith(f"not executed: {field} holds the placeholder {MARK}.")
    assert "recall the message" in said
    assert files(box) == before


def test_a_file_changed_from_what_the_model_read_keeps_its_token(box: Rig) -> None:
    read = box.call("sandbox_read", sandbox="main", path="/root/.npmrc")
    content = read.partition(":\n")[2].replace("registry.example", "registry.test")

    said = box.call("sandbox_write", sandbox="main", path="/root/.npmrc", content=content)

    assert MARK in content
    assert said.startswith("not executed")
    assert files(box)["/root/.npmrc"] == NPMRC.encode()


def test_a_credential_of_the_model_s_own_is_written_as_given(box: Rig) -> None:
    content = f"token = {TOKEN}\n"

    said = box.call("sandbox_write", sandbox="main", path="/root/conf", content=content)

    assert said == f"created, {len(content)} bytes"
    assert files(box)["/root/conf"] == content.encode()


@pytest.mark.parametrize(
    "text",
    [
        MARK,
        "⟦ 凭据:npm_token:1⟧",
        "⟦凭据：npm_token：1⟧",
        "⟦凭\u200b据:npm_token:1⟧",
        "⟦凭据:npm_token",
        "⟦凭据⟧",
        "[凭据:npm_token:1]",
        "【凭据：npm_token：1】",
        "<凭据:npm_token:1>",
        "⟦憑據:npm_token:1⟧",
        "〚凭据:npm_token:1〛",
        "『凭据:npm_token:1』",
        "⟦凭\ufe0f据:npm_token:1⟧",
        "⟦凭\u034f据:npm_token:1⟧",
    ],
)
def test_a_placeholder_is_known_also_where_it_was_copied_badly(text: str) -> None:
    assert find_placeholder(f"token = {text} # x") is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "凭据:password:1",
        "【凭据】见附件",
        "[凭据:无:1]",
        "⟦x⟧",
        "password:1",
        "凭据：x",
    ],
)
def test_talk_about_credentials_is_no_placeholder(text: str) -> None:
    assert find_placeholder(text) is None


def _as_bytes(form: str) -> str:
    return "".join(form.format(byte) for byte in MARK.encode())


ESCAPED = {
    "JSON": json.dumps(MARK)[1:-1],
    "JSON in JSON": json.dumps(json.dumps(MARK))[3:-3],
    "code points in braces": "".join(f"\\u{{{ord(sign):x}}}" for sign in MARK),
    "a URL": quote(MARK),
    "a URL in a URL": quote(quote(MARK)),
    "a page": "".join(f"&#{ord(sign)};" for sign in MARK),
    "a page, hexadecimal": "".join(f"&#x{ord(sign):x};" for sign in MARK),
    "bytes": _as_bytes("\\x{:02x}"),
    "octal bytes": _as_bytes("\\{:03o}"),
}


@pytest.mark.parametrize("form", ESCAPED)
def test_a_placeholder_is_known_also_where_it_is_escaped(form: str) -> None:
    assert "凭" not in ESCAPED[form]
    assert find_placeholder(f"https://app:{ESCAPED[form]}@host") is not None


@pytest.mark.parametrize(
    "sign", ["\\", "\\u", "%", "&#", "\\x4", "\\101", "%41", "[", "⟦凭 ", "凭"]
)
def test_a_megabyte_of_signs_is_searched_for_placeholders_at_once(sign: str) -> None:
    began_s = time.process_time()

    assert find_placeholder("x" + sign * (1_000_000 // len(sign))) is None

    assert time.process_time() - began_s < 5.0
