"""Rules that an operator adds in the configuration, checked before they count.

Wiring calls `configure` once at start; what does not pass every check stops the start.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from perlica.domain.errors import Misconfigured
from perlica.protection import rules
from perlica.protection.budget import Budget
from perlica.protection.engine import Pattern, is_linear, linear
from perlica.protection.folding import fold
from perlica.protection.sheet import Sheet

_KIND: Final = re.compile(r"[a-z][a-z0-9_]{1,30}")
_LONGEST_PATTERN: Final = 1000
_MOST_RULES: Final = 100
_KEYWORD_REACH: Final = 120
_RANK: Final = 95
_ORDINARY: Final = (
    "你好，今天晚上八点部署 perlica，大家留意一下日志。",
    "The quick brown fox jumps over the lazy dog at 10:30 on 2026-11-30.",
    "0123456789",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorRule:
    """One extra rule.

    `pattern` is RE2; its first group, or else the whole match, is redacted. With `keywords`, one
    of them
    must stand within 120 bytes before the match. Examples are held against the rule at start.
    """

    kind: str
    pattern: str
    keywords: tuple[str, ...] = ()
    matches: tuple[str, ...] = field(default=(), repr=False)
    must_not_match: tuple[str, ...] = field(default=(), repr=False)


class _Detector:
    """An operator's rule, compiled."""

    def __init__(self, rule: OperatorRule) -> None:
        self._kind = rule.kind
        self._pattern: Pattern = linear(rule.pattern)
        self._keywords = tuple(word.lower().encode() for word in rule.keywords)

    def __call__(self, sheet: Sheet) -> None:
        for match in self._pattern.finditer(sheet.data):
            before = sheet.data[max(0, match.start() - _KEYWORD_REACH) : match.start()].lower()
            if self._keywords and not any(word in before for word in self._keywords):
                continue
            has_group = self._pattern.groups > 0 and match.start(1) >= 0
            start, end = match.span(1 if has_group else 0)
            sheet.add(start, end, kind=self._kind, rule=f"operator.{self._kind}", rank=_RANK)

    def finds(self, text: str) -> bool:
        """Return whether the rule finds anything in `text`, read as the scan reads it."""
        data = text.encode()
        budget = Budget.start(len(data))
        view = fold(data, budget)
        sheet = Sheet(view.data if view else data, budget)
        self(sheet)
        return bool(sheet.hits)


def configure(extra_rules: Sequence[OperatorRule]) -> None:
    """Put the operator's rules in force, in place of those of an earlier call.

    Raises:
        Misconfigured: a rule is not linear, matches nothing at all or ordinary text, or fails an
        example;
            the text names the rule by kind and number, never an example.
    """
    if len(extra_rules) > _MOST_RULES:
        raise _wrong(
            "too_many", f"at most {_MOST_RULES} extra rules", "Join patterns of one kind with |."
        )
    detectors = tuple(_checked(number, rule) for number, rule in enumerate(extra_rules, 1))
    rules.extend(detectors, frozenset(rule.kind for rule in extra_rules))


def _checked(number: int, rule: OperatorRule) -> _Detector:
    name = f"extra rule {number} ({rule.kind[:31]})"
    if not _KIND.fullmatch(rule.kind):
        raise _wrong(
            "kind", f"{name}: a kind is 2 to 31 of a-z, 0-9, _", 'Write kind = "acme_token".'
        )
    if len(rule.pattern) > _LONGEST_PATTERN or not is_linear(rule.pattern):
        raise _wrong(
            "pattern",
            f"{name}: not a pattern that RE2 takes, or over {_LONGEST_PATTERN} characters",
            "Leave out look-around and back references; repeat at most 1000 times.",
        )
    detector = _Detector(rule)
    if linear(rule.pattern).match(b"") is not None:
        raise _wrong("empty", f"{name}: matches the empty string", "Use + or {n,} instead of *.")
    if any(detector.finds(text) for text in _ORDINARY):
        raise _wrong("broad", f"{name}: matches ordinary text", "Make the pattern more specific.")
    for kind, examples, expected in (
        ("matches", rule.matches, True),
        ("must_not_match", rule.must_not_match, False),
    ):
        for position, example in enumerate(examples, 1):
            if detector.finds(example) is not expected:
                raise _wrong(
                    kind, f"{name}: fails its {kind} example {position}", "Correct one of them."
                )
    return detector


def _wrong(code: str, text: str, remedy: str) -> Misconfigured:
    return Misconfigured(f"protection_rule_{code}", text, remedy=remedy)
