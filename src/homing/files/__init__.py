"""The bytes of files: a folder, or a bucket.

Comes in: an upload that is whole, under its file's id. Goes out: its bytes. Promises: bytes are there whole or not at
all, under an id that is never used for others.
"""

from homing.files.folder import FolderStore
from homing.files.gathering import Gathering, gather

__all__ = ["FolderStore", "Gathering", "gather"]
