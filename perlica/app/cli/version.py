"""`perlica version`: what exactly is installed."""

import platform

import click

from perlica import __version__
from perlica.gateway.core.policy_file import read_policy
from perlica.protection import POLICY_VERSION
from perlica.stores.migrations import read_migrations


@click.command("version", short_help="Print the versions of program, schema and rules.")
def command() -> None:
    """Print the versions of the program and of everything that it writes down with its records."""
    versions = {
        "perlica": __version__,
        "python": platform.python_version(),
        "database schema": str(read_migrations()[-1].version),
        "policy": read_policy(None).version,
        "protection rules": POLICY_VERSION,
    }
    for name, version in versions.items():
        click.echo(f"{name} {version}")
