"""How a page says things: words by name, times in the service's zone, durations, sizes.

One is made for each page, with the viewer's language and the moment of the page.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo

from perlica.console.words import WORDS
from perlica.console.words.records import SANDBOX_REASONS
from perlica.domain.actions import ActionCatalog
from perlica.domain.node import NodeState
from perlica.domain.task import UNMET, EndReason, TaskState
from perlica.domain.texts import Language, clip_line, escape_visible, say_duration
from perlica.domain.texts.audit import EVENTS
from perlica.domain.texts.endings import did_fail, say_ending
from perlica.domain.texts.faults import FAULTS, say_fault
from perlica.domain.texts.notices import REASONS, say_task_state
from perlica.domain.texts.sandboxes import NODE_STATES
from perlica.protection.placeholder import ANY as PLACEHOLDER

NAME_CODE_POINTS = 40
_KIB = 1024
_KIB_BITS = 10
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_SECOND_MS = 1_000
_TONES = {
    "completed": "good",
    "succeeded": "good",
    "consumed": "good",
    "sent": "good",
    "ready": "good",
    "ok": "good",
    "done": "quiet",
    "running": "busy",
    "started": "busy",
    "sending": "busy",
    "creating": "busy",
    "deleting": "busy",
    "received": "busy",
    "contextualizing": "busy",
    "completing": "busy",
    "dispatched": "busy",
    "waiting_approval": "wait",
    "waiting": "wait",
    "pending": "wait",
    "approved": "wait",
    "warning": "wait",
    "alive": "good",
    "activated": "good",
    "switching": "busy",
    "blocked": "bad",
    "observed": "wait",
    "silent": "bad",
    "unreachable": "bad",
    "absent": "bad",
    "written_off": "bad",
    "unconfirmed": "bad",
    "failed": "bad",
    "unknown": "bad",
    "refused": "bad",
    "dead": "bad",
    "lost": "bad",
    "fault": "bad",
    "high": "bad",
    "block": "bad",
    "medium": "wait",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Badge:
    """A short word with a tone: good, busy, wait, bad or quiet."""

    text: str
    tone: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A point in time: for programs, as it is shown, and how far away it is."""

    iso: str
    text: str
    full: str
    ago: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The language, zone and moment of one page."""

    language: Language
    zone: tzinfo
    now_ms: int
    actions: ActionCatalog

    def say(self, name: str, /, **fields: str | int) -> str:
        """One of the console's own words."""
        return WORDS[name].say(self.language, **fields)

    def known(self, name: str, otherwise: str) -> str:
        """A word that a row's value should have; the value itself, escaped, where it has none."""
        word = WORDS.get(name)
        return word.say(self.language) if word else self.name(otherwise)

    def name(self, text: str) -> str:
        """A foreign name on one line, every character visible; placeholders stay as they are."""
        return _clip_between(text, NAME_CODE_POINTS)

    def id(self, text: str) -> str:
        """An id or digest, whole and visible."""
        return escape_visible(text)

    def badge(self, family: str, state: str) -> Badge:
        """A state as a badge: its word, and the tone that it has everywhere."""
        return Badge(
            text=self.known(f"{family}.{state}", state),
            tone=_TONES.get(state, "quiet"),
        )

    def operation_badge(self, state: str, facts: Mapping[str, object]) -> Badge:
        """How far an operation is or how it ended; `facts` are those of its outcome."""
        ending = say_ending(state, facts, self.language)
        known = self.badge("state.operation", state)
        tone = _TONES["failed"] if did_fail(state, facts) else known.tone
        return Badge(text=ending or known.text, tone=tone)

    def task_badge(self, state: str, reason: str | None = None) -> Badge:
        """A task's state as a badge; `reason` is that of its end."""
        if state not in set(TaskState):
            return Badge(text=self.name(state), tone="quiet")
        text = say_task_state(TaskState(state), reason, self.language)
        tone = "waiting" if state == TaskState.completed and reason in UNMET else state
        return Badge(text=text, tone=_TONES.get(tone, "quiet"))

    def node_badge(self, state: str) -> Badge:
        """What is thought of a node as a badge."""
        known = set(NodeState)
        if state not in known:
            return Badge(text=self.name(state), tone="quiet")
        if state == NodeState.alive:  # the same word as every other part's
            return Badge(text=self.say("part.ok"), tone=_TONES[state])
        return Badge(text=NODE_STATES[NodeState(state)].say(self.language), tone=_TONES[state])

    def end_reason(self, reason: str) -> str:
        """Why a task ended."""
        if reason in set(EndReason):
            return REASONS[EndReason(reason)].say(self.language)
        return self.fault(reason)

    def fault(self, code: str) -> str:
        """What a fault is called; one without words as the row has it: here its details help."""
        is_known = code.rpartition(": ")[2] in FAULTS
        return say_fault(code, self.language) if is_known else self.name(code)

    def reason(self, code: str) -> str:
        """Why something of a sandbox is as it is: our words with the code, or the code itself."""
        if code.rpartition(": ")[2] in FAULTS:
            return f"{self.fault(code)} ({code})"
        known = SANDBOX_REASONS.get(code)
        return f"{known.say(self.language)} ({code})" if known else self.name(code)

    def event(self, kind: str) -> str:
        """What a kind of audit event is called; "" where it has no words."""
        known = EVENTS.get(kind)
        return known.say(self.language) if known else ""

    def action(self, action: str) -> str:
        """What an action is called."""
        return self.actions.label(action, self.language)

    def duration(self, duration_ms: int) -> str:
        """A duration with its two largest units."""
        if 0 <= duration_ms < _SECOND_MS:
            return f"{duration_ms} ms"
        return say_duration(duration_ms, self.language)

    def moment(self, at_ms: int) -> Moment:
        """A point in time in the service's zone."""
        local = self._local(at_ms)
        is_this_year = local.year == self._local(self.now_ms).year
        return Moment(
            iso=local.isoformat(timespec="milliseconds"),
            text=f"{local:%m-%d %H:%M:%S}" if is_this_year else f"{local:%Y-%m-%d %H:%M}",
            full=f"{local:%Y-%m-%d %H:%M:%S}",
            ago=self.ago(at_ms),
        )

    def ago(self, at_ms: int) -> str:
        """How long ago it was."""
        return self.say("ago", duration=say_duration(self.now_ms - at_ms, self.language))

    def left(self, until_ms: int) -> str:
        """How much time is left until then."""
        if until_ms <= self.now_ms:
            return self.say("overdue")
        return self.say("ahead", duration=say_duration(until_ms - self.now_ms, self.language))

    def person(self, number: int, name: str = "") -> str:
        """Somebody's display name with the QQ number; the number alone where the name is gone."""
        return f"{self.name(name)} ({number})" if name else str(number)

    def size(self, size_bytes: int) -> str:
        """A number of bytes."""
        if size_bytes < _KIB:
            return f"{size_bytes} B"
        power = min((size_bytes.bit_length() - 1) // _KIB_BITS, len(_UNITS))
        return f"{size_bytes / _KIB**power:.1f} {_UNITS[power - 1]}"

    def number(self, number: int) -> str:
        """A number with groups of three digits."""
        return f"{number:,}"

    def _local(self, at_ms: int) -> datetime:
        try:
            return datetime.fromtimestamp(at_ms / _SECOND_MS, self.zone)
        except (ValueError, OverflowError, OSError):
            return datetime.fromtimestamp(0, self.zone)


def _clip_between(text: str, limit: int) -> str:
    """The text escaped around its placeholders and clipped, but never inside one of them."""
    shown, end = "", 0
    for found in PLACEHOLDER.finditer(text):
        shown += escape_visible(f"|{text[end : found.start()]}|")[1:-1]
        if len(shown) + len(found[0]) > limit:
            return _clipped(shown, limit) if len(shown) > limit else f"{shown[: limit - 1]}…"
        shown, end = shown + found[0], found.end()
    if not end:
        return clip_line(text, limit)
    return _clipped(shown + escape_visible(f"|{text[end:]}|")[1:-1], limit)


def _clipped(shown: str, limit: int) -> str:
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
