"""JSON in: values judged by their place, and valid JSON out."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perlica.protection import Channel, JsonValue, protect
from tests.protection.made import TOKENS, Dice, pem

PASSWORD = Dice(21).password()
TOKEN = TOKENS["gitlab"](Dice(22))
DOCUMENTS: dict[str, JsonValue] = {
    "a name": {"password": PASSWORD},
    "a name above": {"database": {"password": {"value": PASSWORD}}},
    "a list": {"passwords": ["x", PASSWORD]},
    "a pair": {"name": "DB_PASSWORD", "value": PASSWORD},
    "a pair in disorder": {"value": PASSWORD, "description": "…", "name": "DB_PASSWORD"},
    "inside a text": {"log": f"first line\ndb password={PASSWORD}\nlast line"},
    "inside JSON inside JSON": {"log": json.dumps({"body": json.dumps({"password": PASSWORD})})},
    "a docker configuration": {"auths": {"r": {"username": "ci", "password": PASSWORD}}},
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_password_in_a_document_vanishes(name: str) -> None:
    content = protect(DOCUMENTS[name], Channel.TOOL_ARGUMENTS).content

    assert PASSWORD not in content
    json.loads(content)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_that_is_a_text_is_treated_alike(name: str) -> None:
    text = json.dumps(DOCUMENTS[name], indent=2)

    content = protect(text, Channel.TOOL_RESULT).content

    assert PASSWORD not in content
    json.loads(content)


def test_a_document_without_findings_keeps_every_byte() -> None:
    text = '{\n  "id" : "a\\u4f60",\n\t"usage": {"prompt_tokens": 15, "total_tokens": 1743}}\n'

    assert protect(text, Channel.TOOL_RESULT).content == text


def test_a_bare_number_becomes_a_text() -> None:
    content = protect({"password": 20261130, "port": 5432}, Channel.TOOL_ARGUMENTS).content

    assert json.loads(content) == {"password": "⟦凭据:password:1⟧", "port": 5432}


def test_a_private_key_in_a_document_vanishes() -> None:
    key = pem(Dice(23), "PRIVATE" + " KEY")

    content = protect({"type": "service_account", "private_key": key}, Channel.MODEL).content

    assert json.loads(content)["private_key"] == "⟦凭据:private_key:1⟧"


def test_escapes_beside_a_secret_stay_whole() -> None:
    text = json.dumps({"a": f'"{TOKEN}"', "b": f"\\{TOKEN}\\", "c": f"\n{TOKEN}\t"})

    values = json.loads(protect(text, Channel.TOOL_RESULT).content)

    assert {key: value.count("⟦") for key, value in values.items()} == {"a": 1, "b": 1, "c": 1}


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.text(max_size=20),
    st.sampled_from((PASSWORD, TOKEN, f"token={TOKEN}\n", f'"{PASSWORD}"', "\\", '\\"')),
)
NAMES = st.one_of(st.text(max_size=8), st.sampled_from(("password", "token", "name", "value", "k")))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=12,
)


@given(value=VALUES, ascii_only=st.booleans(), indent=st.sampled_from((None, 2)))
def test_valid_json_stays_valid(value: JsonValue, ascii_only: bool, indent: int | None) -> None:
    text = json.dumps({"outer": value}, ensure_ascii=ascii_only, indent=indent)

    protected = protect(text, Channel.TOOL_RESULT)

    assert protected.is_usable
    json.loads(protected.content)
    assert TOKEN not in protected.content
