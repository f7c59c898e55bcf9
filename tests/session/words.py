"""Values that the tests of the session room speak in."""

from itertools import count
from typing import Any, TypeAlias

from perlica.conversation import ToolSpec
from perlica.domain.ids import GroupId, MessageId, RowId, UserId
from perlica.protection import Channel, Protected, protect
from perlica.runtimes.contract import Finish, RawCall, RawTurn
from perlica.stores.messages import StoredMessage

GROUP = GroupId(700_000_001)
SELF = UserId(10_001)
MEMBER = UserId(20_001)
NOW_MS = 1_793_000_000_000
CREDENTIAL = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"

RUN = ToolSpec(name="sandbox_exec", description="Run.", parameters={"type": "object"})
READ = ToolSpec(name="sandbox_read", description="Read.", parameters={"type": "object"})
TOOLS = (RUN, READ)

Value: TypeAlias = Any

_rows = count(1)


def sealed(text: str) -> Protected:
    return protect(text, Channel.MESSAGE)


def stored(
    text: str | Protected = "hello",
    *,
    row: int | None = None,
    age_ms: int = 0,
    name: str = "小明",
    user: int = MEMBER,
    quotes: int | None = None,
    recalled_at_ms: int | None = None,
) -> StoredMessage:
    """A message sent `age_ms` before the tests' now."""
    number = next(_rows) if row is None else row
    return StoredMessage(
        row=RowId(number),
        message_id=MessageId(number),
        real_seq=number,
        order_seq=number,
        user_id=UserId(user),
        sent_at_ms=NOW_MS - age_ms,
        kind="chat",
        display_name=sealed(name),
        content=sealed(text) if isinstance(text, str) else text,
        quoted_message_id=None if quotes is None else MessageId(quotes),
        recalled_at_ms=recalled_at_ms,
    )


def turn(
    text: str = "",
    *calls: RawCall,
    finish: Finish = Finish.complete,
    **fields: Value,
) -> RawTurn:
    return RawTurn(
        text=text,
        calls=calls,
        finish=finish,
        input_tokens=11,
        output_tokens=5,
        **fields,
    )


def call(
    tool: str = RUN.name, arguments: str = '{"argv":["ls"]}', *, wire_id: str = "call_1"
) -> RawCall:
    return RawCall(wire_id=wire_id, tool=tool, arguments_json=arguments)
