"""`perlica restore`: from a backup to a database that the service can start with."""

from pathlib import Path

import click

from perlica.app import parts
from perlica.app.cli.options import config_option
from perlica.app.cli.verify import refuse_other_files
from perlica.app.config import load_config
from perlica.app.instance import only_instance
from perlica.app.layout import database_path
from perlica.domain.ids import GroupId
from perlica.stores.backup import restore_backup


@click.command("restore", short_help="Make a database from a backup.")
@click.argument("backup", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@config_option
def command(backup: Path, config_path: Path) -> None:
    """Make the database from BACKUP; there must be none at its place.

    Stop the service and move the old database away first, with its -wal and -shm; leave
    perlica.db.deletions where it is. What has expired, was deleted or recalled meanwhile is deleted
    before the database can be used; pending approvals are void, unsent messages are held, and
    operations that were under way are unknown (`.recovery` shows them). What was sent in the group
    before the restore makes no task, and its commands are not carried out.
    """
    refuse_other_files(backup)
    config = load_config(config_path)
    path = database_path(config.service.state_dir)
    with only_instance(config.service.state_dir):
        made = restore_backup(
            backup, path, parts.retention_ages(config), group_id=GroupId(config.napcat.group_id)
        )
    click.echo(
        f"{path}: schema {made.schema_version}, {made.tasks_ended} task(s) ended,"
        f" {made.tickets_void} approval(s) void, {made.operations_unknown} operation(s) unknown,"
        f" {made.sends_held} message(s) held"
    )
