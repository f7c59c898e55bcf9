"""`python -m benchmarks [--only MODULE]`: measure, print the table, write build/bench.json.

Exit code 0 when every promise holds; 1 when one is missed or a figure could not be measured.
"""

import argparse
import datetime as dt
import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from rich.console import Console

import benchmarks
from benchmarks.table import Row, build_table, merge_rows, print_table

RESULT = Path("build/bench.json")
_FRAME = {"__main__", "table"}
_ROWS = TypeAdapter(list[Row])


def main() -> int:
    """Run the chosen modules."""
    names = _module_names()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="MODULE", default=[])
    chosen = parser.parse_args().only or names
    console = Console()
    measured = list(_measure(chosen, console))
    _write(merge_rows(_read(), measured))
    print_table(build_table(measured), console)
    bad = [row.name for row in measured if row.verdict in {"missed", "not measured"}]
    if bad:
        console.print(f"Not as promised: {', '.join(bad)}")
    return 1 if bad else 0


def _module_names() -> list[str]:
    found = (module.name for module in pkgutil.iter_modules(benchmarks.__path__))
    return sorted(name for name in found if name not in _FRAME and not name.startswith("_"))


def _measure(names: list[str], console: Console) -> Iterator[Row]:
    for name in names:
        console.print(f"  … {name}")
        try:
            module = importlib.import_module(f"benchmarks.{name}")
            rows = _ROWS.validate_python(module.rows())
        except Exception as error:  # noqa: BLE001 (one module's failure must not hide the others)
            yield _stamp(Row(name=name, why=_reason(error)))
            continue
        yield from map(_stamp, rows)


def _stamp(row: Row) -> Row:
    moment = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return row.model_copy(update={"measured_at": moment})


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{error.__class__.__name__}: {lines[0] if lines else 'no text'}"


def _read() -> list[Row]:
    try:
        return _ROWS.validate_json(RESULT.read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return []


def _write(rows: list[Row]) -> None:
    RESULT.parent.mkdir(exist_ok=True)
    entries = [row.model_dump() for row in rows]
    text = json.dumps(entries, ensure_ascii=False, indent=2)
    RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
