"""What makes one node like another: a digest over everything that decides how sandboxes are made,
and one over the daemon's own code.

Mount options, disk, container profile, system calls, the daemon's own rights, the runtime, the
programs that it lends, the way out and what callers may set. Two nodes with the same digests
confine and persist in the same way. The daemon tells them with its facts and the gate writes them
into a report, so that the service can see whether a report speaks for a node.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Final

from sandboxd.config import Config
from sandboxd.faults import Misconfigured
from sandboxd.kernel.confinement import CAPABILITIES
from sandboxd.kernel.mountinfo import read_mounts
from sandboxd.runtime.profile import Container, container_configuration
from sandboxd.runtime.programs import files_program
from sandboxd.storage.overlay import OPTIONS, IdRange
from sandboxd.wire import Limits

_SOMEWHERE: Final = Path("/somewhere")
_PACKAGE: Final = Path(__file__).parent
_CODE: Final = frozenset({".py", ".so"})


def configuration_digest(config: Config) -> str:
    """SHA-256 in hexadecimal digits. Raises: Misconfigured when a program is missing."""
    raw = json.dumps(_decisive(config), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(raw.encode("utf-8")).hexdigest()


def _decisive(config: Config) -> dict[str, Any]:
    sample = Container(
        rootfs=_SOMEWHERE,
        cgroup="/sample",
        ids=IdRange(first=config.first_host_id),
        limits=Limits(),
        hostname="sample",
        init=_SOMEWHERE,
        files=_SOMEWHERE,
    )
    return {
        "overlay": [list(option) for option in OPTIONS],
        "container": container_configuration(sample),
        "daemon": sorted(CAPABILITIES),
        "runtime": Path(config.runtime).name,
        "layers_by_path": config.layers_by_path,
        "ceilings": config.ceilings.model_dump(mode="json"),
        "egress": config.egress.model_dump(mode="json") if config.egress is not None else None,
        "environment": sorted(config.environment),
        "set_id_bits": config.set_id_bits,
        "init": _digest_of(config.init),
        "files": _digest_of(files_program()),
    }


def code_digest(package: Path = _PACKAGE) -> str:
    """SHA-256 over the names and contents of sandboxd's Python files and compiled parts."""
    whole = hashlib.sha256()
    for file in sorted(package.rglob("*")):
        if file.suffix in _CODE and file.is_file():
            name = file.relative_to(package).as_posix()
            whole.update(f"{name}\0{_digest_of(file)}\n".encode())
    return whole.hexdigest()


def _digest_of(program: Path) -> str:
    try:
        with program.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Misconfigured(f"{program.name}: {error.strerror}") from error


def filesystem_of(path: Path) -> str | None:
    """The type of the file system that a path lies on, such as "xfs"; None when it has no line in
    mountinfo (file systems such as btrfs give each subvolume a device number of its own).
    """
    device = path.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    return next((e.fstype for e in reversed(read_mounts()) if e.device == number), None)
