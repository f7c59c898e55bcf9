"""OneBot v11 as NapCat speaks it: frames to values and values to frames, without any socket.

The connection and the actors of intake and outbox speak OneBot through this package only.
"""

from perlica.clients.onebot.answers import (
    SendOutcome,
    classify_send_failure,
    fields_of,
    is_answer,
    is_token_refusal,
    messages_of,
    says_removed,
    sent_id,
    succeeded,
)
from perlica.clients.onebot.calls import ALLOWED_ACTIONS, build_call, build_send, new_echo
from perlica.clients.onebot.events import (
    Notice,
    NoticeKind,
    group_of,
    hash_message,
    is_group_event,
    may_be_command,
    parse_message,
    parse_notice,
    self_of,
)
from perlica.clients.onebot.fields import Frame
from perlica.clients.onebot.text import clean_text, hash_text
from perlica.clients.onebot.traces import Trace, look_for_text

__all__ = [
    "ALLOWED_ACTIONS",
    "Frame",
    "Notice",
    "NoticeKind",
    "SendOutcome",
    "Trace",
    "build_call",
    "build_send",
    "classify_send_failure",
    "clean_text",
    "fields_of",
    "group_of",
    "hash_message",
    "hash_text",
    "is_answer",
    "is_group_event",
    "is_token_refusal",
    "look_for_text",
    "may_be_command",
    "messages_of",
    "new_echo",
    "parse_message",
    "parse_notice",
    "says_removed",
    "self_of",
    "sent_id",
    "succeeded",
]
