"""The command line: `sandboxd gate [--full]`, one line for each claim, a report at the end.

Exit codes: 0 every claim holds, 1 one does not, 2 the gate cannot run on this node.
"""

import signal
import sys
import time
import uuid
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

import click

from gate.bench import FULL, QUICK, Bench, Depth, open_bench
from gate.checks import ALL
from gate.lines import Broken, Check, Line, try_check
from gate.machine import look_at_machine, missing_parts
from gate.report.document import Facts, make_report
from gate.report.facts import find_facts
from gate.report.writing import write_report
from gate.rig.node import Program
from sandboxd.config import Config, load_config
from sandboxd.faults import Fault

_EXIT_BROKEN = 1
_EXIT_UNFIT = 2


def _known(_: click.Context, __: click.Parameter, only: tuple[str, ...]) -> tuple[str, ...]:
    """Each has to begin a check's key: a run that tried nothing would look like one that passed."""
    for word in only:
        if not any(check.key.startswith(word) for check in ALL):
            keys = ", ".join(check.key for check in ALL)
            raise click.BadParameter(f"no check begins with {word!r}. There are: {keys}")
    return only


@click.command(
    epilog="Exit codes: 0 every claim holds, 1 one does not, 2 the gate cannot run on this node."
)
@click.option(
    "--full", is_flag=True, help="200 power cuts and the deep adversarial log: about 10 minutes."
)
@click.option("--config", type=click.Path(path_type=Path), help="The node's sandboxd.toml.")
@click.option(
    "--target",
    type=click.Path(path_type=Path),
    help="A directory on the file system to judge; by default beside sandboxd's state.",
)
@click.option(
    "--reports",
    type=click.Path(path_type=Path),
    default=Path(),
    help="Where the report goes, as JSON and as Markdown; by default here.",
)
@click.option(
    "--guest-kernel",
    "kernels",
    type=click.Path(path_type=Path),
    default=Path("/"),
    help="Where --full finds a kernel for a guest under QEMU: below boot/ and lib/modules/ of it.",
)
@click.option(
    "--only",
    multiple=True,
    callback=_known,
    help="Only checks whose key begins so; gives no report.",
)
@click.option("--cuts", type=click.IntRange(min=1), help="Another number of power cuts.")
def main(
    *,
    full: bool,
    config: Path | None,
    target: Path | None,
    reports: Path,
    kernels: Path,
    only: tuple[str, ...],
    cuts: int | None,
) -> None:
    """Put the promises of sandboxes to the test on this node, as root, in about 4 minutes.

    Builds an image, starts daemons of its own beside the running one, and takes them down again.
    Needs a C compiler, static busybox and xfsprogs. The service switches sandboxes on with the
    report of --full, named in sandbox.gate_report.
    """
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _stop)  # So that everything is taken down as after a failure.
    missing = missing_parts()
    if missing:
        click.echo(f"gate: this node lacks {', '.join(missing)}", err=True)
        sys.exit(_EXIT_UNFIT)
    try:
        settings = load_config(config, {})
    except Fault as fault:
        click.echo(f"gate: {fault.message}\n  remedy: {fault.remedy}", err=True)
        sys.exit(_EXIT_UNFIT)
    depth = FULL if full else QUICK
    run = Run(
        depth=depth.with_cuts(cuts),
        config=settings,
        target=target or _beside(settings.state_dir),
        only=only,
        kernels=kernels,
    )
    run.try_all()
    if not only:
        run.write(reports)
    sys.exit(run.conclude())


def _stop(number: int, _: object) -> NoReturn:
    sys.exit(128 + number)


def _beside(state: Path) -> Path:
    """The directory above the state directory, or the nearest one that exists."""
    return next(path for path in state.parents if path.exists())


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of the gate. `program` starts sandboxd; the gate's own tests give a broken one."""

    depth: Depth
    config: Config
    target: Path
    only: tuple[str, ...] = ()
    images: Path | None = None
    kernels: Path = Path("/")
    program: Program = field(default_factory=Program)
    name: str = field(default_factory=lambda: f"gate-{uuid.uuid4().hex[:8]}")
    lines: list[Line] = field(default_factory=list)
    facts: Facts | None = None
    _began: float = field(default_factory=time.monotonic)

    def try_all(self) -> None:
        """Tries every check and prints each line as it comes."""
        before = look_at_machine()
        try:
            with self._bench() as bench:
                self.facts = find_facts(bench)
                for check in self._chosen():
                    for line in try_check(check, bench):
                        self._say(line)
        except Broken as reason:
            claim = "the node of the gate starts, and ends without a trace"
            self._say(Line(key="bench", claim=claim, outcome="fail", detail=str(reason)))
        for line in before.lines(self.name):
            self._say(line)

    def _bench(self) -> AbstractContextManager[Bench]:
        return open_bench(
            self.target / self.name,
            self.config,
            self.program,
            self.depth,
            images=self.images,
            kernels=self.kernels,
        )

    def _chosen(self) -> list[Check[Bench]]:
        return [check for check in ALL if not self.only or check.key.startswith(self.only)]

    def _say(self, line: Line) -> None:
        self.lines.append(line)
        click.echo(line.for_terminal())

    def write(self, directory: Path) -> None:
        """Writes the report, if the gate came so far."""
        if self.facts is None:
            return
        report = make_report(
            self.lines,
            self.facts,
            depth=self.depth.name,
            took_s=time.monotonic() - self._began,
            made_at_ms=time.time_ns() // 1_000_000,
        )
        as_json, as_markdown = write_report(report, directory)
        click.echo(f"report: {as_json} and {as_markdown}")

    def conclude(self) -> int:
        """Prints the sum. Returns the exit code."""
        counts = Counter(line.outcome for line in self.lines)
        summary = ", ".join(f"{count} {outcome}" for outcome, count in sorted(counts.items()))
        click.echo(f"{summary}, in {time.monotonic() - self._began:.0f} s")
        return 0 if self.lines and all(line.is_good for line in self.lines) else _EXIT_BROKEN
