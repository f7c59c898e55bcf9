"""The `perlica` command: one module for each subcommand, loaded when it is used."""

from perlica.app.cli.group import main

__all__ = ["main"]
