"""Parses one line into a command, strictly and without side effects.

The line is `IncomingGroupMessage.command_line`: raw, the first line of a member's own top-level
text. What is handed on never holds a ticket's code, only its digest; arguments named in
`FREE_TEXT_ARGUMENTS` are a person's own words and have to be protected before they are stored.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perlica.commands.names import CommandName, Mistake
from perlica.commands.sandbox_grammar import read_image, read_node, read_orphans, read_sbx
from perlica.domain.approval import digest_code
from perlica.domain.ids import TicketId
from perlica.domain.message import IncomingGroupMessage, SegmentKind

MAX_LINE_CODE_POINTS = 300
FREE_TEXT_ARGUMENTS = frozenset({"reason", "purpose", "introduction"})

_NAMES: Mapping[str, CommandName] = {str(name): name for name in CommandName}
_TICKET = re.compile(r"[2-9A-HJKMNP-Z]{5}")
_CODE = re.compile(r"[0-9]{6}")
_TASK = re.compile(r"T-[2-9A-HJKMNP-Z]{6}")
_OPERATION = re.compile(r"op-[0-9a-f]{24}")
_COMMAND = re.compile(r"\.([A-Za-z][A-Za-z0-9_-]*)(?=\s|$)")
_ANY_DOT = re.compile(r"[.．。｡․](?=[A-Za-zＡ-Ｚａ-ｚ])")
_LETTERS = re.compile(r"[a-z]+")
_DIGITS = re.compile(r"\d(?:[\s-]?\d){3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A whole command.

    `arguments` by command: approve {ticket, code_digest}; deny {ticket}; cancel and
    audit {} or {task}; task {task}; recovery {action: list} or {action: resolve, operation,
    reason}; status, tasks, whoami and help {}; sbx, image, orphans and node as `sandbox_grammar`
    says.
    """

    name: CommandName
    arguments: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Malformed:
    """A known command that is not whole; nothing of the line is kept but what is wrong."""

    name: CommandName
    mistake: Mistake


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """A dot and a word that is no command; `resembles` is the command it is close to.

    Store it masked when it resembles one (it may hold a code). Nobody needs a hint about
    `.gitignore` in ordinary talk, so `wants_hint` asks whether we were mentioned.
    """

    resembles: CommandName | None

    def wants_hint(self, *, mentions_us: bool) -> bool:
        """Whether a listed member should be told that this is no command."""
        return mentions_us or self.resembles is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotACommand:
    """A line that merely begins with a dot, such as `...`, `.5` or `./configure`: ordinary talk."""


ParsedLine = Parsed | Malformed | Unknown | NotACommand


def parse_line(line: str) -> ParsedLine:
    """What the line says. The command's name must be exact; its arguments are read generously.

    Full-width digits, letters and spaces count as their plain forms, letters in either case, and
    invisible characters that came along with a copy are dropped.
    """
    named = _COMMAND.match(line)
    if named is None:
        return _parse_near_miss(line)
    word = named.group(1)
    name = _NAMES.get(word)
    if name is None:
        return _unknown(word)
    if len(line) > MAX_LINE_CODE_POINTS:
        return Malformed(name=name, mistake=Mistake.too_long)
    read = _READERS[name](line[named.end() :])
    if isinstance(read, Mistake):
        return Malformed(name=name, mistake=read)
    return Parsed(name=name, arguments=read)


def near_miss(message: IncomingGroupMessage) -> Malformed | None:
    """What is wrong with a message that means a command without being one; None for all others.

    For messages whose `command_line` is None: `。approve K7Q2M 123456`, or a command typed as the
    answer to a quoted message, executes nothing, yet it holds a code and must not become a task.
    """
    quoted = False
    for segment in message.segments:
        if segment.kind is SegmentKind.reply:
            quoted = True
        elif segment.kind is SegmentKind.text and segment.text.strip():
            return _miss_of(segment.text.strip().splitlines()[0].strip(), quoted=quoted)
        elif segment.kind not in {SegmentKind.at, SegmentKind.text}:
            return None
    return None


def _miss_of(line: str, *, quoted: bool) -> Malformed | None:
    read = parse_line(line)
    if isinstance(read, Malformed):
        return read
    if quoted and isinstance(read, Parsed):
        return Malformed(name=read.name, mistake=Mistake.quoted)
    return None


def mask_line(line: str) -> str:
    """The line with every run of four or more digits masked; it still has to be protected and cut.

    Masks also what was mistyped (a code without its ticket, full-width digits, digits in groups).
    """
    return _DIGITS.sub(lambda run: "*" * len(run.group()), line)


def _parse_near_miss(line: str) -> ParsedLine:
    """A known command behind another dot, in full-width letters or stuck to a sign; else talk."""
    if not _ANY_DOT.match(line):
        return NotACommand()
    word = _LETTERS.match(unicodedata.normalize("NFKC", line[1:MAX_LINE_CODE_POINTS]).lower())
    name = _NAMES.get(word.group()) if word else None
    return Malformed(name=name, mistake=Mistake.wrong_form) if name else NotACommand()


def _unknown(word: str) -> Malformed | Unknown:
    lowered = word.lower()
    if lowered in _NAMES:
        return Malformed(name=_NAMES[lowered], mistake=Mistake.wrong_form)
    begun = next((name for word, name in _NAMES.items() if lowered.startswith(word)), None)
    close = difflib.get_close_matches(lowered, _NAMES, n=1, cutoff=0.75)
    return Unknown(resembles=begun or (_NAMES[close[0]] if close else None))


def _words(rest: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", rest)
    return tuple(_without_invisible(plain).split())


def _without_invisible(text: str) -> str:
    return "".join(c for c in text if unicodedata.category(c) not in {"Cf", "Mn"})


_Read = Mapping[str, str] | Mistake


def _read_approve(rest: str) -> _Read:
    words = _words(rest)
    if not words:
        return Mistake.needs_ticket
    ticket = words[0].upper()
    if not _TICKET.fullmatch(ticket):
        return Mistake.bad_ticket
    if len(words) == 1:
        return Mistake.needs_code
    if len(words) > 2:  # noqa: PLR2004 - a ticket and its code
        return Mistake.too_many_words
    if not _CODE.fullmatch(words[1]):
        return Mistake.bad_code
    return {"ticket": ticket, "code_digest": digest_code(TicketId(ticket), words[1])}


def _read_deny(rest: str) -> _Read:
    words = _words(rest)
    if not words:
        return Mistake.needs_ticket
    ticket = words[0].upper()
    if not _TICKET.fullmatch(ticket):
        return Mistake.bad_ticket
    return Mistake.too_many_words if len(words) > 1 else {"ticket": ticket}


def _read_cancel(rest: str) -> _Read:
    words = _words(rest)
    if not words:
        return {}
    task = words[0].upper()
    if not _TASK.fullmatch(task):
        return Mistake.bad_task
    return Mistake.too_many_words if len(words) > 1 else {"task": task}


def _read_task(rest: str) -> _Read:
    read = _read_cancel(rest)
    return Mistake.needs_task if read == {} else read


def _read_recovery(rest: str) -> _Read:
    words = _words(rest)
    if not words or [word.lower() for word in words] == ["list"]:
        return {"action": "list"}
    if words[0].lower() != "resolve":
        return Mistake.unknown_word
    if len(words) == 1 or not _OPERATION.fullmatch(words[1].lower()):
        return Mistake.bad_operation
    reason = rest.split(maxsplit=2)[2:]
    if not reason:
        return Mistake.needs_reason
    return {"action": "resolve", "operation": words[1].lower(), "reason": reason[0].rstrip()}


def _read_nothing(rest: str) -> _Read:
    return Mistake.too_many_words if _words(rest) else {}


_READERS: Mapping[CommandName, Callable[[str], _Read]] = {
    CommandName.approve: _read_approve,
    CommandName.deny: _read_deny,
    CommandName.status: _read_nothing,
    CommandName.cancel: _read_cancel,
    CommandName.tasks: _read_nothing,
    CommandName.task: _read_task,
    CommandName.audit: _read_cancel,
    CommandName.recovery: _read_recovery,
    CommandName.sbx: lambda rest: read_sbx(_words(rest), rest),
    CommandName.image: lambda rest: read_image(_words(rest), rest),
    CommandName.orphans: lambda rest: read_orphans(_words(rest), rest),
    CommandName.node: lambda rest: read_node(_words(rest), rest),
    CommandName.whoami: _read_nothing,
    CommandName.help: _read_nothing,
}
