"""A cancel that reaches the node before the command that it is about still ends the command."""

import threading
from typing import Any

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.clients.sandboxd_transport import follow
from perlica.domain.cancel import CancelToken
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import Command, SandboxLimits, SandboxSpec
from sandboxd import wire
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
LIMITS = SandboxLimits(
    memory_bytes=1 << 28, pids=64, cpu_millis=500, disk_bytes=352_321_536, nofile=256
)
SLEEP = Command(
    argv=("sleep", "30"),
    cwd="/",
    environment=(),
    stdin=b"",
    within_ms=30_000,
    output_limit_bytes=1_000,
)


@pytest.mark.evidence(14)
def test_a_cancel_that_overtakes_its_command_ends_it(
    daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = SandboxdClient(SandboxdSettings(socket_path=daemon.socket, epoch=1))
    spec = SandboxSpec(name=SandboxName("main"), purpose="", node="test-node", limits=LIMITS)
    box = client.create(new_operation_id(), spec, client.current_image()[0])
    cancel, overtaken = CancelToken(), threading.Event()
    read = SandboxdClient._read

    def notice(self: SandboxdClient, method: str, path: str, *more: Any) -> Any:
        answer = read(self, method, path, *more)
        if isinstance(answer, wire.CancelAnswer) and answer.state == "not_running":
            overtaken.set()
        return answer

    def follow_late(*given: Any) -> Any:
        cancel.set()
        assert overtaken.wait(30)
        return follow(*given)

    monkeypatch.setattr(SandboxdClient, "_read", notice)
    monkeypatch.setattr("perlica.clients.sandboxd.follow", follow_late)
    try:
        outcome = client.stream_command(
            new_operation_id(),
            name=box.name,
            instance=box.instance,
            action=SLEEP,
            cancel=cancel,
            on_output=lambda *_: None,
        )
    finally:
        client.delete(new_operation_id(), box.name, box.instance)

    assert outcome.ended == "cancelled"
