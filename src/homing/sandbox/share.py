"""The folder of the workspaces. A file in it holds its id, so that a machine with another folder is told apart."""

import os
import re
import secrets
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from homing.sandbox.errors import NoSandbox
from homing.sandbox.files import Workspace
from homing.sandbox.workspaces import make_workspace

_MARKER = "share-id"
_NOT_PLAIN = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True, kw_only=True)
class Share:
    """A folder that is known to be the one whose id the database keeps."""

    folder: Path

    def workspace(self, *owner: str) -> Workspace:
        """Give the workspace of an owner, such as an agent and a user; it is made when it is first used."""
        folder = self.folder / "workspaces" / _folder_name(owner)
        try:
            make_workspace(folder)
        except OSError as error:
            raise NoSandbox(f"The workspace cannot be made: {error.strerror}.") from error
        return Workspace(folder=folder)


def make_share_id(folder: Path, what: str = "Workspaces") -> str:
    """Give the id of a folder; the first use of one writes it."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if (known := read_share_id(folder)) is not None:
            return known
        # Whole or not at all, and the first one stays: several processes may start at once.
        fresh = folder / f".{secrets.token_hex(8)}"
        fresh.write_text(f"{secrets.token_hex(16)}\n")
        try:
            os.link(fresh, folder / _MARKER)
        except FileExistsError:
            pass
        finally:
            fresh.unlink()
    except OSError as error:
        raise NoSandbox(f"{what} are off here: {folder} cannot be used ({error.strerror}).") from error
    return read_share_id(folder) or ""


def read_share_id(folder: Path) -> str | None:
    try:
        return (folder / _MARKER).read_text("ascii").strip() or None
    except (OSError, ValueError):
        return None


def open_share(folder: Path, known_id: str, what: str = "Workspaces") -> Share:
    """Give the share whose id the database keeps, or refuse where the folder is another one."""
    found = read_share_id(folder)
    if found == known_id:
        return Share(folder=folder)
    state = f"is another one (its {_MARKER} differs)" if found else f"has no {_MARKER} file"
    raise NoSandbox(
        f"{what} are off here: the database knows the shared folder {known_id}, and {folder} {state}. Mount or"
        f" restore that folder and set HOMING_SHARE to it. To start with empty {what.lower()} instead, write that id"
        f" into {folder / _MARKER}."
    )


def _folder_name(owner: tuple[str, ...]) -> str:
    """Spell any ids as one folder name: a part that people can read, and a hash of the ids as they are."""
    readable = "-".join(_NOT_PLAIN.sub("_", part.lower())[:32] for part in owner)
    # Length-prefixed, so that no two lists of ids are spelled alike.
    exact = "".join(f"{len(part)}:{part}" for part in owner)
    return f"{readable}-{sha256(exact.encode(errors='surrogatepass')).hexdigest()[:16]}"
