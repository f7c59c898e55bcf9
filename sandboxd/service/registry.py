"""All sandboxes of the node: names, slots, capacity, ceilings.

A name, a slot and a place in the count are taken from the first moment of a creation until the
deletion is proved, so that retries and half-deleted sandboxes cannot get past the limit.
"""

import os
import threading
import uuid

from sandboxd.execution.command import Command
from sandboxd.faults import Fault, Misconfigured, NotFound, OutcomeUnknown, Refused, Retryable
from sandboxd.kernel.steps import explained
from sandboxd.service.node import Node
from sandboxd.service.sandbox import Sandbox
from sandboxd.storage.records import Record
from sandboxd.wire import CreateRequest, DeletionProof, InstanceId, SandboxState


class Registry:
    """Thread-safe."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._lock = threading.Lock()
        self._sandboxes: dict[str, Sandbox] = {}

    def adopt(self, record: Record) -> Sandbox:
        """Takes over a sandbox that an earlier daemon made."""
        with self._lock:
            if record.name in self._sandboxes:
                other = self._sandboxes[record.name].instance
                raise Misconfigured(
                    f"the records of {other} and {record.instance} have one name, {record.name}",
                    remedy="move the directory of one of them out of STATE/sandboxes",
                )
            sandbox = Sandbox(record, self._node)
            self._sandboxes[record.name] = sandbox
            return sandbox

    def all(self) -> tuple[Sandbox, ...]:
        """Sorted by name."""
        with self._lock:
            return tuple(self._sandboxes[name] for name in sorted(self._sandboxes))

    def find(self, name: str, instance: str | None = None) -> Sandbox:
        """Raises: NotFound, also when another instance has the name now."""
        with self._lock:
            sandbox = self._sandboxes.get(name)
        if sandbox is None:
            raise NotFound(f"there is no sandbox {name}")
        if instance is not None and sandbox.instance != instance:
            raise NotFound(f"the sandbox {name} is not the instance {instance}")
        return sandbox

    def command_of(self, operation: str) -> Command | None:
        """Tells the command of an operation to end, wherever it runs."""
        for sandbox in self.all():
            command = sandbox.cancel(operation)
            if command is not None:
                return command
        return None

    def check(self, request: CreateRequest) -> None:
        """Everything that can be said before anything is done. Raises: Refused, NotFound, ..."""
        self._node.catalog.find(request.image_digest)
        if request.network == "egress" and self._node.config.egress is None:
            raise Refused(
                "this node gives sandboxes no network",
                remedy="add [egress] to the configuration, or ask for network none",
            )
        ceilings = self._node.config.ceilings.model_dump()
        over = [k for k, v in request.limits.model_dump().items() if v > ceilings[k]]
        if over:
            raise Refused(
                f"above this node's ceiling: {', '.join(f'{k} > {ceilings[k]}' for k in over)}",
                remedy="ask for less, or raise [ceilings] in the configuration of sandboxd",
            )
        with self._lock:
            self._check_capacity(request)

    def _check_capacity(self, request: CreateRequest) -> None:
        bounds = self._node.config.bounds
        if request.name in self._sandboxes:
            raise Refused(f"there is a sandbox {request.name} already")
        if len(self._sandboxes) >= bounds.sandboxes:
            raise Refused(f"the node holds {bounds.sandboxes} sandboxes", remedy="delete one first")
        with explained("look at the node's disk"):
            found = os.statvfs(self._node.records.directory)
        if found.f_bavail * found.f_frsize < request.limits.disk_bytes + bounds.free_disk_bytes:
            raise Retryable("the node's disk is too full for it", remedy="free space on the node")

    def create(self, request: CreateRequest) -> SandboxState:
        """Makes a sandbox; it is on disk when this returns.

        Raises: Fault; after OutcomeUnknown something of it is left, which keeps its name and place
        until it is deleted.
        """
        with self._lock:
            self._check_capacity(request)
            self._node.catalog.find(request.image_digest)  # It may have been collected since.
            record = Record(
                name=request.name,
                instance=InstanceId(uuid.uuid4().hex),
                image_digest=request.image_digest,
                created_at_ms=self._node.clock_ms(),
                limits=request.limits,
                network=request.network,
                slot=self._free_slot(),
                operation=request.operation,
                phase="creating",
            )
            sandbox = Sandbox(record, self._node)
            self._sandboxes[request.name] = sandbox
        try:
            sandbox.create()
        except OutcomeUnknown:
            raise
        except Fault:
            self._forget(sandbox)
            raise
        return sandbox.state()

    def _free_slot(self) -> int:
        used = {sandbox.record.slot for sandbox in self._sandboxes.values()}
        return next(slot for slot in range(len(used) + 1) if slot not in used)

    def delete(self, sandbox: Sandbox, operation: str) -> DeletionProof:
        """Deletes a sandbox; its name is free when this returns."""
        proof = sandbox.delete(operation)
        self._forget(sandbox)
        return proof

    def collect_image(self, digest: str) -> int | None:
        """Removes an image unless a sandbox is made of it. Returns the bytes freed, or None."""
        with self._lock:
            if any(s.record.image_digest == digest for s in self._sandboxes.values()):
                return None
            self._node.images.release(digest)
            return self._node.catalog.remove(digest)

    def _forget(self, sandbox: Sandbox) -> None:
        with self._lock:
            del self._sandboxes[sandbox.record.name]
