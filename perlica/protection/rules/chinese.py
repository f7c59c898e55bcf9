"""How people write passwords in Chinese: label, connector, value; pairs of account and password;
codes.

Names in Latin letters with a plain separator belong to `keyed`; this file knows the Chinese
labels and the
Chinese connectors (是, 为, 改成, …) behind labels of either script.
"""

import re
from typing import Final

from perlica.protection.engine import LINE, Match, linear
from perlica.protection.judgement import Setting, is_secret, is_worded
from perlica.protection.rules.keyed import NAME, NEXT_PAIR, Value, read_value
from perlica.protection.sheet import NOT_ASCII, Sheet
from perlica.protection.values import is_measure, is_stand_in, is_strong
from perlica.protection.vocabulary import (
    CHINESE_PASSWORDS,
    CHINESE_SECRETS,
    Announces,
    KeyName,
    understand,
)
from perlica.protection.wording import class_count

KINDS: Final = frozenset({"password", "secret", "one_time_code", "seed"})

_PASSWORDS: Final = "|".join(CHINESE_PASSWORDS)
_SECRETS: Final = "|".join(CHINESE_SECRETS)
_CJK: Final = r"(?:[\xe3-\xef][\x80-\xbf][\x80-\xbf]|[, \n])"
_NOTE: Final = r"(?:（[^\n(]{0,60}?）|\([^)\n]{0,40}\))?"
_FIRM: Final = (
    r"[ \t]{0,3}(?:】|〕|\]|」|》|\*\*|\\?[\"'`])?[ \t]{0,3}"
    r"(?:(?:都|统一|默认|现在|目前|暂时|先|还|又|已|"
    r"已经|刚|刚刚|我|给你|被|重新|也|"
    r"就)?"
    r"(?:={1,2}>|-{1,2}>|→|➜|>{1,2}|[:=：＝]|——?|--|是|为|叫|改成了?|改为了?|改到|设成了?|设为了?|设置成了?|"
    r"设置为|换成了?|换为|重置成了?|重置为|更新成了?|"
    r"更新为|变成了?|变更为"
    r"|修改为|修改成|初始化为|填|填写|输入|输|用的是|用的|用)[ \t]{0,2}[:=：是]?)[ \t]{0,4}"
    r"(?:\n[> \t]{0,4}){0,2}"
)
_OPEN: Final = r"(?:「|『|【|《|〈|（|\(|\[|“|‘|<|\*\*)?[ \t]?"
_LABELLED: Final = linear(
    rf"({_PASSWORDS})|({_SECRETS})|[\x80-\xff]({NAME})|({NAME})(?:[ \t]{{0,3}}|[ \t]?\([^)\n]"
    r"*\)[ \t]?)[\xe2-\xef]",
    ignore_case=True,
    gates=(NOT_ASCII,),
    reach=LINE,
)
_CONNECTOR: Final = linear(_NOTE + _FIRM + _OPEN)
_LATIN_CONNECTOR: Final = linear(
    r"[ \t]{0,2}"
    + _NOTE
    + (
        r"[ \t]{0,2}(?:(?:都|默认|现在|先|我|已经|给你|就)?(?:是|为|叫|改成了?|改为|换成了?|设为|"
        r"设成|重置为|重置成|更新为|更新成|用的是|：|"
        r"={1,2}>|-{1,2}>|:|=|→|➜|，|、)[ \t]{0,2}[:=：]?|(?:】|〕|」|》|\*\*)(?:[:=：]|是|为)?)"
        r"[ \t]{0,4}\n?[ \t]{0,4}"
    )
    + _OPEN
)
_BRACKET: Final = linear(_NOTE + r"[ \t]{0,2}(?:】|」|\))?[ \t]{0,2}(?:「|『|【|《|（|\(|“)[ \t]?")
_SPACE: Final = linear(
    _NOTE + r"(?:[ \t]{1,8}|[ \t]{0,4}\n[ \t]{0,4}"
    r"|，[ \t]?|,[ \t]?|\|[ \t]?|(?:】|〕|」|》|\))[ \t]{0,3})"
)
_FAR_TEXT: Final = (
    r"(?:是|为|:|：|改成了?|换成了?|设成了?|设为|重置成|重置为|更新为|叫|用|的)[ \t]{0,3}[:：]?[ "
    r"\t]{0,3}" + _OPEN
)
_FAR: Final = (linear(_CJK + "{1,12}?" + _FAR_TEXT), linear(_CJK + "{1,12}" + _FAR_TEXT))
_DESCRIBES: Final = re.compile(
    "^(?:加密|算法|位|个|字|天|次|分|小时|元|年|月|日|级|项|种|条|步|到|至|~|以上|以内|算法|加密|"
    "编码|格式|哈希|版)"
)
_ONLY_RANGE: Final = re.compile(r"^[\d\-~.]+$")
_PAIR: Final = linear(
    r"(?:账号密码|帐号密码|账户密码|用户名密码|用户密码|账密|帐密|用户名/密码|账号/密码|登录信息|"
    r"登陆信息|登录账号|登陆账号|登录用|登陆用|账号|用户名)(?:都|统一|"
    r"还|就)?(?:是|为|用|:|：)?[ \t]{0,3}"
    r"([A-Za-z0-9_.@\-]{2,40})[ \t]{0,3}(?:/|,|，|、|\||:|：|[ \t]|和|跟)[ \t]{0,3}(?:密码)?[ \t]"
    r"{0,2}",
    gates=("账", "帐", "用户", "登录", "登陆"),
    reach=LINE,
)
_KNOWN_USER: Final = linear(
    r"(?:^|[\s,，:：(（\"'>])(?:root|admin|administrator|sa|postgres|sysadmin|superuser|oracle|"
    r"ubuntu)[ \t]{0,2}[/:|][ \t]{0,2}([^\s\"'`/|<>:\x80-\xff]{6,60})(?:[\s,;)\"'\x80-\xff]|$)",
    ignore_case=True,
    gates=(
        "root",
        "admin",
        "postgres",
        "superuser",
        "oracle",
        "ubuntu",
        "sa/",
        "sa:",
        "sa |",
        "sa :",
    ),
    reach=LINE,
)
_USER_BY_SPACE: Final = linear(
    r"(?:账号|帐号|用户|后台|登录|登陆|服务器|机器|跳板机|堡垒机|数据库|面板)[^\n]{0,40}?[ ,:]"
    r"(?:root|admin|administrator|"
    r"ubuntu|postgres|oracle|sa)[ \t]{1,3}([A-Za-z0-9!@#$%^&*_+=.~?\-]{8,40})(?:[\s,;\x80-\xff]|"
    r"$)",
    ignore_case=True,
    gates=(
        "账号",
        "帐号",
        "用户",
        "后台",
        "登录",
        "登陆",
        "服务器",
        "机器",
        "跳板机",
        "堡垒机",
        "数据库",
        "面板",
    ),
    reach=LINE,
)
_CODE: Final = linear(
    r"(?:验证码|校验码|动态码|动态口令|动态密码|短信码|认证码|取件密码)(?:是|为|:|：|=)?[ \t]{0,"
    r"3}(?:【|「|\[)?[ \t]?([0-9]{4,8})",
    gates=("码", "动态口令"),
    reach=LINE,
)
_BEFORE: Final = linear(
    r"([A-Za-z0-9!@#$%^&*_+=.~?\-]{6,60})[ \t]{0,2}(?:这个|这)?(?:是|就是|当|作为)(?:新|旧|登录|"
    r"初始|默认|服务器|数据库|"
    r"管理员|root|你的|我的|他的|的){0,3}(?:密码|口令|密钥|token|key|secret)",
    ignore_case=True,
    gates=("是", "当", "作为"),
    reach=LINE,
)
_LONGEST_NAME: Final = 120
_BEYOND_ASCII: Final = 0x80
_NEXT_CHARS: Final = 24
_STEPS_OF_A_LABEL: Final = 4
_PASSWORD_NAME: Final = KeyName(Announces.PASSWORD, "password", is_loud=False, is_bare=True)
_SECRET_NAME: Final = KeyName(Announces.SECRET, "secret", is_loud=False, is_bare=True)


def detect(sheet: Sheet) -> None:
    """Find passwords behind Chinese labels and connectors."""
    data = sheet.data
    for match in sheet.matches(_KNOWN_USER):
        _add_if_strong(sheet, Value(*match.span(1), quoted=False), classes=3)
    if data.isascii():
        return
    for match in sheet.matches(_LABELLED):
        name = _name_of(match)
        if name.announces is not Announces.NOTHING:
            _look_behind(sheet, match, name)
    for match in sheet.matches(_PAIR):
        _add_if_strong(sheet, read_value(data, match.end()))
    for match in sheet.matches(_USER_BY_SPACE):
        _add_if_strong(sheet, Value(*match.span(1), quoted=False), classes=3)
    for match in sheet.matches(_CODE):
        sheet.add(*match.span(1), kind="one_time_code", rule="chinese.code", rank=24)
    for match in sheet.matches(_BEFORE):
        _add_if_strong(sheet, Value(*match.span(1), quoted=False))


def _name_of(match: Match) -> KeyName:
    if match.start(1) >= 0:
        return _PASSWORD_NAME
    if match.start(2) >= 0:
        return _SECRET_NAME
    name = understand(match.group(_latin_group(match))[-_LONGEST_NAME:].decode("latin-1"))
    if name.announces is Announces.MAYBE_SECRET and name.kind == "key":
        return KeyName(Announces.SECRET, "key", is_loud=True, is_bare=name.is_bare)
    return name


def _latin_group(match: Match) -> int:
    """Return the group of a name in Latin letters: behind a Chinese character, or before one."""
    return 3 if match.start(3) >= 0 else 4


def _look_behind(sheet: Sheet, label: Match, name: KeyName) -> None:
    data = sheet.data
    sheet.budget.spend(_STEPS_OF_A_LABEL)
    is_chinese = label.start(1) >= 0 or label.start(2) >= 0
    at = label.end() if is_chinese else label.end(_latin_group(label))
    for pattern in (_CONNECTOR if is_chinese else _LATIN_CONNECTOR, _BRACKET):
        connector = pattern.match(data, at)
        if connector is None:
            continue
        around = data[max(0, label.start() - 1) : connector.end()]
        if (is_chinese or not around.isascii()) and _try(sheet, connector.end(), name, firm=True):
            return
    if not is_chinese:
        return
    spaced = _SPACE.match(data, at)
    if spaced and _try(sheet, spaced.end(), name, firm=False):
        return
    for pattern in _FAR:
        far = pattern.match(data, at)
        if far and _try(sheet, far.end(), name, firm=False):
            return
    glued = read_value(data, at)
    if glued and not glued.quoted and not NEXT_PAIR.match(data[glued.start : glued.end]):
        _add_if_strong(sheet, glued, classes=3)


def _try(sheet: Sheet, at: int, name: KeyName, *, firm: bool) -> bool:
    value = read_value(sheet.data, at)
    if value is None or _is_description(sheet.data, value):
        return False
    text = sheet.data[value.start : value.end].decode("latin-1")
    setting = Setting(quoted=value.quoted, alone=_is_alone(sheet.data, value.end), firm=firm)
    if not is_secret(name, text, setting):
        return False
    sheet.add(value.start, value.end, kind=name.kind, rule="chinese.label", rank=22)
    return True


def _is_alone(data: bytes, end: int) -> bool:
    rest = data[end : end + 2].decode("latin-1").lstrip(" \t")
    return not rest or rest[0] in "\r\n" or rest[0] >= "\x80"


def _is_description(data: bytes, value: Value) -> bool:
    """True for `8-20 位`, `90 天`, `SHA256 加密`: about passwords, not one."""
    rest = data[value.end : value.end + _NEXT_CHARS].decode(errors="ignore").lstrip()
    text = data[value.start : value.end].decode("latin-1")
    if _ONLY_RANGE.match(text) and (not text.isdigit() or _DESCRIBES.match(rest)):
        return True
    return bool(_DESCRIBES.match(rest)) and len(text) < 12


def _add_if_strong(sheet: Sheet, value: Value | None, *, classes: int = 2) -> None:
    if value is None:
        return
    text = sheet.data[value.start : value.end].decode("latin-1")
    if (
        ("-" in text and is_worded(text))
        or _is_description(sheet.data, value)
        or is_stand_in(text)
        or is_measure(text)
        or not is_strong(text)
        or class_count(text) < classes
    ):
        return
    sheet.add(value.start, value.end, kind="password", rule="chinese.pair", rank=21)
