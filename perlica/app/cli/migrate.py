"""`perlica migrate`: the database's schema, without starting the service."""

from pathlib import Path

import click

from perlica.app.cli.options import config_option
from perlica.app.config import load_config
from perlica.app.layout import database_path
from perlica.stores.migrations import migrate


@click.command("migrate", short_help="Bring the database to this program's schema.")
@config_option
def command(config_path: Path) -> None:
    """Make the database, or bring it to this program's schema.

    `perlica run` does the same at its start. A step that fails leaves the old state; a database
    that is newer than the program is not touched.
    """
    path = database_path(load_config(config_path).service.state_dir)
    click.echo(f"{path}: schema {migrate(path)}")
