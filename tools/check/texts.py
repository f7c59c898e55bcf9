"""Rules for the words in the tree: nothing about one machine, nothing unfinished, clean lines."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_BINARY = frozenset({".png", ".jpg", ".ico", ".woff2", ".gz", ".tar"})

# Written in pieces, so that this file does not break its own rules.
_RULES = (
    (
        re.compile(
            r"\b(?:pypi" + r"\.org|pythonhosted" + r"\.org|npmjs" + r"\.org|deb\.debian" + r"\.org"
            r"|archive\.ubuntu"
            + r"\.com|proxy\.golang"
            + r"\.org|mirrors?\.[a-z0-9-]+\.(?:com|cn))"
        ),
        "names the host of a package registry: the machine's own settings choose it",
    ),
    (
        re.compile(
            r"/work" + r"/(?:main|shared)\b|/tmp" + r"/perlica/|/root/\.(?:pyenv|cache|config)"
        ),
        "a path of one machine",
    ),
    (
        re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|NotImplemented" + r"Error"),
        "unfinished work: finish it, or take it out",
    ),
    (re.compile(r"^(?:<{7}|>{7}|={7})(?:\s|$)"), "a merge was left unfinished"),
    (re.compile(r"[ \t]+$"), "spaces at the end of the line"),
    (re.compile(r"\r"), "a carriage return"),
)


def find_faults(paths: Sequence[Path]) -> Iterator[str]:
    """Yield one `file:line: reason` for each fault."""
    for path in paths:
        if path.suffix in _BINARY:
            continue
        try:
            text = path.read_bytes().decode()  # as it is: reading as text would hide a \\r
        except UnicodeDecodeError:
            yield f"{path}: neither UTF-8 text nor a known kind of binary file"
            continue
        yield from _find_in(path, text)


def _find_in(path: Path, text: str) -> Iterator[str]:
    if text and not text.endswith("\n"):
        yield f"{path}: no newline at the end"
    for number, line in enumerate(text.split("\n"), start=1):
        for pattern, reason in _RULES:
            if pattern.search(line):
                yield f"{path}:{number}: {reason}"
