"""`python -m tools.leftovers before FILE` and `… after FILE`: nothing may have been added between.

Exit code of `after`: 0 when nothing is left, 1 with a list otherwise.
"""

import argparse
import json
import os
import sys
import time
from pathlib import Path

from tools.leftovers.snapshot import MARK, null_device_fault, take_snapshot

# The kernel detaches loop devices and reaps namespaces a moment after their last user is gone.
_PATIENCE_S = 5.0
_PAUSE_S = 0.2


def main() -> int:
    """Take or compare a snapshot."""
    parser = argparse.ArgumentParser(prog="python -m tools.leftovers", description=__doc__)
    parser.add_argument("moment", choices=["before", "after"])
    parser.add_argument("file", type=Path)
    arguments = parser.parse_args()
    mark = os.environ.get(MARK, "")
    if not mark:
        parser.error(f"{MARK} is not set: processes could not be told apart")
    if arguments.moment == "before":
        arguments.file.write_text(json.dumps(_look(mark)), encoding="utf-8")
        return 0
    return _report(json.loads(arguments.file.read_text(encoding="utf-8")), mark)


def _look(mark: str) -> dict[str, list[str]]:
    snapshot = take_snapshot(mark)
    snapshot["processes"] = [line for line in snapshot["processes"] if not _is_ancestor(line)]
    return snapshot


def _is_ancestor(line: str) -> bool:
    """Whether the process is the script that called us, or one above it."""
    return int(line.partition(":")[0]) in _ancestors()


def _ancestors() -> set[int]:
    found, process = set(), os.getpid()
    while process > 1:
        found.add(process)
        status = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
        process = int(status.rpartition(")")[2].split()[1])
    return found


def _report(before: dict[str, list[str]], mark: str) -> int:
    deadline = time.monotonic() + _PATIENCE_S
    while (added := _added(before, _look(mark))) and time.monotonic() < deadline:
        time.sleep(_PAUSE_S)
    fault = null_device_fault()
    for line in [*added, *([fault] if fault else [])]:
        print(f"left behind: {line}")
    return 1 if added or fault else 0


def _added(before: dict[str, list[str]], after: dict[str, list[str]]) -> list[str]:
    return [f"{kind}: {one}" for kind in after for one in after[kind] if one not in before[kind]]


if __name__ == "__main__":
    sys.exit(main())
