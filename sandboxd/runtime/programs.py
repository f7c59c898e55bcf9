"""Where the helper program that runs inside sandboxes was built (see inside/files.c)."""

import sysconfig
from pathlib import Path

from sandboxd.faults import Misconfigured


def files_program() -> Path:
    """The program for reading, writing and listing files. Raises: Misconfigured."""
    path = Path(__file__).parent.parent / f"_files{sysconfig.get_config_var('EXT_SUFFIX')}"
    if not path.exists():
        raise Misconfigured(f"{path.name} is not built", remedy="install the package again")
    return path
