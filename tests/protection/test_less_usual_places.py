"""Less usual places: cookies, signed links, manifests, escapes, keys without one of their ends."""

import base64

import pytest

from perlica.protection import Channel, protect
from tests.protection.made import BASE62, DIGITS, Dice, pem

DICE = Dice(20261201)
TOKEN = "ghp" + "_" + DICE.mixed(36)
UUID = DICE.uuid()
DRAWN = DICE.mixed(24)
KEY = pem(DICE)
BEGIN, *BODY, END = KEY.split("\n")
MANIFEST = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n"
STAYS = (
    "Cookie: plan=enterprise; size=extralarge",
    f"Cookie: lang={DRAWN}; plan=basic",
    f"Set-Cookie: plan=basic; path=/{DRAWN}",
    f"Set-Cookie: plan=basic; extra={DRAWN}",
    "api_key: 'two plain words'",
    "token: 'see page 7 of it'",
    "https://hooks.slack.com/services/your/webhook/url",
    "https://hooks.slack.com/services/TXXXXXXXX/BXXXXXXXX/XXXXXXXXXXXXXXXXXXXXXXXX",
    "https://open.feishu.cn/open-apis/bot/v2/hook/xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx",
    "https://x.example/f?sig=verified",
    "first line\nsecond line of words that go on",
    f"{END}\nnothing stands before it",
    f"说明：\n{BEGIN}\n没有内容",
    MANIFEST + "data:\n  a: |\n  b: xyz\n",
)
LEAVES = (
    ("Cookie: plan={}", DRAWN),
    ("Cookie: plan=basic; sid={}; size=large", DRAWN),
    ("Set-Cookie: sid={}; Path=/", DRAWN),
    ("curl -b 'sid={}' x", DRAWN),
    ("curl --cookie 'sid={}' x", DRAWN),
    ("https://x.example/f?X-Amz-Signature={}&e=1", UUID),
    ("https://x.example/f?sig={}", DRAWN),
    ("https://hooks.slack.com/services/{}", f"T0000/B0000/{DRAWN}"),
    ("https://open.feishu.cn/open-apis/bot/v2/hook/{}", UUID),
    (MANIFEST + "data:\n  {}\n", f"bare-{DRAWN}"),
    (MANIFEST + "stringData:\n  conf: |\n    {}\n", DRAWN),
    (MANIFEST + "stringData:\n  conf: {}\ntype: Opaque\n", "abcd"),
    ("password: 'my pass {}'", "Qwer" + "@2026"),
    ("密码：{}，好的", "Ｑｗｅｒ＠２０２６"),
    ("见下\n\n{}\n\n收到", "\n".join([*BODY[-3:], END])),
    ("见下\n{}\n\n收到", "\n".join([BEGIN, *BODY])),
    ("见下\n{}\n\n收到", "\n".join([BEGIN, *BODY[:2]])),
    ("见下\n{}\n收到", KEY),
)


@pytest.mark.parametrize("text", STAYS, ids=range(len(STAYS)))
def test_what_only_stands_where_credentials_stand_is_kept(text: str) -> None:
    assert protect(text, Channel.MESSAGE).content == text


@pytest.mark.parametrize(("place", "secret"), LEAVES, ids=range(len(LEAVES)))
def test_the_credential_goes_and_everything_around_it_stays(place: str, secret: str) -> None:
    protected = protect(place.format(secret), Channel.MESSAGE)
    before, after = place.split("{}")

    assert protected.finding_count == 1
    assert protected.content.startswith(before + "⟦")
    assert protected.content.endswith("⟧" + after)
    assert secret not in protected.content


def test_every_key_of_a_text_goes_with_both_ends_or_with_one() -> None:
    tail = "\n".join([*BODY[-3:], END])
    text = "\n\n一\n\n".join([tail, KEY, tail, "\n".join([BEGIN, *BODY])])

    content = protect(text, Channel.MESSAGE).content

    assert content.count("⟦凭据:private_key:") == 4
    assert content.count("一") == 3
    assert not any(line in content for line in BODY)


@pytest.mark.parametrize("lines", [2, 3, 4, 5])
def test_so_many_last_lines_of_a_key_go(lines: int) -> None:
    content = protect(
        "说明。\n\n" + "\n".join([*BODY[-lines:], END]) + "\n完", Channel.MESSAGE
    ).content

    assert not any(line in content for line in BODY[-lines:])
    assert content.startswith("说明。\n")
    assert content.endswith("\n完")


@pytest.mark.parametrize("at", [4, 8, 12, 20, 30, 36])
def test_a_token_that_is_wrapped_goes_wherever_the_line_ends(at: int) -> None:
    content = protect(f"deploy {TOKEN[:at]}\n{TOKEN[at:]} now", Channel.MESSAGE).content

    assert TOKEN[at:] not in content
    assert TOKEN[:at] not in content or at < 8
    assert content.startswith("deploy ")
    assert content.endswith(" now")


@pytest.mark.parametrize(
    "write",
    [
        lambda sign: f"\\x{ord(sign):02x}",
        lambda sign: f"\\{ord(sign):03o}",
        lambda sign: f"\\u{ord(sign):04x}",
        lambda sign: f"\\u{{{ord(sign):x}}}",
        lambda sign: f"%{ord(sign):02X}",
        lambda sign: f"&#{ord(sign)};",
        lambda sign: f"&#x{ord(sign):x};",
    ],
    ids=["hex", "octal", "code unit", "code point", "percent", "decimal", "hex entity"],
)
def test_a_token_written_in_escapes_goes(write: object) -> None:
    assert callable(write)
    written = "".join(map(write, TOKEN[:6])) + TOKEN[6:]

    content = protect(f"用 {written} 部署", Channel.MESSAGE).content

    assert TOKEN[6:] not in content
    assert content.startswith("用 ⟦")


@pytest.mark.parametrize("wrap", [base64.b64encode, lambda data: data.hex().encode()])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_a_token_inside_a_blob_takes_the_blob_with_it(wrap: object, encoding: str) -> None:
    assert callable(wrap)
    blob = wrap(f"export TOKEN={TOKEN}".encode(encoding)).decode()

    content = protect(f"blob: {blob} end", Channel.MESSAGE).content

    assert blob not in content
    assert content.startswith("blob: ⟦")
    assert content.endswith("⟧ end")


def test_the_last_line_of_a_very_long_text_is_looked_at_like_the_first() -> None:
    talk = "".join(f"第 {n} 行 {DICE.text(DIGITS, 6)} 次\n" for n in range(20_000))
    drawn = DICE.text(BASE62, 30)
    line = f"Cookie: sid={drawn}"

    content = protect(f"{line}\n{talk}{line}\n{talk}{line}", Channel.MESSAGE).content

    assert drawn not in content
    assert content.count("Cookie: sid=⟦") == 3
    assert content.endswith("⟧")
