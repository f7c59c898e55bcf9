"""One audit event in words: its kind, who did it, and the facts of its protected detail.

Used by `perlica.commands.records`. Pure; whatever a row holds is escaped and clipped here.
"""

from collections.abc import Iterator, Mapping

from perlica.commands import audit_texts as texts
from perlica.commands.sandbox_texts import REFUSALS
from perlica.domain.actions import ActionCatalog
from perlica.domain.task import EndReason
from perlica.domain.texts import Language, clip_line, say_list
from perlica.domain.texts.audit import EVENTS, VERDICTS
from perlica.domain.texts.faults import say_fault
from perlica.domain.texts.notices import REASONS

_WORD_CODE_POINTS = 60
_FACTS_CODE_POINTS = 120


def say_kind(kind: str, language: Language) -> str:
    """What happened."""
    known = EVENTS.get(kind)
    return known.say(language) if known else _clip(kind)


def say_actor(actor: str, language: Language) -> str:
    """Who did it: a member by number, a task or command, or a part of the service."""
    kind, _, number = actor.partition(":")
    if kind in texts.CALLERS and number:
        return texts.CALLERS[kind].say(language, id=_clip(number))
    known = texts.ACTORS.get(actor)
    return known.say(language) if known else _clip(actor)


def say_facts(facts: Mapping[str, object], language: Language, actions: ActionCatalog) -> str:
    """Action, target, verdict and reason in brackets; "" where the detail holds none of them."""
    words = say_list(_facts(facts, language, actions), language)
    if len(words) > _FACTS_CODE_POINTS:
        words = words[: _FACTS_CODE_POINTS - 1] + "…"
    return texts.FACTS.say(language, facts=words) if words else ""


def _facts(
    facts: Mapping[str, object], language: Language, actions: ActionCatalog
) -> Iterator[str]:
    action = _word(facts, "action")
    if action:
        yield actions.label(action, language)
    for key, text in (("sandbox", texts.SANDBOX), ("node", texts.NODE)):
        name = _word(facts, key)
        if name and not (key == "node" and "sandbox" in facts):
            yield text.say(language, name=_clip(name))
    verdict = _word(facts, "verdict")
    if verdict in VERDICTS and isinstance(facts.get("approve"), bool):
        said = VERDICTS[verdict].say(language)
        yield texts.DECISIONS[facts["approve"] is True].say(language, verdict=said)
    before, after = _word(facts, "before"), _word(facts, "after")
    if before and after:
        yield texts.CHANGE.say(language, before=_clip(before), after=_clip(after))
    reason = _word(facts, "reason") or _word(facts, "code")
    if reason:
        yield _say_reason(reason, language)


def _say_reason(reason: str, language: Language) -> str:
    known = REASONS.get(EndReason(reason)) if reason in set(EndReason) else REFUSALS.get(reason)
    if known is not None:
        return known.say(language)
    return texts.BECAUSE.say(language, reason=say_fault(reason, language))


def _word(facts: Mapping[str, object], key: str) -> str:
    value = facts.get(key)
    return value if isinstance(value, str) else ""


def _clip(text: str) -> str:
    return clip_line(text, _WORD_CODE_POINTS)
