"""Containment: what the container is made of, and the escape probe run inside it."""

from pathlib import Path

from gate.bench import Bench
from gate.lines import Broken, Check, Line, require

_PROBE_WITHIN_MS = 120_000
_CHECKS_AT_LEAST = 90
_DAEMON_CAPABILITIES = 12
_CAPABILITIES = 0b11111011
"""CHOWN, DAC_OVERRIDE, FOWNER, FSETID, KILL, SETGID, SETUID."""


def _confinement(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        status = sandbox.says("cat /proc/self/status")
        ids = sandbox.says("cat /proc/self/uid_map").split()
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    held = {key: int(facts[key], 16) for key in ("CapEff", "CapPrm", "CapBnd")}
    require(set(held.values()) == {_CAPABILITIES}, f"capabilities are {held}")
    require(int(facts["CapAmb"], 16) == 0, "there are ambient capabilities")
    require(int(ids[1]) >= int(ids[2]), f"ids of the sandbox are the node's own: {ids}")
    return f"7 capabilities in a user namespace at {ids[1]}, none ambient"


def _other_users(bench: Bench) -> str:
    with bench.sandbox("judged") as one, bench.sandbox("other") as two:
        first, second = (int(box.says("cat /proc/self/uid_map").split()[1]) for box in (one, two))
    require(first != second, f"both sandboxes are user {first} on the node")
    return f"{first} and {second}"


def _daemon(bench: Bench) -> str:
    bench.node.ensure_running()
    status = Path(f"/proc/{bench.node.pid}/status").read_text("ascii")
    bounding = next(line.split()[1] for line in status.splitlines() if line.startswith("CapBnd"))
    count = int(bounding, 16).bit_count()
    require(count <= _DAEMON_CAPABILITIES, f"the daemon may gain {count} capabilities: {bounding}")
    mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
    require(str(bench.node.run) not in mounts, "mounts of the daemon show on the node")
    return f"bounding set {bounding.lstrip('0')} ({count} capabilities), own mount namespace"


def _probe(bench: Bench) -> tuple[Line, ...]:
    with bench.sandbox(pids=64) as sandbox:
        program = bench.place_program(sandbox, "probe")
        outcome = sandbox.run(program, timeout_ms=_PROBE_WITHIN_MS)
        node = Path("/dev/null").stat()
    rows = outcome.stdout.decode("utf-8", "replace").splitlines()
    if outcome.exit_code != 0 or len(rows) < _CHECKS_AT_LEAST:
        raise Broken(f"the probe {outcome.ended} ({outcome.exit_code}) after {len(rows)} checks")
    require(node.st_mode & 0o777 == 0o666, "the node's /dev/null was changed")
    return tuple(_line(row) for row in rows)


def _line(row: str) -> Line:
    verdict, error, sentence, reason = row.split("\t")
    key = "escape." + sentence.removeprefix("cannot ").replace(" ", "-").replace("'", "").lower()
    if verdict == "blocked":
        return Line(key=key, claim=sentence, outcome="pass", detail=f"blocked ({error})")
    if verdict == "allowed":
        return Line(key=key, claim=sentence, outcome="pass", detail=f"allowed: {reason}")
    return Line(key=key, claim=sentence, outcome="fail", detail=f"it can: {verdict}")


CHECKS: tuple[Check[Bench], ...] = (
    Check(
        key="isolation.rights",
        claim="a sandbox has seven capabilities, in a user namespace of its own",
        run=_confinement,
    ),
    Check(
        key="isolation.users",
        claim="two sandboxes are different users of the node",
        run=_other_users,
    ),
    Check(
        key="isolation.daemon",
        claim="the daemon keeps few rights, and its mounts to itself",
        run=_daemon,
    ),
    Check(key="escape", claim="the escape probe runs to its end", run=_probe),
)
