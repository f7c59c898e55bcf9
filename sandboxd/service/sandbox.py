"""One sandbox: mounted and started on demand, stopped, deleted with proof.

The lifecycle lock is held while the sandbox is made ready, stopped or deleted, never while a
command runs; stopping ends the commands first. A sandbox that cannot be unmounted or deleted is
`broken`: it says why and takes nothing but another deletion.
"""

import contextlib
import itertools
import os
import select
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

from sandboxd.execution.capture import Room
from sandboxd.execution.command import Command, Ended, Observe
from sandboxd.execution.starting import explain_start
from sandboxd.faults import Fault, OutcomeUnknown, Refused, Retryable
from sandboxd.images.base import CommandBase
from sandboxd.kernel.children import CHILDREN, is_ending
from sandboxd.kernel.steps import explained, wait_until
from sandboxd.milestones import reached
from sandboxd.network.proxy import EgressProxy
from sandboxd.network.proxy import environment as proxy_environment
from sandboxd.runtime.container import Stdio
from sandboxd.runtime.profile import Container, container_configuration
from sandboxd.service.absence import prove_absence
from sandboxd.service.homes import make_home, remove_home
from sandboxd.service.node import Node
from sandboxd.storage import door
from sandboxd.storage.disk import lock_disk, mounted_disk
from sandboxd.storage.overlay import IdRange, Layers, is_mounted, mount_overlay, unmount
from sandboxd.storage.records import Record
from sandboxd.wire import (
    DeletionProof,
    DiskUse,
    Instance,
    OperationId,
    SandboxPhase,
    SandboxState,
    SandboxUse,
)

_COMMANDS_END_WITHIN_S = 6.0
_REVIVALS = 2
_ENDING_WITHIN_S = 5.0
_LOOK_EVERY_S = 0.05


class Sandbox:
    """Thread-safe."""

    def __init__(self, record: Record, node: Node) -> None:
        self.record = record
        self._node = node
        self._lifecycle = threading.RLock()
        self._numbers = itertools.count()
        self._commands: dict[str, Command] = {}
        self._hidden: set[str] = set()
        self._init: int | None = None
        self._init_watch = -1
        self._lock_file = -1
        self._proxy: EgressProxy | None = None
        self._broken = ""
        self._root = node.room.roots / record.instance
        self._ids = IdRange(first=node.config.first_host_id + record.slot * 65536)

    @property
    def instance(self) -> Instance:
        """The stable identity."""
        return self.record.instance

    def state(self) -> SandboxState:
        """What is known without waiting for anything."""
        record = self.record
        return SandboxState(
            name=record.name,
            instance=record.instance,
            state=self._phase(),
            image_digest=record.image_digest,
            created_at_ms=record.created_at_ms,
            limits=record.limits,
            network=record.network,
            disk=DiskUse(size_bytes=record.limits.disk_bytes, used_bytes=self._used_bytes()),
            running_operations=tuple(
                OperationId(o) for o in list(self._commands) if o not in self._hidden
            ),
            broken_because=self._broken,
        )

    def use(self) -> SandboxUse:
        """What it uses now."""
        limits, used = self.record.limits, self._node.cgroups.use(self.instance)
        return SandboxUse(
            name=self.record.name,
            state=self._phase(),
            memory_bytes=used.memory_bytes,
            memory_limit_bytes=limits.memory_bytes,
            pids=used.pids,
            pids_limit=limits.pids,
            cpu_ms=used.cpu_ms,
            disk_used_bytes=self._used_bytes(),
            disk_bytes=limits.disk_bytes,
            running_operations=len(self._commands),
        )

    def _phase(self) -> SandboxPhase:
        if self._broken:
            return "broken"
        if self.record.phase != "present":
            return self.record.phase
        return "ready" if self.is_running else "stopped"

    def _used_bytes(self) -> int | None:
        if not self.is_running:
            return None
        with contextlib.suppress(OSError):
            found = os.statvfs(self._root)
            return (found.f_blocks - found.f_bfree) * found.f_frsize
        return None

    @property
    def is_running(self) -> bool:
        """Whether its init process is alive."""
        watch = self._init_watch
        if watch < 0:
            return False
        poller = select.poll()
        with contextlib.suppress(OSError):
            poller.register(watch, select.POLLIN)
            return not poller.poll(0)
        return False

    # ------------------------------------------------------------ creation

    def create(self) -> None:
        """Makes the disk; durable on return.

        Raises: Retryable, with nothing left behind; OutcomeUnknown (now broken) otherwise.
        """
        with self._lifecycle:
            try:
                self.record = make_home(self._node, self.record)
            except OutcomeUnknown as error:
                raise self._break(error.message) from error

    # ------------------------------------------------------------ commands

    def execute(
        self,
        operation: str,
        process: dict[str, Any],
        *,
        stdin: bytes,
        timeout_s: float,
        room: Room,
        is_hidden: bool = False,
        observe: Observe | None = None,
    ) -> Ended:
        """Runs one command to its end; the sandbox is made ready first.

        A command that could not start because the container was just dying, killed from outside or
        by the kernel, has not run: the container is started again, and the command with it.

        Raises: Retryable, Misconfigured, Refused (broken or being deleted).
        """
        group = f"command-{next(self._numbers)}"
        with self._registered(operation, is_hidden=is_hidden) as command:
            attempt = partial(
                command.run,
                start=lambda stdio: self._start_command(process, stdio, group),
                explain=partial(explain_start, process),
                end=lambda: self._node.cgroups.end_command(self.instance, group),
                stdin=stdin,
                timeout_s=timeout_s,
                room=room,
                observe=observe,
                memory_kills=partial(self._node.cgroups.memory_kills, self.instance),
            )
            ended = attempt()
            for _ in range(_REVIVALS):
                if ended.ending != "failed_to_start" or not self._revive(command):
                    break
                ended = attempt()
            reached("command ended")
            return ended

    def _revive(self, command: Command) -> bool:
        """Starts the container again if it is ending. False when it is well: nothing to repeat.

        A stop holds the lifecycle and waits for this very command, which it has cancelled.
        """
        init = self._init
        if init is not None and self.is_running and not is_ending(init):
            return False
        while not self._lifecycle.acquire(timeout=_LOOK_EVERY_S):
            if command.is_cancelled:
                return True
        try:
            if self._init == init:  # Otherwise another command was here first.
                wait_until(lambda: not self.is_running, within_s=_ENDING_WITHIN_S)
            self._make_ready()
        finally:
            self._lifecycle.release()
        return True

    @contextlib.contextmanager
    def _registered(self, operation: str, *, is_hidden: bool) -> Iterator[Command]:
        command = Command()
        with self._lifecycle:
            self._make_ready()
            self._commands[operation] = command
            if is_hidden:
                self._hidden.add(operation)
        try:
            yield command
        finally:
            del self._commands[operation]
            self._hidden.discard(operation)
            command.close()
            self._node.cgroups.drop_empty(self.instance)

    def _start_command(self, process: dict[str, Any], stdio: Stdio, group: str) -> int:
        take_in = partial(self._node.cgroups.take_in, self.instance, group)
        started = self._node.runtime.execute(self.instance, process, stdio, take_in=take_in)
        reached("command started")
        return started

    def cancel(self, operation: str) -> Command | None:
        """Tells a command to end. Returns it, or None when it does not run here."""
        command = self._commands.get(operation)
        if command is not None:
            command.cancel()
        return command

    # ------------------------------------------------------------ ready

    def _make_ready(self) -> None:
        if self._broken:
            raise Refused(f"the sandbox is broken: {self._broken}", remedy="delete it")
        if self.record.phase != "present":
            raise Retryable(f"the sandbox is {self.record.phase}")
        if self.is_running:
            return
        self._take_down()  # What an init that died has left.
        with self._node.mounting:
            self._mount()
            reached("mounted")
            try:
                self._init = self._node.runtime.start(self.instance, self._configuration())
                self._init_watch = os.pidfd_open(self._init)
                self._open_way_out(self._init)
                reached("container started")
            except BaseException:
                self._take_down()
                raise

    def _open_way_out(self, init: int) -> None:
        if self.record.network == "none":
            return
        if self._node.config.egress is None:
            raise Refused(
                "this node gives sandboxes no network any more",
                remedy="add [egress] to the configuration again, or delete the sandbox",
            )
        self._proxy = EgressProxy(self._node.config.egress, sandbox=self.record.name, init=init)

    @property
    def base(self) -> CommandBase:
        """What the image says about commands. Raises: Misconfigured."""
        return self._node.catalog.base(self.record.image_digest)

    @property
    def environment(self) -> dict[str, str]:
        """What commands get beside their own environment: the image's, and the way out."""
        way_out = {} if self.record.network == "none" else proxy_environment(self.record.name)
        return dict(self.base.env) | way_out

    def _mount(self) -> None:
        records = self._node.records
        lower = self._node.images.lower(self.record.image_digest)
        self._lock_file = lock_disk(records.lock(self.instance))
        try:
            door.make_directory("mount point", self._root)
            with explained("open the disk"):
                disk = os.open(records.disk(self.instance), os.O_RDWR | os.O_CLOEXEC)
            try:
                with mounted_disk(disk, loops=self._node.loops) as root:
                    mount_overlay(
                        Layers(lower=lower, disk=root),
                        self._root,
                        ids=self._ids,
                        by_descriptor=self._node.facts.layers_by_descriptor,
                    )
            finally:
                os.close(disk)
        except BaseException:
            self._unlock()
            raise

    def _configuration(self) -> dict[str, Any]:
        return container_configuration(
            Container(
                rootfs=self._root,
                cgroup=self._node.cgroups.path(self.instance),
                ids=self._ids,
                limits=self.record.limits,
                hostname=self.record.name,
                init=self._node.room.init,
                files=self._node.room.files,
            )
        )

    # ------------------------------------------------------------ stop and delete

    def stop(self) -> None:
        """Ends what runs and unmounts; files stay. Raises: OutcomeUnknown (now broken)."""
        with self._lifecycle:
            self._end_commands()
            self._take_down()

    def _end_commands(self) -> None:
        commands = list(self._commands.values())
        for command in commands:
            command.cancel()
        for command in commands:
            if not command.ended.wait(_COMMANDS_END_WITHIN_S):
                raise self._break("a command does not end")

    def _take_down(self) -> None:
        """Kills the container, removes its traces, unmounts. Does nothing if all of it is gone."""
        node = self._node
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None
        try:
            node.cgroups.end_all(self.instance)
            if self._init is not None:
                CHILDREN.reap(self._init)
                self._init = None
            if self._init_watch >= 0:
                os.close(self._init_watch)
                self._init_watch = -1
            node.runtime.remove(self.instance)
            node.cgroups.remove(self.instance)
            reached("container ended")
            with node.mounting:
                if is_mounted(self._root):
                    unmount(self._root)
                    reached("unmounted")
        except OutcomeUnknown as error:
            raise self._break(error.message) from error
        self._unlock()

    def _unlock(self) -> None:
        if self._lock_file >= 0:
            os.close(self._lock_file)
            self._lock_file = -1

    def _break(self, reason: str) -> OutcomeUnknown:
        self._broken = reason
        return OutcomeUnknown(reason, remedy="delete the sandbox again, or restart sandboxd")

    def mark_deleting(self) -> None:
        """Makes the intention durable: a restarted daemon goes on with the deletion.

        Raises: Retryable; it is as it was then.
        """
        deleting = self.record.model_copy(update={"phase": "deleting"})
        self._node.records.save(deleting)
        self.record = deleting
        reached("record deleting")

    def delete(self, operation: str) -> DeletionProof:
        """Removes everything, then looks whether it is gone.

        Raises: Retryable (nothing happened), OutcomeUnknown (broken until it is deleted again).
        """
        with self._lifecycle:
            self.mark_deleting()
            self._broken = ""
            try:
                self._end_commands()
                self._take_down()
                remove_home(self._node, self.instance, self._root)
                reached("disk removed")
                return prove_absence(self._node, self.record.name, self.instance, operation)
            except Fault as fault:
                raise self._break(fault.message) from fault
