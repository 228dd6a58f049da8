"""Files in a folder of this machine, or of a disk that machines share. Each is readable by its owner only."""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from errno import EDQUOT, ENOSPC
from pathlib import Path

from homing.model.errors import FilesAway, NotFound
from homing.model.files import Upload

_PIECE = 256 << 10
_PRIVATE = 0o600
_NO_LINKS = os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, kw_only=True)
class FolderStore:
    """Keeps each file under its id, in one of many folders so that none grows too long."""

    folder: Path

    @property
    def incoming(self) -> Path:
        """On the same disk, so that a rename puts an upload in its place."""
        return self.folder / "incoming"

    async def put(self, file_id: str, upload: Upload) -> None:
        await asyncio.to_thread(self._put, file_id, upload.path)

    async def read(self, file_id: str) -> AsyncIterator[bytes]:
        with _reported():
            fd = await asyncio.to_thread(self._open, file_id)
            try:
                while piece := await asyncio.to_thread(os.read, fd, _PIECE):
                    yield piece
            finally:
                os.close(fd)

    async def delete(self, file_id: str) -> None:
        with _reported():
            await asyncio.to_thread(self._place(file_id).unlink, missing_ok=True)

    async def tidy(self, before: datetime) -> None:
        with _reported():
            await asyncio.to_thread(tidy, self.incoming, before)

    async def check(self) -> None:
        with _reported():
            await asyncio.to_thread(self._try)

    def _place(self, file_id: str) -> Path:
        return self.folder / file_id.removeprefix("file_")[:2] / file_id

    def _put(self, file_id: str, path: Path) -> None:
        place = self._place(file_id)
        with _reported():
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("rb") as file:
                os.fsync(file.fileno())
            path.rename(place)
            for folder in (place.parent, self.folder):
                _sync(folder)

    def _open(self, file_id: str) -> int:
        try:
            return os.open(self._place(file_id), os.O_RDONLY | _NO_LINKS)
        except FileNotFoundError:
            raise NotFound(f"The bytes of {file_id} are missing from the file store.") from None

    def _try(self) -> None:
        self.incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
        trial = self.incoming / f".{secrets.token_hex(8)}"
        with suppress(FileNotFoundError):
            os.close(os.open(trial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _NO_LINKS, _PRIVATE))
        trial.unlink()


def tidy(incoming: Path, before: datetime) -> None:
    """Drop uploads that nobody has written to since."""
    with suppress(FileNotFoundError):
        for path in list(incoming.iterdir()):
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < before.timestamp():
                    path.unlink()


def _sync(folder: Path) -> None:
    """A rename is only sure to last once its folder is written."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def _reported() -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise disk_error(error) from error


def disk_error(error: OSError) -> FilesAway:
    """Word what the disk under the files said."""
    if error.errno in (ENOSPC, EDQUOT):
        return FilesAway("The disk that keeps files is full. Free some space there, then try again.")
    return FilesAway(f"Files cannot be kept or read now: the folder of the files says {error.strerror!r}.")
