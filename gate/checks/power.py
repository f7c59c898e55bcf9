"""Power loss by two methods, and the controls that prove that the methods would notice."""

from gate.bench import Bench
from gate.lines import Check, Line, require
from gate.power.cuts import Tally, cut_many, cut_volatile
from gate.power.flushes import lose_power, record
from gate.power.machine import cut_machines
from gate.rig.programs import build_program
from gate.rig.stack import Stack

_CONTROL_WITHIN_S = 60.0
_CONTROL_POINTS = 6
_CONTROL_STEPS = 200


def _sum_up(tally: Tally) -> str:
    return (
        f"{tally['cuts']} cuts, {tally['acknowledged']} acknowledged operations, "
        f"{tally['violations']} violations"
    )


def _require_none(tally: Tally) -> str:
    require(tally["violations"] == 0, f"{_sum_up(tally)}: {'; '.join(tally['first'])}")
    return _sum_up(tally)


def _require_some(tally: Tally) -> str:
    require(tally["violations"] > 0, f"{_sum_up(tally)}: the method is blind")
    return f"{_sum_up(tally)}, such as: {tally['first'][0]}"


def _cuts(bench: Bench) -> str:
    cuts = bench.depth.cuts
    return _require_none(
        bench.in_chamber(lambda stack: cut_many(stack, cuts), within_s=bench.depth.within_s)
    )


def _volatile(bench: Bench) -> str:
    return _require_some(bench.in_chamber(cut_volatile, within_s=_CONTROL_WITHIN_S))


def _flushes(bench: Bench) -> str:
    program, depth = build_program("flushlog", bench.home), bench.depth

    def work(stack: Stack) -> Tally:
        recording = record(stack, program, steps=depth.flush_steps)
        return lose_power(stack, recording, points=depth.flush_points, ignores_flush=False)

    return _require_none(bench.in_chamber(work, within_s=depth.within_s, in_memory=True))


def _ignored_flushes(bench: Bench) -> str:
    program = build_program("flushlog", bench.home)

    def work(stack: Stack) -> Tally:
        recording = record(stack, program, steps=_CONTROL_STEPS)
        return lose_power(stack, recording, points=_CONTROL_POINTS, ignores_flush=True)

    return _require_some(bench.in_chamber(work, within_s=_CONTROL_WITHIN_S, in_memory=True))


def _machine(bench: Bench) -> str | tuple[Line, ...]:
    depth = bench.depth
    if depth.machine_cuts == 0:
        return ()
    writer = build_program("synced", bench.home)
    lower = bench.node.state / "images" / f"{bench.digest.removeprefix('sha256:')}.squashfs"

    def work(stack: Stack) -> Tally:
        return cut_machines(stack, lower, writer, kernels=bench.kernels, cuts=depth.machine_cuts)

    tally = bench.in_chamber(work, within_s=depth.within_s)
    require(tally["acknowledged"] > 0, "no guest acknowledged anything")
    return _require_none(tally)


CHECKS: tuple[Check[Bench], ...] = (
    Check(
        key="power.cuts",
        claim="what was acknowledged survives a shut-down of the disk's file system",
        run=_cuts,
    ),
    Check(
        key="power.flushes",
        claim="what was acknowledged survives the loss of everything that was not flushed",
        run=_flushes,
    ),
    Check(
        key="power.hardware.guest",
        claim="what was acknowledged survives the sudden end of a whole machine under QEMU",
        run=_machine,
        may_be_missing=True,
    ),
    Check(
        key="control.volatile",
        claim="the first method notices a mount on which fsync does nothing",
        run=_volatile,
    ),
    Check(
        key="control.ignored-flushes",
        claim="the second method notices a disk that ignores flushes",
        run=_ignored_flushes,
    ),
)
