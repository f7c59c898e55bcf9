"""What an action is to people: its scopes, and every word that is said about it.

Each tool family declares its actions once (`ActionSpec`); approvals, the final message, audit,
commands and the console read them from one catalog. Words are wording, never a decision.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from perlica.domain.errors import Misconfigured
from perlica.domain.texts.escape import escape_visible
from perlica.domain.texts.language import Language, Text


class Scope(StrEnum):
    """How far an action reaches; a policy judges the pair of action and scope."""

    sandbox = "sandbox"
    node = "node"
    service = "service"
    group = "group"
    lifecycle = "lifecycle"
    allowed_mirror = "allowed_mirror"
    allowed_domain = "allowed_domain"
    search_service = "search_service"
    upload_service = "upload_service"
    allowed_namespace = "allowed_namespace"
    allowed_deployment = "allowed_deployment"
    cluster = "cluster"
    model = "model"
    unknown = "unknown"


SCOPES: Final[Mapping[str, Text]] = MappingProxyType(
    {
        Scope.sandbox: Text(zh="一个沙箱", en="sandbox"),
        Scope.node: Text(zh="一个节点", en="node"),
        Scope.service: Text(zh="整个服务", en="service"),
        Scope.group: Text(zh="本群", en="group"),
        Scope.lifecycle: Text(zh="预先设定的清理", en="set beforehand"),
        Scope.allowed_mirror: Text(zh="白名单内的软件源", en="allowed mirror"),
        Scope.allowed_domain: Text(zh="白名单内的网站", en="allowed domain"),
        Scope.search_service: Text(zh="搜索服务", en="search service"),
        Scope.upload_service: Text(zh="上传服务", en="upload service"),
        Scope.allowed_namespace: Text(zh="白名单内的命名空间", en="allowed namespace"),
        Scope.allowed_deployment: Text(zh="白名单内的部署", en="allowed deployment"),
        Scope.cluster: Text(zh="整个集群", en="cluster"),
        Scope.model: Text(zh="模型", en="model"),
        Scope.unknown: Text(zh="范围不明", en="unknown scope"),
    }
)
_PARTS: Final = ("target", "effect")
_NO_TEXTS: Final[Mapping[str, Text]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionSpec:
    """One action of the policy, in words.

    `headline` is what an approval begins with, behind who wants it; in it `{key}` is a word of the
    plan's target or effect, and `{nothing_lost}`, `{files_lost}`, `{destroyed}`, `{lost}` say what
    is lost (`perlica.gateway.core.approval_headline`). `targets` and `effects` name the fields of
    its plan, `words` our own words inside a field of the effect, `expected` those of the expected
    result.
    """

    name: str
    scopes: frozenset[Scope]
    label: Text
    headline: Text | None = None
    targets: Mapping[str, Text] = field(default_factory=dict)
    effects: Mapping[str, Text] = field(default_factory=dict)
    words: Mapping[str, Mapping[str, Text]] = field(default_factory=dict)
    expected: Mapping[str, Text] = field(default_factory=dict)
    has_no_effect: bool = False
    """Nobody asked for it and it changes nothing: no list of what was done shows it."""
    ends_with_task: bool = False
    """It is stopped when its task ends; any other goes on, and its end is told when it comes."""


class ActionCatalog:
    """The actions that this service knows, whether a tool plans them already or not."""

    def __init__(self, specs: Iterable[ActionSpec]) -> None:
        """Raises: Misconfigured when two have one name, or one field or word has two texts."""
        self._specs: dict[str, ActionSpec] = {}
        self._fields: dict[str, dict[str, Text]] = {part: {} for part in _PARTS}
        self._words: dict[str, dict[str, Text]] = {}
        self._expected: dict[str, Text] = {}
        for spec in specs:
            if spec.name in self._specs:
                raise Misconfigured("action_twice", f"two actions have the name {spec.name}")
            self._specs[spec.name] = spec
            self._add(spec)
        self._refuse_labels_twice()

    def _add(self, spec: ActionSpec) -> None:
        for part, fields in (("target", spec.targets), ("effect", spec.effects)):
            for key, label in fields.items():
                _name_once(self._fields[part], key, label, f"{spec.name}: the field")
        for key, words in spec.words.items():
            said = self._words.setdefault(key, {})
            for word, text in words.items():
                _name_once(said, word, text, f"{spec.name}: in the field {key} the word")
        for word, text in spec.expected.items():
            _name_once(self._expected, word, text, f"{spec.name}: the expected result")

    def _refuse_labels_twice(self) -> None:
        """Two fields of one part with one name could not be told apart in an approval."""
        for part in _PARTS:
            for language in Language:
                said = [label.say(language) for label in self._fields[part].values()]
                twice = sorted({label for label in said if said.count(label) > 1})
                if twice:
                    raise Misconfigured(
                        "action_field", f"two fields of the {part} are called {', '.join(twice)}"
                    )

    def __iter__(self) -> Iterator[ActionSpec]:
        """All of them."""
        return iter(self._specs.values())

    def find(self, name: str) -> ActionSpec | None:
        """The action of that name."""
        return self._specs.get(name)

    def label(self, name: str, language: Language) -> str:
        """What people read for an action, such as `删除沙箱`; unknown ones by their own name."""
        known = self._specs.get(name)
        return known.label.say(language) if known else escape_visible(name)

    def field_label(self, part: str, key: str) -> Text | None:
        """What a field of a plan's `target` or `effect` is called; None where nobody named it."""
        return self._fields[part].get(key)

    def field_labels(self, part: str) -> Mapping[str, Text]:
        """Every named field of `target` or `effect`, with its name."""
        return self._fields[part]

    def words_of(self, key: str) -> Mapping[str, Text]:
        """Our own words in a field of the effect; empty for a field that others fill in."""
        return self._words.get(key, _NO_TEXTS)

    @property
    def expected(self) -> Mapping[str, Text]:
        """Words for the expected result."""
        return self._expected

    def and_more(self, specs: Iterable[ActionSpec]) -> "ActionCatalog":
        """These and others. Raises: Misconfigured as the constructor."""
        return ActionCatalog((*self, *specs))


def _name_once(named: dict[str, Text], key: str, text: Text, what: str) -> None:
    """What people read for one thing is one text, whichever family was loaded last."""
    if named.setdefault(key, text) != text:
        raise Misconfigured("action_field", f"{what} {key} is named otherwise elsewhere")
