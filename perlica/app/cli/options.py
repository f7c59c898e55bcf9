"""Options that several subcommands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from perlica.app.config import ConfigInvalid
from perlica.domain.errors import PerlicaError
from perlica.domain.texts import Language

DEFAULT_CONFIG = Path("/etc/perlica/perlica.toml")
CONFIG_VARIABLE = "PERLICA_CONFIG"

_Command = TypeVar("_Command", bound=Callable[..., Any])


def config_option(function: _Command) -> _Command:
    """`--config FILE`, `-c FILE`: which configuration."""
    return click.option(
        "-c",
        "--config",
        "config_path",
        type=click.Path(path_type=Path),
        envvar=CONFIG_VARIABLE,
        default=DEFAULT_CONFIG,
        show_default=True,
        show_envvar=True,
        help="The configuration file.",
    )(function)


def file_argument(function: _Command) -> _Command:
    """An optional FILE, for those who name the configuration without `--config`."""
    return click.argument("file", required=False, default=None, type=click.Path(path_type=Path))(
        function
    )


def language_option(function: _Command) -> _Command:
    """`--lang zh|en`: the language of what is printed."""
    return click.option(
        "--lang",
        "language",
        type=click.Choice([language.value for language in Language]),
        callback=lambda _context, _option, value: Language(value) if value else None,
        help="Language of the output; by default that of the configuration.",
    )(function)


def json_option(function: _Command) -> _Command:
    """`--json`: for programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(
        function
    )


def say_invalid(invalid: ConfigInvalid, language: Language | None) -> None:
    """All problems of a configuration, to stderr."""
    click.echo(invalid.say(language or invalid.language), err=True)


def say_failure(failure: PerlicaError) -> None:
    """An expected failure and its remedy, to stderr; errors of ours carry ids, never content."""
    text = f"{failure.text}. {failure.remedy}" if failure.remedy else failure.text
    click.echo(f"perlica: {text}", err=True)
