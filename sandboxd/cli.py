"""The command line of the node daemon: serve, doctor, and the commands of sandboxd.operator.

Exit codes: 0 done, 1 refused or failed, 2 the node or the configuration is not fit for it.
"""

import json
import os
import sys
from pathlib import Path

import click

from sandboxd import __version__
from sandboxd.config import load_config
from sandboxd.faults import Fault, Misconfigured
from sandboxd.operator.commands import COMMANDS, config_of
from sandboxd.operator.gate import gate
from sandboxd.operator.images import image


class _Commands(click.Group):
    """Turns a fault into one readable line and the right exit code."""

    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except Fault as fault:
            click.echo(f"sandboxd: {fault.message}", err=True)
            for line in fault.kernel:
                click.echo(f"  kernel: {line}", err=True)
            if fault.remedy:
                click.echo(f"  remedy: {fault.remedy}", err=True)
            sys.exit(2 if isinstance(fault, Misconfigured) else 1)
        except PermissionError as error:
            if os.geteuid() == 0:
                raise
            click.echo(f"sandboxd: {error.filename}: {error.strerror}", err=True)
            click.echo("  remedy: run it as root", err=True)
            sys.exit(2)


@click.group(cls=_Commands)
@click.version_option(__version__)
@click.option("--config", type=click.Path(path_type=Path), help="TOML file with the settings.")
@click.option("--state-dir", type=click.Path(path_type=Path), help="Disks, images, journal.")
@click.option("--run-dir", type=click.Path(path_type=Path), help="Socket, runtime state, outputs.")
@click.option("--socket", type=click.Path(path_type=Path), help="Unix socket of the interface.")
@click.pass_context
def main(
    context: click.Context,
    *,
    config: Path | None,
    state_dir: Path | None,
    run_dir: Path | None,
    socket: Path | None,
) -> None:
    """Sandboxd keeps, mounts and runs the sandboxes of this node."""
    changes = {"state_dir": state_dir, "run_dir": run_dir, "socket": socket}
    given = {key: path.absolute() for key, path in changes.items() if path is not None}
    if run_dir is not None and socket is None:
        given["socket"] = run_dir.absolute() / "sandboxd.sock"
    context.obj = lambda: load_config(config, given)


@main.command()
@click.option("--log-level", default="INFO", type=click.Choice(["DEBUG", "INFO", "WARNING"]))
@click.option("--log-format", default="text", type=click.Choice(["text", "json"]))
@click.pass_context
def serve(context: click.Context, *, log_level: str, log_format: str) -> None:
    """Run the daemon until SIGTERM."""
    from sandboxd.service.daemon import run_daemon  # noqa: PLC0415 (the other commands need none)
    from sandboxd.service.recent import start_logging  # noqa: PLC0415

    start_logging(log_level, as_json=log_format == "json")
    run_daemon(config_of(context))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--lang", "language", type=click.Choice(["zh", "en"]), default="en")
@click.option("--online", is_flag=True, hidden=True)
@click.pass_context
def doctor(context: click.Context, *, as_json: bool, language: str, online: bool) -> None:
    """Look whether this node can run sandboxes; one line for each finding."""
    from sandboxd.doctor import examine, exit_code  # noqa: PLC0415
    from sandboxd.doctor_words import chinese_line  # noqa: PLC0415

    del online  # `make doctor` gives both doctors the same words; this one is always online.
    findings = examine(config_of(context))
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(chinese_line(finding) if language == "zh" else finding.line())
    sys.exit(exit_code(findings))


for command in (*COMMANDS, image, gate):
    main.add_command(command)
