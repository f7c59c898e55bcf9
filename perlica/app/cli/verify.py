"""`perlica verify`: is a backup whole?"""

from pathlib import Path

import click

from perlica.stores.backup import verify


@click.command("verify", short_help="Read a backup to its end and say whether it is whole.")
@click.argument("backup", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(backup: Path) -> None:
    """Read BACKUP to its end: pages, indexes and references."""
    verify(backup)
    click.echo(f"{backup}: whole")
