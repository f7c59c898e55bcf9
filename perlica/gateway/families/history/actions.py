"""The actions of the history family."""

from collections.abc import Mapping
from typing import Final

from perlica.domain.actions import ActionSpec, Scope
from perlica.domain.texts import Text

_GROUP: Final = Text(zh="群", en="Group")
_BOUNDS: Final[Mapping[str, Text]] = {
    "limit": Text(zh="条数上限", en="Messages at most"),
    "span_ms": Text(zh="往前多久（毫秒）", en="How far back (milliseconds)"),
}

ACTIONS: Final = (
    ActionSpec(
        name="history.recent",
        scopes=frozenset({Scope.group}),
        label=Text(zh="查看最近的群消息", en="look at recent group messages"),
        headline=Text(
            zh="查看最近的群消息：{nothing_lost}", en="read recent group messages. {nothing_lost}"
        ),
        targets={"group": _GROUP},
        effects=_BOUNDS,
    ),
    ActionSpec(
        name="history.search",
        scopes=frozenset({Scope.group}),
        label=Text(zh="检索群历史", en="search the group's history"),
        headline=Text(
            zh="检索群历史：{nothing_lost}", en="search the group's history. {nothing_lost}"
        ),
        targets={"group": _GROUP},
        effects={"query": Text(zh="检索的文字", en="Text looked for"), **_BOUNDS},
    ),
)
