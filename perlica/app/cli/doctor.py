"""`perlica doctor`: all findings, one on each line, with what to do."""

from pathlib import Path

import click

from perlica.app.cli.options import config_option, file_argument, json_option, language_option
from perlica.app.doctor.examination import examine
from perlica.app.doctor.findings import Finding, Level
from perlica.domain.texts import Language

_MARKS = {
    Level.ok: ("✓", "green"),
    Level.note: ("·", "blue"),
    Level.warning: ("!", "yellow"),
    Level.error: ("✗", "red"),
}


@click.command("doctor", short_help="Say what is wrong here and what to do about it.")
@file_argument
@config_option
@language_option
@json_option
@click.option(
    "--online", is_flag=True, help="Log in at NapCat and ask the model one question (few tokens)."
)
def command(
    file: Path | None,
    config_path: Path,
    *,
    language: Language | None,
    as_json: bool,
    online: bool,
) -> None:
    """Say what is wrong here and what to do about it; change nothing.

    Looks at the configuration, the secrets' files, the state directory and its disk, the database,
    NapCat, the model, sandboxd, the clock, the policy, and says which capabilities are off and why.

    Exit codes: 0 nothing to do, 1 warnings, 2 errors.

    Raises: SystemExit with the exit code.
    """
    report = examine(file or config_path, language=language, online=online)
    if as_json:
        click.echo(report.as_json())
    else:
        for finding in report.findings:
            click.echo(_line(finding, report.language))
    raise SystemExit(report.exit_code)


def _line(finding: Finding, language: Language) -> str:
    mark, color = _MARKS[finding.level]
    line = f"{click.style(mark, fg=color)} {finding.subject}: {finding.text.say(language)}"
    return f"{line} → {finding.remedy.say(language)}" if finding.remedy else line
