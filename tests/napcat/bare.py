"""Small makings of tests: settings of a link to any address, one frame, what was sent."""

from dataclasses import replace
from typing import Any

from actors.outbox.actor import OutboxSettings
from perlica.clients.napcat import NapCatSettings
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.ids import GroupId, MessageId, UserId
from tests.napcat.rig import BOT, MING, OUR_GROUP


def bare_settings(url: str, **changes: object) -> NapCatSettings:
    """Quick to retry; `changes` replace single fields."""
    given: dict[str, object] = {
        "url": url,
        "token": "t",
        "group_id": GroupId(OUR_GROUP),
        "self_id": UserId(BOT),
        "io_timeout_s": 0.1,
        "backoff_first_s": 0.02,
        "backoff_cap_s": 0.05,
    }
    return NapCatSettings(**{**given, **changes})  # type: ignore[arg-type]


def message_frame(napcat: NapCatStandIn, text: str) -> dict[str, object]:
    """A message of our group as NapCat pushes it."""
    return {
        "time": 1796028366,
        "self_id": napcat.self_id,
        "post_type": "message",
        "message_type": "group",
        "group_id": napcat.group_id,
        "user_id": MING,
        "message_id": 1,
        "real_seq": "1",
        "raw_message": text,
        "message": [{"type": "text", "data": {"text": text}}],
    }


def with_doubt(settings: OutboxSettings, **changes: Any) -> OutboxSettings:
    """The settings with other waits for a look-up."""
    return replace(settings, reconciliation=replace(settings.reconciliation, **changes))


def our_message_ids(napcat: NapCatStandIn) -> list[MessageId]:
    return [MessageId(message.message_id) for message in napcat.sent]
