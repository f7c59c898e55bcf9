"""Promises of the daemon that rest on one line each: what leaves, is locked, is proved."""

import errno
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandboxd import _native, wire
from sandboxd.config import ENVIRONMENT
from sandboxd.faults import Busy, Misconfigured, OutcomeUnknown
from sandboxd.kernel.loops import LoopDevices, loops_backed_by
from sandboxd.kernel.mountinfo import MountEntry
from sandboxd.network import relay
from sandboxd.network.policy import Destination
from sandboxd.network.proxy import _connect
from sandboxd.network.relay import Account, UploadBudget
from sandboxd.service import absence
from sandboxd.service.absence import prove_absence
from sandboxd.service.node import Node
from sandboxd.storage import overlay
from sandboxd.storage.disk import create_disk, lock_disk, mounted_disk
from sandboxd.storage.overlay import IdRange, Layers, mount_overlay, verify_overlay
from sandboxd.storage.records import Records
from tests.sandboxd.client import Answered, Box, Refusal
from tests.sandboxd.process import wait_for

INSTANCE = "0" * 32


def test_a_disk_is_held_by_one_daemon_alone(tmp_path: Path) -> None:
    held = lock_disk(tmp_path / "lock")
    try:
        with pytest.raises(Busy, match="locked by another process"):
            lock_disk(tmp_path / "lock")
    finally:
        os.close(held)

    os.close(lock_disk(tmp_path / "lock"))


def node_with(records: Records, *, containers: tuple[str, ...], groups: set[str]) -> Node:
    """As much of a node as the proof looks at."""
    return cast(
        "Node",
        SimpleNamespace(
            room=SimpleNamespace(roots=Path("/nowhere")),
            runtime=SimpleNamespace(containers=lambda: containers),
            cgroups=SimpleNamespace(groups=lambda: groups),
            records=records,
            clock_ms=lambda: 1,
        ),
    )


@pytest.mark.parametrize(
    "left",
    [
        *("runtime_absent", "processes_absent", "mounts_absent", "loop_device_absent"),
        "files_absent",
    ],
)
def test_a_deletion_is_not_proved_while_anything_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left: str
) -> None:
    records = Records(tmp_path / "sandboxes")
    if left == "files_absent":
        records.home(INSTANCE).mkdir()
    monkeypatch.setattr(absence, "mounts_below", lambda _: [1] * (left == "mounts_absent"))
    monkeypatch.setattr(absence, "loops_backed_by", lambda _: [1] * (left == "loop_device_absent"))
    node = node_with(
        records,
        containers=(INSTANCE,) * (left == "runtime_absent"),
        groups={INSTANCE} if left == "processes_absent" else set(),
    )

    with pytest.raises(OutcomeUnknown, match=f"false: {left}$"):
        prove_absence(node, "box", INSTANCE, "operation-1")


def test_every_field_of_the_proof_is_looked_for(tmp_path: Path) -> None:
    node = node_with(Records(tmp_path / "sandboxes"), containers=(), groups=set())

    proof = prove_absence(node, "box", INSTANCE, "operation-1")

    looked = [field for field, value in proof.model_dump().items() if value is True]
    assert looked == [field for field in wire.DeletionProof.model_fields if "absent" in field]
    assert len(looked) == 5


def account(budget: UploadBudget, *, upload: int = 1000) -> Account:
    return Account(upload_left=upload, download_left=1000, budget=budget)


def test_all_connections_of_a_sandbox_share_what_may_leave_within_an_hour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    budget = UploadBudget(150)
    first, second = account(budget), account(budget)

    sent = [first.upload(100), second.upload(100), second.upload(50), first.upload(1)]
    now_s = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now_s + 3601)

    assert sent == [True, False, True, False]
    assert (first.uploaded, second.uploaded) == (100, 50)
    assert first.upload(100)


def test_one_connection_has_a_cap_of_its_own() -> None:
    one = account(UploadBudget(10_000), upload=100)

    assert [one.upload(100), one.upload(1)] == [True, False]


def test_a_connection_goes_to_the_checked_address_and_asks_for_no_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    look = socket.getaddrinfo

    def watched(host: str, *more: Any, **named: Any) -> Any:
        asked.append(host)
        return look(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", watched)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        target = Destination(name="localhost", port=port, addresses=("127.0.0.1",))
        with _connect(target) as outer:
            reached = outer.getpeername()

    assert reached == ("127.0.0.1", port)
    assert asked == ["127.0.0.1"]


class Ends:
    """Two pairs of connected sockets with a tunnel between their inner ends."""

    def __init__(self) -> None:
        self.client, self.inner = socket.socketpair()
        self.outer, self.server = socket.socketpair()

    def relay(self, *, crowded: bool) -> str:
        return relay.relay(
            self.inner,
            self.outer,
            account(UploadBudget(1000)),
            within_s=1.0,
            silent_s=0.5,
            is_crowded=lambda: crowded,
        )

    def close(self) -> None:
        for end in (self.client, self.inner, self.outer, self.server):
            end.close()


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.close()


@pytest.mark.parametrize(("crowded", "said"), [(True, "made room"), (False, "silence")])
def test_a_silent_tunnel_makes_room_only_when_others_wait(
    ends: Ends, monkeypatch: pytest.MonkeyPatch, *, crowded: bool, said: str
) -> None:
    monkeypatch.setattr(relay, "_GIVES_WAY_S", 0.1)
    monkeypatch.setattr(relay, "_LOOK_EVERY_S", 0.05)

    assert ends.relay(crowded=crowded) == said


def entry(options: set[str]) -> MountEntry:
    return cast(
        "MountEntry",
        SimpleNamespace(
            path="/target",
            fstype="overlay",
            options=frozenset(options),
            super_options=frozenset[str](),
        ),
    )


GOOD = {"rw", "index=on", "redirect_dir=on", "nosuid", "nodev"}


@pytest.mark.parametrize(
    "options",
    [
        *(GOOD - {one} for one in GOOD),
        *(GOOD | {one} for one in ("ro", "volatile", "fsync=volatile", "metacopy=on", "userxattr")),
    ],
)
def test_a_root_that_the_kernel_mounted_otherwise_is_refused(
    monkeypatch: pytest.MonkeyPatch, options: set[str]
) -> None:
    monkeypatch.setattr(overlay, "mounts_below", lambda _: [entry(options)])

    with pytest.raises(Misconfigured, match="the kernel mounted the overlay without"):
        verify_overlay(Path("/target"))


def test_a_root_as_it_was_asked_for_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlay, "mounts_below", lambda _: [entry(GOOD)])

    verify_overlay(Path("/target"))


@pytest.mark.root
def test_a_root_whose_options_the_kernel_dropped_is_not_left_mounted(
    needs_node: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unmounted: list[Path] = []
    monkeypatch.setattr(overlay, "_by_path", lambda *_: os.open("/", os.O_PATH))
    monkeypatch.setattr(overlay, "_idmapped", lambda layers, _: SomeLayers(layers))
    monkeypatch.setattr(_native, "move_mount", lambda *_: None)
    monkeypatch.setattr(overlay, "unmount", unmounted.append)

    with pytest.raises(Misconfigured, match="not mounted once"):
        mount_overlay(
            Layers(lower=-1, disk=-1), tmp_path, ids=IdRange(first=1), by_descriptor=False
        )

    assert unmounted == [tmp_path]


class SomeLayers:
    def __init__(self, layers: Layers) -> None:
        self._layers = layers

    def __enter__(self) -> Layers:
        return self._layers

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.root
def test_the_root_of_a_sandbox_honours_no_set_id_bit_and_no_device(box: Box) -> None:
    mounted = box.says("grep ' / / ' /proc/self/mountinfo").split()[5].split(",")

    assert {"rw", "nosuid", "nodev"} <= set(mounted)


@pytest.mark.root
def test_a_disk_is_mounted_without_set_id_bits_devices_and_programs(
    needs_node: None, tmp_path: Path
) -> None:
    image = tmp_path / "disk"
    devices = os.open("/dev", os.O_RDONLY | os.O_DIRECTORY)
    loops = LoopDevices(host_devices=devices)
    create_disk(image, size_bytes=wire.MIN_DISK_BYTES, loops=loops)
    descriptor = os.open(image, os.O_RDWR)
    try:
        with mounted_disk(descriptor, loops=loops) as root:
            directory = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=root)
            flags = os.fstatvfs(directory).f_flag
            os.close(directory)
    finally:
        os.close(descriptor)
        os.close(devices)
        gone = wait_for(lambda: not loops_backed_by(image), within_s=10)

    wanted = os.ST_NOSUID | os.ST_NODEV | os.ST_NOEXEC | os.ST_NOATIME
    assert flags & wanted == wanted
    assert gone


@pytest.mark.root
@pytest.mark.parametrize(
    "name",
    [
        *("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "LD_PRELOAD", "BASH_ENV"),
        *("PATHX", "XPATH", "path", "LC", "PI", "PYTHO"),
    ],
)
def test_a_variable_that_the_node_does_not_let_in_is_refused_before_anything_runs(
    box: Box, refusal: Refusal, name: str
) -> None:
    answer = refusal(lambda: box.shell("touch /root/ran", env={name: "value"}))

    assert answer.error == "refused"
    assert "env holds a name that this node does not let in" in answer.message
    assert "value" not in answer.message + answer.remedy
    assert box.says("ls /root") == ""


@pytest.mark.root
def test_every_variable_on_the_list_is_let_in(box: Box) -> None:
    names = [name.replace("*", "SOMETHING") for name in ENVIRONMENT]
    env = dict.fromkeys((name for name in names if name != "PATH"), "x")

    said = box.shell("env", env=env).stdout.decode().splitlines()

    assert {f"{name}=x" for name in env} <= set(said) | {"PWD=x", "SHLVL=x"}


@pytest.mark.root
def test_somebody_who_is_not_listed_cannot_even_open_the_socket(box: Box) -> None:
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            box.client.health()
        except PermissionError:
            code = errno.EACCES
        except (OSError, Answered):
            code = 99
        finally:
            os._exit(code)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == errno.EACCES
