"""The command line: `python -m gate [--full]`, one line for each claim, a report at the end.

Exit codes: 0 every claim holds, 1 one does not, 2 the gate cannot run on this node.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click

from gate import checks
from gate.bench import FULL, QUICK, Depth, open_bench
from gate.lines import Broken, Line, try_check
from gate.machine import look_before, missing_parts
from gate.report.document import Report
from gate.report.facts import find_facts
from gate.report.writing import write_report
from gate.rig.node import Program
from sandboxd.config import load_config
from sandboxd.faults import Fault

_EXIT_BROKEN = 1
_EXIT_UNFIT = 2


@click.command()
@click.option("--full", is_flag=True, help="200 power cuts and the deep adversarial log.")
@click.option("--config", type=click.Path(path_type=Path), help="The node's sandboxd.toml.")
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    help="A directory on the file system to judge; by default where sandboxd keeps its state.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path),
    default=Path("gate/reports"),
    show_default=True,
    help="Where the report goes.",
)
@click.option("--only", multiple=True, help="Only checks whose key begins so; gives no report.")
@click.option("--cuts", type=click.IntRange(min=1), help="Another number of power cuts.")
def main(
    *,
    full: bool,
    config: Path | None,
    target: Path | None,
    reports: Path,
    only: tuple[str, ...],
    cuts: int | None,
) -> None:
    """Put the promises of sandboxes to the test on this node."""
    depth = FULL if full else QUICK
    sys.exit(
        run_gate(
            depth if cuts is None else replace_cuts(depth, cuts),
            config=config,
            target=target,
            reports=None if only else reports,
            only=only,
        )
    )


def replace_cuts(depth: Depth, cuts: int) -> Depth:
    """The same depth with another number of power cuts."""
    return dataclasses.replace(depth, cuts=cuts)


def run_gate(
    depth: Depth,
    *,
    config: Path | None,
    target: Path | None,
    reports: Path | None,
    only: tuple[str, ...] = (),
    program: Program | None = None,
) -> int:
    """Runs the checks and prints each line as it comes. Returns the exit code."""
    missing = missing_parts()
    if missing:
        click.echo(f"gate: this node lacks {', '.join(missing)}", err=True)
        return _EXIT_UNFIT
    before, began, lines = look_before(), time.monotonic(), list[Line]()
    try:
        settings = load_config(config, {})
    except Fault as fault:
        click.echo(f"gate: {fault.message}", err=True)
        return _EXIT_UNFIT
    place = target or _default_target(settings.state_dir)
    facts = None
    try:
        with open_bench(place, settings, program or Program(), depth) as bench:
            facts = find_facts(bench)
            for check in _chosen(only):
                for line in try_check(check, bench):
                    lines.append(line)
                    click.echo(line.for_terminal())
    except Broken as reason:
        lines.append(_bench_line(str(reason)))
        click.echo(lines[-1].for_terminal())
    for line in before.compare():
        lines.append(line)
        click.echo(line.for_terminal())
    took_s = time.monotonic() - began
    if facts is not None and reports is not None:
        report = Report.of(lines, facts, depth=depth.name, took_s=took_s)
        written = write_report(report, reports)
        click.echo(f"report: {written}")
    return _conclude(lines, took_s)
