"""The built root file systems at work: as an unprivileged number, read-only, without an engine."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from perlica.app.layout import database_path
from perlica.demo.model import RehearsalModel
from perlica.demo.napcat import Message, NapCatStandIn
from perlica.stores.database import Database
from tests.image.conftest import MakeContainer
from tests.image.container import Container, Mount

pytestmark = [pytest.mark.root, pytest.mark.image, pytest.mark.timeout(900)]

SERVICE_USER = 10001
PERLICA = "/opt/perlica/bin/perlica"
SANDBOXD = "/opt/perlica/bin/sandboxd"
CONFIG = "/etc/perlica/perlica.toml"
OWNER, MEMBER = 30001, 30002
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True)
class Site:
    """Directories of the test that become mounts; the secrets lie in memory, as a kubelet's do."""

    folder: Path
    secrets: Path

    def made(self, name: str, user: int = 0, mode: int = 0o755) -> Path:
        path = self.folder / name
        path.mkdir(mode=mode, exist_ok=True)
        path.chmod(mode)
        os.chown(path, user, user)
        return path

    def service_mounts(self) -> tuple[Mount, ...]:
        return (
            Mount(source=self.made("config"), target="/etc/perlica"),
            Mount(source=self.secrets, target="/etc/perlica-secrets"),
            Mount(
                source=self.made("state", SERVICE_USER, 0o700),
                target="/var/lib/perlica",
                is_writable=True,
            ),
            Mount(source=self.made("socket"), target="/run/sandboxd"),
        )

    def daemon_mounts(self) -> tuple[Mount, ...]:
        return (
            Mount(source=self.made("daemon-config"), target="/etc/sandboxd"),
            Mount(source=self.made("disks"), target="/var/lib/sandboxd", is_writable=True),
            Mount(source=self.made("socket"), target="/run/sandboxd-socket", is_writable=True),
        )


@pytest.fixture
def site() -> Iterator[Site]:
    prefix = "perlica-site-"
    with (
        TemporaryDirectory(prefix=prefix) as folder,
        TemporaryDirectory(prefix=prefix, dir="/dev/shm") as secrets,
    ):
        site = Site(Path(folder), Path(secrets))
        site.folder.chmod(0o755)
        site.secrets.chmod(0o755)
        yield site


@pytest.fixture
def napcat() -> Iterator[NapCatStandIn]:
    with NapCatStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def model() -> Iterator[RehearsalModel]:
    with RehearsalModel() as rehearsal:
        yield rehearsal


def write_config(site: Site, napcat: NapCatStandIn, model: RehearsalModel, digest: str) -> None:
    site.service_mounts()
    token = site.secrets / "napcat-token"
    token.write_text(napcat.token)
    token.chmod(0o440)
    os.chown(token, 0, SERVICE_USER)
    (site.folder / "config" / "perlica.toml").write_text(f"""
[service]
state_dir = "/var/lib/perlica/state"
demo = true
[napcat]
url = "{napcat.url}"
token_file = "/etc/perlica-secrets/napcat-token"
group_id = {napcat.group_id}
self_id = {napcat.self_id}
[members]
owners = [{OWNER}, {MEMBER}]
[model]
base_url = "{model.base_url}"
name = "rehearsal-1"
[outbox]
pace_s = 0.05
per_minute = 600
[sandbox]
socket = "/run/sandboxd/sandboxd.sock"
node = "node-1"
[sandbox.limits]
memory_bytes = 134217728
disk_bytes = 402653184
[sandbox.image]
reference = "test/busybox"
digest = "{digest}"
introduction = "busybox"
revision = 1
""")


def wait_until(holds: Callable[[], bool], container: Container, what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not holds():
        if not container.is_running or time.monotonic() > deadline_s:
            raise AssertionError(f"{what}: {container.log.read_text('utf-8', 'replace')[-3000:]}")
        time.sleep(0.02)


@pytest.fixture
def daemon(site: Site, make_container: MakeContainer) -> Iterator[tuple[Container, str]]:
    """The node daemon in its own image's container, with one image; and that image's digest."""
    mounts = site.daemon_mounts()
    (site.folder / "daemon-config" / "sandboxd.toml").write_text(f"""
node = "node-1"
socket = "/run/sandboxd-socket/sandboxd.sock"
allowed_uids = [0, {SERVICE_USER}]
socket_gid = {SERVICE_USER}
cgroup_parent = "/perlica-image-test-{os.getpid()}"
""")
    layout = site.made("layout")
    command = [sys.executable, "-m", "sandboxd", "image", "build-demo", str(layout)]
    digest = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    config = ("--config", "/etc/sandboxd/sandboxd.toml")
    imported = make_container(
        "sandboxd",
        *(SANDBOXD, *config, "image", "import", "/tmp/image"),
        user=0,
        mounts=(*mounts, Mount(source=layout, target="/tmp/image")),
        is_privileged=True,
    )
    done = imported.run()
    assert done.returncode == 0, done.stderr
    serving = make_container(
        "sandboxd", SANDBOXD, *config, "serve", user=0, mounts=mounts, is_privileged=True
    ).start()
    socket = site.folder / "socket" / "sandboxd.sock"
    wait_until(socket.exists, serving, "no socket")
    yield serving, digest
    if serving.is_running:
        assert serving.terminate() == 0


def ask(napcat: NapCatStandIn, text: str) -> Message:
    asked = napcat.say(OWNER, text, mention=True)
    return napcat.wait_for_reply(
        lambda message: "【Perlica 回答" in message.text or "任务 T-" in message.text,
        PATIENCE_S,
        after=asked,
    )


def test_the_configuration_is_checked_and_the_doctor_finds_no_fault(
    site: Site,
    napcat: NapCatStandIn,
    model: RehearsalModel,
    daemon: tuple[Container, str],
    make_container: MakeContainer,
) -> None:
    write_config(site, napcat, model, daemon[1])
    mounts = site.service_mounts()
    words = ("--config", CONFIG)
    checked = make_container(
        "perlica", PERLICA, "check-config", *words, user=SERVICE_USER, mounts=mounts
    ).run()
    doctor = make_container(
        "perlica", PERLICA, "doctor", "--json", *words, user=SERVICE_USER, mounts=mounts
    ).run()
    findings = json.loads(doctor.stdout)["findings"]

    assert checked.returncode == 0, checked.stderr
    assert [it for it in findings if it["level"] == "error"] == []
    codes = {it["code"] for it in findings}
    assert {"secret_ok", "napcat_reachable", "sandboxd_ok"} <= codes
    assert "runs_as_root" not in codes


def test_a_whole_task_runs_with_both_images_and_leaves_in_order(
    site: Site,
    napcat: NapCatStandIn,
    model: RehearsalModel,
    daemon: tuple[Container, str],
    make_container: MakeContainer,
) -> None:
    write_config(site, napcat, model, daemon[1])
    service = make_container(
        "perlica", PERLICA, "run", "--config", CONFIG,
        user=SERVICE_USER, mounts=site.service_mounts(),
    ).start()  # fmt: skip
    wait_until(lambda: bool(napcat.connections), service, "did not connect")

    answer = ask(napcat, "运行 `echo made-in-a-container | rev`")
    ended = service.terminate()

    assert "reniatnoc-a-ni-edam" in answer.text, service.log.read_text()
    assert ended == 0
    database = database_path(site.folder / "state" / "state")
    assert database.stat().st_uid == SERVICE_USER
    with Database.open(database, read_only=True) as opened:
        states = opened.query("SELECT action, state FROM operations")
    assert {"action": "sandbox.exec", "state": "succeeded"} in states
    lines = [line for line in service.log.read_text().splitlines() if line.startswith("{")]
    assert {json.loads(line)["event"] for line in lines} >= {"starting", "started", "stopped"}


def test_the_root_file_system_is_read_only_and_there_is_no_way_to_more_rights(
    make_container: MakeContainer,
) -> None:
    look = """
import os, pathlib
status = dict(line.split(":\\t") for line in open("/proc/self/status") if ":\\t" in line)
assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0, status["CapBnd"]
assert status["NoNewPrivs"].strip() == "1"
assert os.getuid() == 10001
for place in ("/", "/opt", "/etc", "/usr/bin", "/var/lib"):
    try:
        pathlib.Path(place, "new").write_text("")
    except OSError as error:
        continue
    raise SystemExit(f"could write into {place}")
"""
    done = make_container("perlica", "/opt/perlica/bin/python", "-c", look, user=SERVICE_USER).run()

    assert done.returncode == 0, done.stderr


def test_the_probe_of_the_daemon_tells_whether_it_answers(
    site: Site, daemon: tuple[Container, str], make_container: MakeContainer
) -> None:
    def probe() -> int:
        return (
            make_container(
                "sandboxd",
                *("/opt/perlica/bin/python", "/opt/perlica/lib/image_probe.py"),
                "/run/sandboxd-socket/sandboxd.sock",
                user=0,
                mounts=site.daemon_mounts(),
            )
            .run()
            .returncode
        )

    assert probe() == 0
    assert daemon[0].terminate() == 0
    assert probe() == 1
