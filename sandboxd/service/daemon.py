"""The daemon from its start to its end, in order and in reverse.

lock the state directory -> confine the process -> find facts -> recover -> serve; then on SIGTERM
or SIGINT: refuse new work, end commands, stop sandboxes, unmount, leave nothing.
"""

import contextlib
import fcntl
import logging
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandboxd import _native
from sandboxd.config import Config
from sandboxd.faults import Fault, Misconfigured
from sandboxd.kernel.cgroups import cgroup_mode
from sandboxd.kernel.confinement import CAPABILITIES, RUNC_CAPABILITIES, confine
from sandboxd.kernel.steps import wait_until
from sandboxd.ledger.epoch import Epoch
from sandboxd.ledger.journal import Journal
from sandboxd.ledger.outputs import Outputs
from sandboxd.runtime.programs import files_program
from sandboxd.service.garbage import Garbage
from sandboxd.service.http import Application, identify_certificate, identify_user
from sandboxd.service.node import Node, build_node
from sandboxd.service.operations import Operations
from sandboxd.service.recovery import recover
from sandboxd.service.registry import Registry
from sandboxd.service.server import Server, TlsServer, UnixServer
from sandboxd.service.service import Service
from sandboxd.storage.door import make_directory, open_lock, step
from sandboxd.storage.records import make_private
from sandboxd.storage.state_files import EPOCH, JOURNAL, check_state, journal_key, node_id

_log = logging.getLogger(__name__)
_SIGNALS = {signal.SIGTERM, signal.SIGINT}
_DOOR_CLOSES_WITHIN_S = 5.0


def run_daemon(config: Config) -> None:
    """Serves until SIGTERM or SIGINT. Raises: Fault when it cannot start."""
    if os.geteuid() != 0:
        raise Misconfigured(
            "the daemon mounts file systems, and that needs root", remedy="run it as root"
        )
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    os.umask(0o077)
    _native.return_large_blocks()
    with _alone(config):
        check_state(config.state_dir)
        mode = cgroup_mode()
        outputs_directory = config.run_dir / "outputs"
        room = confine(
            name=node_id(config.state_dir),
            init=config.init,
            files=files_program(),
            outputs=outputs_directory,
            capabilities=CAPABILITIES | (RUNC_CAPABILITIES if _is_runc(config) else {}),
        )
        node = build_node(config, room, mode)
        journal = Journal(config.state_dir / JOURNAL, keep=config.bounds.journal_operations)
        outputs = Outputs(outputs_directory, limit_bytes=config.bounds.unacknowledged_output_bytes)
        _serve(node, journal, outputs)
        journal.close()


def _serve(node: Node, journal: Journal, outputs: Outputs) -> None:
    config = node.config
    registry = Registry(node)
    recover(node, registry, journal)
    operations = Operations(
        journal=journal,
        outputs=outputs,
        epoch=Epoch(config.state_dir / EPOCH),
        key=journal_key(config.state_dir),
        clock_ms=node.clock_ms,
    )
    living = {sandbox.instance for sandbox in registry.all()}
    operations.drop_outputs(lambda instance: instance not in living)
    service = Service(node, registry, operations, Garbage(node, registry, journal))
    for orphan in service.garbage().orphans:
        _log.warning("found %s %s that belongs to nothing", orphan.kind, orphan.name)
    with _listening(_doors(config, service, operations)):
        _wait_for_the_end(node, registry, service)
    config.socket.unlink(missing_ok=True)
    _log.info("stopped")


def _doors(config: Config, service: Service, operations: Operations) -> list[Server]:
    by_user = identify_user(config.allowed_uids)
    doors: list[Server] = [UnixServer(Application(service, operations, identify=by_user), config)]
    if config.tls is not None:
        by_name = identify_certificate(config.tls.clients)
        application = Application(service, operations, identify=by_name)
        doors.append(TlsServer(application, config, config.tls))
    return doors


@contextlib.contextmanager
def _listening(doors: list[Server]) -> Iterator[None]:
    """All doors are open inside the block; none takes a new call after it.

    None answers before all listen: whoever got an answer at one can use each of them.
    """
    threads = []
    for door in doors:
        try:
            door.prepare()
        except OSError as error:
            raise Misconfigured(
                f"cannot listen on {door.place}: {error.strerror or error}",
                remedy="free the address, or set another one in the configuration",
            ) from error
    for door in doors:
        threads.append(threading.Thread(target=door.serve, name="http", daemon=True))
        threads[-1].start()
        _log.info("listening on %s", door.place)
    yield
    for door, thread in zip(doors, threads, strict=True):
        door.stop()
        thread.join(_DOOR_CLOSES_WITHIN_S)


def _wait_for_the_end(node: Node, registry: Registry, service: Service) -> None:
    received = signal.sigwait(_SIGNALS)
    _log.info("stopping on %s", signal.Signals(received).name)
    _wind_down(node, registry, service)


def _wind_down(node: Node, registry: Registry, service: Service) -> None:
    deadline = threading.Timer(node.config.bounds.stop_within_s, _give_up)
    deadline.daemon = True
    deadline.start()
    service.stopping.set()
    service.cancel_all()
    within_s = node.config.bounds.stop_within_s / 2
    if not wait_until(lambda: service.running_operations == 0, within_s=within_s, every_s=0.01):
        _log.error("%d operations did not end", service.running_operations)
    with ThreadPoolExecutor(max_workers=8, thread_name_prefix="stop") as pool:
        for stopping in [pool.submit(sandbox.stop) for sandbox in registry.all()]:
            try:
                stopping.result()
            except Fault as fault:
                _log.error("a sandbox was not stopped: %s", fault.message)
    node.images.close()
    node.cgroups.remove_parent()


def _give_up() -> None:
    """The next daemon ends what is left; a daemon that cannot end would keep it from starting."""
    _log.error("not everything could be stopped in time")
    os._exit(1)


@contextlib.contextmanager
def _alone(config: Config) -> Iterator[None]:
    """One daemon for each state directory, run directory and socket. Raises: Misconfigured.

    A second one in the same run directory would take away the first one's socket, end its
    containers as if they were left behind, and forget its outputs.
    """
    make_private(config.state_dir)
    make_directory("run directory", config.run_dir, mode=0o755)
    make_directory("run directory", config.socket.parent, mode=0o755)
    with step("run directory", "make"):
        config.run_dir.chmod(0o711)  # Allowed users reach the socket in it; the rest is 0700.
    with contextlib.ExitStack() as held:
        for key, file in (
            ("state_dir", config.state_dir / "lock"),
            ("run_dir", config.run_dir / "daemon.lock"),
            ("socket", config.socket.with_name(f"{config.socket.name}.lock")),
        ):
            held.enter_context(_locked(key, file))
        yield


@contextlib.contextmanager
def _locked(key: str, file: Path) -> Iterator[None]:
    descriptor = open_lock("daemon lock", file)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            used = file.parent if key != "socket" else file.with_suffix("")
            raise Misconfigured(
                f"another sandboxd uses {used}", remedy=f"stop it, or use another {key}"
            ) from error
        yield
    finally:
        os.close(descriptor)


def _is_runc(config: Config) -> bool:
    return Path(config.runtime).name == "runc"
