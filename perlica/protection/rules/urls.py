"""Addresses that carry a secret: userinfo, connection strings, signed links, web hooks, proxy
share links.

Query parameters with a plain key name are left to the key-value rule.
"""

import re
from typing import Final
from urllib.parse import unquote

from perlica.protection.engine import LINE, NEAR, Pattern, linear
from perlica.protection.sheet import Gated, Sheet
from perlica.protection.values import UUID, is_stand_in, is_strong
from perlica.protection.wording import is_dice

KINDS: Final = frozenset({"url_password", "url_token", "webhook", "signed_url", "share_link"})

_USERINFO: Final = linear(
    r"://([^\s/@:?#\"'`<>]*):([^\s/\"'`<>]+)@[A-Za-z0-9\[_%$\{]", gates=("://",), reach=LINE
)
_USERINFO_SLASH: Final = linear(
    r"://([^\s/@:?#\"'`<>.]*):([^\s@\"'`<>]+)@[A-Za-z0-9.\-]+(?::\d+|/)", gates=("://",), reach=LINE
)
_LONE_USER: Final = linear(
    r"https?://([A-Za-z0-9_\-.~%]{16,})@[A-Za-z0-9]", gates=("://",), reach=LINE
)
_DRIVER: Final = linear(
    r"([A-Za-z0-9_.\-]+):([^\s/:\"'`<>]+)@(?:tcp|tcp6|unix|udp)\(",
    gates=("@tcp", "@unix", "@udp"),
    reach=LINE,
)
_THIN: Final = linear(
    r"(?:thin:|sqlplus(?:\s+-\w+)*\s+|imp(?:dp)?\s+|exp(?:dp)?\s+|sqlldr\s+)\"?([A-Za-z0-9_$#.\-]"
    r"{1,40})/(\"[^\"\n]+\"|[^\s/\"']+)(?:@[A-Za-z0-9_.:/\-]*|\s|$)",
    gates=("thin:", "sqlplus", "impdp", "expdp", "imp ", "exp ", "sqlldr"),
    reach=NEAR,
)
_BARE_PAIR: Final = linear(
    r"(?:^|[\s=\"'`(])(?:[A-Za-z0-9_.\-]+[/\\])?([A-Za-z][A-Za-z0-9_.\-]*):([^\s:@/\"'`<>]{6,})"
    r"@(?:(?:\d{1,3}\.){3}\d{1,3}|[A-Za-z0-9\-]+(?:\.[A-Za-z0-9\-]+)+)",
    gates=("@",),
    reach=LINE,
)
_SIGNED: Final = linear(
    r"[?&;](?:sig|signature|x-amz-signature|x-amz-security-token|x-goog-signature|"
    r"x-oss-signature|x-oss-security-token"
    r"|x-cos-security-token|x-tos-signature|x-tos-security-token|x-bce-security-token|"
    r"q-signature|x-obs-security-token"
    r"|auth_key|authkey|rkey|ticket|hmac|policy_sig|googleaccessid_sig|ossaccesskeyid|"
    r"awsaccesskeyid|q-ak|sharekey"
    r"|x-oss-credential|x-amz-credential|accesskeyid|code|e_sig|wssecret|wstoken|txsecret|upsig|"
    r"hdnts)=([^\s&\"'`<>#\\]{12,})",
    ignore_case=True,
    gates=(
        "sig=",
        "signature=",
        "token=",
        "key=",
        "ticket=",
        "hmac=",
        "keyid=",
        "-ak=",
        "credential=",
        "code=",
        "secret=",
        "hdnts=",
    ),
    reach=LINE,
)
_HOOK_SHAPES: Final = (
    (
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_\-]{20,})",
    ),
    (
        "/webhooks/",
        r"discord(?:app)?\.com/api(?:/v\d+)?/webhooks/\d{15,22}/([A-Za-z0-9_\-]{40,100})",
    ),
    ("qyapi.", r"qyapi\.weixin\.qq\.com/[a-z/\-]+\?(?:[\w=&]*&)?key=([A-Za-z0-9\-]{16,})"),
    ("dingtalk", r"oapi\.dingtalk\.com/robot/send\?(?:[\w=&]*&)?access_token=([A-Za-z0-9]{32,80})"),
    (
        "/hook/",
        r"open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/(?:v2/)?hook/([A-Za-z0-9\-]{16,})",
    ),
    (
        "trigger-webhook",
        r"www\.(?:feishu\.cn|larksuite\.com)/flow/api/trigger-webhook/([A-Za-z0-9\-]{16,})",
    ),
    (
        "office.com/webhook",
        r"(?:webhook\.office\.com/webhookb2|outlook\.office\.com/webhook)/([A-Za-z0-9@\-/]{40,})",
    ),
    ("api.telegram", r"api\.telegram\.org/(?:file/)?bot(\d{6,12}:[A-Za-z0-9_\-]{30,50})"),
    ("hooks.zapier", r"hooks\.zapier\.com/hooks/catch/(\d{3,12}/[A-Za-z0-9]{5,20})"),
    (
        "maker.ifttt",
        r"maker\.ifttt\.com/(?:trigger/[^\s/]+/(?:json/)?)?(?:with/key|use)/([A-Za-z0-9_\-]{16,})",
    ),
    ("://hook.", r"hook\.(?:[a-z0-9]{2,6}\.)?(?:make|integromat)\.com/([A-Za-z0-9]{20,64})"),
    ("ftqq", r"(?:sctapi|sc)\.ftqq\.com/([A-Za-z0-9]{20,80})\.send"),
    ("api.day.app", r"api\.day\.app/([A-Za-z0-9]{18,40})"),
    ("/hooks/", r"/hooks/([a-z0-9]{26})\b"),
    ("/hooks/", r"/hooks/([A-Za-z0-9]{17,24}/[A-Za-z0-9]{30,80})"),
    ("hc-ping", r"hc-ping\.com/([A-Za-z0-9\-]{20,80})"),
    (
        "hook/|hooks/|notify/|callback/|incoming/",
        r"(?:hook|notify|callback)s?/(?:incoming/)?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})",
    ),
    ("chat.googleapis", r"chat\.googleapis\.com/v1/spaces/[\w\-]+/messages\?([^\s\"'<>]{20,})"),
    ("logic.azure", r"logic\.azure\.com[^\s\"'<>]*[?&]sig=([A-Za-z0-9_\-%]{20,100})"),
    (
        "subscribe/|sub/|link/|/client/",
        r"(?:subscribe|sub|link|api/v\d/client)/([A-Za-z0-9]{16,})(?:[?/\s\"']|$)",
    ),
)
_HOOKS: Final = tuple(
    linear(pattern, ignore_case=True, gates=gates.split("|"), reach=LINE)
    for gates, pattern in _HOOK_SHAPES
)
_GATED_HOOKS: Final = Gated(_HOOKS)
_LOOSE: Final = frozenset({16, 19})
_SHARE: Final = linear(
    r"(?:ss|ssr|vmess|trojan|trojan-go|vless|hysteria|hysteria2|hy2|tuic|snell|anytls|"
    r"naive\+https|wireguard|juicity)://([A-Za-z0-9+/=_\-%:.~!*@$&]{6,})",
    gates=("://",),
    reach=LINE,
)
_TROJAN: Final = linear(
    r"(?:trojan|trojan-go|hysteria2?|hy2|anytls|juicity|tuic|snell)://([^\s\"'`<>]+)"
    r"@[A-Za-z0-9.\-\[\]:]+:\d+",
    gates=("://",),
    reach=LINE,
)
_DIGITS_PATH: Final = re.compile(r"\d{1,5}(?:[/?#].*)?$")


def detect(sheet: Sheet) -> None:
    """Find secrets in addresses."""
    _find_userinfo(sheet)
    _find_share_links(sheet)
    for number in sheet.possible(_GATED_HOOKS):
        _find_hook(sheet, _HOOKS[number], loose=number in _LOOSE)
    for match in sheet.matches(_SIGNED):
        _add_signed(sheet, *match.span(1))


def _find_userinfo(sheet: Sheet) -> None:
    for pattern in (_USERINFO, _USERINFO_SLASH):
        for match in sheet.matches(pattern):
            _add_password(sheet, *match.span(2))
    for pattern in (_DRIVER, _THIN):
        for match in sheet.matches(pattern):
            _add_password(sheet, *match.span(2))
    for match in sheet.matches(_BARE_PAIR):
        if match.group(1) != b"mailto" and is_strong(_text(sheet, *match.span(2))):
            _add_password(sheet, *match.span(2))
    for match in sheet.matches(_LONE_USER):
        if is_dice(_text(sheet, *match.span(1))):
            sheet.add(*match.span(1), kind="url_token", rule="url.user", rank=40)


def _text(sheet: Sheet, start: int, end: int) -> str:
    return sheet.data[start:end].decode("latin-1")


def _add_password(sheet: Sheet, start: int, end: int) -> None:
    text = _text(sheet, start, end)
    if not is_stand_in(unquote(text)) and not _DIGITS_PATH.match(text) and "://" not in text:
        sheet.add(start, end, kind="url_password", rule="url.password", rank=45)


def _add_signed(sheet: Sheet, start: int, end: int) -> None:
    text = unquote(_text(sheet, start, end), encoding="latin-1")
    alphabet = sum(char.isalnum() for char in text)
    if is_stand_in(text) or alphabet < 12 or not (is_dice(text) or UUID.match(text)):
        return
    sheet.add(start, end, kind="signed_url", rule="url.signature", rank=40)


def _find_share_links(sheet: Sheet) -> None:
    for match in sheet.matches(_SHARE):
        start, end = match.span(1)
        before = match.start()
        if before and sheet.data[before - 1 : before].isalnum():
            continue
        at = sheet.data.find(b"@", start, end)
        _add_share(sheet, start, at if at >= 0 else end)
    for match in sheet.matches(_TROJAN):
        _add_share(sheet, *match.span(1))


def _add_share(sheet: Sheet, start: int, end: int) -> None:
    if not is_stand_in(_text(sheet, start, end)):
        sheet.add(start, end, kind="share_link", rule="url.share", rank=65)


def _find_hook(sheet: Sheet, pattern: Pattern, *, loose: bool) -> None:
    for match in sheet.matches(pattern):
        text = _text(sheet, *match.span(1))
        parts = re.split(r"[/@]", text)
        random = UUID.match(text) or any(is_dice(part) or UUID.match(part) for part in parts)
        if not is_stand_in(text) and (random or not loose):
            sheet.add(*match.span(1), kind="webhook", rule="url.hook", rank=66)
