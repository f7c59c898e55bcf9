"""Parses one line into a command, strictly and without side effects.

The line is `IncomingGroupMessage.command_line`: raw, the first line of a member's own top-level
text. What is handed on never holds a ticket's code, only its digest; arguments named in
`FREE_TEXT_ARGUMENTS` are a person's own words and have to be protected before they are stored.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from perlica.commands.disguises import find_meant
from perlica.commands.names import CommandName, Mistake
from perlica.commands.sandbox_grammar import read_image, read_node, read_orphans, read_sbx
from perlica.domain.approval import digest_code
from perlica.domain.ids import TicketId
from perlica.domain.message import IncomingGroupMessage, SegmentKind
from perlica.domain.texts.visible import is_turned, without_invisible

MAX_LINE_CODE_POINTS = 300
FREE_TEXT_ARGUMENTS = frozenset({"reason", "purpose", "introduction"})

_NAMES: Mapping[str, CommandName] = {str(name): name for name in CommandName}
_TICKET = re.compile(r"[2-9A-HJKMNP-Z]{5}")
_CODE = re.compile(r"[0-9]{6}")
_TASK = re.compile(r"T-[2-9A-HJKMNP-Z]{6}")
_OPERATION = re.compile(r"op-[0-9a-f]{24}")
_COMMAND = re.compile(r"\.([a-z]+)(?=\s|$)")
_DOTS = (".", "．", "。", "｡", "․")
_DIGITS = re.compile(r"\d(?:[^\w\n]{0,3}\d){3,}")


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

    Store it masked, it may hold a code, and never as talk.
    """

    resembles: CommandName | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotACommand:
    """A line that merely begins with a dot, such as `...`, `.5` or `./configure`: ordinary talk."""


ParsedLine = Parsed | Malformed | Unknown | NotACommand


def parse_line(line: str) -> ParsedLine:
    """What the line says. The command's name must be exact; its arguments are read generously.

    Full-width digits, letters and spaces count as their plain forms, letters in either case, and
    invisible characters that came along with a copy are dropped. A line that may be shown in
    another order than it is read decides nothing, nor does one whose name is disguised.
    """
    named = _COMMAND.match(line)
    name = _NAMES.get(named.group(1)) if named else None
    if named is None or name is None:
        return _parse_disguised(line)
    if len(line) > MAX_LINE_CODE_POINTS:
        return Malformed(name=name, mistake=Mistake.too_long)
    if is_turned(line):
        return Malformed(name=name, mistake=Mistake.hidden_signs)
    read = _READERS[name](line[named.end() :])
    if isinstance(read, Mistake):
        return Malformed(name=name, mistake=read)
    return Parsed(name=name, arguments=read)


def near_miss(message: IncomingGroupMessage) -> Malformed | Unknown | None:
    """What is wrong with a message that means a command without being one; None for all others.

    For messages whose `command_line` is None: `。approve K7Q2M 123456`, a command behind invisible
    signs or on a later line, or typed as the answer to a quoted message: it executes nothing, yet
    it may hold a code, must not become a task, and whoever typed it is told.
    """
    opening, mistake = "", Mistake.wrong_form
    for segment in message.segments:
        if segment.kind is SegmentKind.reply:
            mistake = Mistake.quoted
        elif segment.kind is SegmentKind.at and segment.target != message.self_id:
            mistake = Mistake.not_first
        elif segment.kind is SegmentKind.text:
            opening += segment.text
        elif segment.kind is not SegmentKind.at:
            break
        if without_invisible(opening).strip():
            return _miss_of(opening, mistake)
    return None


def _miss_of(opening: str, mistake: Mistake) -> Malformed | Unknown | None:
    """What is wrong with the first line that shows anything; `mistake` is what stood before it."""
    lines = opening.splitlines()
    number = next(n for n, line in enumerate(lines) if without_invisible(line).strip())
    line = lines[number].strip()
    shown = without_invisible(line).lstrip()
    if mistake is not Mistake.wrong_form and not shown.startswith(_DOTS):
        return None
    read = parse_line(line)
    if isinstance(read, Parsed):
        mistake = Mistake.not_first if number else mistake
        return Malformed(name=read.name, mistake=mistake)
    return None if isinstance(read, NotACommand) else read


def mask_line(line: str) -> str:
    """The line with every run of four or more digits masked; it still has to be protected and cut.

    Masks also what was mistyped (a code without its ticket, full-width digits, digits in groups),
    and leaves out what nobody sees.
    """
    return _DIGITS.sub(lambda run: "*" * len(run.group()), without_invisible(line))


def _parse_disguised(line: str) -> Malformed | Unknown | NotACommand:
    """A command in another form than its own, a dot word that is none, or talk."""
    given = line[:MAX_LINE_CODE_POINTS]
    shown = without_invisible(given)
    meant = find_meant(shown, _NAMES)
    if meant is None:
        return NotACommand()
    if meant.name is None:
        return Unknown(resembles=meant.resembles)
    if not meant.is_marked and not _is_whole(meant.name, meant.rest):
        return NotACommand()
    hides = shown != given or is_turned(given)
    return Malformed(name=meant.name, mistake=Mistake.hidden_signs if hides else Mistake.wrong_form)


def _is_whole(name: CommandName, rest: str) -> bool:
    """Whether a bare word and what follows it can only mean the command: `status`, `deny K7Q2M`."""
    rest = rest.rstrip(" 。.!")
    words = rest.split()
    if name in {CommandName.approve, CommandName.deny} and words:
        return _TICKET.fullmatch(words[0].upper()) is not None
    return not isinstance(_READERS[name](rest), Mistake)


def _words(rest: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", rest)
    return tuple(without_invisible(plain).split())


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
