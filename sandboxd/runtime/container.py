"""Runs the OCI runtime (crun, or runc): start a container, start a command in it, remove it.

Commands are started detached, with pipes as stdio: the runtime ends at once and the command
becomes the daemon's own child, so its real exit status is known. It begins as our own helper (see
inside/start.h), which waits until the daemon has taken it in and then says why the program cannot
be executed, if so: a failure to start cannot be mistaken for a failure of the command. The
runtime's stdio is never /dev/null: crun hands its stdio
over to the sandbox's root.
"""

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandboxd.faults import Retryable
from sandboxd.kernel.children import CHILDREN, kill_quietly
from sandboxd.kernel.steps import wait_until
from sandboxd.runtime.profile import INIT_PATH
from sandboxd.storage import door

_START_WITHIN_S = 20.0
_REMOVE_WITHIN_S = 20.0
_LIFTED_FROM = 16
_GO = b"."
_EXECUTED = b"+"
_MAX_WORDS_BYTES = 256
_SIGNALS = signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stdio:
    """The ends that the command gets."""

    stdin: int
    stdout: int
    stderr: int


class FailedToStart(Exception):
    """The command was not executed; nothing of it ran.

    `step` and `error` are the helper's: what it tried, and the errno. Without them it was the
    runtime that failed, whose words are on stderr.
    """

    def __init__(self, step: str = "", error: int = 0) -> None:
        super().__init__(f"{step} {error}")
        self.step = step
        self.error = error


class OciRuntime:
    """One runtime program with its own state directory."""

    def __init__(self, *, program: str, state: Path) -> None:
        self.program = program
        self.state = state
        self._numbers = itertools.count()

    def start(self, container: str, configuration: dict[str, Any]) -> int:
        """Starts the container. Returns the process id of its init, owned by the caller.

        Raises: Retryable; nothing of the container is left then.
        """
        bundle = self._bundle(container)
        door.make_directory("runtime bundle", bundle)
        raw = json.dumps(configuration).encode("utf-8")
        door.write_file("runtime bundle", bundle / "config.json", raw)
        pid_file = bundle / "pid"
        arguments = ("run", "--detach", "--bundle", str(bundle), "--pid-file", str(pid_file))
        with CHILDREN.starting(), _closed_pipes() as stdio:
            status, words = self._run_with(stdio, (*arguments, container))
            if status != 0:
                self.remove(container)
                last = f": {words[-1]}" if words else ""
                raise Retryable(
                    f"{Path(self.program).name} could not start the sandbox{last}",
                    remedy="run sandboxd doctor",
                    kernel=words,
                )
            init = int(pid_file.read_text(encoding="ascii"))
            CHILDREN.own(init)
        self._wait_for_init(init)
        return init

    def _wait_for_init(self, init: int) -> None:
        """Until init has replaced the runtime's own code, whose namespaces nobody may enter."""
        name = Path(f"/proc/{init}/comm")
        wanted = Path(INIT_PATH).name

        def has_begun() -> bool:
            try:
                return name.read_text(encoding="utf-8").strip() == wanted
            except OSError:  # It is gone already; the next use of the sandbox finds that out.
                return True

        wait_until(has_begun, within_s=_START_WITHIN_S, every_s=0.0005)

    def _run_with(
        self, stdio: Stdio, arguments: tuple[str, ...]
    ) -> tuple[int | None, tuple[str, ...]]:
        """Runs the runtime with stderr into a memory file. Returns its status, None if it hung."""
        words = os.memfd_create("words", os.MFD_CLOEXEC)
        try:
            with_words = Stdio(stdin=stdio.stdin, stdout=stdio.stdout, stderr=words)
            status = CHILDREN.reap_within(self._spawn(with_words, arguments, ()), _START_WITHIN_S)
            text = os.pread(words, 4096, 0).decode("utf-8", "replace")
            return status, tuple(text.strip().splitlines()[-3:])
        finally:
            os.close(words)

    def _spawn(self, stdio: Stdio, arguments: tuple[str, ...], inherited: tuple[int, ...]) -> int:
        """posix_spawn shares memory until the exec, so its cost does not grow with the daemon."""
        path = shutil.which(self.program) or self.program
        argv = [self.program, "--root", str(self.state), *arguments]
        sources = (stdio.stdin, stdio.stdout, stdio.stderr, *inherited)
        with _lifted(sources) as lifted:
            actions = [(os.POSIX_SPAWN_DUP2, source, n) for n, source in enumerate(lifted)]
            pid = os.posix_spawn(
                path,
                argv,
                os.environ,
                file_actions=actions,
                setsigmask=(),  # The daemon blocks some signals, and it or its parent ignores some;
                setsigdef=_SIGNALS,  # a sandbox must inherit neither.
            )
        CHILDREN.own(pid)
        return pid

    def execute(
        self,
        container: str,
        process: dict[str, Any],
        stdio: Stdio,
        *,
        take_in: Callable[[int], None],
    ) -> int:
        """Starts a command. Returns its process id, owned by the caller, who must reap it.

        `take_in` gets the process while it waits, before anything of the command runs. Arguments
        and environment travel in a memory file, never on disk.
        Raises: FailedToStart, Retryable (the runtime hung). Nothing of the command ran then.
        """
        ours, theirs = socket.socketpair()
        with ours:
            with theirs:
                command = self._spawn_command(container, process, stdio, control=theirs.fileno())
            try:
                take_in(command)
                _let_go(ours)
            except BaseException:
                end_process(command)
                raise
        return command

    def _spawn_command(
        self, container: str, process: dict[str, Any], stdio: Stdio, *, control: int
    ) -> int:
        # A file of its own, since runc makes a temporary one beside it.
        pid_file = self._bundle(container) / f"command-{next(self._numbers)}"
        with CHILDREN.starting(), _memory_file(json.dumps(process)) as given:
            arguments = ("exec", "--detach", "--preserve-fds", "1", "--process", "/proc/self/fd/4")
            words = (*arguments, "--pid-file", str(pid_file), container)
            spawned = self._spawn(stdio, words, (control, given))
            try:
                status = CHILDREN.reap_within(spawned, _START_WITHIN_S)
                if status is None:
                    raise Retryable(f"{self.program} did not start the command in time")
                if status != 0:
                    raise FailedToStart
                command = int(pid_file.read_text(encoding="ascii"))
            finally:
                pid_file.unlink(missing_ok=True)
            CHILDREN.own(command)
            return command

    def _bundle(self, container: str) -> Path:
        return self.state.parent / "bundles" / container

    def remove(self, container: str) -> None:
        """Kills what is left of a container and removes the runtime's state of it."""
        directory = self.state / container
        if directory.exists():
            argv = (self.program, "--root", str(self.state), "delete", "--force", container)
            CHILDREN.run(argv, within_s=_REMOVE_WITHIN_S)
        shutil.rmtree(directory, ignore_errors=True)
        shutil.rmtree(self._bundle(container), ignore_errors=True)

    def containers(self) -> tuple[str, ...]:
        """Names of the containers that the runtime's state knows."""
        with contextlib.suppress(FileNotFoundError):
            return tuple(sorted(entry.name for entry in self.state.iterdir() if entry.is_dir()))
        return ()


def _let_go(control: socket.socket) -> None:
    """Tells the helper to go on, and waits until it is the command. Raises: FailedToStart."""
    control.settimeout(_START_WITHIN_S)
    said = b""
    try:
        control.sendall(_GO)
        while len(said) < _MAX_WORDS_BYTES and (piece := control.recv(_MAX_WORDS_BYTES)):
            said += piece
    except TimeoutError as error:
        raise Retryable("a command did not start in time") from error
    except OSError as error:  # It has ended already, with its sandbox.
        raise FailedToStart from error
    step, _, number = said.removeprefix(_EXECUTED).decode("ascii", "replace").partition(" ")
    if step and number.strip().isdigit():
        raise FailedToStart(step, int(number))
    if said != _EXECUTED:
        raise FailedToStart


@contextlib.contextmanager
def _lifted(descriptors: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Copies above the numbers that dup2 will write to, so that none is overwritten unread."""
    copies = tuple(fcntl.fcntl(d, fcntl.F_DUPFD_CLOEXEC, _LIFTED_FROM) for d in descriptors)
    try:
        yield copies
    finally:
        for copy in copies:
            os.close(copy)


@contextlib.contextmanager
def _memory_file(text: str) -> Iterator[int]:
    descriptor = os.memfd_create("sandboxd", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, text.encode("utf-8", "surrogateescape"))
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _closed_pipes() -> Iterator[Stdio]:
    """Stdio for an init process that says nothing: empty input, output that nobody reads."""
    given, to_give = os.pipe()
    to_read, taken = os.pipe()
    os.close(to_give)
    os.close(to_read)
    try:
        yield Stdio(stdin=given, stdout=taken, stderr=taken)
    finally:
        os.close(given)
        os.close(taken)


def end_process(pid: int) -> int:
    """Kills an owned child and reaps it. Returns its exit status as `reap` does."""
    kill_quietly(pid)
    return CHILDREN.reap(pid)
