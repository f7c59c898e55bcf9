"""Identifiers as types of their own, and how new ones are drawn."""

import secrets
from typing import NewType

GroupId = NewType("GroupId", int)
UserId = NewType("UserId", int)
"""A QQ number: the only identity that grants anything (never a nickname, never a QQ role)."""
MessageId = NewType("MessageId", int)
"""OneBot's 31-bit message id: not unique over a group's life (facts: about 7 pairs in 180,000)."""
RowId = NewType("RowId", int)
TaskId = NewType("TaskId", str)
TicketId = NewType("TicketId", str)
CallId = NewType("CallId", str)
OperationId = NewType("OperationId", str)
OutboxId = NewType("OutboxId", int)
PlanHash = NewType("PlanHash", str)
SandboxName = NewType("SandboxName", str)

_UNAMBIGUOUS = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
CODE_DIGITS = 6


def _draw(length: int) -> str:
    return "".join(secrets.choice(_UNAMBIGUOUS) for _ in range(length))


def new_task_id() -> TaskId:
    """A task id that a person can read aloud, such as `T-7F3KQ2`."""
    return TaskId(f"T-{_draw(6)}")


def new_ticket_id() -> TicketId:
    """A ticket id that a member types into `.approve`, such as `K7Q2M`."""
    return TicketId(_draw(5))


def new_ticket_code() -> str:
    """A one-time short code of six digits; only its digest is stored with the ticket."""
    return "".join(secrets.choice("0123456789") for _ in range(CODE_DIGITS))


def new_call_id() -> CallId:
    """Our own id of a tool call; the provider's id is never trusted to be unique."""
    return CallId(f"c_{secrets.token_hex(8)}")


def new_operation_id() -> OperationId:
    """The id under which a backend remembers an effect, unique for ever."""
    return OperationId(f"op-{secrets.token_hex(12)}")
