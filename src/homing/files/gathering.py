"""Bytes that come in piece by piece: counted, hashed and put into a file that nobody else knows."""

import asyncio
import hashlib
import os
import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from io import FileIO
from pathlib import Path

from homing.files.folder import disk_error
from homing.model.errors import TooLarge
from homing.model.files import HEAD, MAX_FILE, Upload

# Between two writes, so that a thread is not asked for every packet.
_HELD = 512 << 10


class Gathering:
    """One upload on its way."""

    def __init__(self, path: Path, file: FileIO) -> None:
        self._path = path
        self._file = file
        self._held = bytearray()
        self._bytes = 0
        self._hash = hashlib.sha256()
        self._head = b""

    async def add(self, piece: bytes) -> None:
        """Take in the next bytes; refuse more than a file may have."""
        self._bytes += len(piece)
        if self._bytes > MAX_FILE:
            raise TooLarge(f"A file has at most {MAX_FILE >> 20} MB. Send a smaller one, or in parts.")
        if len(self._head) < HEAD:
            self._head += piece[: HEAD - len(self._head)]
        self._held += piece
        if len(self._held) >= _HELD:
            await self._flush()

    async def finish(self) -> Upload:
        """Give all that came."""
        await self._flush()
        return Upload(path=self._path, size=self._bytes, sha256=self._hash.hexdigest(), head=self._head)

    async def _flush(self) -> None:
        held, self._held = bytes(self._held), bytearray()
        if held:
            await asyncio.to_thread(self._write, held)

    def _write(self, held: bytes) -> None:
        self._hash.update(held)
        try:
            written = 0
            while written < len(held):
                written += self._file.write(held[written:])
        except OSError as error:
            raise disk_error(error) from error


@asynccontextmanager
async def gather(folder: Path) -> AsyncGenerator[Gathering]:
    """Open a place for one upload; what was not put into a file store by the end is dropped."""
    path = folder / secrets.token_hex(16)

    def open_it() -> FileIO:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            return FileIO(os.open(path, flags, 0o600), "w")
        except OSError as error:
            raise disk_error(error) from error

    file = await asyncio.to_thread(open_it)
    try:
        with file:
            yield Gathering(path, file)
    finally:
        with suppress(OSError):
            path.unlink(missing_ok=True)
