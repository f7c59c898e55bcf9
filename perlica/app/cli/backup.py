"""`perlica backup`: a verified copy of the running database; old ones go."""

from pathlib import Path

import click

from perlica.app.cli.options import config_option
from perlica.app.config import load_config
from perlica.app.layout import backups_path, database_path
from perlica.stores.backup import back_up, prune
from perlica.stores.database import Database

_DAY_MS = 86_400_000


@click.command("backup", short_help="Copy the database while the service runs.")
@config_option
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for backups; by default `backups` in the state directory.",
)
def command(config_path: Path, folder: Path | None) -> None:
    """Copy the database of one moment, verify the copy, delete backups that are too old.

    The service goes on meanwhile. Backups are kept for retention.backup_days and hold no secret
    file; a backup on the same disk does not survive that disk.
    """
    config = load_config(config_path)
    target = folder or backups_path(config.service.state_dir)
    with Database.open(database_path(config.service.state_dir)) as database:
        made = back_up(database, target)
    click.echo(f"{made.path}: {made.size_bytes} bytes, verified")
    for path in prune(target, keep_ms=config.retention.backup_days * _DAY_MS):
        click.echo(f"{path}: deleted, older than {config.retention.backup_days} days")
