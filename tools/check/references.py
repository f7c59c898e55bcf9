"""A rule for references: what code and pages point at is in this repository.

A reader follows a reference or does without it; one that leads to a paper he does not have is worse
than none. Known are pages under docs/ with their headings, `ARCHITECTURE.md`, `CONTRIBUTING.md` and
the numbers S01 to S25 of docs/facts/napcat.md.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_PAGE = re.compile(r"(?<![\w/.-])((?:docs/)[\w./-]+\.md)(?:, \"([^\"\n]+)\")?")
_ELSEWHERE = re.compile(
    r"(?<!docs/)\bfacts/\w+\.md|\bDESIGN(?:\.md)?(?: §|\b)|§ ?\d|\bincidents? \d+"
    r"|(?<!\w)\(spec(?:\)|[,:] ?[^\x00-\x7f])|\([AO]\d{1,2}[,)]|\bthe spec:"
)
_NUMBER = re.compile(r"\bS(\d{1,2})\b(?=[,)]| to S\d)")
_KINDS = frozenset({".py", ".pyi", ".sql", ".c", ".h", ".md", ".toml", ".cfg", ".html", ".js"})
# They speak of references, or of papers that a run may find beside the tree.
_EXEMPT = ("tools/check/", "tests/frame/", "tests/shared", "CHANGELOG.md")
_FACTS = Path("docs/facts/napcat.md")


def find_faults(paths: Sequence[Path], root: Path = Path()) -> Iterator[str]:
    """Yield one `file:line: reason` for each reference that leads nowhere."""
    numbers = _numbers_of(root / _FACTS)
    for path in paths:
        name = path.as_posix()
        if path.suffix in _KINDS and not name.startswith(_EXEMPT):
            for number, line in enumerate((root / path).read_text("utf-8").splitlines(), 1):
                for fault in _faults_in(line, root, numbers):
                    yield f"{name}:{number}: {fault}"


def dangling(root: Path) -> list[str]:
    """The same for all files below `root`, without what was built there."""
    found = (path.relative_to(root) for path in sorted(root.rglob("*")) if path.is_file())
    files = [path for path in found if not any(map(_is_built, path.parts[:-1]))]
    return list(find_faults(files, root))


def _is_built(folder: str) -> bool:
    return folder.startswith(".") or folder in {"build", "node_modules", "demo-state"}


def _faults_in(line: str, root: Path, numbers: frozenset[str]) -> Iterator[str]:
    for page, heading in _PAGE.findall(line):
        if not (root / page).is_file():
            yield f"there is no page {page}"
        elif heading and heading not in _headings_of(root / page):
            yield f'{page} has no heading "{heading}"'
    for found in _ELSEWHERE.findall(line):
        yield f"{found.strip()!r} is not in this repository"
    for number in _NUMBER.findall(line):
        if f"S{number}" not in numbers:
            yield f"S{number} does not stand in {_FACTS}"


def _numbers_of(page: Path) -> frozenset[str]:
    text = page.read_text("utf-8") if page.is_file() else ""
    return frozenset(re.findall(r"^\| (S\d\d) \|", text, re.MULTILINE))


def _headings_of(page: Path) -> frozenset[str]:
    return frozenset(re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE))
