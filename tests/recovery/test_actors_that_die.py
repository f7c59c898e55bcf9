"""An actor that dies ends the process; the next process finishes the task."""

from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.live import MEMBER, PATIENCE_S, config_text, is_final, wait_until
from tests.recovery.process import service_process

ACTORS = (
    "ledger",
    "serializer-1",
    "outbox",
    "session",
    "coordinator",
    "protection",
    "reconciler",
    "napcat",
)
DEATHS = (
    "ledger:Tick",
    "outbox:OutboxRung",
    "session:StepDue",
    "coordinator:TaskRequested",
    "coordinator:StepFinished",
    "protection:FramesWaiting",
    "reconciler:Tick",
    "napcat:Tick",
    "napcat:Send",
)
EXITS_WITHIN_S = 45.0


@pytest.mark.parametrize("actor", ACTORS)
def test_an_actor_that_fails_at_its_start_ends_the_process(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel, actor: str
) -> None:
    with service_process(tmp_path, config_text(tmp_path, napcat, model.base_url)) as service:
        service.start(f"{actor}:start")

        code = service.wait(EXITS_WITHIN_S)

    assert code != 0


@pytest.mark.evidence(14)
@pytest.mark.parametrize("death", DEATHS)
def test_an_actor_that_dies_ends_the_process_and_the_next_one_finishes_the_task(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel, death: str
) -> None:
    model.add(*[Reply(text="做完了")] * 3)
    with service_process(tmp_path, config_text(tmp_path, napcat, model.base_url)) as service:
        service.start(death)
        napcat.wait_for_connection(PATIENCE_S)
        service.arm()
        asked = napcat.say(MEMBER, "做一件事", mention=True)
        code = service.wait(EXITS_WITHIN_S)

        met = napcat.connection_count
        service.start()
        wait_until(lambda: napcat.connection_count > met, what="no second connection")
        answer = napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)

        assert code != 0
        assert "做完了" in answer.text
        assert service.count("SELECT count(*) FROM tasks") == 1
        assert service.terminate() == 0
