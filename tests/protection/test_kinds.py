"""Kinds of credentials: alone in a sentence, or beside the name that makes them one."""

import zlib

import pytest

from perlica.protection import Channel, protect
from tests.protection.made import KEYED, TOKENS, Dice, mnemonic, pem

PLACES = (
    "{}",
    "给你：{}。用完删",
    "[CQ:at,qq=10000] 部署 {}",
    "`{}`",
    '{{"msg":"{}"}}',
    "x={}\ny=2",
)
ASSIGNMENTS = (
    "{name}={value}",
    'export {name}="{value}"',
    "{name}: {value}",
    '"{name}": "{value}",',
    "<{name}>{value}</{name}>",
    '<add key="{name}" value="{value}"/>',
    "- name: {name}\n  value: {value}",
    "const {name}: string = '{value}';",
    "os.getenv('{name}', '{value}')",
    "docker run -e {name}={value} app",
    "| {name} | {value} |",
)


def dice_for(*words: str) -> Dice:
    return Dice(zlib.crc32("".join(words).encode()))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", TOKENS)
def test_a_token_is_found_wherever_it_stands(kind: str, place: str) -> None:
    token = TOKENS[kind](dice_for(kind, place))

    protected = protect(place.format(token), Channel.MESSAGE)

    assert token not in protected.content
    assert token[10:] not in protected.content
    assert protected.content == place.format(_placeholder(protected.content))


def _placeholder(content: str) -> str:
    return content[content.index("⟦") : content.index("⟧") + 1]


@pytest.mark.parametrize("form", ASSIGNMENTS)
@pytest.mark.parametrize("kind", KEYED)
def test_a_value_is_found_beside_its_name(kind: str, form: str) -> None:
    name, make = KEYED[kind]
    value = make(dice_for(kind, form))

    content = protect(form.format(name=name, value=value), Channel.MESSAGE).content

    assert value not in content
    assert name in content


@pytest.mark.parametrize(
    "label",
    ["RSA PRIVATE" + " KEY", "PRIVATE" + " KEY", "OPENSSH PRIVATE" + " KEY", "EC PRIVATE" + " KEY"],
)
def test_a_private_key_goes_as_a_whole(label: str) -> None:
    key = pem(Dice(1), label)

    content = protect(f"见下\n{key}\n收到", Channel.MESSAGE).content

    assert content == "见下\n⟦凭据:private_key:1⟧\n收到"


@pytest.mark.parametrize("kept", range(2, 6))
def test_a_private_key_that_was_cut_off_goes_too(kept: int) -> None:
    key = "\n".join(pem(Dice(2)).split("\n")[:kept])

    assert protect(key, Channel.MESSAGE).content == "⟦凭据:private_key:1⟧"


def test_the_end_of_a_private_key_without_its_beginning_goes_too() -> None:
    tail = "\n".join(pem(Dice(3)).split("\n")[3:])

    assert "END" not in protect(f"上一条的后半段\n{tail}", Channel.MESSAGE).content


def test_a_private_key_on_one_line_of_an_environment_file_goes() -> None:
    key = pem(Dice(4)).replace("\n", "\\n")

    content = protect(f'PRIVATE_KEY="{key}\\n"\nPORT=8080', Channel.MESSAGE).content

    assert content == 'PRIVATE_KEY="⟦凭据:private_key:1⟧"\nPORT=8080'


def test_a_certificate_stays() -> None:
    certificate = pem(Dice(5), "CERTIFICATE")

    assert protect(certificate, Channel.MESSAGE).content == certificate


def test_a_recovery_phrase_behind_its_label_goes() -> None:
    phrase = mnemonic(Dice(6))

    assert protect(f"助记词：{phrase}", Channel.MESSAGE).content == "助记词：⟦凭据:mnemonic:1⟧"


def test_a_recovery_phrase_is_known_by_its_checksum_alone() -> None:
    phrase = " ".join(["abandon"] * 11 + ["about"])  # the first test vector of BIP-39

    assert protect(phrase, Channel.MESSAGE).content == "⟦凭据:mnemonic:1⟧"


def test_twelve_ordinary_words_stay() -> None:
    sentence = (
        "deploy service node rollout image timeout config cluster restart upgrade metrics volume"
    )

    assert protect(sentence, Channel.MESSAGE).content == sentence
