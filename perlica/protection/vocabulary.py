"""Names that announce a secret, in English, pinyin and Chinese, and names that only look as if
they did.

A key is split into words (`spring.datasource.dbPassword` → spring datasource db password); the
words decide
how much the value itself must look like a secret before it is redacted.
"""

import re
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from typing import Final


class Announces(IntEnum):
    """What a key name promises about its value, from nothing to a password of any look."""

    NOTHING = 0
    ACCESS_ID = 1
    MAYBE_SECRET = 2
    SECRET = 3
    PASSWORD = 4


@dataclass(frozen=True, slots=True)
class KeyName:
    """A key name that was understood. `is_loud` is a name in capitals, as environment variables
    have.
    """

    announces: Announces
    kind: str
    is_loud: bool
    is_bare: bool


NOTHING: Final = KeyName(Announces.NOTHING, "", is_loud=False, is_bare=False)

CHINESE_PASSWORDS: Final = (
    "密码 密碼 口令 暗号 提取码 授权码 解压码 密匙 访问码 开锁码 PIN码 pin码 通行码 登陆码".split()
)
CHINESE_SECRETS: Final = "密钥 秘钥 私钥 金鑰 密鑰 令牌 凭据 凭证 权杖 签名串 助记码".split()
"""Chinese labels: a name that ends in one announces what the English word would."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[\u4e00-\u9fff]+")
_LAST_DENIES: Final = frozenset(
    """
    name names id ids count counts ref refs reference file files filename path paths dir
    directory url uri urls uris endpoint endpoints host hosts port type types kind length len
    size sizes min max limit limits usage expiry expires expiration expire expired exp ttl age
    days day hours minutes seconds secs ms date time at policy policies rotation rotate version
    versions ver hint label labels field fields header headers prefix suffix column columns
    placeholder enabled disabled provider providers manager service services algorithm alg algo
    format regex pattern mode status state error errors message messages msg title description
    desc strength rule rules validator validation required optional visible attempts attempt
    retries timeout interval period issuer audience subject scope scopes grant source from env
    var arn annotation selector template class factory handler helper function method callback
    listener generator index number num per second price cost rate budget quota balance used
    total left position fingerprint digest checksum crc public pub cert certificate csr location
    bucket owner user username email encoder decoder parser lexer tokenizer store backend driver
    plugin module package import param params parameter argument arg args option options flag
    property properties dialog modal button page view route router screen form input icon image
    color text link menu tab list set map table row schema spec config configuration settings
    setting hasher exists valid invalid check checker checked match matches matched present changed
    updated created deleted reset needed missing unset
    """.split()
)
_FIRST_DENIES_KEY: Final = frozenset(
    """
    primary foreign partition sort cache object objects idempotency public publishable pub map
    row unique translation i18n message routing group lock locking registry cursor dedup dedupe
    range natural join candidate event topic memo entity widget item feature metric label tag
    column field property option param header query path file name index lookup composite
    surrogate host hosts known keyboard hot shortcut arrow function word accept websocket next
    page continuation pagination sync cancellation cancel stop csrfmiddleware mime turkey file
    image commit build blob chunk layer content checksum digest monkey donkey whiskey jockey
    hockey partitioning sharding shard bucket s3 etag trace span request correlation document
    doc record redis_cache variable json dict hash release version signing_cert
    """.split()
)
_NEVER_SECRET_KEYS: Final = frozenset(
    {"public", "cache", "s3", "object", "cached", "socket", "websocket", "gpg", "pgp"}
)
_TOKEN_DENIES: Final = frozenset(
    """
    next page continuation pagination sync cancellation cancel stop prompt completion input
    output total max min num n count special eos bos pad unk sep cls mask parsed lexical bpe sub
    word keyword text nlp vocab start end first last previous prev current left right cached
    reasoning context resume fencing cursor delta
    """.split()
)
_KEY_RINGS: Final = frozenset(
    "recv receive send search refresh fetch list locate delete check edit lsign trusted".split()
)
"""`gpg --recv-keys …`: what follows is the public fingerprint of a key."""
_PASSWORD_WORDS: Final = frozenset(
    """
    password passwords passwd passphrase passcode passwort pwd pswd psw passwrd passwdord
    userpassword rootpassword storepass keypass requirepass masterauth authpass privpass bindpw
    rootpw userpw mima kouling mdp motdepasse contrasena senha wachtwoord haslo parol psk
    passkey bindpass userpass dbpass smtppass adminpass rootpass pgpassword sshpass proxypass
    mysqlpass keystorepass truststorepass ftppass mailpass unlockcode
    """.split()
)
_SECRET_WORDS: Final = frozenset(
    """
    secret secrets token tokens apikey accesskey secretkey privatekey authkey aeskey signkey
    appkey appsecret corpsecret clientsecret accesstoken authtoken refreshtoken sessiontoken
    idtoken bearertoken apitoken usertoken bottoken sendkey encodingaeskey fernetkey masterkey
    sharedkey accountkey jwt credential credentials cred creds seckey skey apisecret apipass
    secretaccesskey secretid sharedaccesskey webhooksecret signsecret deploykey mnemonic
    seedphrase privkey authcode sessionkey encryptionkey signingkey consumersecret apikeys
    authorization auth bearer pat
    """.split()
)
_KEY_COMPANIONS: Final = frozenset(
    """
    api access secret private signing sign encryption encrypt decryption crypto cipher master
    app auth client storage account shared preshared session service jwt hmac aes des rsa ecdsa
    fernet license deploy webhook wallet admin root consumer security sec server user bot ssh
    tls ssl vault sops age wireguard wg totp otp mfa recovery backup activation primary_access
    send merchant mch pay v3 apiv3 encoding nonce logged
    """.split()
)
_MAYBE_WORDS: Final = frozenset(
    "key keys pass pw pin sk ak sig signature seed session sid sessionid sess sessid cookie otp "
    "totp mfa nonce_key sign code".split()
)
_SALTED: Final = frozenset({"auth", "nonce", "logged"})
"""Salts that sign cookies, WordPress's: whoever has one forges a login."""
_FUNCTION_WORDS: Final = frozenset(
    "the this that a an your my our new old by with for of to and or no same".split()
)
_COMPOUND: Final = re.compile(
    r"(?:.*[^m]|^)(?:password|passwd|passphrase|passwort|pwd|secret|token|apikey|accesskey|"
    r"secretkey|privatekey"
    r"|authkey|aeskey|signkey|appkey|sessdata|sessid|sessionid)$"
)
_HARMLESS_COMPOUND: Final = frozenset(
    {"bypass", "compass", "trespass", "surpass", "overpass", "tokenization"}
)
_PASSWORD_ENDINGS: Final = ("password", "passwd", "passphrase", "passwort", "pwd")
_SAYS_NOTHING: Final = frozenset(
    """
    data value val string raw base64 b64 plain default plaintext hex current base
    """.split()
)
_ID_OF_PAIR: Final = frozenset(
    {"access", "accesskey", "secret", "secretkey", "sts", "accesskeyid", "secretid"}
)


@lru_cache(maxsize=4096)
def understand(key: str) -> KeyName:
    """Return what `key` announces."""
    words = [word.lower() for word in _WORD.findall(key)]
    while words and words[-1].isdigit():
        words.pop()
    if not words:
        return NOTHING
    letters = [char for char in key if char.isalpha()]
    loud = all(char.isupper() for char in letters)
    announces, kind = _announced(words)
    if announces is Announces.NOTHING:
        return NOTHING
    is_bare = len(words) == 1 or words[-2] in _FUNCTION_WORDS
    return KeyName(announces, kind, is_loud=loud, is_bare=is_bare)


def _announced(words: list[str]) -> tuple[Announces, str]:
    last = words[-1]
    if last.endswith(tuple(CHINESE_PASSWORDS)):
        return Announces.PASSWORD, "password"
    if last.endswith(tuple(CHINESE_SECRETS)):
        return Announces.SECRET, "secret"
    if last in {"id", "ids"}:
        is_pair = any(word in _ID_OF_PAIR for word in words[:-1]) and "client" not in words
        return (Announces.ACCESS_ID, "access_key_id") if is_pair else (Announces.NOTHING, "")
    if words[-2:] in (["user", "signingkey"], ["gpg", "signingkey"]):  # of git: a fingerprint
        return Announces.NOTHING, ""
    if last in {"accesskeyid", "secretid", "ak"} or (
        words[-2:] == ["access", "key"] and "secret" not in words
    ):
        return Announces.ACCESS_ID, "access_key"
    if last in _SAYS_NOTHING:
        words = words[:-1]
        last = words[-1] if words else ""
    if not last or last in _LAST_DENIES or last.removesuffix("s") in _LAST_DENIES:
        return Announces.NOTHING, ""
    return _by_words(words, last)


def _by_words(words: list[str], last: str) -> tuple[Announces, str]:
    if _PASSWORD_WORDS.intersection(words) or (last in {"pass", "pw"} and len(words) > 1):
        return Announces.PASSWORD, "password"
    if last in {"key", "keys"}:
        return _by_key(words)
    if last in {"token", "tokens"} and (_TOKEN_DENIES.intersection(words) or words == ["tokens"]):
        return Announces.NOTHING, ""
    return _by_last(words, last)


def _by_last(words: list[str], last: str) -> tuple[Announces, str]:
    if last == "salt" and not _SALTED.isdisjoint(words):
        return Announces.SECRET, "secret"
    if last in _SECRET_WORDS:
        return Announces.SECRET, _kind_of(last)
    if _COMPOUND.match(last) and last not in _HARMLESS_COMPOUND:
        is_password = last.endswith(_PASSWORD_ENDINGS)
        announces = Announces.PASSWORD if is_password else Announces.SECRET
        return announces, "password" if is_password else _kind_of(last)
    if any(word in _SECRET_WORDS and word not in {"auth", "pat"} for word in words[-3:]):
        return Announces.MAYBE_SECRET, "secret"
    if last in {"pass", "pw", "pin"}:
        return Announces.MAYBE_SECRET, "password"
    if last in _MAYBE_WORDS or last.endswith("key"):
        return Announces.MAYBE_SECRET, _kind_of(last)
    return Announces.NOTHING, ""


def _by_key(words: list[str]) -> tuple[Announces, str]:
    before = words[:-1]
    if before and before[-1] == "public":
        return Announces.NOTHING, ""
    if before and before[-1] in _KEY_RINGS and (words[-1] == "keys" or len(before) == 1):
        return Announces.NOTHING, ""
    if _NEVER_SECRET_KEYS.intersection(before) - {"cache", "object"} and "api" not in before:
        return Announces.NOTHING, ""
    if _KEY_COMPANIONS.intersection(before) and not _NEVER_SECRET_KEYS.intersection(before):
        return Announces.SECRET, "private_key" if "private" in before else "api_key"
    if _FIRST_DENIES_KEY.intersection(before):
        return Announces.NOTHING, ""
    return Announces.MAYBE_SECRET, "key"


def _kind_of(word: str) -> str:
    if "token" in word or word in {"jwt", "bearer", "pat", "otp"}:
        return "token"
    if word in {"session", "sid", "sessionid", "sess", "sessid", "cookie"} or "sess" in word:
        return "session"
    if "key" in word or word in {"sk", "ak"}:
        return "key"
    if word in {"mnemonic", "seedphrase", "seed"}:
        return "seed"
    return "secret"
