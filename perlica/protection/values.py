"""What a value next to a key name is: a secret, a stand-in for one, a reference to one, or
something else.

Asked by every rule that found a name and a value; rules that know the shape of a token ask less.
"""

import re
from typing import Final

from perlica.protection.wording import class_count, is_dice, jumble, wordiness

_STAND_IN_WORDS: Final = frozenset(
    """
    changeme change changeit password passwd passphrase pass pwd secret secrets token tokens key
    keys apikey placeholder example examples dummy sample redacted removed masked hidden null
    none nil undefined true false yes no on off string str text varchar char bytes int integer
    number bool boolean object array any optional required todo tbd fixme na empty default
    missing unset unknown user username login auth foo bar baz test xxx secretkey accesskey
    value values your my enter insert replace fill here credentials credential sensitive
    encrypted protected private public external internal disabled enabled plain plaintext sha256
    md5 bcrypt base64 hex utf8 utf-8 ascii rs256 hs256 es256 bearer basic digest oauth oauth2
    jwt jks pkcs12 rsa ed25519 mysql_native_password caching_sha2_password scram-sha-256 trust
    peer ident md5 cert ldap pam invalid expired valid wrong incorrect failed denied error ok
    success skipped pending ignored stdin prompt ask env file vault keyring ssm systemd static
    dynamic auto manual manually generated random stored provided same shared above below later
    there this that these those it is are was has have been not and or the a an for to from with
    without via by in of at as if when then will must should can may please see read use used
    using reset changed updated rotated rotation policy strength length field prompt hint label
    form input hash hashed salt manager store provider service request response type name id
    index count limit usage 1password keepass keepass2 bitwarden lastpass k8s authentication
    authorization authenticator access refresh session signature api web http https
    """.split()
)
_ODD_CASE: Final = 0.34
_ODD_PAIRS: Final = -1.0
_SHORTEST_ODD: Final = 10
_TEMPLATE: Final = re.compile(
    r"""^(?: <[^<>]*>? | \$\{\{?.* | \{\{.* | \$\(.* | \$[A-Za-z_]\w*(?:\}|\b.{0,3})$
    | %[A-Za-z_]\w*%$ | @[A-Z_]+@$ | \#\{.* | `.* | \{[A-Za-z_][^{}\s]*\}.{0,4}$ | %[sdv]$
    | %\(\w+\)s$ | :[a-z_]+$ | \?$ | !\w+(?:\s.*)?$
    | \[[A-Za-z_ \-]*\]?$ | \([a-zA-Z ]+\)?$ | __\w+__$ | \$\d$ | \{\d?\}$ )""",
    re.VERBOSE,
)
_MASK: Final = re.compile(
    r"^[*•●·.xX#_\-?…=]+$|\*{3,}|•{3,}|[xX]{5,}|\.{3}$|…$|(?:\b|_)0{6,}(?:\b|_)"
)
_FORMAT: Final = re.compile(r"%[sdvr](?![A-Za-z0-9])|\{\d?\}")
_SHORT: Final = 40
_STARS: Final = re.compile(r"(?<=[^*])\*{3,4}(?=[^*])")
_STORED_ELSEWHERE: Final = re.compile(
    r"""^(?:ENC[(\[]|op://|vault:|arn:|aws-sm:|ssm:|secretsmanager|secret://|keyring:|env:|file:|projects/
    |\{cipher\}|\{\{resolve:|@Microsoft\.KeyVault|!vault|sm://|gcp-?sm|akv:|kms:|enc:|sealed:|\$ANSIBLE_VAULT
    |process\.env|os\.environ|os\.getenv|System\.|Deno\.env|import\.meta|ENV\[|getenv|secrets\.|vault_
    |data\.|var\.|local\.|module\.|random_password\.|aws_|google_|azurerm_|kubernetes_secret)""",
    re.VERBOSE | re.IGNORECASE,
)
_YOURS: Final = re.compile(
    r"""^(?:your|my|the|a|some|any|enter|insert|put|replace|fill|change|set|use|add|paste|example|sample|dummy
    |fake|placeholder|test|demo|todo|new|old)
    (?:[-_. ](?:your|my|the|own|new|actual|real|this|me|in|with|here|it|
    super|very|secure|strong|api|access|client|app|db|database|secret|private|auth|master|admin|root|user|bot|
    key|keys|token|password|passwd|pass|pwd|id|value|string|prod|production|example|sample|please|
    [a-z]{2,10}))*$""",
    re.VERBOSE | re.IGNORECASE,
)
_NAME_OF_ONE: Final = re.compile(
    r"(?:[a-z]{2,12}[-_. ]){1,4}(?:password|passwd|pwd|pass|secret|token|key|keys|credentials?|"
    r"auth)s?$"
)
_EXAMPLE: Final = re.compile(
    r"EXAMPLE(?:KEY)?$|^EXAMPLE|(?i:placeholder|your[-_]|redacted|changeme|dummy)"
)
_NAME_CHAIN: Final = re.compile(
    r"^[&*!@]?[A-Za-z_$][A-Za-z_$]*\d?(?:(?:\.|->|::|\?\.)[A-Za-z_$][A-Za-z_$]*\d?)*[,;)]*$"
)
_CALL: Final = re.compile(r"^[&*!]?(?:await |new |str|bytes)?[A-Za-z_$][\w$.:>\-?]*\s?[(\[]")
# A call that goes on in quotes: `Buffer.from(`, `crypto.randomBytes(32).toString(`.
_OPEN_CALL: Final = re.compile(
    r"^(?:await |new |&|\*)?[A-Za-z_$][\w$]*"
    r"(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*|\([\w$.,+*/ ()\-]*\))*"
    r"(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)\(+$"
)
_CLASS_PATH: Final = re.compile(r"[a-z_][a-z0-9_]{0,40}(?:\.[A-Za-z_][A-Za-z0-9_]{0,60}){2,}$")
_CONSTANT: Final = re.compile(r"^[A-Z][A-Z]*(?:_[A-Z0-9]+)+$")
_PATH: Final = re.compile(r"^(?:~|\.{1,2}|[A-Za-z]:|file:/)?[/\\](?:[\w.\-@+ ]+[/\\])*[\w.\-@*]*$")
_RELATIVE_PATH: Final = re.compile(
    r"^(?:[a-z][\w\-]{0,24}/)+[\w\-]+(?:\.(?:pem|key|crt|txt|json|ya?ml|md|conf|ini|p12|jks|pub|"
    r"js|ts|py|go))?$"
)
_MEASURE: Final = re.compile(
    r"^[<>=~]{0,2}v?\d{1,9}(?:\.\d+){0,3}\s?(?:ms|s|m|h|d|w|min|mins|days?|hours?|bytes?|b|kb|mb|"
    r"gb|%|k|x)?$",
    re.IGNORECASE,
)
_VERSION: Final = re.compile(r"^v?(?:\d+:)?\d{1,4}(?:\.\d{1,5})+(?:[+~\-.][\w.+~:\-]*)?$")
_DATE: Final = re.compile(r"^\d{4}-\d{2}-\d{2}(?:[T ].*)?$|^\d{1,2}:\d{2}(?::\d{2})?$")
FILE_ENDINGS: Final = (
    "txt|log|csv|json|env|conf|docx?|xlsx?|pptx?|pdf|png|jpe?g|gif|bmp|webp|heic|"
    "mp3|wav|amr|silk|m4a|flac|ogg|mp4|avi|mkv|webm|tar|t?gz|xz|bz2|7z|rar|apk|exe"
)
"""What files of a group are called after the dot; none of them ends an address."""
_ADDRESS: Final = re.compile(
    r"^(?:\d{1,3}\.){3}\d{1,3}(?::\d+)?$|^[a-z][a-z0-9+.\-]*://|^[\w.+\-]+@[\w\-]+\."
    rf"(?!(?:{FILE_ENDINGS})$)[\w.\-]+$|^mailto:"
)
_FILE_NAME: Final = re.compile(
    r"^([\w\-.]+)\.(?:pem|key|crt|cer|txt|json|ya?ml|md|conf|ini|p12|pfx|jks|pub|js|ts|py|go|java|"
    r"html?|rst|sh|env)$"
)
UUID: Final = re.compile(r"^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")
NUMBERED_URN: Final = re.compile(r"^[(<\[]?urn:uuid:[0-9a-fA-F\-]{36}[)>\]]?$")
HEXADECIMAL: Final = re.compile(r"^(?:0x)?[0-9a-fA-F]{16,}$")
_PUBLIC: Final = re.compile(
    r"^(?:ssh-(?:rsa|ed25519|dss)|ecdsa-sha2|sk-ssh|AAAA[BCE]3NzaC|SHA256:|sha(?:1|256|384|512)"
    r"[-:]|md5:"
    r"|pk_(?:live|test)_|LS0tLS1CRUdJTiBDRVJU|LS0tLS1CRUdJTiBQVUJM|MII[BCDEFGH][A-Za-z0-9+/]"
    r"{3}CCA[0-9a-zA-Z+/]{2}"
    r"|-----BEGIN (?:CERT|PUBL)|A[gQ][A-D][A-Za-z0-9+/]{200})"
)


def is_stand_in(value: str) -> bool:
    """Return whether the value is a mask, a template, an example or a word that stands for a
    secret.
    """
    if not value or _TEMPLATE.match(value) or (len(value) < _SHORT and _FORMAT.search(value)):
        return True
    if _MASK.search(value) and not is_dice(_STARS.sub("", value)):
        return True
    bare = value.strip("\"'`<>[](){}.,;:!?").lower()
    return (
        not bare
        or bare in _STAND_IN_WORDS
        or bool(_EXAMPLE.search(value))
        or bool(_YOURS.match(bare))
        or bool(_NAME_OF_ONE.match(bare))
        or len(set(bare)) == 1
    )


def is_reference(value: str, *, quoted: bool) -> bool:
    """Return whether the value says where the secret is, or is code that fetches it."""
    if _STORED_ELSEWHERE.match(value):
        return True
    if _looks_like_path(value) or _is_file_name(value) or _ADDRESS.match(value):
        return True
    if _CLASS_PATH.match(value):
        return not any(is_dice(part) or _is_odd(part) for part in value.split("."))
    if quoted:
        return False
    if _OPEN_CALL.match(value):
        return True
    is_call = bool(_CALL.match(value)) and not (value[-1] not in ")];" and is_dice(value))
    return is_call or bool(_CONSTANT.match(value))


def is_name_chain(value: str) -> bool:
    """Return whether the value is made of names as code has them: `settings.SECRET_KEY`,
    `keyFunc`.
    """
    return bool(_NAME_CHAIN.match(value)) and not is_dice(value)


def is_measure(value: str) -> bool:
    """Return whether the value is a plain number, duration, size, version or date."""
    return bool(_MEASURE.match(value) or _VERSION.match(value) or _DATE.match(value))


def is_public(value: str) -> bool:
    """Return whether the value is a public key, certificate, digest or ciphertext by its own
    shape.
    """
    return bool(_PUBLIC.match(value))


def is_strong(value: str) -> bool:
    """Return whether the value alone looks like a password or token: mixed, or long and random."""
    if len(value) < 6:
        return False
    if len(value) >= 16 and is_dice(value):
        return True
    if value.isalpha() and len(value) >= 8 and not is_prose(value):
        return jumble(value) > _ODD_CASE or wordiness(value) < _ODD_PAIRS
    letters, digits = any(map(str.isalpha, value)), any(map(str.isdigit, value))
    return letters and digits and (class_count(value) >= 3 or len(value) >= 8)


def is_prose(value: str) -> bool:
    """Return whether the value is a plain lower-case or capitalised word."""
    return value.isalpha() and (value[1:].islower() or value.isupper()) and wordiness(value) > 0


def _is_file_name(value: str) -> bool:
    """True for `server.key`; a secret that somebody named a file after stays one."""
    name = _FILE_NAME.match(value)
    if name is None:
        return False
    stem = name.group(1)
    return not (UUID.match(stem) or is_dice(stem) or _is_odd(stem))


def _is_odd(stem: str) -> bool:
    """True for letters and digits in no order that anybody would name a file."""
    if len(stem) < _SHORTEST_ODD or not stem.isalnum():
        return False
    return jumble(stem) > _ODD_CASE or (class_count(stem) >= 3 and wordiness(stem) < 0)


def _looks_like_path(value: str) -> bool:
    if not (_PATH.match(value) or _RELATIVE_PATH.match(value)):
        return False
    parts = [part for part in re.split(r"[/\\]", value) if part]
    return not any(is_dice(part) for part in parts) and (
        value.count("/") + value.count("\\") > 1 or len(value) < 20
    )
