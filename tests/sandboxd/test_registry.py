"""Images from a registry: by digest, with a credential that goes nowhere else."""

import contextlib
import hashlib
import json
import os
import shutil
import socket
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd.images.demo import build_demo_layout
from tests.sandboxd.client import Box, Client
from tests.sandboxd.layouts import add, layer, write_layout
from tests.sandboxd.process import Daemon, wait_for

pytestmark = pytest.mark.root
NEEDED = ("docker-registry", "skopeo")
# bcrypt of "only-for-tests".
USERS = "tester:$2y$05$abcdefghijklmnopqrstuuDt8u8tY.Zm8YU.pieFNyF5h5afvnc0a\n"
CANARY = "dGVzdGVyOm9ubHktZm9yLXRlc3Rz"
SETTINGS = """
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {root}}}}}
http: {{addr: "{host}", secret: test}}
{auth}
"""


class Registry:
    """docker-registry on loopback."""

    def __init__(self, root: Path, *, users: bool) -> None:
        root.mkdir()
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.host = f"127.0.0.1:{probe.getsockname()[1]}"
        (root / "users").write_text(USERS, "ascii")
        auth = f"auth: {{htpasswd: {{realm: test, path: {root}/users}}}}" if users else ""
        settings = SETTINGS.format(root=root / "blobs", host=self.host, auth=auth)
        (root / "settings.yml").write_text(settings, "ascii")
        self.blobs = root / "blobs/docker/registry/v2/blobs/sha256"
        self.auth = root / "auth.json"
        self.auth.write_text(json.dumps({"auths": {self.host: {"auth": CANARY}}}), "ascii")
        self.auth.chmod(0o400)
        self._process = subprocess.Popen(
            ["docker-registry", "serve", str(root / "settings.yml")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        assert wait_for(self._answers, within_s=15)

    def _answers(self) -> bool:
        name, _, port = self.host.partition(":")
        with contextlib.suppress(OSError), socket.create_connection((name, int(port))):
            return True
        return False

    def push(self, layout: Path, digest: str, *options: str) -> str:
        """The reference that names what was pushed."""
        words = ["skopeo", "copy", "--quiet", "--preserve-digests", "--dest-tls-verify=false"]
        words += [f"--dest-authfile={self.auth}", *options]
        target = f"docker://{self.host}/team/image:pushed"
        subprocess.run([*words, f"oci:{layout}", target], check=True, timeout=30)
        return f"{self.host}/team/image@{digest}"

    def put_index(self, *entries: dict[str, object]) -> str:
        """Pushes a multi-platform index; returns its digest."""
        kind = "application/vnd.oci.image.index.v1+json"
        raw = json.dumps({"schemaVersion": 2, "mediaType": kind, "manifests": entries}).encode()
        url = f"http://{self.host}/v2/team/image/manifests/index"
        request = urllib.request.Request(url, raw, {"Content-Type": kind}, method="PUT")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 201
        return f"sha256:{hashlib.sha256(raw).hexdigest()}"

    def flip(self, digest: str) -> None:
        """Changes one byte of a stored blob."""
        name = digest.removeprefix("sha256:")
        with (self.blobs / name[:2] / name / "data").open("r+b") as file:
            first = file.read(1)
            file.seek(0)
            file.write(bytes([first[0] ^ 1]))

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@pytest.fixture
def registry(tmp_path: Path, needs_node: None) -> Iterator[Registry]:
    yield from _registry(tmp_path, users=False)


@pytest.fixture
def private_registry(tmp_path: Path, needs_node: None) -> Iterator[Registry]:
    yield from _registry(tmp_path, users=True)


def _registry(directory: Path, *, users: bool) -> Iterator[Registry]:
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        reason = f"not installed: {', '.join(missing)}"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    registry = Registry(directory / "registry", users=users)
    try:
        yield registry
    finally:
        registry.stop()


def node(directory: Path, registry: Registry, *, credentials: bool = False) -> Daemon:
    """A node that lets images of the registry in."""
    daemon = Daemon(directory / "state", directory / "run")
    line = f'credentials = "{registry.auth}"\n' if credentials else ""
    with daemon.config.open("a", encoding="utf-8") as file:
        file.write(f'[[registries]]\nhost = "{registry.host}"\nplain_http = true\n{line}')
    return daemon


def test_an_image_is_pulled_by_digest_and_leaves_nothing_beside_it(
    registry: Registry, tmp_path: Path
) -> None:
    digest = build_demo_layout(tmp_path / "demo")
    reference = registry.push(tmp_path / "demo", digest)
    daemon = node(tmp_path, registry)
    killed = daemon.state / "images/pulls/pull-killed"
    killed.mkdir(parents=True)

    pulled = daemon.command("image", "pull", reference)
    listed = daemon.command("image", "list")

    assert pulled.returncode == 0, pulled.stderr
    held = json.loads(pulled.stdout)
    assert (held["digest"], held["reference"]) == (digest, reference)
    assert reference in listed.stdout
    assert [p.name for p in (daemon.state / "images/pulls").iterdir()] == ["lock"]


def test_the_manifest_for_this_machine_is_picked_from_an_index(
    registry: Registry, tmp_path: Path
) -> None:
    digest = build_demo_layout(tmp_path / "demo")
    registry.push(tmp_path / "demo", digest)
    machine = {"x86_64": "amd64", "aarch64": "arm64"}[os.uname().machine]
    size = (tmp_path / "demo/blobs/sha256" / digest.removeprefix("sha256:")).stat().st_size
    entry = {"mediaType": "application/vnd.oci.image.manifest.v1+json", "size": size}
    entry["digest"] = digest
    other = entry | {"platform": {"os": "linux", "architecture": "s390x"}}
    index = registry.put_index(
        other, entry | {"platform": {"os": "linux", "architecture": machine}}
    )
    foreign = registry.put_index(other)
    daemon = node(tmp_path, registry)

    pulled = daemon.command("image", "pull", f"{registry.host}/team/image@{index}")
    refused = daemon.command("image", "pull", f"{registry.host}/team/image@{foreign}")

    assert json.loads(pulled.stdout)["digest"] == digest
    assert refused.returncode == 1
    assert "holds no image for linux" in refused.stderr


def test_a_byte_that_changed_in_the_registry_is_refused(registry: Registry, tmp_path: Path) -> None:
    digest = build_demo_layout(tmp_path / "demo")
    reference = registry.push(tmp_path / "demo", digest)
    blobs = tmp_path / "demo/blobs/sha256"
    registry.flip(max(blobs.iterdir(), key=lambda file: file.stat().st_size).name)
    daemon = node(tmp_path, registry)

    done = daemon.command("image", "pull", reference)

    assert done.returncode == 1
    assert "do not match their digest" in done.stderr
    assert daemon.command("image", "list", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        ("{host}/team/image:latest", "REGISTRY/REPOSITORY@sha256:DIGEST"),
        ("elsewhere.example/team/image@sha256:" + "0" * 64, "not let in"),
        ("{host}/team/image@sha256:" + "0" * 64, "no such image"),
        ("{host}/../image@sha256:" + "0" * 64, "REGISTRY/REPOSITORY@sha256:DIGEST"),
    ],
)
def test_only_a_digest_on_an_allowed_registry_is_fetched(
    registry: Registry, tmp_path: Path, reference: str, words: str
) -> None:
    daemon = node(tmp_path, registry)

    done = daemon.command("image", "pull", reference.format(host=registry.host))

    assert done.returncode == 1
    assert words in done.stderr


def test_a_private_registry_is_opened_by_a_file_that_stays_outside_of_everything(
    private_registry: Registry, tmp_path: Path, run_directory: Path
) -> None:
    digest = build_demo_layout(tmp_path / "demo")
    reference = private_registry.push(tmp_path / "demo", digest)
    daemon = node(tmp_path, private_registry)
    without = daemon.command("image", "pull", reference)
    daemon = node(tmp_path, private_registry, credentials=True)
    private_registry.auth.chmod(0o444)
    careless = daemon.command("image", "pull", reference)
    private_registry.auth.chmod(0o400)
    text = daemon.config.read_text("utf-8").replace(str(daemon.run), str(run_directory))
    daemon.config.write_text(text, "utf-8")
    daemon.run, daemon.socket = run_directory, run_directory / "sandboxd.sock"

    pulled = daemon.command("image", "pull", reference)
    daemon.start()
    try:
        client = Client(daemon.socket)
        box = Box(client, client.create("box", digest))
        places = "/etc /home /root /srv /tmp /usr/share /var /proc/1/environ"
        seen = box.says(f"env; cat /proc/self/mountinfo; grep -rl {CANARY} {places} || true")
        on_disk = [
            file
            for file in daemon.state.rglob("*")
            if file.is_file() and CANARY.encode() in file.read_bytes()
        ]
        box.delete()
    finally:
        daemon.stop()

    assert (without.returncode, "does not let this node in" in without.stderr) == (1, True)
    assert (careless.returncode, "open to others" in careless.stderr) == (2, True)
    assert pulled.returncode == 0, pulled.stderr
    assert "overlay" in seen
    assert CANARY not in pulled.stdout + pulled.stderr + seen + daemon.log.read_text("utf-8")
    assert on_disk == []


def test_an_image_that_says_it_is_too_large_is_not_fetched(
    registry: Registry, tmp_path: Path
) -> None:
    tar = layer(lambda archive: add(archive, "file", os.urandom(2_000_000)))
    directory = write_layout(tmp_path / "large", tar)
    digest = json.loads((directory / "index.json").read_bytes())["manifests"][0]["digest"]
    reference = registry.push(directory, digest)
    daemon = node(tmp_path, registry)
    text = daemon.config.read_text("utf-8").replace("[bounds]", "[bounds]\nimage_bytes = 1048576")
    daemon.config.write_text(text, "utf-8")

    done = daemon.command("image", "pull", reference)

    assert done.returncode == 1
    assert "larger than this node's 1048576 bytes" in done.stderr


def test_a_registry_that_is_down_can_be_tried_again(registry: Registry, tmp_path: Path) -> None:
    daemon = node(tmp_path, registry)
    registry.stop()

    done = daemon.command("image", "pull", f"{registry.host}/team/image@sha256:{'0' * 64}")

    assert done.returncode == 1
    assert "skopeo failed" in done.stderr
    assert "refused" in done.stderr
