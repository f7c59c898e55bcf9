"""Where calls of a bot are answered: parse, look up the action, apply a planned fault, reply.

The stand-in hands every incoming frame here. Source: docs/facts/napcat.md.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from perlica.demo.napcat.actions import (
    ACTIONS,
    BAD_REQUEST,
    FAILED,
    UNKNOWN_ACTION,
    ActionFailed,
    NeverAnswered,
)
from perlica.demo.napcat.agenda import Agenda
from perlica.demo.napcat.connection import Connection
from perlica.demo.napcat.events import Frame, MessageFormat
from perlica.demo.napcat.faults import (
    AnswerLate,
    AnswerTwice,
    CallFault,
    CloseBeforeAnswer,
    CutAnswer,
    FailWith,
    Faults,
    NeverAnswer,
    NoSelfMessage,
    Refuse,
    SelfMessageFirst,
    TimeOut,
)
from perlica.demo.napcat.kernel import REFUSAL_TEXTS, Draft, Kernel
from perlica.demo.napcat.message import Message
from perlica.demo.napcat.outgoing import RefusedByQq, draft_from
from perlica.demo.napcat.wire import BadJson, decode, encode

SENDING = frozenset({"send_group_msg", "send_msg"})
CHANGING = frozenset({"set_msg_emoji_like", "delete_msg"})
ASYNC_SUFFIX = "_async"
_SEND_PATH = (
    "NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg "
    "ListenerName:NodeIKernelMsgListener/onMsgInfoListUpdate EventRet:\n"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as it came, for assertions."""

    action: str
    params: Mapping[str, Any] = field(repr=False)
    echo: object
    connection: int


class Group(Protocol):
    """What the handler needs of the stand-in to make a message appear in the group."""

    def deliver(self, draft: Draft) -> Message:
        """Put it into the group and the chat page."""

    def report_own(self, message: Message) -> None:
        """Push the `message_sent` event, if NapCat is told to."""

    def changed(self, message: Message) -> None:
        """A reaction or a recall changed how the message looks."""


class CallHandler:
    """Answers calls in the connection's reader thread; the stand-in's lock is held."""

    def __init__(self, kernel: Kernel, group: Group, faults: Faults, agenda: Agenda) -> None:
        """Take the parts it works with."""
        self._kernel = kernel
        self._group = group
        self._faults = faults
        self._agenda = agenda
        self.calls: list[Call] = []

    def handle(self, connection: Connection, text: str, form: MessageFormat) -> None:
        """Answer one frame, or fall silent where NapCat does."""
        try:
            request = decode(text)
        except BadJson:
            request = None
        if request is None:
            connection.send(encode(_failed("json解析失败,请检查数据格式", BAD_REQUEST, None)))
        elif isinstance(request, list):
            connection.send(encode(_failed("不支持的API undefined", UNKNOWN_ACTION, None)))
        elif isinstance(request, dict):
            self._answer(connection, request, form)

    def _answer(self, connection: Connection, request: Frame, form: MessageFormat) -> None:
        echo, action = request.get("echo"), str(request.get("action", "undefined"))
        params = request.get("params")
        params = params if isinstance(params, dict) else {}
        self.calls.append(
            Call(action=action, params=params, echo=echo, connection=connection.number)
        )
        known = action.removesuffix(ASYNC_SUFFIX)
        if known not in ACTIONS and known not in SENDING:
            connection.send(encode(_failed(f"不支持的API {action}", UNKNOWN_ACTION, echo)))
            return
        errand = _Errand(connection, "" if echo is None else echo, self._faults.take_call(known))
        if known in SENDING:
            self._send(errand, params)
        else:
            self._run(errand, lambda: ACTIONS[known](self._kernel, params, form))
            if known in CHANGING:
                self._show_change(params)

    def _run(self, errand: "_Errand", action: Callable[[], object]) -> None:
        if isinstance(errand.fault, FailWith):
            errand.fail(errand.fault.text, errand.fault.retcode)
            return
        try:
            errand.succeed(action(), self._agenda)
        except ActionFailed as error:
            errand.fail(error.text, error.retcode)

    def _show_change(self, params: Mapping[str, Any]) -> None:
        digits = str(params.get("message_id", ""))
        message = self._kernel.find(int(digits)) if digits.isdecimal() else None
        if message is not None:
            self._group.changed(message)

    def _send(self, errand: "_Errand", params: Frame) -> None:
        try:
            draft = draft_from(self._kernel, params)
        except NeverAnswered:
            return
        except ActionFailed as error:
            errand.fail(error.text, error.retcode)
            return
        except RefusedByQq as refusal:
            errand.fail(refusal_text(refusal.result), FAILED)
            return
        refused = self._kernel.refusal(draft.group_id)
        if refused is not None:
            errand.fail(refusal_text(refused), FAILED)
            return
        self._deliver(errand, draft)

    def _deliver(self, errand: "_Errand", draft: Draft) -> None:
        fault = errand.fault
        match fault:
            case Refuse():
                errand.fail(refusal_text(fault.result), FAILED)
            case FailWith():
                errand.fail(fault.text, fault.retcode)
            case TimeOut():
                self._deliver_late(fault, draft)
                errand.fail(timeout_text(returned=fault.returned), FAILED)
            case NeverAnswer(delivered=False) | CloseBeforeAnswer(delivered=False):
                errand.succeed(None, self._agenda)
            case SelfMessageFirst():
                message = self._group.deliver(draft)
                self._group.report_own(message)
                errand.succeed({"message_id": message.message_id}, self._agenda)
            case _:
                message = self._group.deliver(draft)
                errand.succeed({"message_id": message.message_id}, self._agenda)
                self._report(message, fault)

    def _report(self, message: Message, fault: CallFault | None) -> None:
        match fault:
            case NoSelfMessage():
                pass
            case AnswerLate(by_s=by_s):
                # QQ's own event follows the answer, which waits for QQ (golden case "order").
                self._agenda.after(by_s, lambda: self._group.report_own(message))
            case _:
                self._group.report_own(message)

    def _deliver_late(self, fault: TimeOut, draft: Draft) -> None:
        if fault.delivered:
            message = self._group.deliver(draft)
            self._agenda.after(fault.self_message_after_s, lambda: self._group.report_own(message))


class _Errand:
    """One call on its way: where the answer goes, under which echo, and what goes wrong."""

    def __init__(self, connection: Connection, echo: object, fault: CallFault | None) -> None:
        self._connection = connection
        self._echo = echo
        self.fault = fault

    def fail(self, text: str, retcode: int) -> None:
        """Answer `failed`."""
        self._connection.send(encode(_failed(text, retcode, self._echo)))

    def succeed(self, value: object, agenda: Agenda) -> None:
        """Answer `ok`, as well as the fault lets it."""
        answer = encode(_ok(value, self._echo))
        match self.fault:
            case NeverAnswer():
                pass
            case CloseBeforeAnswer():
                self._connection.cut()
            case CutAnswer(then=then):
                self._connection.send_half(answer, then)
            case AnswerLate(by_s=by_s):
                agenda.after(by_s, lambda: self._connection.send(answer))
            case AnswerTwice():
                self._connection.send(answer)
                self._connection.send(answer)
            case _:
                self._connection.send(answer)


def refusal_text(result: int) -> str:
    """NapCat's words for a send that QQ refused with this code."""
    answer = {"result": result, "errMsg": REFUSAL_TEXTS.get(result, "")}
    return f"EventChecker Failed: {_SEND_PATH}{_indented(answer)}"


def timeout_text(*, returned: bool) -> str:
    """NapCat's words for a send whose fate it does not know."""
    answer = {"result": 0, "errMsg": ""} if returned else {}
    return f"Timeout: {_SEND_PATH}{_indented(answer)}"


def _indented(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=4) + "\n"


def _ok(value: object, echo: object) -> Frame:
    return {
        "status": "ok",
        "retcode": 0,
        "data": value,
        "message": "",
        "wording": "",
        "echo": echo,
        "stream": "normal-action",
    }


def _failed(text: str, retcode: int, echo: object) -> Frame:
    return {
        "status": "failed",
        "retcode": retcode,
        "data": None,
        "message": text,
        "wording": text,
        "echo": echo,
        "stream": "normal-action",
    }


def bad_token() -> str:
    """The one frame somebody without the right token gets."""
    return encode(_failed("token验证失败", 1403, None))
