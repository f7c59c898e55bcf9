"""The second ways: runc instead of crun, layers by path as on older kernels, no tmpfs to run on."""

import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandboxd import wire
from sandboxd.kernel.confinement import CAPABILITIES
from tests.sandboxd.client import Answered, Box, Client, new_id
from tests.sandboxd.process import Daemon

pytestmark = pytest.mark.root


@pytest.fixture
def make_daemon(tmp_path: Path, run_directory: Path, layout: Path) -> Iterator[list[Daemon]]:
    """Daemons that the test puts in are stopped, and nothing of them may be left."""
    daemons: list[Daemon] = []
    yield daemons
    for daemon in daemons:
        daemon.ensure_running()
        daemon.stop()
        assert daemon.leftovers() == []


def start(daemons: list[Daemon], daemon: Daemon, layout: Path) -> Box:
    daemons.append(daemon)
    imported = daemon.command("image", "import", str(layout))
    assert imported.returncode == 0, imported.stderr
    daemon.start()
    client = Client(daemon.socket)
    return Box(client, client.create("box", client.images()[0].digest))


def whole_life(box: Box) -> None:
    box.says("echo hi > /root/f; echo more >> /usr/share/demo/numbers; mv /usr/share/demo /moved")
    timed_out = box.shell("sleep 1000", timeout_ms=300)
    box.stop()

    assert timed_out.ended == "timed_out"
    assert box.says("cat /root/f; tail -n1 /moved/same-numbers") == "hi\nmore"
    assert box.run("/nothing").ended == "failed_to_start"
    assert "Seccomp:\t2" in box.says("grep Seccomp: /proc/self/status")
    assert box.says("grep CapEff /proc/self/status").endswith("fb")
    assert box.delete().files_absent


@pytest.mark.skipif(shutil.which("runc") is None, reason="runc is not installed")
def test_runc_runs_a_sandbox_as_crun_does(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path
) -> None:
    daemon = Daemon(tmp_path / "state", run_directory, extra='runtime = "runc"')

    box = start(make_daemon, daemon, layout)

    assert daemon.client.health().facts.runtime == "runc"
    whole_life(box)


@pytest.mark.parametrize("runtime", ["crun", "runc"])
def test_a_closed_directory_above_the_daemons_own_does_no_harm(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path, runtime: str
) -> None:
    if shutil.which(runtime) is None:
        pytest.skip(f"{runtime} is not installed")
    private = run_directory / "private"
    private.mkdir(mode=0o700)
    (private / "run").mkdir()
    daemon = Daemon(private / "state", private / "run", extra=f'runtime = "{runtime}"')

    box = start(make_daemon, daemon, layout)

    whole_life(box)


def test_a_runtime_that_cannot_start_a_sandbox_is_quoted_in_answer_and_log(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path
) -> None:
    broken = tmp_path / "crun"
    broken.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec /usr/bin/crun --version\n'
        'echo "cannot find a moon" >&2; exit 1\n'
    )
    broken.chmod(0o755)
    daemon = Daemon(tmp_path / "state", run_directory, extra=f'runtime = "{broken}"')
    box = start(make_daemon, daemon, layout)

    with pytest.raises(Answered) as caught:
        box.run("/bin/true")

    assert "crun could not start the sandbox: cannot find a moon" in caught.value.answer.message
    assert caught.value.answer.recorded
    assert "cannot find a moon" in daemon.log.read_text("utf-8")


KILLS_INIT_FIRST = """\
#!/bin/sh
for word in "$@"; do [ "$word" = exec ] && [ -e {mark} ] && rm {mark} && kill -9 $(cat {pid}); done
exec /usr/bin/crun "$@"
"""


@pytest.mark.parametrize("streamed", [False, True])
def test_a_command_whose_container_dies_as_it_starts_runs_once_in_a_new_one(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path, streamed: bool
) -> None:
    fatal, mark = tmp_path / "crun", tmp_path / "mark"
    pid = run_directory / "bundles/*/pid"
    fatal.write_text(KILLS_INIT_FIRST.format(mark=mark, pid=pid), encoding="utf-8")
    fatal.chmod(0o755)
    daemon = Daemon(tmp_path / "state", run_directory, extra=f'runtime = "{fatal}"')
    box = start(make_daemon, daemon, layout)
    box.says("echo before > /root/file")
    mark.touch()

    script = "echo x >> /root/count; cat /root/file"
    if streamed:
        *pieces, end = list(box.stream(script))
        assert isinstance(end, wire.StreamEnd)
        assert [p.content for p in pieces if isinstance(p, wire.StreamOutput)] == [b"before\n"]
        outcome = end.outcome
    else:
        outcome = box.shell(script)

    assert not mark.exists()
    assert outcome is not None
    assert (outcome.ended, outcome.exit_code, outcome.stderr) == ("exited", 0, b"")
    assert outcome.stdout == b"before\n"
    assert box.says("wc -l < /root/count") == "1"


def test_a_program_that_is_not_there_is_not_tried_again(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path
) -> None:
    counting = tmp_path / "crun"
    counting.write_text(
        f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexec /usr/bin/crun "$@"\n', encoding="utf-8"
    )
    counting.chmod(0o755)
    daemon = Daemon(tmp_path / "state", run_directory, extra=f'runtime = "{counting}"')
    box = start(make_daemon, daemon, layout)

    outcome = box.run("/no/such/program")

    assert outcome.ended == "failed_to_start"
    assert (tmp_path / "calls").read_text("utf-8").count(" exec ") == 1


def test_layers_by_path_give_the_same_sandbox(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path
) -> None:
    daemon = Daemon(tmp_path / "state", run_directory, extra="layers_by_path = true")

    box = start(make_daemon, daemon, layout)

    assert not daemon.client.health().facts.layers_by_descriptor
    whole_life(box)


WITH_CAPABILITIES = (
    "import os, sys; os.execvp('setpriv', ['setpriv', '--bounding-set=-all,+{}', "
    "sys.executable, '-m', 'sandboxd', *sys.argv[1:]])"
)
UNIT = Path(__file__).parents[2] / "docs/operations/sandboxd.service"


@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv is not installed")
def test_the_capabilities_of_the_systemd_unit_are_enough_and_given_up_after_the_start(
    make_daemon: list[Daemon], tmp_path: Path, run_directory: Path, layout: Path
) -> None:
    lines = UNIT.read_text("utf-8").splitlines()
    (listed,) = [x.partition("=")[2] for x in lines if x.startswith("CapabilityBoundingSet=")]
    names = [name.removeprefix("CAP_").lower() for name in listed.split()]
    program = (
        "-c",
        WITH_CAPABILITIES.format(",+".join(names)),
    )
    daemon = Daemon(tmp_path / "state", run_directory, program=program)

    box = start(make_daemon, daemon, layout)

    status = Path(f"/proc/{daemon.pid}/status").read_text("ascii")
    bounding = int(status.partition("CapBnd:")[2].split()[0], 16)
    assert bounding == sum(1 << number for number in CAPABILITIES.values())
    assert daemon.client.health().facts.runtime == "crun"
    whole_life(box)


def test_without_a_tmpfs_outputs_end_with_the_daemon_and_never_touch_the_disk(
    make_daemon: list[Daemon], tmp_path: Path, layout: Path
) -> None:
    run = Path("/var/tmp") / f"sbx-{uuid.uuid4().hex[:8]}"
    run.mkdir()
    try:
        daemon = Daemon(tmp_path / "state", run)
        box = start(make_daemon, daemon, layout)
        operation = new_id()
        box.shell("echo canary-output", operation=operation)
        on_disk = list((run / "outputs").iterdir())
        daemon.kill()
        daemon.start()
        report = daemon.client.report(operation)
        daemon.stop()
        assert daemon.leftovers() == []
        make_daemon.clear()
    finally:
        shutil.rmtree(run)

    assert on_disk == []
    assert report.state == "output_lost"
    assert isinstance(report.outcome, wire.ExecOutcome)
    assert report.outcome.exit_code == 0
