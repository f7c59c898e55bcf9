"""kill -9 at the worst moment, over the real node daemon: nothing twice, nothing lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.demo.model import Reply, ScriptedModel
from perlica.demo.napcat import NapCatStandIn
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import new_operation_id
from perlica.domain.sandbox import ReadFile
from tests.behaviour.asking import ask_for_delete, create, run
from tests.behaviour.live import MEMBER, OWNER, PATIENCE_S, config_text, is_final, wait_until
from tests.recovery.process import ServiceProcess, service_process
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
STARTED = "SELECT count(*) FROM operations WHERE action='sandbox.exec' AND state='started'"


@pytest.fixture
def service(
    tmp_path: Path, napcat: NapCatStandIn, model: ScriptedModel, daemon: Daemon
) -> Iterator[ServiceProcess]:
    """A service over the real daemon, connected; its sandboxes are deleted at the end."""
    backend = SandboxdClient(SandboxdSettings(socket_path=daemon.socket, epoch=1))
    digest = backend.current_image()[0]
    text = config_text(tmp_path, napcat, model.base_url, socket=daemon.socket, digest=digest)
    with service_process(tmp_path, text) as process:
        process.start()
        napcat.wait_for_connection()
        yield process
    daemon.ensure_running()
    for box in backend.reconcile():
        backend.delete(new_operation_id(), box.name, box.instance)


def _start_again(service: ServiceProcess, napcat: NapCatStandIn) -> None:
    met = napcat.connection_count
    service.start()
    wait_until(lambda: napcat.connection_count > met, what="no second connection")


def _holds(daemon: Daemon, path: str) -> bool:
    """Whether the one sandbox of the node holds a file."""
    backend = SandboxdClient(SandboxdSettings(socket_path=daemon.socket, epoch=1))
    boxes = [box for box in backend.reconcile() if box.state == "ready"]
    try:
        for box in boxes:
            backend.execute(
                new_operation_id(),
                name=box.name,
                instance=box.instance,
                action=ReadFile(path=path),
                cancel=CancelToken(),
            )
    except PerlicaError:
        return False
    return bool(boxes)


@pytest.mark.evidence(14)
def test_a_command_that_ran_when_the_service_died_runs_once_and_its_output_arrives(
    service: ServiceProcess, model: ScriptedModel, napcat: NapCatStandIn
) -> None:
    script = "echo x >> /root/count; sleep 2; cat /root/count"
    model.add(Reply(calls=(create(), run("/bin/sh", "-c", script))), *[Reply(text="好")] * 3)
    asked = napcat.say(MEMBER, "跑", mention=True)
    wait_until(lambda: service.count(STARTED) == 1)

    service.kill()
    _start_again(service, napcat)
    napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)

    outputs = [m["content"] for r in model.requests for m in r["messages"] if m["role"] == "tool"]
    assert "x\n" in outputs[-1]
    assert "x\nx" not in outputs[-1]
    assert service.count("SELECT count(*) FROM operations WHERE action='sandbox.exec'") == 1


@pytest.mark.evidence(14)
def test_an_approval_that_was_waited_for_when_the_service_died_still_runs_exactly_once(
    service: ServiceProcess, model: ScriptedModel, napcat: NapCatStandIn, daemon: Daemon
) -> None:
    question, ticket, code = ask_for_delete(napcat, model)
    model.add(Reply(text="删好了"))

    service.kill()
    _start_again(service, napcat)
    napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(is_final, PATIENCE_S, after=question)
    service.kill()
    _start_again(service, napcat)
    again = napcat.say(OWNER, f".approve {ticket} {code}")
    napcat.wait_for_reply(after=again)

    deletions = "SELECT count(*) FROM operations WHERE action='sandbox.delete'"
    assert service.count(deletions) == 1
    assert daemon.client.health().counts.sandboxes == 0


@pytest.mark.evidence(14)
def test_a_command_that_the_daemon_lost_is_said_to_be_lost_and_not_repeated(
    service: ServiceProcess, model: ScriptedModel, napcat: NapCatStandIn, daemon: Daemon
) -> None:
    script = "echo x >> /root/count; sleep 1000"
    model.add(Reply(calls=(create(), run("/bin/sh", "-c", script))))
    model.add(Reply(calls=(run("cat", "/root/count"),)), *[Reply(text="好")] * 3)
    asked = napcat.say(MEMBER, "跑", mention=True)
    wait_until(lambda: _holds(daemon, "/root/count"))

    daemon.kill()
    daemon.start()
    napcat.wait_for_reply(is_final, PATIENCE_S, after=asked)

    outputs = [m["content"] for m in model.requests[-1]["messages"] if m["role"] == "tool"]
    assert "x\n" in outputs[-1]
    assert "x\nx" not in outputs[-1]
