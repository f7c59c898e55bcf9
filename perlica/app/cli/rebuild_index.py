"""`perlica rebuild-index`: the search index made anew from the messages."""

from pathlib import Path

import click

from perlica.app.cli.options import config_option
from perlica.app.config import load_config
from perlica.app.instance import only_instance
from perlica.app.layout import database_path
from perlica.stores.health import Severity
from perlica.stores.index import rebuild_index


@click.command("rebuild-index", short_help="Make a damaged search index anew.")
@config_option
def command(config_path: Path) -> None:
    """Throw the search index away and make it anew from the messages.

    For a database whose check names the index (`perlica doctor`). Stop the service first. Nothing
    is lost: the index holds nothing that is not in the messages. Afterwards the whole database is
    checked; anything that is still damaged is named and gives exit code 2.

    Raises: SystemExit with the exit code.
    """
    config = load_config(config_path)
    path = database_path(config.service.state_dir)
    with only_instance(config.service.state_dir):
        made = rebuild_index(path)
    click.echo(f"{path}: {made.stored} message(s) stored, {made.indexed} of them indexed anew")
    faults = [one for one in made.findings if one.severity is Severity.fault]
    for fault in faults:
        click.echo(f"{fault.code}: {fault.text}; {fault.remedy}", err=True)
    if faults:
        raise SystemExit(2)
