"""Credentials made up at run time, part by part: none stands in this repository as a whole."""

import base64
import json
import random
import string
from collections.abc import Callable

LETTERS = string.ascii_letters
DIGITS = string.digits
BASE62 = LETTERS + DIGITS
BASE64_URL = BASE62 + "-_"
HEXADECIMAL = "0123456789abcdef"
CAPITALS = string.ascii_uppercase + DIGITS
BASE32 = string.ascii_uppercase + "234567"

Maker = Callable[["Dice"], str]


class Dice(random.Random):
    """Seeded draws of the shapes that credentials have."""

    def text(self, alphabet: str, length: int) -> str:
        return "".join(self.choice(alphabet) for _ in range(length))

    def mixed(self, length: int, alphabet: str = BASE62) -> str:
        """Draws until small letters, capitals and digits all occur, as in nearly every real
        token.
        """
        while True:
            drawn = self.text(alphabet, length)
            if any(map(str.isdigit, drawn)) and any(map(str.islower, drawn)):
                return drawn

    def uuid(self) -> str:
        digits = self.text(HEXADECIMAL, 32)
        return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))

    def base64(self, size: int) -> str:
        return base64.b64encode(self.randbytes(size)).decode()

    def password(self) -> str:
        return self.choice(("Qwer", "Huawei", "Admin", "woaini")) + "@" + self.text(DIGITS, 5)


def prefixed(prefix: str, length: int, alphabet: str = BASE62, suffix: str = "") -> Maker:
    return lambda dice: prefix + dice.mixed(length, alphabet) + suffix


def jwt(dice: Dice) -> str:
    def part(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    return f"{part({'alg': 'HS256'})}.{part({'sub': '1'})}.{dice.mixed(43, BASE64_URL)}"


def pem(dice: Dice, label: str = "RSA PRIVATE" + " KEY", size: int = 300) -> str:
    body = dice.base64(size)
    lines = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    return f"-----BEGIN {label}-----\n{lines}\n-----END {label}-----"


def mnemonic(dice: Dice) -> str:
    words = ("abandon", "ability", "zebra", "canyon", "museum", "ripple", "velvet", "orange")
    return " ".join(dice.choice(words) for _ in range(12))


TOKENS: dict[str, Maker] = {
    "github classic": prefixed("ghp" + "_", 36),
    "github app, long": lambda dice: "ghs" + "_12345_" + jwt(dice),
    "github fine-grained": prefixed("github" + "_pat_", 82),
    "gitlab": prefixed("glpat" + "-", 20, BASE64_URL),
    "npm": prefixed("npm" + "_", 36),
    "pypi": prefixed("pypi" + "-AgEI", 60, BASE64_URL),
    "aws access key": lambda dice: "AKIA" + dice.text(BASE32, 16),
    "alibaba access key": prefixed("LTAI" + "5t", 18),
    "tencent secret id": prefixed("AKI" + "D", 32),
    "google": prefixed("AIza" + "Sy", 33, BASE64_URL),
    "openai": lambda dice: "sk-" + dice.mixed(20) + "T3Blbk" + "FJ" + dice.mixed(20),
    "anthropic": prefixed("sk-ant" + "-api03-", 93, BASE64_URL, "AA"),
    "dashscope": lambda dice: "sk-" + dice.mixed(32, HEXADECIMAL),
    "zhipu": lambda dice: f"{dice.mixed(32, HEXADECIMAL)}.{dice.mixed(16)}",
    "slack": lambda dice: f"xoxb-{dice.text(DIGITS, 12)}-{dice.text(DIGITS, 12)}-{dice.mixed(24)}",
    "telegram": lambda dice: f"{dice.randint(10**9, 10**10 - 1)}:AA{dice.mixed(33, BASE64_URL)}",
    "stripe": prefixed("sk" + "_live_", 24),
    "vault": prefixed("hvs" + ".CAES", 90, BASE64_URL),
    "digitalocean": lambda dice: "dop" + "_v1_" + dice.mixed(64, HEXADECIMAL),
    "age": lambda dice: "AGE-SECRET" + "-KEY-1" + dice.text(CAPITALS, 58),
    "airtable": lambda dice: f"pat{dice.mixed(14)}.{dice.mixed(64, HEXADECIMAL)}",
    "sonar": lambda dice: "squ" + "_" + dice.mixed(40, HEXADECIMAL),
    "azure ad": lambda dice: f"{dice.mixed(3)}8Q~{dice.mixed(34)}",
    "dingtalk": lambda dice: "SEC" + dice.mixed(64, HEXADECIMAL),
    "jwt": jwt,
    "bcrypt": lambda dice: "$2y$10$" + dice.mixed(53),
    "a vendor nobody knows": prefixed("acme" + "_live_", 40),
}

KEYED: dict[str, tuple[str, Maker]] = {
    "alibaba secret": ("ALIBABA_CLOUD_ACCESS_KEY_SECRET", lambda dice: dice.mixed(30)),
    "aws secret": ("aws_secret_access_key", lambda dice: dice.mixed(40, BASE62 + "+/")),
    "ark": ("ARK_API_KEY", Dice.uuid),
    "wechat app secret": ("WX_APPSECRET", lambda dice: dice.mixed(32, HEXADECIMAL)),
    "onebot token": ("ONEBOT_ACCESS_TOKEN", lambda dice: dice.mixed(24, BASE64_URL)),
    "database password": ("DB_PASSWORD", Dice.password),
    "numeric password": ("redis_password", lambda dice: dice.text(DIGITS, 8)),
    "wireguard": ("PrivateKey", lambda dice: dice.base64(32)),
    "ethereum": ("ETH_PRIVATE_KEY", lambda dice: "0x" + dice.mixed(64, HEXADECIMAL)),
    "datadog": ("DD_API_KEY", lambda dice: dice.mixed(32, HEXADECIMAL)),
}
