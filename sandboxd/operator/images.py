"""`sandboxd image ...`: bring images to the node, look at them, check them.

These work on the state directory themselves, so that pulling needs no privilege of the daemon; it
sees a new image with its next look.
"""

import contextlib
import fcntl
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from sandboxd.config import Config
from sandboxd.images.unpack import Progress
from sandboxd.operator.commands import as_json_option, config_of
from sandboxd.storage.records import make_private
from sandboxd.wire import HeldImage

_BAD = 1


@click.group()
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
    with _progress() as progress:
        held = _import(config_of(context), directory, digest, progress)
    click.echo(held.model_dump_json())


@image.command()
@click.argument("reference")
@click.pass_context
def pull(context: click.Context, reference: str) -> None:
    """Fetch REGISTRY/REPOSITORY@sha256:DIGEST and keep it; prints the record as JSON."""
    from sandboxd.images.pull import pull_layout  # noqa: PLC0415
    from sandboxd.images.reference import find_registry, parse_reference  # noqa: PLC0415

    config, named = config_of(context), parse_reference(reference)
    registry = find_registry(named, config.registries)
    with _progress() as progress, _scratch(config.state_dir / "images/pulls") as layout:
        digest = pull_layout(
            named,
            registry,
            into=layout,
            limit_bytes=config.bounds.image_bytes,
            progress=progress,
        )
        held = _import(config, layout, digest, progress, reference=str(named))
    click.echo(held.model_dump_json())


@contextlib.contextmanager
def _scratch(directory: Path) -> Iterator[Path]:
    """A fresh directory below `directory`. One pull at a time; removes what a killed one left."""
    make_private(directory)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for left in directory.glob("pull-*"):
            shutil.rmtree(left)
        with tempfile.TemporaryDirectory(dir=directory, prefix="pull-") as layout:
            yield Path(layout)


def _import(
    config: Config,
    layout: Path,
    digest: str | None,
    progress: Progress,
    *,
    reference: str = "",
) -> HeldImage:
    from sandboxd.images.catalog import Catalog  # noqa: PLC0415
    from sandboxd.images.unpack import UnpackLimits  # noqa: PLC0415

    limits = UnpackLimits(
        total_bytes=config.bounds.image_bytes,
        entries=config.bounds.image_entries,
        set_id_bits=config.set_id_bits,
    )
    return Catalog(config.state_dir / "images").import_layout(
        layout, wanted=digest, limits=limits, progress=progress, reference=reference
    )


@contextlib.contextmanager
def _progress() -> Iterator[Progress]:
    """Bars on a terminal's stderr; nothing otherwise."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console  # noqa: PLC0415 (slow to load)
    from rich.progress import Progress as Bars  # noqa: PLC0415

    with Bars(console=Console(stderr=True)) as bars:
        tasks = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield show


@image.command("list")
@as_json_option
@click.pass_context
def list_images(context: click.Context, *, as_json: bool) -> None:
    """List the images on this node."""
    _list(config_of(context), as_json=as_json)


@image.command("ls", hidden=True)
@as_json_option
@click.pass_context
def list_images_shortly(context: click.Context, *, as_json: bool) -> None:
    """The same as `list`, for fingers that are used to it."""
    _list(config_of(context), as_json=as_json)


def _list(config: Config, *, as_json: bool) -> None:
    held = _held(config)
    if as_json:
        click.echo(json.dumps([item.model_dump() for item in held], indent=2))
        return
    from sandboxd.operator import tables  # noqa: PLC0415

    tables.show(tables.images(held))


def _held(config: Config) -> tuple[HeldImage, ...]:
    from sandboxd.images.catalog import Catalog  # noqa: PLC0415

    return Catalog(config.state_dir / "images").list()


@image.command()
@click.argument("digest", required=False)
@as_json_option
@click.pass_context
def verify(context: click.Context, digest: str | None, *, as_json: bool) -> None:
    """Hash the squashfs of one image, or of all, and compare with the record."""
    from sandboxd.images.catalog import Catalog  # noqa: PLC0415

    config = config_of(context)
    catalog = Catalog(config.state_dir / "images")
    wanted = [catalog.find(digest)] if digest else _held(config)
    found = {held.digest: catalog.verify(held.digest) for held in wanted}
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        for name, is_whole in found.items():
            click.echo(f"{'ok  ' if is_whole else 'BAD '}  {name}")
    sys.exit(0 if all(found.values()) else _BAD)
