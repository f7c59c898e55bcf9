"""`sandboxd ls, inspect, ops, logs, top, gc`: questions to the running daemon.

Exit codes: 0 done and nothing wrong, 1 the answer needs attention (a broken sandbox, something
that could not be removed), 2 no daemon, or a configuration that is not fit.
"""

import json
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime

import click
from pydantic import BaseModel

from sandboxd import wire
from sandboxd.config import Config
from sandboxd.operator.asking import ask, new_operation

_ATTENTION = 1
_HOUR_MS = 3_600_000
as_json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def config_of(context: click.Context) -> Config:
    """The configuration that the group's options name."""
    loaded: Config = context.obj()
    return loaded


def print_json(answer: BaseModel) -> None:
    """The answer as it travelled, indented."""
    click.echo(answer.model_dump_json(indent=2))


@click.command("ls")
@as_json_option
@click.pass_context
def list_sandboxes(context: click.Context, *, as_json: bool) -> None:
    """List the sandboxes of this node."""
    from sandboxd.operator import tables  # noqa: PLC0415 (rich is slow to load)

    listed = ask(config_of(context).socket, wire.SandboxList, wire.SANDBOXES_PATH)
    if as_json:
        print_json(listed)
    else:
        tables.show(tables.sandboxes(listed.sandboxes))
    sys.exit(_ATTENTION if any(s.state == "broken" for s in listed.sandboxes) else 0)


@click.command()
@click.argument("name")
@as_json_option
@click.pass_context
def inspect(context: click.Context, name: str, *, as_json: bool) -> None:
    """Show everything that is known of one sandbox."""
    state = ask(config_of(context).socket, wire.SandboxState, wire.sandbox_path(name))
    if as_json:
        print_json(state)
        return
    for key, value in state.model_dump(exclude={"kind"}).items():
        shown = value if isinstance(value, str | int) else json.dumps(value)
        click.echo(f"{key.replace('_', ' '):<20} {shown if shown != '' else '-'}")
    sys.exit(_ATTENTION if state.state == "broken" else 0)


@click.command()
@click.option("--sandbox", help="Only those of this sandbox.")
@click.option("--last", default=30, type=click.IntRange(1, 1000), help="How many at most.")
@as_json_option
@click.pass_context
def ops(context: click.Context, *, sandbox: str | None, last: int, as_json: bool) -> None:
    """List the newest operations and what became of them."""
    from sandboxd.operator import tables  # noqa: PLC0415

    answer = ask(config_of(context).socket, wire.OperationList, wire.OPERATIONS_PATH)
    wanted = [op for op in answer.operations if sandbox in (None, op.sandbox)][-last:]
    if as_json:
        print_json(wire.OperationList(operations=tuple(wanted)))
    else:
        tables.show(tables.operations(wanted))


@click.command()
@click.option("--last", default=100, type=click.IntRange(1, 1000), help="How many at most.")
@as_json_option
@click.pass_context
def logs(context: click.Context, *, last: int, as_json: bool) -> None:
    """Show the newest lines of the daemon's log."""
    answer = ask(config_of(context).socket, wire.LogReport, wire.LOG_PATH)
    lines = answer.lines[-last:]
    if as_json:
        print_json(wire.LogReport(lines=lines))
        return
    for line in lines:
        at = datetime.fromtimestamp(line.at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
        click.echo(f"{at}  {line.level:<7}  {line.message}")


@click.command()
@click.option("--every", default=0.0, type=click.FloatRange(0, 3600), help="Seconds; 0: once.")
@as_json_option
@click.pass_context
def top(context: click.Context, *, every: float, as_json: bool) -> None:
    """Show what each sandbox uses."""
    socket = config_of(context).socket

    def show() -> None:
        report = ask(socket, wire.UseReport, wire.USE_PATH)
        if as_json:
            print_json(report)
            return
        from sandboxd.operator import tables  # noqa: PLC0415

        tables.show(tables.use(report))

    _repeat(show, every)


def _repeat(show: Callable[[], None], every_s: float) -> None:
    show()
    while every_s:
        time.sleep(every_s)
        click.clear()
        show()


@click.command()
@click.option("--dry-run", is_flag=True, help="Only list what would go and what would stay.")
@click.option(
    "--images-older-than",
    type=click.IntRange(0),
    metavar="HOURS",
    help="Also remove images of at least this age that no sandbox is made of.",
)
@click.option("--disk", multiple=True, metavar="INSTANCE", help="An orphaned disk to remove.")
@as_json_option
@click.pass_context
def gc(
    context: click.Context,
    *,
    dry_run: bool,
    images_older_than: int | None,
    disk: tuple[str, ...],
    as_json: bool,
) -> None:
    """Remove what belongs to nothing and has evidence; list the rest."""
    socket = config_of(context).socket
    if dry_run:
        _show_garbage(ask(socket, wire.GarbageReport, wire.GARBAGE_PATH), as_json=as_json)
        return
    older_ms = None if images_older_than is None else images_older_than * _HOUR_MS
    request = wire.CollectRequest(
        operation=new_operation(),
        epoch=ask(socket, wire.HealthReport, wire.HEALTH_PATH).epoch,
        images_older_than_ms=older_ms,
        disks=disk,
    )
    done = ask(socket, wire.GarbageCollected, wire.GARBAGE_PATH, request)
    if as_json:
        print_json(done)
    else:
        _tell(done)
    sys.exit(_ATTENTION if done.kept else 0)


def _show_garbage(report: wire.GarbageReport, *, as_json: bool) -> None:
    if as_json:
        print_json(report)
        return
    from sandboxd.operator import tables  # noqa: PLC0415

    tables.show(tables.garbage(report))


def _tell(done: wire.GarbageCollected) -> None:
    for item in done.removed:
        click.echo(f"removed  {item}")
    for item in done.kept:
        click.echo(f"kept     {item}")
    click.echo(f"{len(done.removed)} removed, {done.freed_bytes // 1024**2} MiB freed")


COMMANDS = (list_sandboxes, inspect, ops, logs, top, gc)
