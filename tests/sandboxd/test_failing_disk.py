"""A disk that is full, without inodes, read-only or broken, at every write of the daemon.

The steps are named where they are done (`sandboxd.storage.door`), and the tables below are held
against what a daemon really did. Whatever fails: it goes on answering or ends with the reason; the
caller hears "nothing happened" only when nothing did; and with the disk well again all is well.
"""

import ast
import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest

import sandboxd
from sandboxd import wire
from sandboxd.storage.door import Step, Write
from tests.printing import printer
from tests.sandboxd.client import Answered, Box, Client, new_id
from tests.sandboxd.process import CHECKOUT, CONFIG, Daemon

PROGRAM = (str(Path(__file__).with_name("failing.py")),)
ERRORS = {"no space or inode": errno.ENOSPC, "read-only": errno.EROFS, "broken": errno.EIO}

REPLACED = ("make", "write", "sync", "rename", "sync directory")
LINE = ("journal/write", "journal/sync")
STEPS: dict[str, tuple[str, ...]] = {
    "create": (
        *(f"epoch/{how}" for how in REPLACED),
        *LINE,
        "sandbox directory/make",
        "sandbox directory/sync directory",
        *(f"sandbox record/{how}" for how in REPLACED),
        *(f"disk image/{how}" for how in ("make", "write", "sync", "sync directory")),
    ),
    "exec": (
        *LINE,
        "disk lock/make",
        "mount point/make",
        "runtime bundle/make",
        "runtime bundle/write",
        "output/make",
        "output/write",
    ),
    "write": LINE,
    "stop": LINE,
    "acknowledge": (*LINE, "output/remove"),
    "delete": (
        *LINE,
        *(f"sandbox record/{how}" for how in REPLACED),
        "disk image/remove",
        "sandbox files/remove",
        "sandbox files/sync directory",
    ),
    "collect": (
        *LINE,
        "image lock/make",
        "orphan/remove",
        "disk lock/make",
        "disk image/remove",
        "sandbox files/remove",
        "sandbox files/sync directory",
        "image record/remove",
        "image files/remove",
        "image files/sync directory",
    ),
}
START = (
    "run directory/make",
    "daemon lock/make",
    *(f"node id/{how}" for how in REPLACED),
    "state directory/make",
    *(f"journal/{how}" for how in REPLACED),
    *(f"journal key/{how}" for how in REPLACED),
)
"""The daemon's start in directories where none was before."""
CASES = [(kind, where) for kind, found in STEPS.items() for where in found]


class Failing:
    """A daemon and the switch of its disk."""

    def __init__(self, directory: Path, layout: Path) -> None:
        self._switch = directory
        self.run = Path("/dev/shm") / f"sbx-{new_id()[:8]}"
        self.run.mkdir()
        (directory / "node").mkdir()
        self.daemon = Daemon(directory / "node" / "state", self.run, program=PROGRAM)
        self.layout = layout
        self.epoch = 1

    @property
    def client(self) -> Client:
        return Client(self.daemon.socket, epoch=self.epoch)

    def steps(self) -> tuple[str, ...]:
        """Each step since the last look, once, in the order of their first time."""
        file = self._switch / "steps"
        found = file.read_text("ascii").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return tuple(dict.fromkeys(found))

    @contextlib.contextmanager
    def failing(self, where: str, number: int) -> Iterator[None]:
        switch = self._switch / "fail-at"
        fresh = self._switch / "fail-at.new"
        fresh.write_text(f"{where} {number}\n", "ascii")
        fresh.replace(switch)
        try:
            yield
        finally:
            switch.unlink()


@pytest.fixture(scope="module")
def _failing(
    layout: Path, needs_node: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Failing]:
    directory = tmp_path_factory.mktemp("failing")
    os.environ["SANDBOXD_TEST_FAILING"] = str(directory)
    made = Failing(directory, layout)
    try:
        assert made.daemon.command("image", "import", str(layout)).returncode == 0
        made.daemon.start()
        yield made
    finally:
        made.daemon.ensure_running()
        made.daemon.stop()
        left = made.daemon.leftovers()
        shutil.rmtree(made.run)
        del os.environ["SANDBOXD_TEST_FAILING"]
    assert left == []


@pytest.fixture
def failing(_failing: Failing) -> Iterator[Failing]:
    _failing.daemon.ensure_running()
    if not _failing.client.images():
        imported = _failing.daemon.command("image", "import", str(_failing.layout))
        assert imported.returncode == 0, imported.stderr
    yield _failing
    for state in _failing.client.sandboxes():
        Box(_failing.client, state).delete()


Act = Callable[[wire.OperationId], object]


def act_of(failing: Failing, kind: str) -> Act:
    """What is tried, after what it needs was made on a disk that is well."""
    client = failing.client
    (held,) = client.images()
    if kind == "create":
        failing.epoch += 1
        return lambda op: failing.client.create("box", held.digest, operation=op)
    if kind == "collect":
        make_garbage(failing.daemon.state)
        return lambda op: collect(client, op)
    box = Box(client, client.create("box", held.digest))
    if kind == "acknowledge":
        said = new_id()
        box.shell("echo said", operation=said)
        return lambda _: client.acknowledge(said)
    if kind != "exec":  # An exec begins with a stopped sandbox, to see that mounted as well.
        box.run("/bin/true")
    acts: dict[str, Act] = {
        "exec": lambda op: box.shell("echo x >> /root/count; echo said", operation=op),
        "write": lambda op: box.write("/root/file", b"written", operation=op),
        "stop": lambda op: box.stop(operation=op),
        "delete": lambda op: box.delete(operation=op),
    }
    return acts[kind]


def make_garbage(state: Path) -> None:
    (state / "images" / "import-left").mkdir(exist_ok=True)
    home = state / "sandboxes" / ("0" * 32)
    home.mkdir(exist_ok=True)
    (home / "disk.xfs").write_bytes(b"somebody's work")


def collect(client: Client, operation: wire.OperationId) -> wire.GarbageCollected:
    request = wire.CollectRequest(
        operation=operation,
        epoch=client.epoch,
        orphans=True,
        disks=("0" * 32,),
        images_older_than_ms=0,
    )
    return client.call(wire.GarbageCollected, "POST", wire.GARBAGE_PATH, request)


def answer_of(act: Act, operation: wire.OperationId) -> str:
    """Its error, or "done"."""
    try:
        act(operation)
    except Answered as answered:
        return answered.answer.error
    return "done"


@pytest.mark.root
@pytest.mark.parametrize("kind", list(STEPS))
def test_the_table_names_every_write_of_an_operation(failing: Failing, kind: str) -> None:
    act = act_of(failing, kind)
    failing.steps()

    act(new_id())

    assert set(failing.steps()) == set(STEPS[kind])


@pytest.mark.root
@pytest.mark.parametrize(("kind", "where"), CASES)
def test_a_disk_that_fails_there_gets_an_honest_answer_and_costs_nothing_for_good(
    failing: Failing, kind: str, where: str
) -> None:
    for words, number in ERRORS.items():
        act, operation = act_of(failing, kind), new_id()
        with failing.failing(where, number):
            said = answer_of(act, operation)
            health = failing.client.health()
            failing.client.sandboxes()
        report = failing.client.report(operation)

        assert said in {"done", "retryable", "unknown_outcome"}, words
        assert health.counts.running_operations == 0, words
        assert report.state != "started", words
        check_honesty(failing, kind, said, report)
        check_all_is_well(failing, kind, act)


def check_honesty(failing: Failing, kind: str, said: str, report: wire.OperationReport) -> None:
    """ "nothing happened" is said only of what did not happen."""
    names = [state.name for state in failing.client.sandboxes()]
    if said != "retryable" or kind not in {"create", "exec", "delete"}:
        return
    if kind == "exec":
        (state,) = failing.client.sandboxes()
        assert Box(failing.client, state).says("cat /root/count 2>/dev/null | wc -l") == "0"
    else:
        assert names == ([] if kind == "create" else ["box"])
    assert report.state in {"unknown", "finished"}


def check_all_is_well(failing: Failing, kind: str, act: Act) -> None:
    """On a disk that is well again the same thing can be had, and nothing is left over."""
    for state in failing.client.sandboxes():
        if kind == "create":
            Box(failing.client, state).delete()
    if kind in {"create", "exec", "write", "stop"}:
        assert answer_of(act, new_id()) == "done"
    if kind == "collect":
        assert answer_of(act, new_id()) == "done"
        assert failing.client.call(wire.GarbageReport, "GET", wire.GARBAGE_PATH).orphans == ()
        imported = failing.daemon.command("image", "import", str(failing.layout))
        assert imported.returncode == 0, imported.stderr
    for state in failing.client.sandboxes():
        Box(failing.client, state).delete()
    assert list((failing.daemon.state / "sandboxes").iterdir()) == []


def start_in(directory: Path, run: Path) -> subprocess.CompletedProcess[str]:
    """A start that is expected to end by itself."""
    config = directory / "sandboxd.toml"
    config.write_text(CONFIG.format(state=directory / "state", run=run, extra=""), "utf-8")
    return subprocess.run(
        [sys.executable, *PROGRAM, "--config", str(config), "serve"],
        env=dict(os.environ) | {"PYTHONPATH": str(CHECKOUT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.root
def test_a_sandbox_whose_deletion_hangs_keeps_its_place_on_the_node(failing: Failing) -> None:
    client = failing.client
    (held,) = client.images()
    boxes = [Box(client, client.create(f"box-{number}", held.digest)) for number in range(3)]
    with failing.failing("sandbox files/remove", errno.EIO):
        deleted = answer_of(lambda op: boxes[0].delete(operation=op), new_id())
    while_it_hangs = answer_of(
        lambda op: client.create("another", held.digest, operation=op), new_id()
    )
    boxes[0].delete()

    assert deleted == "unknown_outcome"
    assert while_it_hangs == "refused"
    assert client.create("another", held.digest).name == "another"


@pytest.fixture
def fresh_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("SANDBOXD_TEST_FAILING", str(tmp_path))
    run = Path("/dev/shm") / f"sbx-{new_id()[:8]}"
    yield run
    shutil.rmtree(run, ignore_errors=True)


@pytest.mark.root
@pytest.mark.parametrize("where", START)
def test_a_daemon_that_cannot_start_on_its_disk_ends_with_the_reason(
    needs_node: None, tmp_path: Path, where: str, fresh_run: Path
) -> None:
    for number in ERRORS.values():
        (tmp_path / "fail-at").write_text(f"{where} {number}\n", "ascii")
        directory = tmp_path / str(number)
        directory.mkdir()

        ended = start_in(directory, fresh_run)

        assert ended.returncode in {1, 2}
        assert (
            f"sandboxd: {where.split('/')[1]} {where.split('/', maxsplit=1)[0]}: " in ended.stderr
        )
        assert os.strerror(number) in ended.stderr
        assert "remedy: " in ended.stderr
        assert "Traceback" not in ended.stderr


@pytest.mark.root
def test_the_table_of_the_start_names_every_write(
    needs_node: None, tmp_path: Path, fresh_run: Path
) -> None:
    fresh_run.mkdir()
    (tmp_path / "new").mkdir()
    daemon = Daemon(tmp_path / "new" / "state", fresh_run, program=PROGRAM)

    daemon.start()
    daemon.stop()

    assert set((tmp_path / "steps").read_text("ascii").splitlines()) == set(START)


def test_every_write_that_has_a_name_is_failed_by_some_test(pytestconfig: pytest.Config) -> None:
    counts = ", ".join(f"{kind} {len(found)}" for kind, found in STEPS.items())
    printer(pytestconfig)(
        f"a disk that fails in {len(ERRORS)} ways at {len(CASES)} steps of operations ({counts}) "
        f"and {len(START)} of the start"
    )
    names = {where.split("/")[0] for _, where in CASES} | {where.split("/")[0] for where in START}

    assert names == set(get_args(Write))
    assert {where.split("/")[1] for where in START} | {w.split("/")[1] for _, w in CASES} == set(
        get_args(Step)
    )


CHANGES = frozenset(
    """
    mkdir makedirs rename replace unlink rmdir rmtree write_text write_bytes touch truncate
    ftruncate fsync fdatasync symlink_to hardlink_to copyfile copyfileobj link symlink mknod pwrite
    """.split()
)
ELSEWHERE = {
    "sandboxd/storage/door.py": "the door",
    "sandboxd/ledger/journal.py": "cuts off half a line that the door did not get written",
    "sandboxd/images": "the command line's import, a process of its own that ends with the error",
    "sandboxd/operator": "the command line",
    "sandboxd/kernel": "control groups and the daemon's private tmpfs at its start",
    "sandboxd/service/homes.py": "the mount point, on the private tmpfs",
    "sandboxd/service/server.py": "the socket: an error ends the start with the reason",
    "sandboxd/service/daemon.py": "the socket at the end; its lock files go through the door",
    "sandboxd/runtime/container.py": "takes away what may be gone",
    "sandboxd/storage/overlay.py": "mount points of the older kernels, on the private tmpfs",
    "sandboxd/storage/disk.py": "inside the disk, and inside steps of the door",
}


def test_no_file_of_the_daemon_is_changed_but_through_the_door() -> None:
    """A new call that changes files has to come through the door or be named with a reason."""
    root = Path(sandboxd.__file__).parent
    found = {
        str(file.relative_to(root.parent))
        for file in root.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CHANGES
        and not _is_text(node)
    }

    unnamed = {file for file in found if not file.startswith(tuple(ELSEWHERE))}
    idle = {place for place in ELSEWHERE if not any(file.startswith(place) for file in found)}

    assert unnamed == set()
    assert idle == set()


def _is_text(call: ast.Call) -> bool:
    """`text.replace(old, new)` changes no file; a path takes one argument."""
    return ast.unparse(call.func).endswith(".replace") and len(call.args) > 1
