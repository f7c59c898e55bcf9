"""Fuzzing: whatever text a NapCat sends, link and intake go on, and the next message is heard.

Real socket, real queue, real database. Runs for a minute with --long, for a moment otherwise, or
for PERLICA_FUZZ_SECONDS.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from actors.protection.intake import Intake
from perlica.demo.napcat import NapCatStandIn, Settings
from tests.napcat.intake import open_intake
from tests.napcat.rig import BOT, HONG, MING, OUR_GROUP, LinkRig, settings_for
from tests.napcat.test_onebot_properties import ANY_TEXT, FRAMES, JSON
from tests.suite.sample import Sample

ASKED_S = os.environ.get("PERLICA_FUZZ_SECONDS")
EXAMPLES_AT_ONCE = 40
HEARD_WITHIN_S = 20.0

META = st.fixed_dictionaries(
    {"post_type": st.just("meta_event"), "self_id": st.sampled_from([BOT, str(BOT), 5])},
    optional={
        "meta_event_type": st.sampled_from(["heartbeat", "lifecycle", "x"]) | JSON,
        "sub_type": st.just("connect") | JSON,
        "status": st.dictionaries(st.just("online"), JSON) | JSON,
        "interval": JSON,
    },
)
ANSWERS = st.fixed_dictionaries(
    {"retcode": st.sampled_from([0, 1200, 1403, 1404]) | JSON},
    optional={"status": JSON, "data": JSON, "echo": JSON, "message": JSON},
)
TRUE_FRAMES = st.builds(
    lambda message, changes: (
        {
            "post_type": "message",
            "message_type": "group",
            "self_id": BOT,
            "group_id": OUR_GROUP,
            "user_id": MING,
            "time": int(time.time()),
            "message_id": 1,
            "real_seq": "1",
            "message": message,
        }
        | changes
    ),
    JSON | ANY_TEXT,
    st.dictionaries(
        st.sampled_from("message_id real_seq time user_id sender raw_message sub_type".split()),
        JSON,
        max_size=3,
    ),
)
NESTED = st.integers(1, 5_000).map(lambda depth: "[" * depth + "]" * depth)
TEXTS = (
    st.one_of(FRAMES, META, ANSWERS, TRUE_FRAMES, JSON).map(json.dumps)
    | ANY_TEXT.map(lambda text: text.encode("utf-8", "replace").decode())
    | NESTED
    | NESTED.map(
        lambda deep: (
            f'{{"post_type":"message","self_id":{BOT},"group_id":{OUR_GROUP},'
            f'"message_type":"group","message":{deep}}}'
        )
    )
)


@pytest.mark.timeout(float(ASKED_S or 60) + 60)
def test_no_frame_gets_out_of_the_adapter(tmp_path: Path, sample: Sample) -> None:
    seconds = float(ASKED_S) if ASKED_S else sample.rounds("fuzz")
    with (
        NapCatStandIn(settings=Settings(heartbeat_interval_ms=0)) as napcat,
        LinkRig(settings_for(napcat, refused_retry_s=0.02, backoff_cap_s=0.02)) as rig,
        open_intake(tmp_path / "state" / "perlica.sqlite3") as intake,
    ):
        until_s, rounds = time.monotonic() + seconds, 0
        while time.monotonic() < until_s:
            rounds += 1
            seed(sample.seed + rounds)(_fuzz)(napcat, rig, intake, until_s)
        seen = intake.database.query("SELECT count(*) AS n FROM group_messages")[0]["n"]
    assert seen > 0


@settings(
    max_examples=EXAMPLES_AT_ONCE,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(texts=st.lists(TEXTS, min_size=1, max_size=20))
def _fuzz(
    napcat: NapCatStandIn, rig: LinkRig, intake: Intake, until_s: float, *, texts: list[str]
) -> None:
    if time.monotonic() > until_s:
        return
    for text in texts:
        napcat.inject_text(text)
    said = napcat.say(HONG, "听得到吗")
    _wait_heard(rig, intake, said.message_id)


def _wait_heard(rig: LinkRig, intake: Intake, message_id: int) -> None:
    """Take in what comes until that message is stored; the link's thread must live."""
    sql = "SELECT 1 FROM group_messages WHERE message_id = :id"
    until_s = time.monotonic() + HEARD_WITHIN_S
    while not intake.database.query(sql, {"id": message_id}):
        rig.link.keep_alive()
        assert time.monotonic() < until_s, rig.link.reason
        _take(rig, intake)


def _take(rig: LinkRig, intake: Intake) -> None:
    frames: Any = rig.queue.drain(64)
    if frames:
        intake.take(frames)
        stored = intake.database.query("SELECT max(real_seq) AS seq FROM group_messages")
        rig.position.stored = stored[0]["seq"]
    else:
        time.sleep(0.001)
