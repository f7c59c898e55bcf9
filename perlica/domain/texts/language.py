"""A text in every language that Perlica speaks; durations, times and lists inside one."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, tzinfo
from enum import StrEnum
from string import Formatter

_SECOND_MS = 1_000


class Language(StrEnum):
    """What the group and the operator read; `service.language` chooses."""

    zh = "zh"
    en = "en"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """One thing to say; a language cannot be left out. `{name}` marks what is filled in."""

    zh: str
    en: str

    def say(self, language: Language, /, **fields: str | int) -> str:
        """The text with its fields filled in; every field must be given."""
        return self._template(language).format(**fields)

    def fields(self, language: Language) -> frozenset[str]:
        """Names of what one language's wording wants to be filled in."""
        return frozenset(
            name for _, name, _, _ in Formatter().parse(self._template(language)) if name
        )

    def _template(self, language: Language) -> str:
        return self.zh if language is Language.zh else self.en


_SECONDS = Text(zh="{seconds} 秒", en="{seconds} s")
_MINUTES = Text(zh="{minutes} 分 {seconds} 秒", en="{minutes} min {seconds} s")
_HOURS = Text(zh="{hours} 小时 {minutes} 分", en="{hours} h {minutes} min")
_DAYS = Text(zh="{days} 天 {hours} 小时", en="{days} d {hours} h")
_COMMA = Text(zh="、", en=", ")


def say_duration(duration_ms: int, language: Language) -> str:
    """A duration with its two largest units; negative ones count as nothing."""
    total_s = max(0, duration_ms) // _SECOND_MS
    minutes, seconds = divmod(total_s, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return _DAYS.say(language, days=days, hours=hours)
    if hours:
        return _HOURS.say(language, hours=hours, minutes=minutes)
    if minutes:
        return _MINUTES.say(language, minutes=minutes, seconds=seconds)
    return _SECONDS.say(language, seconds=seconds)


def say_time(at_ms: int, zone: tzinfo) -> str:
    """A time of day with its distance from UTC, such as `18:04:05 (UTC+08:00)`."""
    moment = datetime.fromtimestamp(at_ms / _SECOND_MS, zone)
    offset = moment.strftime("%z")
    return f"{moment:%H:%M:%S} (UTC{offset[:3]}:{offset[3:5]})"


def say_list(items: Iterable[str], language: Language) -> str:
    """Items on one line with the language's own separator."""
    return _COMMA.say(language).join(items)
