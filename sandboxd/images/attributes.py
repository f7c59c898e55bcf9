"""Extended attributes of an image's files: those of users are kept, forged ones refused.

Used by the child that unpacks layers. Attributes of the kernel (security.*, system.*) are left out:
they would be rights, and sandboxes are mounted so that rights of files do nothing.
"""

import os
import tarfile
from pathlib import Path

from sandboxd.faults import Refused

_PREFIX = "SCHILY.xattr."
_FORGED = f"{_PREFIX}trusted."
_KEPT = "user."
_MAX_NAME_BYTES = 255
_MAX_VALUE_BYTES = 65536
"""The kernel's own bounds, see xattr(7)."""


def user_attributes(entry: tarfile.TarInfo) -> dict[str, bytes]:
    """The attributes user.* that an entry brings.

    Raises: Refused for one that is too large, and for trusted.*: overlay keeps its own state there.
    """
    if any(key.startswith(_FORGED) for key in entry.pax_headers):
        raise Refused("a file brings trusted attributes")
    named = {
        key.removeprefix(_PREFIX): value.encode("utf-8", "surrogateescape")
        for key, value in entry.pax_headers.items()
        if key.startswith(_PREFIX + _KEPT)
    }
    for name, value in named.items():
        if len(os.fsencode(name)) > _MAX_NAME_BYTES or len(value) > _MAX_VALUE_BYTES:
            raise Refused("an attribute is too large")
    return named


def set_user_attributes(path: Path, wanted: dict[str, bytes]) -> None:
    """Gives a regular file or a directory exactly these; the kernel allows them on nothing else.

    Raises: Refused when the node's file system does not take one.
    """
    try:
        for name in os.listxattr(path, follow_symlinks=False):
            if name.startswith(_KEPT) and name not in wanted:
                os.removexattr(path, name, follow_symlinks=False)
        for name, value in wanted.items():
            os.setxattr(path, name, value, follow_symlinks=False)
    except OSError as error:
        raise Refused(f"an attribute cannot be kept: {error.strerror}") from error
