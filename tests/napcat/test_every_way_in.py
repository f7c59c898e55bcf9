"""The group is compared first on every way in: another group's frame of any kind is dropped."""

import pytest

from perlica.clients.napcat.catch_up import read_missed
from perlica.clients.napcat.inbound import DropCounts
from perlica.clients.napcat.router import Destination, Router
from perlica.domain.clock import now_ms
from tests.napcat.bare import bare_settings
from tests.napcat.rig import BOT, MING, OTHER_GROUP, OUR_GROUP

NOTICES = (
    *("group_recall", "group_ban", "group_increase", "group_decrease", "group_admin"),
    *("group_card", "essence", "group_upload", "group_msg_emoji_like", "notify"),
)
KINDS = (
    {"post_type": "message", "message_type": "group"},
    {"post_type": "message_sent", "message_type": "group"},
    *({"post_type": "notice", "notice_type": kind} for kind in NOTICES),
)
FOREIGN = {
    "another number": OTHER_GROUP,
    "digits": str(OTHER_GROUP),
    "ours and more": f"{OUR_GROUP}0",
    "ours in a list": [OUR_GROUP],
    "ours in an object": {"id": OUR_GROUP},
    "ours as a fraction": OUR_GROUP + 0.5,
    "true": True,
    "nothing": None,
    "empty": "",
}


def frame(kind: dict[str, str], group_id: object) -> dict[str, object]:
    return {
        **kind,
        "self_id": BOT,
        "user_id": MING,
        "group_id": group_id,
        "message_id": 1,
        "real_seq": "1",
        "time": now_ms() // 1000,
        "message": [{"type": "text", "data": {"text": "x"}}],
        "raw_message": "x",
    }


def label(kind: dict[str, str]) -> str:
    return kind.get("notice_type", kind["post_type"])


@pytest.mark.parametrize("kind", KINDS, ids=label)
@pytest.mark.parametrize("group_id", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_frame_of_another_group_goes_nowhere_and_is_counted(
    kind: dict[str, str], group_id: object
) -> None:
    dropped = DropCounts()

    went = Router(bare_settings("ws://127.0.0.1:1"), dropped).sort(frame(kind, group_id))

    assert went is Destination.nowhere
    assert dropped.other_groups == 1


@pytest.mark.parametrize("kind", KINDS, ids=label)
@pytest.mark.parametrize("group_id", [OUR_GROUP, str(OUR_GROUP)])
def test_a_frame_of_our_group_goes_on(kind: dict[str, str], group_id: object) -> None:
    went = Router(bare_settings("ws://127.0.0.1:1"), DropCounts()).sort(frame(kind, group_id))

    assert went is Destination.intake


@pytest.mark.parametrize("group_id", FOREIGN.values(), ids=FOREIGN.keys())
def test_a_history_gives_nothing_of_another_group(group_id: object) -> None:
    message = frame({"post_type": "message", "message_type": "group"}, group_id)
    page = {"status": "ok", "retcode": 0, "data": {"messages": [message]}}

    found = read_missed(
        lambda _action, _params: page, bare_settings("ws://127.0.0.1:1"), None, page_messages=10
    )

    assert found.frames == ()
