"""Restores a backup again and again, killed one line later each time; prints what it left.

`python -m tests.stores.restore_killer BACKUP FOLDER`: one line of JSON for each kill, with whether
there was a database afterwards and whether that and a second restore were whole.
"""

import json
import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from perlica.domain.errors import Refused
from perlica.stores import backup as backups
from perlica.stores.backup import restore_backup, verify

_TRACED = {"restore_backup", "_copy", "_settle", "_sync", "_require_alone"}


def _kill_at(number: int) -> None:
    """From here on this process dies before its `number`-th line of a restore."""
    seen = 0

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal seen
        is_ours = frame.f_code.co_filename == backups.__file__
        if not is_ours or frame.f_code.co_name not in _TRACED:
            return None
        if event == "line":
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


def _restore_until(number: int, backup: Path, target: Path) -> bool:
    """Whether the restore was killed, and not through before."""
    child = os.fork()
    if child == 0:
        _kill_at(number)
        restore_backup(backup, target)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def _judge(backup: Path, target: Path) -> dict[str, bool]:
    there = target.exists()
    beside = target.with_name(target.name + "-wal").exists()
    if there:
        verify(target)
    try:
        restore_backup(backup, target)
    except Refused:
        return {"there": there, "again": False, "beside": beside}
    verify(target)
    return {"there": there, "again": True, "beside": beside}


def main() -> None:
    """Kill at the first line, the second, and so on until a restore is through."""
    backup, folder = Path(sys.argv[1]), Path(sys.argv[2])
    number = 1
    while True:
        target = folder / str(number) / "perlica.db"
        if not _restore_until(number, backup, target):
            return
        print(json.dumps(_judge(backup, target)))
        number += 1


main()
