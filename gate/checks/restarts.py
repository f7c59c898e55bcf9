"""Daemon, runtime and node go away in the middle of things, and come back to a tidy node."""

import contextlib
import http.client
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

from gate.bench import Bench
from gate.lines import Broken, Check, require
from gate.rig.client import Answered, Sandbox
from gate.rig.node import Node, wait_for
from sandboxd.kernel.cgroups import ControlGroups, cgroup_mode
from sandboxd.kernel.loops import loops_backed_by

_MOMENTS_MS = (1, 5, 15, 40, 80)
_BACK_WITHIN_S = 10.0
_WRITES_AT_LEAST = 200
_COUNTER = "/dev/shm/acknowledged"  # noqa: S108 (inside the sandbox)


def _processes(bench: Bench, sandbox: Sandbox) -> tuple[int, ...]:
    own = (bench.node.state / "node-id").read_text("ascii").strip()
    parent = f"{bench.config.cgroup_parent}-gate/{own}"
    return ControlGroups(mode=cgroup_mode(), parent=parent).members(sandbox.instance)


def _kill_all(pids: tuple[int, ...]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _daemon(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("echo kept > /root/kept; sync; (sleep 1000 >/dev/null 2>&1 &)")
        bench.node.kill()
        began = time.monotonic()
        bench.node.start()
        up_s = time.monotonic() - began
        found = sandbox.says("cat /root/kept")
    require(found == "kept", f"found {found}")
    return f"kill -9, back in {up_s * 1000:.0f} ms, the sandbox answers with its files"


def _stop(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("echo kept > /root/kept; (sleep 1000 >/dev/null 2>&1 &)")
        bench.node.stop()
        left = bench.node.leftovers()
        bench.node.start()
        found = sandbox.says("cat /root/kept")
    require(not left, f"a stopped daemon leaves {left}")
    require(found == "kept", f"found {found}")
    return "SIGTERM: nothing left mounted or running; the next daemon has the files"


def _runtime(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("echo kept > /root/kept; sync; (sleep 1000 >/dev/null 2>&1 &)")
        pids = _processes(bench, sandbox)
        require(pids, "no process of the sandbox is found")
        _kill_all(pids)
        has_died = wait_for(lambda: sandbox.state().state != "ready", within_s=_BACK_WITHIN_S)
        require(has_died, "the daemon does not notice that the container died")
        found = sandbox.says("cat /root/kept; ps | grep -c '[s]leep 1000' || :")
    require(found.split() == ["kept", "0"], f"found {found.split()}")
    return f"{len(pids)} processes of the container killed, init among them; it starts again"


def _fsync(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        program = bench.place_program(sandbox, "synced")
        sandbox.says("mkdir /root/many; sync")
        thread = threading.Thread(target=_write_until_killed, args=(sandbox, program), daemon=True)
        thread.start()
        told = _acknowledged_by(bench, sandbox)
        _kill_all(_processes(bench, sandbox))
        bench.node.kill()
        thread.join(_BACK_WITHIN_S)
        bench.node.start()
        outcome = sandbox.run(program, "verify", "/root/many", str(told))
    require(
        outcome.exit_code == 0, f"acknowledged and gone: file {outcome.stdout.decode().strip()}"
    )
    return f"{told} files acknowledged after fsync; container and daemon killed; all are there"


def _write_until_killed(sandbox: Sandbox, program: str) -> None:
    with contextlib.suppress(OSError, http.client.HTTPException, Answered):
        sandbox.run(program, "write", "/root/many", _COUNTER, timeout_ms=60_000)


def _acknowledged_by(bench: Bench, sandbox: Sandbox) -> int:
    """Reads the writer's count from outside, so that no answer is needed."""
    found = 0

    def enough() -> bool:
        nonlocal found
        for pid in _processes(bench, sandbox)[:1]:
            with contextlib.suppress(OSError, ValueError, IndexError):
                file = Path(f"/proc/{pid}/root{_COUNTER}")
                found = int(file.read_text("ascii").split()[0])
        return found >= _WRITES_AT_LEAST

    require(wait_for(enough, within_s=30.0), f"only {found} files in 30 s")
    return found


def _interrupted_creation(bench: Bench) -> str:
    kept = 0
    for moment_ms in _MOMENTS_MS:
        _kill_during(bench.node, lambda: bench.node.client.create("cut", bench.digest), moment_ms)
        bench.node.start()
        kept += _require_tidy(bench.node)
        _delete_all(bench.node)
    return f"killed {len(_MOMENTS_MS)} times while creating: {kept} whole, the rest without a trace"


def _interrupted_deletion(bench: Bench) -> str:
    kept = 0
    for moment_ms in _MOMENTS_MS:
        bench.node.ensure_running()
        sandbox = bench.node.client.create("cut", bench.digest)
        sandbox.run("/bin/true")
        _kill_during(bench.node, sandbox.delete, moment_ms)
        bench.node.start()
        kept += _require_tidy(bench.node)
        _delete_all(bench.node)
    return f"killed {len(_MOMENTS_MS)} times while deleting: {kept} not begun, the rest finished"


def _kill_during(node: Node, act: Callable[[], object], moment_ms: int) -> None:
    def run() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, Answered):
            act()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(moment_ms / 1000)
    node.kill()
    thread.join(_BACK_WITHIN_S)


def _require_tidy(node: Node) -> int:
    """Every directory is a listed sandbox, every sandbox works. Returns how many there are."""
    listed = node.client.sandboxes()
    present = {path.name for path in (node.state / "sandboxes").iterdir()}
    require(present == {one.instance for one in listed}, f"orphans: {sorted(present)}")
    for one in listed:
        require(one.state == "stopped", f"a sandbox is {one.state}")
        Sandbox(node.client, one.name, one.instance).says("true")
    return len(listed)


def _delete_all(node: Node) -> None:
    for one in node.client.sandboxes():
        Sandbox(node.client, one.name, one.instance).delete()


def _offline(bench: Bench) -> str:
    """Everything of the node dies at once; what it leaves is cleaned up by the next daemon."""
    with bench.sandbox("judged") as one, bench.sandbox("other") as two:
        one.says("echo one > /root/name; sync")
        two.says("echo two > /root/name; sync")
        pids = (*_processes(bench, one), *_processes(bench, two))
        bench.node.kill()
        _kill_all(pids)
        orphan = bench.node.state / "sandboxes" / ("0" * 32)
        orphan.mkdir()
        bench.node.start()
        require(not orphan.exists(), "a creation that never began is still there")
        loops = loops_backed_by(bench.node.state / "sandboxes")
        require(not loops, f"loop devices are left: {loops}")
        names = (one.says("cat /root/name"), two.says("cat /root/name"))
        proofs = (one.delete(), two.delete())
    require(names == ("one", "two"), f"found {names}")
    gone = all(
        proof.mounts_absent and proof.loop_device_absent and proof.files_absent for proof in proofs
    )
    require(gone, "a deletion left something")
    return "both sandboxes back with their files, the orphan removed, deletion proved"


def _deletion(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        sandbox.says("(sleep 1000 >/dev/null 2>&1 &)")
        proof = sandbox.delete()
        try:
            sandbox.run("/bin/true")
        except Answered as error:
            require(error.answer.error == "not_found", f"answered {error}")
        else:
            raise Broken("a deleted sandbox runs a command")
    home = bench.node.state / "sandboxes" / sandbox.instance
    require(not home.exists(), "its directory is still there")
    require(proof.processes_absent and proof.runtime_absent, "a process is left")
    return "processes, runtime state, mounts, loop device and files gone, the id is dead"


CHECKS: tuple[Check[Bench], ...] = (
    Check(key="restart.daemon", claim="a killed daemon comes back with the files", run=_daemon),
    Check(key="restart.stop", claim="a stopped daemon leaves nothing behind", run=_stop),
    Check(key="restart.runtime", claim="a killed container starts again", run=_runtime),
    Check(
        key="restart.fsync",
        claim="what was acknowledged after fsync survives kill -9 of everything",
        run=_fsync,
    ),
    Check(
        key="recovery.creation",
        claim="a creation cut short is whole or without a trace",
        run=_interrupted_creation,
    ),
    Check(
        key="recovery.deletion",
        claim="a deletion cut short is finished or was not begun",
        run=_interrupted_deletion,
    ),
    Check(
        key="recovery.offline",
        claim="a node that comes back brings its sandboxes and cleans up the rest",
        run=_offline,
    ),
    Check(key="recovery.deletion-proof", claim="a deletion proves absence", run=_deletion),
)
