"""The command line of the node daemon: serve, images, doctor.

Exit codes: 0 done, 1 refused or failed, 2 the node or the configuration is not fit for it.
"""

import json
import logging
import sys
from pathlib import Path

import click

from sandboxd import __version__
from sandboxd.config import Config, load_config
from sandboxd.faults import Fault, Misconfigured

_LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"


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


def _config(context: click.Context) -> Config:
    loaded: Config = context.obj()
    return loaded


@main.command()
@click.option("--log-level", default="INFO", type=click.Choice(["DEBUG", "INFO", "WARNING"]))
@click.pass_context
def serve(context: click.Context, log_level: str) -> None:
    """Run the daemon until SIGTERM."""
    from sandboxd.service.daemon import run_daemon  # noqa: PLC0415 (the other commands need none)

    logging.basicConfig(level=log_level, format=_LOG_FORMAT, stream=sys.stderr)
    run_daemon(_config(context))


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def doctor(context: click.Context, *, as_json: bool) -> None:
    """Look whether this node can run sandboxes; one line for each finding."""
    from sandboxd.doctor import examine, exit_code  # noqa: PLC0415

    findings = examine(_config(context))
    if as_json:
        click.echo(json.dumps([finding.as_dict() for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(finding.line())
    sys.exit(exit_code(findings))


@main.group()
def image() -> None:
    """Images that sandboxes are made of."""


@image.command("build-demo")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--busybox", type=click.Path(path_type=Path), default=Path("/bin/busybox"))
def build_demo(directory: Path, busybox: Path) -> None:
    """Build a small OCI layout from busybox, offline; prints its manifest digest."""
    from sandboxd.images.demo import build_demo_layout  # noqa: PLC0415

    click.echo(build_demo_layout(directory, busybox=busybox))


@image.command("import")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--digest", help="Manifest digest, when the layout holds several images.")
@click.pass_context
def import_image(context: click.Context, directory: Path, digest: str | None) -> None:
    """Verify an OCI layout and keep it as squashfs; prints the record as JSON."""
    from sandboxd.images.catalog import Catalog  # noqa: PLC0415
    from sandboxd.images.unpack import UnpackLimits  # noqa: PLC0415

    config = _config(context)
    limits = UnpackLimits(
        total_bytes=config.bounds.image_bytes, entries=config.bounds.image_entries
    )
    held = Catalog(config.state_dir / "images").import_layout(
        directory, wanted=digest, limits=limits
    )
    click.echo(held.model_dump_json())


@image.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@click.pass_context
def list_images(context: click.Context, *, as_json: bool) -> None:
    """List the images on this node."""
    from sandboxd.images.catalog import Catalog  # noqa: PLC0415

    held = Catalog(_config(context).state_dir / "images").list()
    if as_json:
        click.echo(json.dumps([item.model_dump() for item in held], indent=2))
        return
    for item in held:
        click.echo(f"{item.digest}  {item.size_bytes:>12}  {item.reference or '-'}")
