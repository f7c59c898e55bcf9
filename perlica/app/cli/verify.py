"""`perlica verify`: is a backup whole?"""

from pathlib import Path

import click

from perlica.domain.errors import Misconfigured
from perlica.stores.backup import verify

_BEGINNING = b"SQLite format 3\0"


@click.command("verify", short_help="Read a backup to its end and say whether it is whole.")
@click.argument("backup", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def command(backup: Path) -> None:
    """Read BACKUP to its end: pages, indexes and references."""
    refuse_other_files(backup)
    verify(backup)
    click.echo(f"{backup}: whole")


def refuse_other_files(path: Path) -> None:
    """Raises: Misconfigured when the file is no database at all, so that nobody fears damage."""
    try:
        with path.open("rb") as file:
            beginning = file.read(len(_BEGINNING))
    except OSError as error:
        raise Misconfigured("backup_unreadable", f"{path}: {error.strerror}") from error
    if beginning != _BEGINNING:
        raise Misconfigured(
            "not_a_backup",
            f"{path.name} is not a Perlica backup",
            remedy="name a file that `perlica backup` made: perlica-….sqlite3",
        )
