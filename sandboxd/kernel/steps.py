"""Turns a failed system-call step into a fault with the kernel's own words and a remedy.

The mount API explains only parse errors in its own log; the rest ("index=on needs...", EBUSY,
ESTALE) goes to the kernel log alone, so the lines that appeared during the step are attached.
"""

import contextlib
import errno
import os
import time
from collections.abc import Callable, Iterator

from sandboxd import _native
from sandboxd.faults import Fault, Misconfigured, Retryable

IDMAPPED_LAYERS_SINCE = (5, 19)
"""The first kernel whose overlayfs takes idmapped layers."""
_RECORD_BYTES = 8192
_TELLING = ("overlayfs:", "XFS (", "SQUASHFS", "squashfs", "loop", "I/O error")
_MISSING_FEATURE = {errno.ENODEV, errno.ENOSYS, errno.EOPNOTSUPP}
_REMEDIES = {
    errno.EPERM: "run sandboxd as root with the capabilities listed in its documentation",
    errno.EACCES: "run sandboxd as root with the capabilities listed in its documentation",
    errno.ENODEV: "this kernel lacks the file system: load or build it, then run sandboxd doctor",
    errno.ENOSYS: "this kernel is too old: 5.19 or later is needed",
    errno.ENOSPC: "free space and inodes in the state directory (df and df -i)",
    errno.EDQUOT: "raise the quota of the state directory",
    errno.EROFS: "the file system is read-only: see the kernel log, repair it, mount it again",
    errno.EIO: "the disk fails: see the kernel log; stop sandboxd before you repair it",
    errno.EBUSY: "something still holds it: see `sandboxd doctor`; never mount it with index=off",
    errno.ESTALE: "the upper layer belongs to another image: the sandbox cannot be mounted",
    errno.EMFILE: "raise the limit of open files of sandboxd",
    errno.ENFILE: "raise fs.file-max",
}


class KernelLog:
    """Follows /dev/kmsg. Opened before the daemon gives up CAP_SYSLOG; without it, it is empty."""

    def __init__(self) -> None:
        self._file: int | None = None
        with contextlib.suppress(OSError):
            self._file = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            os.lseek(self._file, 0, os.SEEK_END)

    def skip(self) -> None:
        """Forgets what was written so far."""
        for _ in self._records():
            pass

    def telling_lines(self) -> tuple[str, ...]:
        """Lines about file systems and loop devices since the last look."""
        texts = (record.split(";", 1)[-1].splitlines()[0] for record in self._records())
        return tuple(text for text in texts if any(word in text for word in _TELLING))

    def _records(self) -> Iterator[str]:
        while self._file is not None:
            try:
                yield os.read(self._file, _RECORD_BYTES).decode("utf-8", "replace")
            except BlockingIOError:
                return
            except BrokenPipeError:  # Records were overwritten before they were read.
                continue


_log: list[KernelLog] = []


def follow_kernel_log() -> None:
    """Opens the kernel log once for the process; later faults carry its lines."""
    if not _log:
        _log.append(KernelLog())


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns StepError and OSError inside the block into a Fault that says what failed.

    Raises: Misconfigured when the node cannot do it, Retryable otherwise.
    """
    if _log:
        _log[0].skip()
    try:
        yield
    except _native.StepError as error:
        lines = tuple(line.strip() for line in error.kernel)
        raise _fault(f"{what}: {error.step}: {error.strerror}", error, lines) from error
    except OSError as error:
        raise _fault(f"{what}: {error.strerror}", error, ()) from error


def kernel_words() -> tuple[str, ...]:
    """Telling lines of the kernel log since the last explained block began."""
    return _log[0].telling_lines() if _log else ()


def _fault(message: str, error: OSError, lines: tuple[str, ...]) -> Fault:
    number = error.errno or 0
    kind = Misconfigured if number in _MISSING_FEATURE else Retryable
    return kind(message, remedy=_REMEDIES.get(number, ""), kernel=lines + kernel_words())


def wait_until(condition: Callable[[], bool], *, within_s: float, every_s: float = 0.002) -> bool:
    """Asks `condition` until it is true or the time is over; returns its last answer."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() >= deadline:
            return False
        time.sleep(every_s)
    return True
