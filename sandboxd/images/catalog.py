"""The images of a node: imported once, kept as squashfs, checked before each mount.

STATE/images/HEX.squashfs   the root file system, never rebuilt (another tool version differs)
STATE/images/HEX.base       what its commands begin with; none beside an image of an older daemon
STATE/images/HEX.json       what it was made from, and its SHA-256; written last
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from sandboxd import _native
from sandboxd.faults import Misconfigured, NotFound
from sandboxd.images.base import CommandBase
from sandboxd.images.layout import read_layout, sha256_of
from sandboxd.images.unpack import Progress, UnpackLimits, ignore_progress, unpack_layers
from sandboxd.kernel.children import CHILDREN
from sandboxd.kernel.loops import LoopDevices
from sandboxd.kernel.steps import explained
from sandboxd.storage import door
from sandboxd.storage.disk import mount_device
from sandboxd.storage.records import make_private
from sandboxd.storage.state_files import damaged
from sandboxd.wire import HeldImage, ImageDigest

_SCRATCH = "import-"
_BUILD_WITHIN_S = 1800.0
_LEVEL = ("-Xcompression-level", "6")
"""An eighth of the time of mksquashfs's own 15, for a file that is 7 % larger."""
# Exports stay on: without file handles in the lower layer overlayfs drops index=on.
_SQUASH = ("-noappend", "-no-progress", "-quiet", "-xattrs", "-comp", "zstd", *_LEVEL)
_LOWER_FLAGS = _native.MOUNT_ATTR_RDONLY | _native.MOUNT_ATTR_NODEV | _native.MOUNT_ATTR_NOSUID


class Catalog:
    """The directory of images. Reading is safe beside an import in another process.

    Only an import makes the directory, so that those who just look leave nothing behind.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def list(self) -> tuple[HeldImage, ...]:
        """All images, by digest."""
        return tuple(self._load(file) for file in sorted(self._directory.glob("*.json")))

    def find(self, digest: str) -> HeldImage:
        """Raises: NotFound."""
        file = self._file(digest, "json")
        if not file.exists():
            raise NotFound(
                f"the image {digest} is not on this node",
                remedy="import it: sandboxd image import DIRECTORY",
            )
        return self._load(file)

    def squashfs(self, digest: str) -> Path:
        """Where the root file system of an image lies."""
        return self._file(digest, "squashfs")

    def base(self, digest: str) -> CommandBase:
        """Env, WorkingDir and User that commands begin with. Raises: Misconfigured."""
        file = self._file(digest, "base")
        try:
            return CommandBase.model_validate_json(file.read_bytes())
        except FileNotFoundError:
            return CommandBase()
        except ValidationError as error:
            raise Misconfigured(
                f"{file} cannot be read",
                remedy="delete it: commands then begin without what the image says",
            ) from error

    def import_layout(
        self,
        layout: Path,
        *,
        wanted: str | None,
        limits: UnpackLimits,
        progress: Progress = ignore_progress,
        reference: str = "",
    ) -> HeldImage:
        """Verifies, unpacks and keeps an image. An image that is here already stays as it is.

        Raises: Refused, NotFound, Misconfigured (mksquashfs missing).
        """
        image = read_layout(layout, wanted=wanted)
        if self._file(image.digest, "json").exists():
            return self.find(image.digest)
        make_private(self._directory)
        target = self.squashfs(image.digest)
        with (
            self._importing(),
            tempfile.TemporaryDirectory(dir=self._directory, prefix=_SCRATCH) as scratch,
        ):
            tree = Path(scratch) / "tree"
            tree.mkdir(mode=0o755)
            unpack_layers(image.layers, tree, limits, progress)
            built = Path(scratch) / "root.squashfs"
            progress("squash", 0, 0)
            _build_squashfs(tree, built)
            progress("squash", 1, 1)
            with door.step("image files", "rename"):
                built.replace(target)
            held = HeldImage(
                digest=ImageDigest(image.digest),
                reference=reference or image.reference,
                squashfs_sha256=sha256_of(target),
                size_bytes=target.stat().st_size,
                imported_at_ms=time.time_ns() // 1_000_000,
            )
            door.sync_directory("image files", self._directory)
            base, record = self._file(image.digest, "base"), self._file(image.digest, "json")
            door.replace_durably("image record", base, image.base.model_dump_json())
            door.replace_durably("image record", record, held.model_dump_json())
        return held

    def remove(self, digest: str) -> int:
        """Forgets an image that nothing uses any more. Returns how many bytes that freed."""
        size_bytes = self.find(digest).size_bytes
        door.remove_file("image record", self._file(digest, "json"))
        door.remove_file("image files", self.squashfs(digest))
        door.remove_file("image record", self._file(digest, "base"))
        door.sync_directory("image files", self._directory)
        return size_bytes

    def unrecorded(self) -> tuple[Path, ...]:
        """Files and directories that no record names; empty while an import runs."""
        if not self._directory.exists():
            return ()
        with door.step("image lock", "make"):
            opened = (self._directory / "lock").open("w")
        with opened as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return ()
            images = [
                *self._directory.glob("*.squashfs"),
                *self._directory.glob("*.base"),
            ]
            return (
                *self._directory.glob(f"{_SCRATCH}*"),
                *(file for file in images if not file.with_suffix(".json").exists()),
            )

    def verify(self, digest: str) -> bool:
        """Whether the squashfs still has the checksum that was recorded when it was made."""
        held = self.find(digest)
        file = self.squashfs(digest)
        return file.exists() and sha256_of(file) == held.squashfs_sha256

    @contextlib.contextmanager
    def _importing(self) -> Iterator[None]:
        """One import at a time; the next one removes what a killed one left."""
        with (self._directory / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for scratch in self._directory.glob(f"{_SCRATCH}*"):
                shutil.rmtree(scratch)
            yield

    def _file(self, digest: str, suffix: str) -> Path:
        return self._directory / f"{digest.removeprefix('sha256:')}.{suffix}"

    def _load(self, file: Path) -> HeldImage:
        try:
            return HeldImage.model_validate_json(file.read_bytes())
        except ValidationError as error:
            raise damaged(
                file,
                "this is no record of an image",
                f"remove {file}, then import the image again",
            ) from error


def _build_squashfs(tree: Path, target: Path) -> None:
    built = CHILDREN.run(("mksquashfs", str(tree), str(target), *_SQUASH), within_s=_BUILD_WITHIN_S)
    if built.status != 0:
        raise Misconfigured("mksquashfs failed", kernel=built.last_words)
    descriptor = os.open(target, os.O_RDWR | os.O_CLOEXEC)
    try:
        os.fchmod(descriptor, 0o400)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ImageMounts:
    """Images mounted in the daemon, each once, attached nowhere. Thread-safe."""

    def __init__(self, catalog: Catalog, loops: LoopDevices) -> None:
        self._catalog = catalog
        self._loops = loops
        self._lock = threading.Lock()
        self._mounts: dict[str, int] = {}

    def lower(self, digest: str) -> int:
        """The descriptor of the image's mount; it stays open. The checksum is verified first.

        Raises: NotFound, Misconfigured (the file was changed), Retryable.
        """
        with self._lock:
            if digest not in self._mounts:
                self._mounts[digest] = self._mount(digest)
            return self._mounts[digest]

    def _mount(self, digest: str) -> int:
        held = self._catalog.find(digest)
        try:
            image = os.open(self._catalog.squashfs(digest), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise Misconfigured(
                f"the squashfs of {digest} is missing", remedy="restore it from a backup"
            ) from error
        try:
            # The same open file is hashed and mounted.
            with open(image, "rb", closefd=False) as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != held.squashfs_sha256:
                raise Misconfigured(
                    f"the squashfs of {digest} is not the one that was imported",
                    remedy="restore it from a backup; its sandboxes need exactly that file",
                )
            with (
                self._loops.attached(image, read_only=True) as device,
                explained("mount the image"),
            ):
                return mount_device("squashfs", device, _LOWER_FLAGS)
        finally:
            os.close(image)

    def release(self, digest: str) -> None:
        """Unmounts one; sandboxes that are made of it keep their own mount."""
        with self._lock:
            mount = self._mounts.pop(digest, None)
        if mount is not None:
            os.close(mount)

    def close(self) -> None:
        """Unmounts all of them."""
        with self._lock:
            while self._mounts:
                os.close(self._mounts.popitem()[1])
