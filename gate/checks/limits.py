"""Attacks on the limits of a sandbox, while the node and another sandbox are watched."""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from gate.bench import Bench
from gate.lines import Check, require
from gate.rig.client import Sandbox
from sandboxd import wire

_MIB = 1024 * 1024
_ANSWERS_WITHIN_S = 10.0
_ATTACK_WITHIN_MS = 120_000
_PIDS = 64
_MEMORY = 96 * _MIB
_RESERVE = 0.5
"""Of the memory that was free before an attack, at least this much must be free during it."""
_INODES = 2_000_000


class _Watch:
    """Asks a second sandbox and the daemon, again and again, until it is told to stop."""

    def __init__(self, bench: Bench, other: Sandbox) -> None:
        self._bench = bench
        self._other = other
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.slowest_s = 0.0
        self.looks = 0
        self.trouble = ""
        self._free_before = _free_bytes()

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join(_ANSWERS_WITHIN_S * 3)

    def _look(self) -> None:
        try:
            is_last = False
            while not is_last:  # However short the attack is: one look at once, one at its end.
                is_last = self._over.wait(0.2 if self.looks else 0.0)
                began = time.monotonic()
                require(self._other.says("echo well") == "well", "the other sandbox is unwell")
                self._bench.node.client.health()
                self.slowest_s = max(self.slowest_s, time.monotonic() - began)
                self.looks += 1
                require(_free_bytes() > self._free_before * _RESERVE, "the node runs out of memory")
        except Exception as error:  # noqa: BLE001 (said by the check)
            self.trouble = str(error)

    def verdict(self) -> str:
        """Raises Broken when anything was unwell."""
        require(not self.trouble, f"beside the attack: {self.trouble}")
        require(self.looks > 0, "nothing could be asked during the attack")
        slow = f"the other sandbox answered within {self.slowest_s:.1f} s"
        require(self.slowest_s < _ANSWERS_WITHIN_S, slow)
        return f"{self.looks} looks beside it, slowest {self.slowest_s * 1000:.0f} ms"


def _free_bytes() -> int:
    text = Path("/proc/meminfo").read_text("ascii")
    found = re.search(r"MemAvailable: +(\d+) kB", text)
    return int(found.group(1)) * 1024 if found else 0


@contextlib.contextmanager
def _watched(bench: Bench) -> Iterator[_Watch]:
    """A second sandbox and somebody who watches it for the block."""
    with bench.sandbox("beside") as other:
        other.run("/bin/true")
        watch = _Watch(bench, other)
        watch.start()
        try:
            yield watch
        finally:
            watch.stop()


def _attack(
    bench: Bench,
    *words: str,
    judge: Callable[[wire.ExecOutcome, Sandbox], str],
    **limits: int,
) -> str:
    """Attacks one sandbox; afterwards it must still answer, after a restart if need be."""
    with _watched(bench) as watch, bench.sandbox("attacked", **limits) as sandbox:
        program = bench.place_program(sandbox, "attack")
        outcome = sandbox.run(program, *words, timeout_ms=_ATTACK_WITHIN_MS)
        seen = judge(outcome, sandbox)
        watch.stop()
        sandbox.stop()
        require(sandbox.says("echo alive") == "alive", "the attacked sandbox does not come back")
        beside = watch.verdict()
    return f"{seen}; {beside}"


def _printed(outcome: wire.ExecOutcome) -> str:
    return outcome.stdout.decode("utf-8", "replace").strip()


def _fork(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, _: Sandbox) -> str:
        found = re.match(r"made (\d+) refused (\d+)", _printed(outcome))
        require(found, f"the bomb {outcome.ended}: {_printed(outcome)}")
        made = int(found.group(1)) if found else 0
        require(0 < made < _PIDS, f"{made} processes with a limit of {_PIDS}")
        return f"fork bomb: {_printed(outcome)}"

    return _attack(bench, "fork", "5000", judge=judge, pids=_PIDS)


def _memory(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, _: Sandbox) -> str:
        require("got" not in _printed(outcome), "more memory than the limit was given")
        return f"memory bomb: {outcome.ended} ({outcome.signal or outcome.exit_code})"

    return _attack(bench, "memory", "4096", judge=judge, memory_bytes=_MEMORY)


def _disk(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, sandbox: Sandbox) -> str:
        require("ENOSPC" in _printed(outcome), f"disk filler: {_printed(outcome)}")
        sandbox.says("rm /srv/attack-disk; echo fine > /root/again; cat /root/again")
        return f"disk filler {_printed(outcome)}, and room again after a deletion"

    return _attack(bench, "disk", "4096", judge=judge)


def _inodes(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, sandbox: Sandbox) -> str:
        require("ENOSPC" in _printed(outcome), f"inode filler: {_printed(outcome)}")
        sandbox.says("rm -r /srv/attack-inodes/0; echo fine > /root/again")
        return f"inode filler {_printed(outcome)}"

    return _attack(bench, "inodes", str(_INODES), judge=judge)


def _output(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, _: Sandbox) -> str:
        wanted = bench.depth.output_mib * _MIB
        require(outcome.stdout_bytes == wanted, f"{outcome.stdout_bytes} of {wanted} bytes counted")
        require(len(outcome.stdout) <= 300 * 1024, f"{len(outcome.stdout)} bytes kept")
        return f"{wanted // _MIB} MiB written, {len(outcome.stdout) // 1024} KiB kept"

    return _attack(bench, "output", str(bench.depth.output_mib), judge=judge)


def _zombies(bench: Bench) -> str:
    def judge(outcome: wire.ExecOutcome, sandbox: Sandbox) -> str:
        made = int(_printed(outcome).removeprefix("made ") or 0)
        require(made == bench.depth.zombies, f"{made} zombies, then it {outcome.ended}")
        left = int(sandbox.says("ps -o stat | grep -c Z || :"))
        require(left <= 1, f"{left} zombies are left")
        return f"{made} zombies reaped"

    return _attack(bench, "zombies", str(bench.depth.zombies), judge=judge, pids=512)


def _time(bench: Bench) -> str:
    script = "trap '' TERM HUP INT; setsid sleep 1000 & while :; do :; done & while :; do :; done"
    with _watched(bench) as watch, bench.sandbox("attacked") as sandbox:
        outcome = sandbox.run("/bin/sh", "-c", script, timeout_ms=1000)
        left = sandbox.says("ps | grep -c '[s]leep 1000' || :")
        watch.stop()
        beside = watch.verdict()
    require(outcome.ended == "timed_out", f"it {outcome.ended}")
    require(left == "0", f"{left} processes outlived their command")
    return f"ended after {outcome.duration_ms} ms with all it had started; {beside}"


CHECKS: tuple[Check[Bench], ...] = (
    Check(key="limits.processes", claim="a fork bomb stays within its limit", run=_fork),
    Check(key="limits.memory", claim="a memory bomb dies alone", run=_memory),
    Check(key="limits.disk", claim="a disk filler fills only its own disk", run=_disk),
    Check(key="limits.inodes", claim="an inode filler fills only its own disk", run=_inodes),
    Check(key="limits.output", claim="endless output is counted, cut and not kept", run=_output),
    Check(key="limits.zombies", claim="processes that nobody waits for are reaped", run=_zombies),
    Check(key="limits.time", claim="a time-out ends a command with all it started", run=_time),
)
