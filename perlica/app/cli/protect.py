"""`perlica protect`: a text from standard input as it would be stored, and why."""

import sys
from pathlib import Path

import click

from perlica.app.protection_rules import put_in_force
from perlica.protection.preview import preview

EXIT_NOT_SCANNED = 2


@click.command("protect", short_help="Show what would be redacted from a text.")
@click.option("--quiet", is_flag=True, help="Only the redacted text, without the findings.")
@click.option(
    "--rules",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A rules file to try beside the built-in rules ([protection] rules_file).",
)
def command(*, quiet: bool, rules: Path | None) -> None:
    """Read a text from standard input and print it as Perlica would store or send it.

    What was redacted goes to standard error: line of the input, kind, and the rule that saw it. A
    secret itself is never printed. Nothing found does not mean that there is nothing.

    \b
    Examples:
      perlica protect < notes.txt
      perlica protect --rules protection.toml < sample.log

    Exit codes: 0 scanned, 2 could not be scanned (then nothing is printed) or a rule is wrong.

    Raises: SystemExit when the text could not be scanned to its end.
    """  # noqa: D301 - click wants the character itself
    put_in_force(rules)
    shown = preview(sys.stdin.buffer.read().decode("utf-8", "replace"))
    if not shown.protected.is_usable:
        click.echo(f"perlica: not scanned to the end ({shown.protected.status})", err=True)
        raise SystemExit(EXIT_NOT_SCANNED)
    click.echo(shown.protected.content, nl=False)
    if quiet:
        return
    for place in shown.places:
        click.echo(f"line {place.line}: {place.kind} ({place.rule})", err=True)
    click.echo(f"{len(shown.places)} finding(s)", err=True)
