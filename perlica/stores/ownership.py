"""Whose the files are that an operator's command makes as root: the state directory's owner's.

A database, a lock or a backup that belongs to root cannot be opened by the service afterwards.
"""

import os
from pathlib import Path


def give_to_owner(descriptor: int, folder: Path) -> None:
    """Give an open file to the owner of its folder; only root can, and only root needs to.

    By the descriptor, so that nobody can put a link in the file's place meanwhile.
    """
    if os.geteuid() != 0:
        return
    owner = folder.stat()
    os.fchown(descriptor, owner.st_uid, owner.st_gid)


def make_folder(folder: Path) -> None:
    """Make a private folder that belongs to the owner of the one it stands in, if it is missing."""
    if folder.is_dir():
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        give_to_owner(descriptor, folder.parent)
    finally:
        os.close(descriptor)
