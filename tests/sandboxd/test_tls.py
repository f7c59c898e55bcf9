"""The interface over mutual TLS: who is let in, as what, and that a slow peer delays nobody."""

import http.client
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings, TlsAddress
from perlica.domain.cancel import CancelToken
from perlica.domain.errors import Refused, Retryable
from perlica.domain.ids import SandboxName, new_operation_id
from perlica.domain.sandbox import Command, CommandOutcome, SandboxLimits, SandboxSpec
from sandboxd import wire
from tests.sandboxd.authority import Authority
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root
LIMITS = SandboxLimits(
    memory_bytes=2**28, pids=64, cpu_millis=1000, disk_bytes=wire.MIN_DISK_BYTES, nofile=256
)


@dataclass(frozen=True, slots=True)
class Node:
    """A daemon that also listens on a port, and the authority that it trusts."""

    daemon: Daemon
    authority: Authority
    port: int
    directory: Path

    def address(self, client: tuple[Path, Path], **fields: object) -> TlsAddress:
        given = {
            "host": "127.0.0.1",
            "port": self.port,
            "server_name": "node-1.test",
            "authority": self.authority.file,
            "certificate": client[0],
            "key": client[1],
        }
        return TlsAddress(**(given | fields))  # type: ignore[arg-type]

    def backend(self, client: tuple[Path, Path], **fields: object) -> SandboxdClient:
        address = self.address(client, **fields)
        return SandboxdClient(
            SandboxdSettings(socket_path=Path("/nonexistent"), epoch=1, tls=address)
        )


@pytest.fixture(scope="module")
def node(
    layout: Path, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Node]:
    directory = tmp_path_factory.mktemp("tls")
    authority = Authority(directory / "authority")
    certificate, key = authority.issue("node-1.test")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    run = directory / "run"
    daemon = Daemon(directory / "state", run)
    with daemon.config.open("a", encoding="utf-8") as file:
        file.write(
            f'[tls]\nport = {port}\ncertificate = "{certificate}"\nkey = "{key}"\n'
            f'client_authority = "{authority.file}"\n'
            '[tls.clients]\n"perlica.test" = "service"\n"watch.test" = "observer"\n'
        )
    imported = daemon.command("image", "import", str(layout))
    assert imported.returncode == 0, imported.stderr
    daemon.start()
    try:
        yield Node(daemon, authority, port, directory)
    finally:
        daemon.stop()
        assert daemon.leftovers() == []


def test_the_service_uses_a_sandbox_over_tls_as_over_the_socket(node: Node) -> None:
    backend = node.backend(node.authority.issue("perlica.test"))
    (image,) = backend.current_image()
    spec = SandboxSpec(name=SandboxName("box"), purpose="test", node="test-node", limits=LIMITS)
    box = backend.create(new_operation_id(), spec, image)

    outcome = backend.execute(
        new_operation_id(),
        name=box.name,
        instance=box.instance,
        action=Command(argv=("/bin/echo", "over tls")),
        cancel=CancelToken(),
    )
    gone = backend.delete(new_operation_id(), box.name, box.instance)

    assert isinstance(outcome, CommandOutcome)
    assert outcome.stdout == b"over tls\n"
    assert gone.instance == box.instance


def test_output_streams_to_the_service_over_tls(node: Node) -> None:
    backend = node.backend(node.authority.issue("perlica.test"))
    spec = SandboxSpec(name=SandboxName("box"), purpose="test", node="test-node", limits=LIMITS)
    box = backend.create(new_operation_id(), spec, backend.current_image()[0])
    heard: list[tuple[str, bytes]] = []

    outcome = backend.stream_command(
        new_operation_id(),
        name=box.name,
        instance=box.instance,
        action=Command(argv=("/bin/sh", "-c", "echo out; echo err >&2")),
        cancel=CancelToken(),
        on_output=lambda stream, chunk, _: heard.append((stream, chunk)),
    )
    backend.delete(new_operation_id(), box.name, box.instance)

    assert sorted(heard) == [("stderr", b"err\n"), ("stdout", b"out\n")]
    assert outcome.stdout == b"out\n"


def test_an_observer_may_look_and_not_touch(node: Node) -> None:
    backend = node.backend(node.authority.issue("watch.test"))

    assert backend.health().node == "test-node"
    assert backend.reconcile() == ()
    with pytest.raises(Refused, match="sees no output"):
        backend.look_up(new_operation_id())
    with pytest.raises(Refused, match="may only look"):
        backend.stop(new_operation_id(), SandboxName("box"), "0" * 32)


@pytest.mark.parametrize(
    "names", [("stranger.test",), ("perlica.test", "watch.test"), ("x.perlica.test",)]
)
def test_a_name_that_is_bound_to_no_role_is_refused(node: Node, names: tuple[str, ...]) -> None:
    with pytest.raises(Refused, match="may not use sandboxd"):
        node.backend(node.authority.issue(*names)).health()


def test_a_certificate_of_another_authority_gets_no_answer(node: Node) -> None:
    other = Authority(node.directory / "other").issue("perlica.test")

    with pytest.raises(Retryable):
        node.backend(other).health()


def test_without_a_certificate_there_is_no_answer(node: Node) -> None:
    context = ssl.create_default_context(cafile=node.authority.file)
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", node.port, context=context, timeout=10)

    def ask() -> http.client.HTTPResponse:
        connection.request("GET", wire.HEALTH_PATH)
        return connection.getresponse()

    with pytest.raises((OSError, http.client.HTTPException)):
        ask()
    connection.close()


def test_the_service_does_not_speak_to_another_server(node: Node) -> None:
    client = node.authority.issue("perlica.test")
    other = Authority(node.directory / "elsewhere")

    with pytest.raises(Retryable):
        node.backend(client, server_name="node-2.test").health()
    with pytest.raises(Retryable):
        node.backend(client, authority=other.file).health()


def test_old_tls_and_plain_http_are_not_spoken(node: Node) -> None:
    certificate, key = node.authority.issue("perlica.test")
    context = ssl.create_default_context(cafile=node.authority.file)
    context.load_cert_chain(certificate, key)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    with (
        socket.create_connection(("127.0.0.1", node.port), timeout=10) as raw,
        pytest.raises((ssl.SSLError, OSError)),
        context.wrap_socket(raw, server_hostname="node-1.test") as wrapped,
    ):
        wrapped.recv(1)
    with socket.create_connection(("127.0.0.1", node.port), timeout=10) as plain:
        plain.sendall(b"GET /v1/health HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            answer = plain.recv(4096)
        except ConnectionResetError:
            answer = b""

    assert b"200" not in answer
    assert b"protocol" not in answer


def test_peers_that_say_nothing_or_half_a_hello_delay_nobody(node: Node) -> None:
    backend = node.backend(node.authority.issue("perlica.test"))
    silent = [socket.create_connection(("127.0.0.1", node.port)) for _ in range(12)]
    try:
        for connection in silent[2:]:
            connection.sendall(b"\x16\x03\x01\x02\x00\x01")

        assert backend.health().protocol == wire.PROTOCOL_VERSION
    finally:
        for connection in silent:
            connection.close()


def test_a_header_cannot_pretend_to_be_a_certificate(node: Node) -> None:
    certificate, key = node.authority.issue("stranger.test")
    context = ssl.create_default_context(cafile=node.authority.file)
    context.load_cert_chain(certificate, key)
    context.check_hostname = False
    connection = http.client.HTTPSConnection("127.0.0.1", node.port, context=context, timeout=10)
    forged = {"sandboxd.peer_names": "perlica.test", "X-Remote-Uid": "0"}

    connection.request("GET", wire.HEALTH_PATH, headers=forged)
    answer = json.loads(connection.getresponse().read())
    connection.close()

    assert answer["error"] == "refused"


def test_a_key_that_does_not_fit_stops_the_start(node: Node, tmp_path: Path) -> None:
    text = node.daemon.config.read_text("utf-8").replace("node-1.test.key", "watch.test.key")
    node.authority.issue("watch.test")
    broken = tmp_path / "broken.toml"
    text = text.replace(f'"{node.daemon.state}"', f'"{tmp_path}/state"')
    text = text.replace(f"{node.daemon.run}", f"{tmp_path}/run")
    broken.write_text(text, "utf-8")

    done = node.daemon.command("--config", str(broken), "serve")

    assert done.returncode == 2
    assert "[tls]: a certificate or key cannot be used" in done.stderr
