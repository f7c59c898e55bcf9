"""The real node daemon as a node of the rig: clients, further daemons, a second image."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from perlica.clients.sandboxd import SandboxdClient, SandboxdSettings
from perlica.domain.ids import new_operation_id
from perlica.domain.sandbox import HeldImage
from sandboxd.images import demo
from tests.sandboxd.process import Daemon

NODE = "test-node"


def client_of(daemon: Daemon, node: str = NODE) -> SandboxdClient:
    """A client that speaks to the daemon as the service does."""
    settings = SandboxdSettings(socket_path=daemon.socket, epoch=1, node=node)
    return SandboxdClient(settings)


def delete_all(daemon: Daemon, node: str = NODE) -> None:
    """Leave no sandbox on a node."""
    daemon.ensure_running()
    backend = client_of(daemon, node)
    for box in backend.reconcile():
        backend.delete(new_operation_id(), box.name, box.instance)


def demo_image(daemon: Daemon, node: str = NODE) -> HeldImage:
    """The image of the demonstration, as the node holds it."""
    images = client_of(daemon, node).survey().images
    return next(image for image in images if image.reference == demo.REFERENCE)


def import_second_image(
    daemon: Daemon, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> HeldImage:
    """Another image on the node: the same with one file more."""
    files = {**demo._FILES, "etc/second": "the second image\n"}
    monkeypatch.setattr(demo, "_FILES", files)
    monkeypatch.setattr(demo, "REFERENCE", "perlica-demo:2")
    digest = demo.build_demo_layout(directory)
    imported = daemon.command("image", "import", str(directory))
    assert imported.returncode == 0, imported.stderr
    return HeldImage(digest=digest, reference="perlica-demo:2")


@contextmanager
def further_daemon(directory: Path, layout: Path, node: str) -> Iterator[Daemon]:
    """A second daemon beside the first, as another node; it leaves nothing behind."""
    run = Path("/dev/shm") / f"sbx-{uuid.uuid4().hex[:8]}"
    run.mkdir()
    directory.mkdir(parents=True)
    second = Daemon(directory / "state", run, extra="first_host_id = 1960000000")
    text = second.config.read_text("utf-8").replace('"test-node"', f'"{node}"')
    second.config.write_text(text, encoding="utf-8")
    assert second.command("image", "import", str(layout)).returncode == 0
    second.start()
    try:
        yield second
    finally:
        delete_all(second, node)
        second.stop()
        left = second.leftovers()
        _remove(run)
    assert left == []


def _remove(directory: Path) -> None:
    for entry in sorted(directory.rglob("*"), reverse=True):
        entry.rmdir() if entry.is_dir() else entry.unlink()
    directory.rmdir()
