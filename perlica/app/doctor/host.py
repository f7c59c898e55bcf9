"""Checks of the machine and of what the configuration means: clock, members, capabilities."""

import os
import platform
from collections.abc import Iterator
from datetime import UTC, datetime

from perlica import __version__
from perlica.app.capabilities.standing import Standing
from perlica.app.config import Config
from perlica.app.config.problems import filled
from perlica.app.doctor.findings import Finding, Level, error, note, ok, warning
from perlica.domain.clock import now_ms
from perlica.domain.texts import Language, Text

_MADE_AT_MS = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp() * 1000)
"""No clock that is right shows a time before this program was written."""
_FUTURE_MS = 60_000


def check_program() -> Iterator[Finding]:
    """Which program runs on what, and as whom."""
    yield ok("program", "program", _PROGRAM, version=__version__, python=platform.python_version())
    if os.geteuid() == 0:
        yield note("runs_as_root", "program", _AS_ROOT, _USE_A_USER)


def check_clock(config: Config) -> Iterator[Finding]:
    """The clock is not before the program's making, nor behind what was written already."""
    written_ms = [
        path.stat().st_mtime_ns // 1_000_000
        for path in config.service.state_dir.glob("perlica.db*")
        if path.is_file()
    ]
    if now_ms() < _MADE_AT_MS:
        yield error("clock_wrong", "clock", _CLOCK_EARLY, _SET_CLOCK)
    elif written_ms and max(written_ms) > now_ms() + _FUTURE_MS:
        yield warning("clock_went_back", "clock", _CLOCK_WENT_BACK, _SET_CLOCK)
    else:
        yield ok("clock_ok", "clock", _CLOCK_OK, zone=config.service.time_zone)


def check_members(config: Config) -> Iterator[Finding]:
    """Who is listed."""
    owners = len(config.members.owners)
    yield ok("members_ok", "members", _MEMBERS, owners=owners, all=len(config.listed))
    if owners == 1:
        yield note("members_one_owner", "members.owners", _ONE_OWNER)


def check_capabilities(config: Config) -> Iterator[Finding]:
    """What is on and what is off, with the reason."""
    for capability in config.capabilities():
        code = "capability_on"
        if not capability.on:
            code = "capability_off"
        elif capability.experimental:
            code = "capability_experimental"
        yield Finding(
            level=Level.ok if code == "capability_on" else Level.note,
            code=code,
            subject=f"capability.{capability.name}",
            text=_say_capability(capability),
            remedy=capability.remedy if code != "capability_on" else None,
        )


def _say_capability(capability: Standing) -> Text:
    """The capability, whether it is on, and why."""
    state = _ON if capability.on else _OFF
    zh, en = (
        state.say(
            language,
            name=capability.label.say(language),
            reason=capability.reason.say(language),
        )
        for language in (Language.zh, Language.en)
    )
    return filled(Text(zh="{zh}", en="{en}"), zh=zh, en=en)


_ON = Text(zh="{name}：已启用（{reason}）", en="{name}: on ({reason})")
_OFF = Text(zh="{name}：未启用（{reason}）", en="{name}: off ({reason})")
_PROGRAM = Text(zh="Perlica {version}，Python {python}", en="Perlica {version}, Python {python}")
_AS_ROOT = Text(zh="正在以 root 运行", en="this runs as root")
_USE_A_USER = Text(
    zh="正式环境请用单独的普通用户；只有 sandboxd 需要 root",
    en="use a user of its own in production; only sandboxd needs root",
)
_CLOCK_OK = Text(zh="时钟正常，时区 {zone}", en="the clock is plausible, time zone {zone}")
_CLOCK_EARLY = Text(zh="时钟停在过去", en="the clock stands in the past")
_CLOCK_WENT_BACK = Text(
    zh="数据库文件的时间在将来，时钟可能被拨回",
    en="the database is from the future, the clock may have been set back",
)
_SET_CLOCK = Text(
    zh="开启时间同步（NTP）；审批有效期按时钟计算",
    en="turn on time synchronisation; approvals expire by this clock",
)
_MEMBERS = Text(
    zh="{owners} 名 Owner，共 {all} 名成员", en="{owners} Owner(s), {all} listed in all"
)
_ONE_OWNER = Text(
    zh="只有一名 Owner，他不在时没人能审批", en="only one Owner: nobody approves when away"
)
