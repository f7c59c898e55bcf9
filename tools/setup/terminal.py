"""What a person sees while set-up works: each step, its time, and the reason of a failure.

Commands write into build/setup.log; a command that fails shows the end of it.
"""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

LOG = Path("build/setup.log")
_SIGN_OF_LIFE_S = 15
_TAIL_LINES = 25


class StepFailed(Exception):
    """A step could not be done; the text says which command and why."""


def say(text: str) -> None:
    """Print one line at once, also into a pipe."""
    print(text, flush=True)


def run_logged(command: Sequence[str], *, environment: Mapping[str, str] | None = None) -> None:
    """Run a command with its output in the log, saying now and then that it still works.

    Raises:
        StepFailed: it could not start or did not exit with 0; carries the end of its output.
    """
    LOG.parent.mkdir(parents=True, exist_ok=True)
    with LOG.open("ab") as log:
        log.write(f"\n$ {' '.join(command)}\n".encode())
        log.flush()
        begin = log.tell()
        try:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
            )
        except OSError as error:
            raise StepFailed(f"cannot start {command[0]}: {error.strerror}") from error
        exit_code = _wait_aloud(process)
    if exit_code != 0:
        raise StepFailed(f"{' '.join(command[:6])} … exited with {exit_code}\n{_tail(begin)}")


def _wait_aloud(process: subprocess.Popen[bytes]) -> int:
    begin = time.monotonic()
    while True:
        try:
            return process.wait(timeout=_SIGN_OF_LIFE_S)
        except subprocess.TimeoutExpired:
            say(f"      … still working ({time.monotonic() - begin:.0f} s)")
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _tail(begin: int) -> str:
    with LOG.open("rb") as log:
        log.seek(begin)
        lines = log.read().decode(errors="replace").splitlines()
    return "\n".join(f"      | {line}" for line in lines[-_TAIL_LINES:])


def can_ask() -> bool:
    """Whether somebody sits at the terminal who could type a password."""
    return sys.stdin.isatty() and sys.stdout.isatty()
