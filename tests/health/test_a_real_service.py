"""Beside a whole service that does a task: the figures are those of what really happened."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.health import HealthFacts, HealthSettings, start_health
from tests.behaviour.asking import create, run
from tests.behaviour.conftest import live, make_live, model, napcat
from tests.behaviour.live import MEMBER, LivePerlica, is_final, wait_until
from tests.health.conftest import EAGER_S, Process, Site

__all__ = ["live", "make_live", "model", "napcat"]


@pytest.fixture
def beside(live: LivePerlica, tmp_path: Path) -> Iterator[Site]:
    settings = HealthSettings(
        host="127.0.0.1",
        port=0,
        backups=tmp_path / "backups",
        min_free_bytes=1,
        figures_every_s=EAGER_S,
        readiness_every_s=EAGER_S,
    )
    supervisor = live._supervisor
    assert supervisor is not None
    facts = HealthFacts(
        connection_fault=lambda: "",
        actors=lambda: {name: ref.is_alive() for name, ref in supervisor._running},
    )
    server = start_health(settings, live.path, facts)
    yield Site(server, live.path, Process())
    assert server.stop()


def test_a_task_leaves_its_figures(
    beside: Site,
    napcat: NapCatStandIn,
    model: ScriptedModel,
) -> None:
    model.add(Reply(calls=(create(), run("echo", "hello"))))
    model.add(Reply(text="done"))
    asked = napcat.say(MEMBER, "run something", mention=True)
    napcat.wait_for_reply(is_final, after=asked)
    wait_until(lambda: beside.samples()['perlica_sends_total{kind="final",outcome="sent"}'] == 1)

    samples = beside.samples()

    assert samples['perlica_messages_total{kind="trigger"}'] == 1
    assert samples['perlica_tasks_ended_total{reason="answered",state="completed"}'] == 1
    executed = 'perlica_operations_ended_total{action="sandbox.exec",state="succeeded"}'
    assert samples[executed] == 1
    assert samples["perlica_model_calls_total"] == 2
    assert samples["perlica_tool_calls_total"] == 2
    assert samples["perlica_sandbox_slots_free"] == 2
    assert samples['perlica_actor_up{actor="coordinator"}'] == 1
    assert beside.get("/readyz").status_code == 200
