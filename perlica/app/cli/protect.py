"""`perlica protect`: a text from standard input as it would be stored, and why."""

import re
import sys
from collections import Counter
from collections.abc import Iterator

import click

from perlica.protection import Channel, Finding, protect

EXIT_NOT_SCANNED = 2

_PLACEHOLDER = re.compile(r"⟦凭据:(\w+):\d+⟧")


@click.command("protect", short_help="Show what would be redacted from a text.")
@click.option("--quiet", is_flag=True, help="Only the redacted text, without the findings.")
def command(*, quiet: bool) -> None:
    """Read a text from standard input and print it as Perlica would store or send it.

    What was redacted goes to standard error: line of the output, kind, and the rules that saw it. A
    secret itself is never printed. Nothing found does not mean that there is nothing.

    \b
    Example:
      perlica protect < notes.txt

    Exit codes: 0 scanned, 2 could not be scanned (then nothing is printed).
    """  # noqa: D301 - click wants the character itself
    text = sys.stdin.buffer.read().decode("utf-8", "replace")
    protected = protect(text, Channel.OUTBOX)
    if not protected.is_usable:
        click.echo(f"perlica: not scanned to the end ({protected.status})", err=True)
        raise SystemExit(EXIT_NOT_SCANNED)
    click.echo(protected.content, nl=False)
    if not quiet:
        for line in _explain(protected.content, protected.findings):
            click.echo(line, err=True)


def _explain(content: str, findings: tuple[Finding, ...]) -> Iterator[str]:
    """One line for each place, then how many findings there were."""
    rules: dict[str, Counter[str]] = {}
    for finding in findings:
        rules.setdefault(finding.kind, Counter())[finding.rule] += 1
    for number, line in enumerate(content.splitlines(), start=1):
        for kind in _PLACEHOLDER.findall(line):
            seen_by = ", ".join(sorted(rules.get(kind, ()))) or "written in the text itself"
            yield f"line {number}: {kind} ({seen_by})"
    yield f"{len(findings)} finding(s)"
