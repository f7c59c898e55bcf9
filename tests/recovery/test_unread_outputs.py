"""An output that nobody will read is dropped by its node, not kept until its sandbox ends."""

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from tests.behaviour.asking import create, run
from tests.behaviour.conftest import MakeLive
from tests.behaviour.live import MEMBER, LivePerlica, is_final, wait_until
from tests.recovery.backends import Acknowledged

STARTED = "SELECT count(*) FROM operations WHERE action = 'sandbox.exec' AND state = 'started'"


def _ids(live: LivePerlica) -> list[str]:
    with live.database() as database:
        rows = database.query("SELECT id FROM operations WHERE action = 'sandbox.exec'")
    return [str(row["id"]) for row in rows]


def test_the_output_of_a_cancelled_command_is_acknowledged(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    backend = Acknowledged()
    live = make_live(model.base_url, backend=backend)
    model.add(Reply(calls=(create(), run("sleep", "30"))))

    asked = napcat.say(MEMBER, "等着", mention=True)
    wait_until(lambda: live.count(STARTED) == 1)
    napcat.say(MEMBER, ".cancel")
    napcat.wait_for_reply(is_final, after=asked)

    wait_until(lambda: set(_ids(live)) <= set(backend.acknowledged))
    assert len(_ids(live)) == 1


def test_the_output_of_a_command_is_acknowledged_once_its_result_is_written_down(
    make_live: MakeLive, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    backend = Acknowledged()
    live = make_live(model.base_url, backend=backend)
    model.add(Reply(calls=(create(), run("echo", "x"))), Reply(text="好"))

    asked = napcat.say(MEMBER, "跑", mention=True)
    napcat.wait_for_reply(is_final, after=asked)

    assert [operation for operation in backend.acknowledged if operation in _ids(live)] == _ids(
        live
    )
