"""Two users of one disk, two images for one disk, two nodes for one sandbox: refused, aloud."""

import errno
import fcntl
import os
import subprocess

from gate.bench import Bench
from gate.lines import Broken, Check, require
from gate.rig.client import Answered, Sandbox
from gate.rig.stack import Stack, mounted_root, opened_disk
from sandboxd import _native
from sandboxd.faults import Fault
from sandboxd.storage import overlay
from sandboxd.storage.disk import create_disk, mount_device
from sandboxd.wire import MIN_DISK_BYTES

_WITHIN_S = 60.0
_READ_ONLY = _native.MOUNT_ATTR_RDONLY | _native.MOUNT_ATTR_NODEV | _native.MOUNT_ATTR_NOSUID


def _errno_of(fault: BaseException) -> int:
    cause = fault.__cause__
    return cause.errno or 0 if isinstance(cause, OSError) else 0


def _second_mount(bench: Bench) -> str:
    def work(stack: Stack) -> str:
        image = stack.place / "disk"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        second = stack.place / "second"
        second.mkdir()
        with mounted_root(stack, image) as root:
            layers = overlay.Layers(lower=stack.lower, disk=root.disk)
            try:
                overlay.mount_overlay(
                    layers, second, ids=stack.ids, by_descriptor=stack.by_descriptor
                )
            except Fault as fault:
                require(_errno_of(fault) == errno.EBUSY, f"refused otherwise: {fault}")
                return f"EBUSY: {fault}"
            overlay.unmount(second)
        raise Broken("the same upper layer was mounted twice, silently")

    return str(bench.in_chamber(work, within_s=_WITHIN_S))


def _second_disk(bench: Bench) -> str:
    def work(stack: Stack) -> str:
        image = stack.place / "disk"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        with opened_disk(stack, image):
            descriptor = os.open(image, os.O_RDWR | os.O_CLOEXEC)
            try:
                with stack.loops.attached(descriptor, read_only=False) as device:
                    os.close(mount_device("xfs", device, 0))
            except OSError as error:
                return f"refused: {error.strerror}"
            finally:
                os.close(descriptor)
        raise Broken("the same disk was mounted twice through two loop devices")

    return str(bench.in_chamber(work, within_s=_WITHIN_S))


def _other_image(bench: Bench) -> str:
    def work(stack: Stack) -> str:
        image = stack.place / "disk"
        create_disk(image, size_bytes=MIN_DISK_BYTES, loops=stack.loops)
        with mounted_root(stack, image):
            pass
        try:
            with opened_disk(stack, image) as disk:
                layers = overlay.Layers(lower=_another_lower(stack), disk=disk)
                target = stack.place / "other"
                target.mkdir()
                overlay.mount_overlay(
                    layers, target, ids=stack.ids, by_descriptor=stack.by_descriptor
                )
                overlay.unmount(target)
        except Fault as fault:
            require(_errno_of(fault) == errno.ESTALE, f"refused otherwise: {fault}")
            return f"ESTALE: {fault}"
        raise Broken("a disk was mounted over an image that it does not belong to")

    return str(bench.in_chamber(work, within_s=_WITHIN_S))


def _another_lower(stack: Stack) -> int:
    tree, squashfs = stack.place / "tree", stack.place / "other.squashfs"
    (tree / "srv").mkdir(parents=True)
    argv = ["mksquashfs", str(tree), str(squashfs), "-quiet", "-no-progress"]
    subprocess.run(argv, check=True, capture_output=True, timeout=_WITHIN_S)
    descriptor = os.open(squashfs, os.O_RDONLY | os.O_CLOEXEC)
    with stack.loops.attached(descriptor, read_only=True) as device:
        return mount_device("squashfs", device, _READ_ONLY)


def _lock(bench: Bench) -> str:
    with bench.sandbox() as sandbox:
        lock = bench.node.state / "sandboxes" / sandbox.instance / "lock"
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        try:
            sandbox.run("/bin/true")
        except Answered as error:
            seen = error.answer
        else:
            raise Broken("a disk was mounted although another process holds its lock")
        finally:
            os.close(descriptor)
        require(seen.error == "busy", f"answered {seen.error}: {seen.message}")
        sandbox.run("/bin/true")
    return f"refused as busy ({seen.message}); mounted once the lock was free"


def _second_daemon(bench: Bench) -> str:
    second = bench.node.command("serve")
    require(second.returncode != 0, "two daemons use one state directory")
    require("another" in second.stderr, f"refused otherwise: {second.stderr.strip()}")
    return "refused: another daemon uses the directory"


def _pin(bench: Bench) -> str:
    with bench.sandbox() as sandbox, bench.side_node() as (other, _):
        other.start()
        elsewhere = Sandbox(other.client, sandbox.name, sandbox.instance)
        try:
            elsewhere.run("/bin/true")
        except Answered as error:
            require(error.answer.error == "not_found", f"answered {error}")
        else:
            raise Broken("another node ran a command of a sandbox that it does not hold")
        nodes = (bench.node.client.health().node, other.client.health().node)
        require(nodes[0] != nodes[1], "both nodes have one name")
        sandbox.says("true")
    return "another node answers not_found; the sandbox works on its own"


CHECKS: tuple[Check[Bench], ...] = (
    Check(
        key="conflict.second-mount",
        claim="an upper layer in use is not mounted a second time",
        run=_second_mount,
    ),
    Check(
        key="conflict.second-disk",
        claim="a disk in use is not mounted through another loop device",
        run=_second_disk,
    ),
    Check(
        key="conflict.other-image",
        claim="a disk is not mounted over another image",
        run=_other_image,
    ),
    Check(
        key="conflict.lock",
        claim="a disk whose lock another process holds is not mounted",
        run=_lock,
    ),
    Check(
        key="conflict.second-daemon",
        claim="a second daemon does not start on the same state",
        run=_second_daemon,
    ),
    Check(
        key="node.pin",
        claim="a sandbox answers only on the node that holds its disk",
        run=_pin,
    ),
)
