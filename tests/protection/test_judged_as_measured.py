"""Names and values near every border of the judgement are judged as on the day of measurement.

The borders were set by measuring recall and false alarms; whoever moves one sees here how many
drawn names and values change sides, and measures again before the figure is written anew.
"""

import string
from collections import Counter
from collections.abc import Iterator
from itertools import product

from perlica.protection.grapheme import may_cut
from perlica.protection.judgement import Setting, is_secret, is_worded
from perlica.protection.values import (
    is_measure,
    is_name_chain,
    is_prose,
    is_public,
    is_reference,
    is_stand_in,
    is_strong,
)
from perlica.protection.vocabulary import Announces, understand
from perlica.protection.wording import class_count, entropy_bits, is_dice, jumble, wordiness
from tests.protection.made import BASE62, CAPITALS, DIGITS, HEXADECIMAL, LETTERS, Dice

LOWER = string.ascii_lowercase
WORDS = "server key data run ling test monitor blue mi ma release host build qz xk token id".split()
ENDINGS = ("pem", "key", "txt", "yaml", "exe", "json")
SIGNS = (
    "a\u0301\r\n\u00ad\u200d👍🏻🏿\U0001f3fa🐀🇦🇿\U0001f1e5ᄀᅟᅠᆨᇿꥠꥼ가힣ힰퟻเก\u094dक\u200b中\u02ff\u0300"
)
KEY_WORDS = (
    *("password", "pass", "pw", "pin", "secret", "secrets", "token", "tokens", "csrf", "key"),
    *("keys", "public", "private", "primary", "api", "access", "id", "client", "ssh", "cache"),
    *("s3", "object", "signing", "user", "gpg", "session", "sid", "cookie", "jwt", "pat", "otp"),
    *("mnemonic", "seed", "salt", "auth", "logged", "the", "value", "base64", "url", "hash"),
    *("file", "length", "mima", "kouling", "monkey", "bypass", "dbpassword", "mytoken", "aeskey"),
    *("sign", "name", "sts", "ak", "sk", "host", "3", "username", "credential", "sendkey", "max"),
)
NAMES = ("password", "PASSWORD", "pass", "PASS", "secret", "API_KEY", "private_key", "key")
MORE_NAMES = ("my key", "MY_KEY", "token", "access_key_id", "ACCESS_KEY_ID", "session", "colour")


def drawn() -> Iterator[str]:
    """Random values of many lengths and alphabets."""
    dice = Dice(20261130)
    for size in (
        1,
        3,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        12,
        14,
        15,
        16,
        17,
        19,
        20,
        21,
        24,
        31,
        32,
        33,
        41,
        64,
    ):
        for alphabet in (BASE62, LETTERS, LOWER, HEXADECIMAL, CAPITALS, DIGITS, LOWER + DIGITS):
            yield from (dice.text(alphabet, size) for _ in range(3))
        yield from (dice.text(LOWER * 3 + DIGITS, size) for _ in range(4))
        yield dice.text(HEXADECIMAL[:8] + "abc", size)
        yield dice.text(BASE62 + " !#%&*+-./:;<=>?@^_~", size)


def worded() -> Iterator[str]:
    """Words joined in many ways, names of files, and what only stands for a value."""
    dice = Dice(20261201)
    for count in (1, 2, 3, 4, 5, 7):
        for join in ("", "-", "_", ".", "/", " ", "/x", "::"):
            for _ in range(2):
                words = [dice.choice(WORDS) for _ in range(count)]
                yield join.join(words)
                yield join.join(word.capitalize() for word in words) + str(dice.randrange(1, 3000))
                yield join.join(words) + dice.choice("().?;[*!")
    for ending in ENDINGS:
        for size in (5, 9, 10, 11, 16):
            yield f"{dice.text(BASE62, size)}.{ending}"
            yield f"{dice.text(LOWER, size)}.{ending}"
            yield f"conf/{dice.text(BASE62, size)}.{ending}"
            yield f"/etc/{dice.choice(WORDS)}/{dice.text(BASE62, size)}"
            yield f"com.acme.{dice.text(BASE62, size)}"
    yield from ((HEXADECIMAL[9:] * 3 + HEXADECIMAL)[at : at + 20] for at in range(24))
    for size in (3, 8, 20, 40):
        letters = dice.text(BASE62, size)
        yield from (
            f"{letters}***{letters}",
            f"<{letters}>",
            f"${{{letters}}}",
            f"get({letters}",
            letters + "%s",
        )
        yield from (
            f"urn:uuid:{dice.uuid()}",
            dice.uuid(),
            f"0x{letters}",
            f"密{letters}",
            letters[:1] * size,
        )
    yield from ("", "30s", "1.2.3", "v1.2", "2026-01-02", "12:30", "10.0.0.1", "bob@x.org", "****")
    yield from ("ssh-rsa AAAA", "sha256:abc", "pk_live_abc", "os.environ['X']", "SECRET_KEY_BASE")
    yield from ("correct horse battery staple", "see the other page", "is it so?", "one two three.")
    yield from (dice.password() for _ in range(6))
    yield from (dice.text(BASE62 + "!#%&*+-. ", size) for size in (39, 40, 41, 60, 600))


def test_values_near_the_borders_are_told_apart_as_measured() -> None:
    found = Counter[str]()
    for value in VALUES:
        for ask in (
            is_dice,
            is_stand_in,
            is_name_chain,
            is_measure,
            is_public,
            is_strong,
            is_prose,
        ):
            answer = ask(value)
            assert isinstance(answer, bool)
            found[ask.__name__] += answer
        found["is_worded"] += is_worded(value)
        for quoted in (False, True):
            answer = is_reference(value, quoted=quoted)
            assert isinstance(answer, bool)
            found[f"is_reference {quoted}"] += answer

    assert dict(found) == TOLD_APART


def test_measures_of_a_text_are_what_they_were() -> None:
    sums = [sum(measure(value) for value in VALUES) for measure in MEASURES]

    assert [round(total, 3) for total in sums] == MEASURED
    assert [measure("") for measure in MEASURES] == [0, 0, 0, 0]


def test_names_announce_as_measured() -> None:
    pairs = [*map(" ".join, product(KEY_WORDS, repeat=2)), *KEY_WORDS, *map(str.upper, KEY_WORDS)]
    found = Counter[tuple[str, str]]()
    flags = Counter[str]()
    for name in [
        *pairs,
        "user id pass word",
        "logged in salt",
        "a b secret c",
        "",
        "12",
        "密码",
        "密钥",
    ]:
        known = understand(name)
        found[known.announces.name, known.kind] += 1
        flags["loud"] += known.is_loud
        flags["bare"] += known.is_bare
        assert known.announces is not Announces.NOTHING or known.kind == ""

    assert dict(flags) == FLAGS
    assert {" ".join(key): count for key, count in found.items()} == ANNOUNCED


def test_values_beside_names_are_redacted_as_measured() -> None:
    settings = [
        Setting(quoted=quoted, alone=alone, firm=firm)
        for quoted, alone, firm in product((False, True), repeat=3)
    ]
    found = Counter[str]()
    for name in (*NAMES, *MORE_NAMES):
        known = understand(name)
        for value in VALUES[::3]:
            for setting in settings:
                answer = is_secret(known, value, setting)
                assert isinstance(answer, bool)
                found[name] += answer

    assert dict(found) == REDACTED


def test_characters_are_parted_as_measured() -> None:
    parted = Counter(
        {first: sum(may_cut(first + second, 1) for second in SIGNS) for first in SIGNS}
    )

    assert [parted[sign] for sign in SIGNS] == PARTED
    assert [may_cut("e\u0301", at) for at in (-1, 0, 1, 2, 3)] == [True, True, False, True, True]


VALUES = list(dict.fromkeys([*drawn(), *worded()]))
MEASURES = (wordiness, jumble, entropy_bits, class_count)
MEASURED: list[float] = [-886.879, 350.07, 3687.576, 2606]
TOLD_APART: dict[str, int] = {
    "is_dice": 450,
    "is_stand_in": 58,
    "is_name_chain": 223,
    "is_measure": 38,
    "is_public": 3,
    "is_strong": 699,
    "is_prose": 20,
    "is_worded": 44,
    "is_reference False": 127,
    "is_reference True": 112,
}
FLAGS: dict[str, int] = {"loud": 29, "bare": 119}
ANNOUNCED: dict[str, int] = {
    "PASSWORD password": 510,
    "NOTHING ": 1672,
    "ACCESS_ID access_key": 65,
    "MAYBE_SECRET password": 64,
    "SECRET secret": 256,
    "SECRET token": 308,
    "MAYBE_SECRET key": 188,
    "MAYBE_SECRET session": 162,
    "MAYBE_SECRET token": 54,
    "SECRET seed": 63,
    "MAYBE_SECRET seed": 54,
    "SECRET key": 126,
    "MAYBE_SECRET secret": 298,
    "SECRET api_key": 25,
    "ACCESS_ID access_key_id": 3,
    "SECRET private_key": 2,
}
REDACTED: dict[str, int] = {
    "password": 2200,
    "PASSWORD": 2200,
    "pass": 1900,
    "PASS": 0,
    "secret": 1942,
    "API_KEY": 1942,
    "private_key": 1942,
    "key": 936,
    "my key": 936,
    "MY_KEY": 1256,
    "token": 1942,
    "access_key_id": 1264,
    "ACCESS_KEY_ID": 1264,
    "session": 1256,
    "colour": 0,
}
PARTED: list[int] = [
    25,
    25,
    24,
    25,
    4,
    0,
    25,
    25,
    25,
    25,
    25,
    23,
    23,
    25,
    14,
    14,
    16,
    16,
    16,
    14,
    14,
    16,
    16,
    16,
    16,
    0,
    25,
    0,
    25,
    0,
    25,
    25,
    25,
]
