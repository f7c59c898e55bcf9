"""What to say when a command could not be executed: the helper's step and errno, in words."""

import errno
import os
from typing import Any

from sandboxd.runtime.container import FailedToStart

_WORDS_BEFORE = 2
"""`files start` stands before the user, the directory and the command (inside/start.h)."""


def explain_start(process: dict[str, Any], failure: FailedToStart) -> str:
    """One line for stderr; empty when the runtime itself failed and has said why."""
    if not failure.step:
        return ""
    user, directory, program = process["args"][_WORDS_BEFORE : _WORDS_BEFORE + 3]
    reason = os.strerror(failure.error)
    match failure.step, failure.error:
        case "directory", _:
            return f"working directory {directory}: {reason}\n"
        case "user", _:
            return f"the image's user {user} cannot be taken in this sandbox: {reason}\n"
        case "path", _:
            return f"{program}: not found in PATH\n"
        case "interpreter", _:
            return (
                f"{program}: its interpreter or loader is missing"
                " (a script with CRLF line ends, or a program for another system?)\n"
            )
        case "exec", errno.ENOEXEC:
            return f"{program}: {reason} (not for this machine, or a script without #!)\n"
        case "exec", errno.EACCES:
            return f"{program}: {reason} (not executable, or a directory)\n"
        case _:
            return f"{program}: {reason}\n"
