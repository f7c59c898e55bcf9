"""`perlica run`: the service in the foreground, for systemd or a container."""

from pathlib import Path

import click

from perlica.app.cli.options import config_option, say_failure, say_invalid
from perlica.app.config import ConfigInvalid, load_config
from perlica.app.run import run_service
from perlica.app.secrets import SecretInvalid
from perlica.app.state_directory import StateDirectoryUnusable
from perlica.domain.errors import Misconfigured

EXIT_CONFIG = 78
"""EX_CONFIG: a restart cannot help, so that a supervisor can be told not to try."""


@click.command("run", short_help="Run the service until it is told to stop.")
@config_option
def command(config_path: Path) -> None:
    """Run the service until SIGTERM or SIGINT.

    \b
    Exit codes:
      0   stopped as asked
      3   a part did not start
      4   a part died; start it again
      78  the configuration or what it names is wrong; a restart cannot help
          (systemd: RestartPreventExitStatus=78)

    The log goes to stderr as one JSON object on each line.

    Raises: SystemExit with the exit code.
    """  # noqa: D301 - click wants the character itself
    try:
        config = load_config(config_path)
    except ConfigInvalid as invalid:
        say_invalid(invalid, None)
        raise SystemExit(EXIT_CONFIG) from None
    try:
        code = run_service(config)
    except SecretInvalid as invalid:
        click.echo(f"perlica: {invalid.say(config.service.language)}", err=True)
        code = EXIT_CONFIG
    except StateDirectoryUnusable as unusable:
        click.echo(f"perlica: {unusable.problem.say(config.service.language)}", err=True)
        code = EXIT_CONFIG
    except Misconfigured as wrong:
        say_failure(wrong)
        code = EXIT_CONFIG
    raise SystemExit(code)
