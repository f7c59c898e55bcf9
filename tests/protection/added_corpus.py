"""Kinds of text that the shared corpus has not, drawn by its generator: contexts, evasions, and
ordinary text that was once taken for a credential.
"""

import base64
import json
import re
from typing import Any

from tests.protection import corpus

_Draw = Any
"""A seeded `corpusgen.core.Rng`."""


def split() -> Any:
    """Return the generator's development split with these kinds alone, credentials as its own."""
    module, core = corpus.load("corpusgen.__main__"), corpus.load("corpusgen.core")
    kinds = [kind for kind in module.KINDS if kind.shape in {"token", "keyed"}]
    return module.Split(
        "added",
        kinds,
        _token_contexts(core.mark, core.keep),
        _keyed_contexts(core.mark, core.keep),
        module.DEV.block_ctx,
        _value_evasions(core.mark),
        module.DEV.whole_ev,
        NEGATIVES,
        evasion_rate=0.3,
    )


def _token_contexts(mark: Any, keep: Any) -> list[tuple[str, Any]]:
    return [
        ("crlf_lines", lambda _r, _k, v: f"{keep('日志如下')}\r\n{mark(v)}\r\n{keep('完')}"),
        ("json_in_json_in_json", lambda _r, _k, v: _nested({"a": mark(v)}, 4)),
        ("element_in_talk", lambda _r, _k, v: f"{keep('小王 10:21')}\n<a>\n  {mark(v)}\n</a>"),
    ]


def _keyed_contexts(mark: Any, keep: Any) -> list[tuple[str, Any]]:
    def name(r: _Draw, kind: Any) -> str:
        return str(r.choice(kind.keys)).replace(".", "_")

    def define(r: _Draw, kind: Any, value: str) -> str:
        return f"<?php\ndefine( '{keep(name(r, kind).upper())}', '{mark(value)}' );"

    return [
        ("bracketed", lambda r, k, v: f"【{keep(name(r, k))}】{mark(v)}【{keep('有效期')}】30 天"),
        ("arrow", lambda r, k, v: f"{keep('新的')} {name(r, k)} => {mark(v)} {keep('记得改')}"),
        ("crlf_below", lambda r, k, v: f"{keep(name(r, k))}:\r\n{mark(v)}\r\n{keep('端口 22')}"),
        ("blank_line_below", lambda r, k, v: f"{keep(name(r, k))}:\n\n{mark(v)}\n"),
        ("element", lambda r, k, v: f"{keep('小李：')}\n<{name(r, k)}>{mark(v)}</{name(r, k)}>"),
        (
            "element_with_attribute",
            lambda r, k, v: f'<{name(r, k)} type="plain">{mark(v)}</{name(r, k)}>',
        ),
        ("cdata", lambda r, k, v: f"<{name(r, k)}><![CDATA[{mark(v)}]]></{name(r, k)}>"),
        ("define", define),
        ("deep_json", lambda r, k, v: _nested({name(r, k): mark(v)}, 5)),
    ]


def _nested(value: object, levels: int) -> str:
    """Return JSON in JSON; the generator's marks, escaped at every level, stand as themselves."""
    text = json.dumps(value, ensure_ascii=False)
    for _ in range(levels):
        text = json.dumps({"body": text}, ensure_ascii=False)
    return re.sub(r"\\+u000([1-4])", lambda found: chr(int(found.group(1))), text)


def _value_evasions(mark: Any) -> list[tuple[str, Any]]:
    def invisible(r: _Draw, value: str) -> str:
        sign = r.choice("\u200b\u200c\u200d\u2060\ufeff\u00ad")
        return str(mark(sign.join(value)))

    def twice(_r: _Draw, value: str) -> str:
        once = base64.b64encode(value.encode())
        return str(mark(base64.b64encode(once).decode()))

    return [("sign_after_every_letter", invisible), ("base64_of_base64", twice)]


def _sealed(r: _Draw) -> str:
    """A value of Sealed Secrets: the length of the session key, then what RSA and AES made."""
    key = r.choice((256, 512))
    return base64.b64encode(key.to_bytes(2, "big") + r.blob(key + r.randint(20, 60))).decode()


def _sealed_secret(r: _Draw) -> str:
    value = _sealed(r)
    if r.random() < 0.5:
        value = "|\n      " + "\n      ".join(
            value[at : at + 76] for at in range(0, len(value), 76)
        )
    key = r.choice(("password", "api-key", "CLIENT_SECRET", "token"))
    return f"kind: SealedSecret\nspec:\n  encryptedData:\n    {key}: {value}\n  template: {{}}\n"


def _public_jwk(r: _Draw) -> str:
    rsa = {"kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": r.b64u(20), "n": r.b64u(256)}
    point = {"kty": "EC", "crv": "P-256", "x": r.b64u(32), "y": r.b64u(32), "kid": r.b64u(9)}
    key = r.choice((rsa, point, {"kty": "OKP", "crv": "Ed25519", "x": r.b64u(32)}))
    form = r.choice(("json", "set", "yaml", "talk"))
    if form == "yaml":
        return "jwk:\n" + "\n".join(f"  {name}: {value}" for name, value in key.items())
    text = json.dumps({"keys": [key, rsa]} if form == "set" else key, indent=r.choice((None, 2)))
    return f"公钥是 {text} 你验一下" if form == "talk" else text


def _code(r: _Draw) -> str:
    return str(
        r.choice(
            (
                f"const token = crypto.randomBytes({r.randint(16, 64)}).toString('hex')",
                f"token = crypto.randomBytes({r.randint(16, 64)}).toString('base64url');",
                "const secret = Buffer.from(randomBytes(16)).toString('base64')",
                "PASSWORD_HASHERS = ['django.contrib.auth.hashers.Argon2PasswordHasher']",
                "PASSWORD_HASHERS = [\n    'django.contrib.auth.hashers.PBKDF2PasswordHasher',\n]",
                "password := base64.StdEncoding.EncodeToString(buf[:32])",
                f"$token = bin2hex(random_bytes({r.randint(16, 64)}));",
            )
        )
    )


def _talk_of_ciphers(r: _Draw) -> str:
    return str(
        r.choice(
            (
                f"cipher AES-{r.choice((128, 192, 256))}-{r.choice(('CBC', 'GCM'))}",
                "TLS 1.3 cipher suites",
                "SSL_do_handshake() failed: no shared cipher while SSL handshaking",
                "Enable password protection in the BIOS",
                f"gpg --recv-keys {r.hex(40).upper()}",
                f"apt-key adv --keyserver keys.example.org --recv-keys {r.hex(16).upper()}",
            )
        )
    )


NEGATIVES = [
    ("sealed_secret", _sealed_secret),
    ("public_jwk", _public_jwk),
    ("code_that_draws", _code),
    ("talk_of_ciphers", _talk_of_ciphers),
]
