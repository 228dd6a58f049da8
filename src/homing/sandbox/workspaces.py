"""Folders that programs write to. As root each has a uid of its own, and its owner is the only record of it."""

import fcntl
import os
import random
from pathlib import Path

from homing.sandbox.bubblewrap import UIDS
from homing.sandbox.errors import NoSandbox


def make_workspace(folder: Path) -> None:
    """Make a workspace, or leave the one that is there as it is. As root, no other folder beside it has its uid, and a
    folder with somebody else's files is refused.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder.mkdir(mode=0o700, exist_ok=True)
        if os.geteuid() == 0 and folder.stat().st_uid not in UIDS:
            if any(folder.iterdir()):
                raise NoSandbox(f"The folder {folder} was not made as a workspace, and it is not empty.")
            _assign_uid(folder, taken={entry.stat(follow_symlinks=False).st_uid for entry in os.scandir(lock)})
    finally:
        os.close(lock)


def _assign_uid(folder: Path, taken: set[int]) -> None:
    # At random: another home on this machine draws from the same range.
    uid = random.choice([uid for uid in UIDS if uid not in taken])
    try:
        os.chown(folder, uid, uid)
    except OSError as error:
        raise NoSandbox(f"A workspace needs a user id of its own, and {uid} cannot be used here.") from error
