"""Two node daemons in two network namespaces as nodes of one service, over mutual TLS.

One is cut off, comes back, and is installed anew; what its sandboxes are is as the rule says.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from perlica.app import parts
from perlica.app.capabilities import sandbox_checks
from perlica.app.config import Config, parse_config
from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings, TlsAddress
from perlica.domain.errors import PerlicaError
from perlica.domain.ids import new_operation_id
from perlica.domain.node import LossRule
from perlica.domain.sandbox import SandboxImage
from perlica.domain.texts import Language
from sandboxd.images import demo
from tests.app.configs import MINIMAL, SANDBOX
from tests.behaviour.live import wait_until
from tests.sandboxd.authority import Authority
from tests.sandboxd.process import CONFIG, Daemon
from tests.sandboxes.rig import Rig

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

QUICK = LossRule(loss_after_s=1.0, least_looks=5, longest_gap_s=60)
PORT = 7443


def ip(*words: str) -> None:
    """One `ip` command."""
    subprocess.run(["ip", *words], check=True, capture_output=True)


@dataclass(slots=True)
class Namespace:
    """A network namespace with one cable to this one."""

    name: str
    number: int

    @property
    def address(self) -> str:
        """Where what runs inside listens."""
        return f"10.213.{self.number}.2"

    @property
    def cable(self) -> str:
        """Our end of the cable."""
        return f"vp{self.name[-6:]}{self.number}"

    def plug(self, *, is_in: bool) -> None:
        """Plug the cable in or out."""
        ip("link", "set", self.cable, "up" if is_in else "down")


@contextmanager
def namespace(number: int) -> Iterator[Namespace]:
    """Made for a test, gone after it."""
    made = Namespace(f"perlica-{uuid.uuid4().hex[:6]}", number)
    ip("netns", "add", made.name)
    try:
        inner = f"{made.cable}i"
        ip("link", "add", made.cable, "type", "veth", "peer", "name", inner)
        ip("link", "set", inner, "netns", made.name)
        ip("addr", "add", f"10.213.{number}.1/24", "dev", made.cable)
        ip("-n", made.name, "addr", "add", f"{made.address}/24", "dev", inner)
        ip("-n", made.name, "link", "set", inner, "up")
        ip("-n", made.name, "link", "set", "lo", "up")
        made.plug(is_in=True)
        yield made
    finally:
        subprocess.run(["ip", "link", "delete", made.cable], check=False, capture_output=True)
        ip("netns", "delete", made.name)


class DistantDaemon(Daemon):
    """A daemon inside a network namespace, listening for mutual TLS."""

    def __init__(self, directory: Path, place: Namespace, authority: Authority) -> None:
        run = Path("/dev/shm") / f"sbx-{uuid.uuid4().hex[:8]}"
        run.mkdir()
        directory.mkdir()
        super().__init__(directory / "state", run)
        self.place = place
        self.node = f"node-{place.number}"
        certificate, key = authority.issue(f"{self.node}.test")
        text = CONFIG.format(
            state=self.state,
            run=run,
            extra=f"first_host_id = {1_900_000_000 + place.number * 10_000_000}",
        )
        self.config.write_text(
            text.replace('"test-node"', f'"{self.node}"')
            + f'[tls]\nhost = "{place.address}"\nport = {PORT}\n'
            f'certificate = "{certificate}"\nkey = "{key}"\n'
            f'client_authority = "{authority.file}"\n[tls.clients]\n"perlica.test" = "service"\n',
            encoding="utf-8",
        )
        self.authority = authority

    def start(self) -> None:
        """As the plain one, inside the namespace."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                ["nsenter", f"--net=/run/netns/{self.place.name}", *self._words("serve")],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=Path(__file__).parents[2],
            )
        wait_until(self._answers, what=self.log.read_text("utf-8"))

    def _words(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "sandboxd", "--config", str(self.config), *arguments]

    def backend(self, own: tuple[Path, Path]) -> SandboxdClient:
        """A client as the service has one, over the cable."""
        tls = TlsAddress(
            host=self.place.address,
            port=PORT,
            server_name=f"{self.node}.test",
            authority=self.authority.file,
            certificate=own[0],
            key=own[1],
        )
        return SandboxdClient(
            SandboxdSettings(socket_path=Path("/nonexistent"), epoch=1, node=self.node, tls=tls)
        )

    def install_anew(self, layout: Path) -> None:
        """Another disk, nothing of the old one; the same name and address."""
        self.stop()
        shutil.rmtree(self.state)
        assert self.command("image", "import", str(layout)).returncode == 0
        self.start()

    def end(self) -> None:
        """Delete what it holds, stop it, and see that nothing is left."""
        settings = SandboxdSettings(socket_path=self.socket, epoch=1, node=self.node)
        local = SandboxdClient(settings)
        for box in local.reconcile():
            local.delete(new_operation_id(), box.name, box.instance)
        self.stop()
        assert self.leftovers() == []

    def discard(self) -> None:
        """Leave no process and no directory, also where its start or its end failed."""
        if self._process is not None and self._process.poll() is None:
            self.kill()
        shutil.rmtree(self.run, ignore_errors=True)


@dataclass(slots=True)
class Pair:
    """Two distant nodes and the service's certificate."""

    first: DistantDaemon
    second: DistantDaemon
    own: tuple[Path, Path]

    def backends(self) -> dict[str, SandboxdClient]:
        """A client for each node."""
        return {d.node: d.backend(self.own) for d in (self.first, self.second)}


@pytest.fixture
def pair(layout: Path, needs_node: None, tmp_path: Path) -> Iterator[Pair]:
    """Two daemons, each behind a cable of its own."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("needs root and iproute2")
    authority = Authority(tmp_path / "authority")
    with ExitStack() as stack:
        daemons: list[DistantDaemon] = []
        for number in (1, 2):
            place = stack.enter_context(namespace(number))
            daemon = DistantDaemon(tmp_path / f"node-{number}", place, authority)
            stack.callback(daemon.discard)
            assert daemon.command("image", "import", str(layout)).returncode == 0
            daemon.start()
            stack.callback(daemon.end)
            daemons.append(daemon)
        yield Pair(daemons[0], daemons[1], authority.issue("perlica.test"))


def test_a_node_behind_a_cut_cable_comes_back_and_is_then_installed_anew(
    pair: Pair, layout: Path, make_rig: Callable[..., Rig]
) -> None:
    backends = pair.backends()
    held = next(i for i in backends["node-1"].survey().images if i.reference == demo.REFERENCE)
    image = SandboxImage(
        reference=held.reference, digest=held.digest, introduction="busybox", revision=1
    )
    rig = make_rig(backends=backends, image=image, look_every_s=0.1, loss_rule=QUICK)
    states = "SELECT state FROM nodes WHERE name = 'node-2'"
    assert "node node-1" in rig.create("here", node="node-1")
    assert "node node-2" in rig.create("there", node="node-2")
    rig.run("sh", "-c", "echo kept > /root/kept", sandbox="there")

    # Cut off: silent looks are observations, then a verdict; nothing is lost by itself.
    pair.second.place.plug(is_in=False)
    rig.wait(lambda: rig.column(states) == ["observed"], within_s=60)
    rig.wait(lambda: rig.column(states) == ["unreachable"], within_s=120)
    assert rig.living() == ["here", "there"]
    assert "is ready" in rig.create("third", node="node-1")
    (evidence,) = rig.column("SELECT evidence FROM nodes WHERE name = 'node-2'")
    facts = json.loads(str(evidence))
    assert facts["silent_looks"] >= 5
    assert facts["control_looks"] >= 5

    # Back: everything is as it was, byte for byte.
    pair.second.place.plug(is_in=True)
    rig.wait(lambda: rig.column(states) == ["alive"], within_s=60)
    assert "kept" in rig.run("cat", "/root/kept", sandbox="there")

    # Installed anew: another identity under the same name, so the node that held it is absent. The
    # slot is free, so is the name.
    pair.second.install_anew(layout)
    rig.wait(lambda: rig.living() == ["here", "third"], within_s=60)
    assert rig.column("SELECT state FROM sandboxes WHERE name = 'there'") == ["lost"]
    (detail,) = rig.column("SELECT detail FROM audit_events WHERE kind = 'sandbox.lost'")
    told = json.loads(str(detail))
    assert told["reason"] == "node_absent"
    assert told["evidence"]["absent_because"] == "identity_changed"
    rig.wait(lambda: rig.column(states) == ["alive"], within_s=60)
    assert "is ready" in rig.create("there", node="node-2")
    assert "No such file" in rig.run("cat", "/root/kept", sandbox="there")


def test_a_caller_with_another_certificate_is_no_service(pair: Pair, tmp_path: Path) -> None:
    stranger = Authority(tmp_path / "stranger").issue("perlica.test")

    with pytest.raises(PerlicaError):
        pair.first.backend(stranger).survey()


@pytest.fixture
def config(pair: Pair) -> Config:
    """The service's configuration with both as remote nodes."""
    nodes = "".join(
        f'\n[[sandbox.remote_nodes]]\nname = "{daemon.node}"\n'
        f'address = "{daemon.place.address}:{PORT}"\nserver_name = "{daemon.node}.test"\n'
        f'authority_file = "{daemon.authority.file}"\ncertificate_file = "{pair.own[0]}"\n'
        f'key_file = "{pair.own[1]}"\n'
        for daemon in (pair.first, pair.second)
    )
    text = MINIMAL.replace("[napcat]", "demo = true\n[napcat]") + SANDBOX + nodes
    return parse_config(text.replace('node = "node-1"', 'node = "node-0"'))


def test_the_service_reaches_distant_nodes_as_its_configuration_says(config: Config) -> None:
    assert config.sandbox is not None

    settings = parts.node_settings(config.sandbox, epoch=1)
    distant = [name for name, each in settings.items() if each.tls is not None]
    answering = [SandboxdClient(settings[name]).health().node for name in distant]

    assert tuple(settings) == ("node-0", "node-1", "node-2")
    assert answering == distant == ["node-1", "node-2"]


def test_the_doctor_looks_at_distant_nodes_and_at_their_keys(pair: Pair, config: Config) -> None:
    pair.second.place.plug(is_in=False)
    pair.own[1].chmod(0o644)

    found = [(one.code, one.text.say(Language.en)) for one in sandbox_checks.check_sandboxd(config)]

    silent = [text for code, text in found if code == "sandboxd_unreachable"]
    assert [f"{pair.second.place.address}:{PORT}" in text for text in silent] == [False, True]
    assert "sandboxd_key_open" in {code for code, _ in found}
