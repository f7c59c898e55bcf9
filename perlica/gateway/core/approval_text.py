"""The message that asks the Owners: every field that the plan's hash covers, whole and visible.

Written when a High action asks for its ticket. Elsewhere texts were approved
that showed less, or something else, than what was run. Pure.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta, timezone, tzinfo
from typing import Final

from perlica.domain.actions import SCOPES, ActionCatalog
from perlica.domain.errors import Refused
from perlica.domain.ids import TicketId
from perlica.domain.plan import ActionPlan, JsonValue, hash_plan
from perlica.domain.texts import Language, Text, clip_line, escape_visible, say_time
from perlica.gateway.core.approval_headline import AskedBy, headline

FIRST: Final = ("sandbox", "node", "orphan", "reference")
"""Keys of a target that people know it by; shown before what is done, the others behind it."""
KINDS: Final[Mapping[str, Text]] = {
    "node": Text(zh="节点 {name}", en="node:{name}"),
    "nodes": Text(zh="各节点 {name}", en="nodes:{name}"),
    "sandbox": Text(zh="沙箱 {name}", en="sandbox:{name}"),
}
"""What stands before the colon of a destination."""
MAX_CODE_POINTS = 1_200
SHORT_HASH_DIGITS = 12
SUMMARY_CODE_POINTS = 120
CHINA_TIME = timezone(timedelta(hours=8))

_HEAD = Text(zh="【审批请求 {ticket}】{headline}", en="【Approval {ticket}】{headline}")
_LINE = Text(zh="{label}：{value}", en="{label}: {value}")
_ACTION = Text(zh="{label}（{action}）", en="{label} ({action})")
_ORIGINS: Mapping[str, Text] = {
    "task": Text(zh="任务 {id}", en="task {id}"),
    "command": Text(zh="命令消息 {id}", en="command message {id}"),
}
_ORIGIN_OTHER = Text(zh="{kind} {id}", en="{kind} {id}")
_NONE = Text(zh="无", en="none")
_FIELDS: Mapping[str, Text] = {
    "action": Text(zh="动作", en="Action"),
    "target": Text(zh="目标（{key}）", en="Target ({key})"),
    "effect": Text(zh="参数（{key}）", en="Parameter ({key})"),
    "scope": Text(zh="影响范围", en="Scope"),
    "destination": Text(zh="出站目的地", en="Destination"),
    "expected": Text(zh="预期结果", en="Expected result"),
    "identity": Text(zh="执行身份", en="Identity"),
    "origin": Text(zh="发起", en="Asked by"),
    "policy_version": Text(zh="策略版本", en="Policy version"),
    "hash": Text(zh="计划短哈希", en="Plan hash"),
    "expiry": Text(zh="有效期", en="Valid"),
}
_EXPIRY = Text(
    zh="到 {time}，只执行一次，任何一项变化都要重新审批",
    en="until {time}, for one execution; any change needs a new approval",
)
_DENY = Text(zh="拒绝请单独发：\n.deny {ticket}", en="To refuse, send this alone:\n.deny {ticket}")
_APPROVE = Text(
    zh="同意请单独发：\n.approve {ticket} {code}",
    en="To allow it, send this alone:\n.approve {ticket} {code}",
)
"""The command stands on a line of its own, so that it can be copied whole."""
_TOO_LONG = "the plan is too long to be shown whole to an Owner; make its parameters shorter"


def approval_text(
    plan: ActionPlan,
    *,
    asked_by: AskedBy,
    ticket: TicketId,
    code: str,
    expires_at_ms: int,
    language: Language,
    actions: ActionCatalog,
    zone: tzinfo = CHINA_TIME,
) -> str:
    """The whole approval message; `zone` is that of the time it shows.

    It begins with what a tired person needs to know and ends with what he copies; every field that
    the hash covers stands in between.

    Raises: Refused (`plan_too_long`) when it does not fit into 1,200 code points: nothing of a plan
    is ever left out, shortened or shown without its escapes.
    """
    lines = [
        _HEAD.say(language, ticket=ticket, headline=headline(plan, asked_by, language, actions)),
        *(_line(label, value, language) for label, value in _plan_lines(plan, language, actions)),
        _line(_FIELDS["hash"].say(language), hash_plan(plan)[:SHORT_HASH_DIGITS], language),
        _line(
            _FIELDS["expiry"].say(language),
            _EXPIRY.say(language, time=say_time(expires_at_ms, zone)),
            language,
        ),
        _DENY.say(language, ticket=ticket),
        _APPROVE.say(language, ticket=ticket, code=code),
    ]
    text = "\n".join(lines)
    if len(text) > MAX_CODE_POINTS:
        raise Refused("plan_too_long", _TOO_LONG)
    return text


def summarise_target(plan: ActionPlan) -> str:
    """The plan's action and target on one line for lists, escaped, cut at 120 code points."""
    leaves = sorted(_flatten(plan.target), key=lambda leaf: _rank(leaf[0]))
    target = ", ".join(f"{key}={value}" for key, value in leaves)
    return clip_line(f"{plan.action} {target}".strip(), SUMMARY_CODE_POINTS)


def _rank(path: str) -> int:
    return FIRST.index(path) if path in FIRST else len(FIRST)


def _plan_lines(
    plan: ActionPlan, language: Language, actions: ActionCatalog
) -> Iterator[tuple[str, str]]:
    """Label and value of every field of `ActionPlan.effect_fields`, the weightiest first."""
    label = actions.label(plan.action, language)
    yield (
        _FIELDS["action"].say(language),
        _ACTION.say(language, label=label, action=escape_visible(plan.action)),
    )
    known = {key: plan.target[key] for key in FIRST if key in plan.target}
    rest = {key: value for key, value in plan.target.items() if key not in known}
    for key, value in known.items():
        yield from _part_lines("target", {key: value}, language, actions)
    yield from _part_lines("effect", plan.effect, language, actions)
    yield from _part_lines("target", rest, language, actions)
    for name, shown in (
        ("scope", plan.scope and _show_word(SCOPES, plan.scope, language)),
        ("destination", plan.destination and _show_destination(plan.destination, language)),
        ("expected", plan.expected and _show_word(actions.expected, plan.expected, language)),
        ("identity", escape_visible(plan.identity)),
    ):
        yield _FIELDS[name].say(language), shown or _NONE.say(language)
    kind, identifier = escape_visible(plan.origin.kind), escape_visible(plan.origin.id)
    origin = _ORIGINS.get(plan.origin.kind, _ORIGIN_OTHER)
    yield _FIELDS["origin"].say(language), origin.say(language, kind=kind, id=identifier)
    yield _FIELDS["policy_version"].say(language), escape_visible(plan.policy_version)


def _part_lines(
    part: str, fields: Mapping[str, JsonValue], language: Language, actions: ActionCatalog
) -> Iterator[tuple[str, str]]:
    """Label and value of each leaf of the target or the effect."""
    for path, shown in _flatten(fields):
        label, value = actions.field_label(part, path), fields.get(path)
        name = label.say(language) if label else _FIELDS[part].say(language, key=path)
        words = actions.words_of(path)
        is_ours = part == "effect" and words and isinstance(value, str)
        yield name, _show_word(words, str(value), language) if is_ours else shown


def _show_word(words: Mapping[str, Text], value: str, language: Language) -> str:
    """A word of ours in the reader's language; whatever merely reads like one stands in quotes."""
    if value in words:
        return words[value].say(language)
    is_like_ours = any(value == word.say(language) for word in (*words.values(), _NONE))
    return _quote(value) if is_like_ours else _show(value)


def _show_destination(value: str, language: Language) -> str:
    kind, _, name = value.partition(":")
    if kind in KINDS and name:
        return KINDS[kind].say(language, name=escape_visible(name))
    starts = tuple(text.say(language, name="") for text in KINDS.values())
    return _quote(value) if value.startswith(starts) else _show_word({}, value, language)


def _flatten(fields: Mapping[str, JsonValue], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Dotted key and shown value of each leaf, in a fixed order."""
    for key in sorted(fields):
        path = prefix + _show_key(key)
        value = fields[key]
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{path}.")
        else:
            yield path, _show(value)


def _show_key(key: str) -> str:
    """A key that could be mistaken for a path or a label is quoted."""
    plain = key.replace("_", "").replace("-", "")
    return key if plain.isascii() and plain.isalnum() else _quote(key)


def _show(value: JsonValue) -> str:
    """A value so that no two different ones look the same: text in quotes only where it must be."""
    if not isinstance(value, str):
        return _show_nested(value)
    looks_like_json = value[:1] in {"", '"', "[", "{"} or _is_json(value)
    return _quote(value) if looks_like_json else escape_visible(value)


def _show_nested(value: JsonValue) -> str:
    if isinstance(value, str):
        return _quote(value)
    if isinstance(value, Mapping):
        inner = ", ".join(f"{_quote(key)}: {_show_nested(value[key])}" for key in sorted(value))
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_show_nested, value))}]"
    return json.dumps(value)


def _quote(text: str) -> str:
    return '"' + escape_visible(text).replace('"', '\\"') + '"'


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    except RecursionError:
        return True
    return True


def _line(label: str, value: str, language: Language) -> str:
    return _LINE.say(language, label=label, value=value)
