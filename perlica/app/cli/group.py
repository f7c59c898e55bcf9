"""The group of subcommands. Their one-line helps stand here, so that `perlica -h` loads none.

A subcommand that cannot go on raises one of Perlica's errors; here it becomes a line and a code.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from perlica.app.cli.options import say_failure, say_invalid
from perlica.app.config import ConfigInvalid
from perlica.domain.errors import PerlicaError

EXIT_FAILED = 2

_COMMANDS: Mapping[str, tuple[str, str]] = {
    "run": ("perlica.app.cli.run", "Run the service until it is told to stop."),
    "check-config": (
        "perlica.app.cli.check_config",
        "Read the configuration and explain mistakes.",
    ),
    "config": ("perlica.app.cli.config", "Show every setting in force and where it comes from."),
    "example-config": ("perlica.app.cli.example_config", "Print a configuration to begin with."),
    "doctor": ("perlica.app.cli.doctor", "Say what is wrong here and what to do about it."),
    "console": (
        "perlica.app.cli.console",
        "The web console: run it alone, manage viewers' tokens.",
    ),
    "protect": ("perlica.app.cli.protect", "Show what would be redacted from a text."),
    "migrate": ("perlica.app.cli.migrate", "Bring the database to this program's schema."),
    "backup": ("perlica.app.cli.backup", "Copy the database while the service runs."),
    "verify": ("perlica.app.cli.verify", "Read a backup to its end and say whether it is whole."),
    "rebuild-index": ("perlica.app.cli.rebuild_index", "Make a damaged search index anew."),
    "restore": ("perlica.app.cli.restore", "Make a database from a backup."),
    "version": ("perlica.app.cli.version", "Print the versions of program, schema and rules."),
}


class LazyGroup(click.Group):
    """A group that imports a subcommand's module when that subcommand is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names, in the order in which people need them."""
        del ctx
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one subcommand; its function is called `command`."""
        del ctx
        entry = _COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command = import_module(entry[0]).command
        return command if isinstance(command, click.Command) else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List names and one-line helps without loading anything."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[1]) for name, entry in _COMMANDS.items()])

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - what click says of it
        """Run the subcommand; an expected failure is said in one line, without a traceback."""
        try:
            return super().invoke(ctx)
        except ConfigInvalid as invalid:
            say_invalid(invalid, None)
        except PerlicaError as failure:
            say_failure(failure)
        return ctx.exit(EXIT_FAILED)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "The configuration is /etc/perlica/perlica.toml unless --config or PERLICA_CONFIG names"
        " another. Begin with `perlica example-config`, then `perlica doctor`."
    ),
)
def main() -> None:
    """Perlica: a careful assistant for one trusted QQ group."""
