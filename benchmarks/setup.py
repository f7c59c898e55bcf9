"""How long set-up took on this machine: read from what `make setup` wrote down about itself."""

import json
from pathlib import Path

RECORD = Path("build/setup.json")


def rows() -> list[dict[str, object]]:
    """Return the time of the first set-up, and of one that found everything in place."""
    try:
        record = json.loads(RECORD.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        why = f"{RECORD} cannot be read ({error.__class__.__name__}): run make setup"
        return [{"name": "setup_seconds", "unit": "s", "why": why}]
    return [_first(record), *_again(record)]


def _first(record: dict[str, float]) -> dict[str, object]:
    if not record["seconds"]:
        why = "everything was there before the first run that kept a record"
        return {"name": "setup_seconds", "unit": "s", "why": why}
    return {"name": "setup_seconds", "value": record["seconds"], "unit": "s"}


def _again(record: dict[str, float | None]) -> list[dict[str, object]]:
    """No row after a run that had something to do: it was no second run."""
    if record["again_seconds"] is None:
        return []
    return [{"name": "setup_again_seconds", "value": record["again_seconds"], "unit": "s"}]
