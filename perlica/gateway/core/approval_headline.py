"""The first line of an approval: who asked, what happens to what, and what is lost by it.

For somebody who is tired and reads one line. `approval_text` puts it before the fields that the
plan's hash covers, which say the same exactly. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Final

from perlica.domain.actions import ActionCatalog
from perlica.domain.ids import UserId
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.texts import Language, Text, clip_line, escape_visible, say_list
from perlica.domain.texts.notices import NAME_CODE_POINTS

_VALUE_CODE_POINTS: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedBy:
    """Whose wish it is; `name` is a protected display name, "" where none is known."""

    user: UserId
    is_owner: bool
    by_command: bool
    name: str = field(default="", repr=False)


_WHO: Final[Mapping[bool, Text]] = {
    True: Text(zh="Owner {who}", en="Owner {who}"),
    False: Text(zh="成员 {who}", en="Member {who}"),
}
_NAMED: Final = Text(zh="{name}（{user}）", en="{name} ({user})")
_NAMELESS: Final = Text(zh="{user} ", en="{user}")
_WISHES: Final[Mapping[bool, Text]] = {
    True: Text(zh="{who}发命令，要", en="{who} ordered to "),
    False: Text(zh="{who}要", en="{who} wants to "),
}
_NOTHING_LOST: Final = Text(zh="不会丢失什么。", en="Nothing is lost.")
_FILES_LOST: Final = Text(
    zh="里面的文件会全部丢失，找不回来。", en="all its files are lost for good."
)
_NONE_DESTROYED: Final = Text(
    zh="现在没有沙箱，不会丢失文件。", en="there is no sandbox now, no file is lost."
)
_DESTROYED: Final = Text(
    zh="沙箱 {names} 会被删除，里面的文件全部丢失，找不回来。",
    en="{names} will be deleted, all their files are lost for good.",
)
_NONE_LOST: Final = Text(
    zh="它上面没有沙箱，不会丢失文件。", en="it holds no sandbox, no file is lost."
)
_LOST: Final = Text(
    zh="它上面的沙箱 {names} 会记为丢失，里面的文件找不回来。",
    en="its sandboxes {names} count as lost, their files are gone for good.",
)
_UNKNOWN: Final = Text(
    zh="{action}：会丢失什么，要逐项看下面的内容。",
    en="do this: {action}. What is lost by it, the lines below must tell.",
)


def headline(
    plan: ActionPlan, asked_by: AskedBy, language: Language, actions: ActionCatalog
) -> str:
    """One line without its end; whatever people or nodes named in it is escaped.

    An action without a headline of its own is told by its label.
    """
    spec = actions.find(plan.action)
    text = spec.headline if spec is not None and spec.headline is not None else _UNKNOWN
    wish = _WISHES[asked_by.by_command].say(language, who=_say_who(asked_by, language))
    return wish + text.say(language, **_words(plan, text, language, actions))


def _words(
    plan: ActionPlan, text: Text, language: Language, actions: ActionCatalog
) -> Mapping[str, str]:
    """What stands for each name in the headline: a loss, or a word of the plan."""
    said = {
        "action": actions.label(plan.action, language),
        "files_lost": _FILES_LOST.say(language),
        "nothing_lost": _NOTHING_LOST.say(language),
        "destroyed": _say_names(plan.effect.get("destroys"), _DESTROYED, _NONE_DESTROYED, language),
        "lost": _say_names(plan.effect.get("loses"), _LOST, _NONE_LOST, language),
    }
    names = {name for _, name, _, _ in Formatter().parse(text.zh + text.en) if name}
    fields = {**plan.effect, **plan.target}
    return {name: said.get(name) or _word(fields, name) for name in names}


def _say_who(asked_by: AskedBy, language: Language) -> str:
    """By role and number; the name that he gave himself stands in quotes that it cannot leave."""
    who = _NAMELESS.say(language, user=asked_by.user)
    if asked_by.name:
        name = clip_line(asked_by.name, NAME_CODE_POINTS).replace('"', "'")
        who = _NAMED.say(language, name=f'"{name}"', user=asked_by.user)
    return _WHO[asked_by.is_owner].say(language, who=who)


def _word(fields: Mapping[str, JsonValue], key: str) -> str:
    value = fields.get(key)
    return clip_line(value, _VALUE_CODE_POINTS) if isinstance(value, str) else "?"


def _say_names(value: JsonValue, some: Text, none: Text, language: Language) -> str:
    """The names in a list of sandboxes, which is empty where nothing is lost."""
    if value == []:
        return none.say(language)
    items = value if isinstance(value, list) else [value]
    names = (
        escape_visible(str(item.get("name", "?"))) if isinstance(item, dict) else "?"
        for item in items
    )
    return some.say(language, names=say_list(names, language))
