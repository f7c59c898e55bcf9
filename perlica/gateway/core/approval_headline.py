"""The first line of an approval: who asked, what happens to what, and what is lost by it.

For somebody who is tired and reads one line. `approval_text` puts it before the fields that the
plan's hash covers, which say the same exactly. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.ids import UserId
from perlica.domain.plan import ActionPlan, JsonValue
from perlica.domain.texts import Language, Text, clip_line, escape_visible, say_list
from perlica.domain.texts.actions import label_action
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
HEADLINES: Final[Mapping[str, Text]] = {
    "sandbox.delete": Text(
        zh="删除沙箱 {sandbox}：{files_lost}", en="delete sandbox {sandbox}: {files_lost}"
    ),
    "orphan.delete": Text(
        zh="删除节点 {node} 上不属于本服务的沙箱 {sandbox}：{files_lost}",
        en="delete sandbox {sandbox} on node {node}, which is not ours: {files_lost}",
    ),
    "image.switch": Text(
        zh="把沙箱镜像换成 {reference}：{destroyed}",
        en="switch the sandbox image to {reference}: {destroyed}",
    ),
    "node.write_off": Text(zh="核销节点 {node}：{lost}", en="write node {node} off: {lost}"),
    "sandbox.exec": Text(
        zh="在沙箱 {sandbox} 里执行命令：它可能改动或删除里面的任何文件。",
        en="run a command in sandbox {sandbox}: it may change or delete any of its files.",
    ),
    "sandbox.write": Text(
        zh="写沙箱 {sandbox} 的文件 {path}：原来的内容会被替换。",
        en="write {path} in sandbox {sandbox}: what it held is replaced.",
    ),
    "sandbox.read": Text(
        zh="读沙箱 {sandbox} 里的 {path}：{nothing_lost}",
        en="read {path} in sandbox {sandbox}. {nothing_lost}",
    ),
    "sandbox.create": Text(
        zh="创建沙箱 {sandbox}：占一个名额，{nothing_lost}",
        en="create sandbox {sandbox}: it takes a slot. {nothing_lost}",
    ),
    "sandbox.stop": Text(
        zh="停止沙箱 {sandbox}：正在运行的程序会中断，文件保留。",
        en="stop sandbox {sandbox}: what runs in it is ended, files stay.",
    ),
    "sandbox.describe": Text(
        zh="修改沙箱 {sandbox} 的用途说明：原来的说明会被替换。",
        en="describe sandbox {sandbox} anew: its old description is replaced.",
    ),
    "sandbox.keep": Text(
        zh="让沙箱 {sandbox} 的说明保持不变：{nothing_lost}",
        en="keep sandbox {sandbox} described as it is. {nothing_lost}",
    ),
    "sandbox.image": Text(zh="查看沙箱镜像：{nothing_lost}", en="see the image. {nothing_lost}"),
    "sandbox.list": Text(zh="列出沙箱：{nothing_lost}", en="list sandboxes. {nothing_lost}"),
    "image.introduce": Text(
        zh="修改沙箱镜像的介绍：原来的介绍会被替换。",
        en="introduce the sandbox image anew: its old introduction is replaced.",
    ),
    "image.retry": Text(
        zh="让受阻的镜像更换继续：批准过要删除的沙箱会接着删除。",
        en="let the blocked image switch go on: what it was to delete is deleted.",
    ),
    "history.recent": Text(
        zh="查看最近的群消息：{nothing_lost}", en="read recent group messages. {nothing_lost}"
    ),
    "history.search": Text(
        zh="检索群历史：{nothing_lost}", en="search the group's history. {nothing_lost}"
    ),
}
"""By action, behind `_WISHES`; an action that stands not here is told by its label."""


def headline(plan: ActionPlan, asked_by: AskedBy, language: Language) -> str:
    """One line without its end; whatever people or nodes named in it is escaped."""
    text = HEADLINES.get(plan.action, _UNKNOWN)
    wish = _WISHES[asked_by.by_command].say(language, who=_say_who(asked_by, language))
    return wish + text.say(
        language,
        action=label_action(plan.action, language),
        sandbox=_word(plan.target, "sandbox"),
        node=_word(plan.target, "node"),
        reference=_word(plan.target, "reference"),
        path=_word(plan.effect, "path"),
        files_lost=_FILES_LOST.say(language),
        nothing_lost=_NOTHING_LOST.say(language),
        destroyed=_say_names(plan.effect.get("destroys"), _DESTROYED, _NONE_DESTROYED, language),
        lost=_say_names(plan.effect.get("loses"), _LOST, _NONE_LOST, language),
    )


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
