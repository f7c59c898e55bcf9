"""Forms in which credentials are really pasted, and public material that only looks like one."""

import base64
import json

import pytest

from perlica.protection import Channel, ProtectionStatus, protect
from tests.protection.made import BASE64_URL, Dice

PASSWORDS = (
    "【账号】root【密码】{}【端口】22",
    "「密码」{}「端口」22",
    "数据库密码 => {} 记得改",
    "密码=>{}",
    "'password' => '{}',",
    "password:\r\n{}\r\n",
    "密码:\r\n{}\r\n端口 22",
    "密码：\r\n\r\n{}",
    "Password\r\n{}\r\n",
    "> 密码:\n> {}\n收到",
    '{{"密码": "{}"}}',
    "{{'数据库密码': '{}'}}",
    '{{"口令": ["{}"]}}',
    '{{"name": "数据库密码", "value": "{}"}}',
    '<input name="密码" value="{}">',
    "小王: 看这个 <server><user>app</user><password>{}</password></server>",
    '张三 10:21\n<property name="password" value="{}"/>',
    "小李: <password type='plain'>{}</password>",
    '<wsse:Password Type="x#PasswordText">{}</wsse:Password>',
    "小王 10:21:33\n<server>\n  <password>\n    {}\n  </password>\n</server>",
    "<password><![CDATA[{}]]></password>",
    "这样写：\n<密码>{}</密码>",
    "define('DB_PASSWORD', '{}');",
    "local-user admin password cipher {}",
    " enable secret 5 {}",
)
TOKENS = (
    "【key】{}【有效期】",
    "【API Key】{}【有效期】一年",
    "【token】{}【过期】明天",
    "新的 token => {} 拿去用",
    "API_KEY:\r\n{}\r\n",
    "token:\n\n{}\n",
    "define('AUTH_KEY', '{}');",
    "define( 'SECURE_AUTH_SALT',  '{}' );",
    'define("LOGGED_IN_KEY", "{}");',
    "define('NONCE_SALT', '{}');",
    "好的 <string name='api_key'>{}</string>",
    "kty: oct\nk: {}",
)


@pytest.mark.parametrize("form", PASSWORDS)
def test_a_password_vanishes_and_all_around_it_stays(form: str) -> None:
    for seed in range(8):
        assert_hidden(form, Dice(seed).password())


@pytest.mark.parametrize("form", TOKENS)
def test_a_token_vanishes_and_all_around_it_stays(form: str) -> None:
    for seed in range(8):
        assert_hidden(form, Dice(seed).mixed(40))


def test_a_salt_of_all_printable_characters_vanishes_whatever_it_begins_with() -> None:
    printable = "".join(chr(code) for code in range(0x20, 0x7F) if chr(code) not in "'\\")
    for seed in range(200):
        salt = Dice(seed).text(printable, 64)

        content = protect(f"define('AUTH_SALT', '{salt}');", Channel.MESSAGE).content

        assert content.startswith("define('AUTH_SALT', '⟦"), salt
        assert not any(salt[at : at + 8] in content for at in range(57))


@pytest.mark.parametrize("levels", range(1, 9))
@pytest.mark.parametrize("name", ["password", "密码"])
def test_json_in_json_hides_nothing_however_deep(name: str, levels: int) -> None:
    password = Dice(levels).password()
    text = json.dumps({name: password})
    for _ in range(levels):
        text = json.dumps({"body": text})

    for sent in (text, f"2026-11-30 INFO body={text}"):
        assert password not in protect(sent, Channel.LOG).content


def test_encryption_by_sealed_secrets_is_named_public_and_let_through() -> None:
    for seed in range(40):
        dice = Dice(seed)
        size = dice.choice((256, 512))
        value = base64.b64encode(size.to_bytes(2, "big") + dice.randbytes(size + 40)).decode()
        lines = "\n      ".join(value[at : at + 76] for at in range(0, len(value), 76))
        head = "kind: SealedSecret\nspec:\n  encryptedData:\n    "

        for entry in (f"password: {value}", f'token: "{value}"', f"api-key: |\n      {lines}"):
            assert_untouched(f"{head}{entry}\n  template: {{}}\n")
        as_json = {"kind": "SealedSecret", "spec": {"encryptedData": {"password": value}}}
        assert_untouched(json.dumps(as_json))


def test_what_stands_below_encrypted_data_in_clear_still_vanishes() -> None:
    password = Dice(1).password()

    content = protect(f"encryptedData:\n  password: {password}\n", Channel.MESSAGE).content

    assert password not in content


def test_a_public_jwk_stays_and_its_private_members_vanish() -> None:
    for seed in range(150):
        dice = Dice(seed)
        public = {
            "kty": "RSA",
            "e": "AQAB",
            "kid": dice.mixed(20, BASE64_URL),
            "n": dice.mixed(342, BASE64_URL),
        }
        point = {
            "kty": "EC",
            "crv": "P-256",
            "x": dice.mixed(43, BASE64_URL),
            "y": dice.mixed(43, BASE64_URL),
        }
        secret = dice.mixed(43, BASE64_URL)

        for key in (public, point, {"keys": [public, point]}, {"signing_key": public}):
            assert_untouched(json.dumps(key))
            assert_untouched(json.dumps({"JWKS": json.dumps(key)}))
        content = protect(json.dumps(point | {"d": secret}), Channel.MESSAGE).content
        assert secret not in content
        assert point["x"] in content


def test_every_line_of_a_text_may_end_as_another_system_ends_it() -> None:
    password = Dice(3).password()

    for end in ("\n", "\r\n", "\r"):
        text = end.join(("主机 10.0.0.3", "密码:", password, "端口 22"))
        content = protect(text, Channel.MESSAGE).content
        assert password not in content
        assert content.startswith(f"主机 10.0.0.3{end}密码:{end}")
        assert content.endswith(f"{end}端口 22")


def assert_hidden(form: str, secret: str) -> None:
    before, _, after = form.format("\0").partition("\0")

    content = protect(form.format(secret), Channel.MESSAGE).content

    assert not any(secret[at : at + 5] in content for at in range(len(secret) - 4))
    assert content.startswith(before)
    assert content.rstrip("\n").endswith(after.rstrip("\n"))


def assert_untouched(text: str) -> None:
    protected = protect(text, Channel.MESSAGE)

    assert protected.content == text
    assert protected.status is ProtectionStatus.SCANNED_NO_FINDINGS
