"""One process for one state directory: the lock that the service and its commands hold.

What changes the database as a whole (`perlica restore`, `perlica rebuild-index`) must not do so
under a running service, which would go on with the file that it has open.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from perlica.domain.errors import Misconfigured
from perlica.stores.ownership import give_to_owner, make_folder

_LOCK_NAME: Final = "perlica.lock"


@contextmanager
def only_instance(state_dir: Path) -> Iterator[None]:
    """Hold the lock of the state directory, which is made if it is missing.

    Raises: Misconfigured when another process has it, or the lock cannot be made.
    """
    try:
        make_folder(state_dir)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(state_dir / _LOCK_NAME, flags, 0o600)
    except OSError as error:
        raise Misconfigured(
            "state_dir_unusable",
            f"{state_dir} cannot be used: {error.strerror}",
            remedy="check that the directory exists and who owns it",
        ) from error
    try:
        give_to_owner(descriptor, state_dir)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise Misconfigured(
                "already_running",
                f"another perlica runs with {state_dir}",
                remedy="stop it first, or give this one a service.state_dir of its own",
            ) from error
        yield
    finally:
        os.close(descriptor)
