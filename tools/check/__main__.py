"""`python -m tools.check`: run every check, print a line for each, and the details of the failed.

Exit code 0 when all passed, 1 otherwise. All of them run, so one look shows everything.
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from tools.check import commands, raises, references, shapes, texts
from tools.check.tree import list_files


def main() -> int:
    """Run the checks in order."""
    failed = [title for title, check in _checks() if not _passes(title, check)]
    if failed:
        print(f"\n{len(failed)} of the checks failed: {', '.join(failed)}")
        return 1
    print("\nAll checks passed.")
    return 0


def _checks() -> Iterable[tuple[str, Callable[[], str]]]:
    files = list_files()
    yield "format", lambda: commands.run(commands.format_command())
    yield "lint", lambda: commands.run(commands.lint_command())
    yield "types", lambda: commands.run(commands.types_command())
    yield "imports", lambda: commands.run(commands.imports_command())
    yield "native part", _check_native
    yield "scripts", lambda: commands.run(commands.shell_command(Path(".ci/run")))
    yield "texts", lambda: "\n".join(texts.find_faults(files))
    yield "shapes", lambda: "\n".join(shapes.find_faults(files))
    yield "references", lambda: "\n".join(references.find_faults(files))
    yield "raises", lambda: "\n".join(raises.find_faults(files))


def _check_native() -> str:
    sources = sorted(Path("sandboxd").glob("*/*.c"))
    if not sources:
        return "sandboxd holds no C file"
    return "\n".join(filter(None, (commands.run(commands.native_command(it)) for it in sources)))


def _passes(title: str, check: Callable[[], str]) -> bool:
    begin = time.monotonic()
    complaint = check().strip()
    seconds = time.monotonic() - begin
    print(f"{'FAILED' if complaint else '    ok'}  {title:<12} {seconds:5.1f} s", flush=True)
    if complaint:
        print("\n".join(f"        {line}" for line in complaint.splitlines()))
    return not complaint


if __name__ == "__main__":
    sys.exit(main())
