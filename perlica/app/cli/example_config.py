"""`perlica example-config`: every setting with its meaning, ready to be filled in."""

import click

from perlica.app.config.example import write_example


@click.command("example-config", short_help="Print a configuration to begin with.")
def command() -> None:
    """Print a configuration to begin with.

    What must be set stands there with an example; the numbers of group, account and Owners are 0,
    and nothing starts before they are real. Everything else is commented out and shows its default.

    \b
    Example:
      perlica example-config > /etc/perlica/perlica.toml
    """  # noqa: D301 - click wants the character itself
    click.echo(write_example(), nl=False)
