"""Copies of conversations' files that programs in the sandbox may read, below /files. Each lies in a folder of its own.

Nobody but Homing's user can look into the folder above them; inside, each is shown to any uid, and never to be written.
"""

import asyncio
import os
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_UNUSED_SECONDS = 86_400.0


@dataclass(frozen=True, kw_only=True)
class ShownFiles:
    """A folder with one folder for each file, which has that file under its own name."""

    folder: Path

    def find(self, file_id: str) -> Path | None:
        """Give the folder of a copy that is there, marked as used."""
        place = self.folder / file_id
        try:
            os.utime(place)
        except FileNotFoundError:
            return None
        return place

    async def add(self, file_id: str, name: str, content: AsyncIterator[bytes]) -> Path:
        """Copy a file, whole or not at all; what is there already is the same."""
        fresh = self.folder / f".{secrets.token_hex(8)}"
        try:
            await asyncio.to_thread(self._make, fresh)
            with (fresh / name).open("wb") as file:
                async for piece in content:
                    await asyncio.to_thread(file.write, piece)
                os.fchmod(file.fileno(), 0o444)
            place = self.folder / file_id
            # Somebody else may have made it meanwhile.
            try:
                fresh.rename(place)
            except OSError:
                if not place.is_dir():
                    raise
            return place
        finally:
            await asyncio.to_thread(shutil.rmtree, fresh, ignore_errors=True)

    def sweep(self) -> None:
        """Drop copies that nobody has used for a day; a program that uses one has long ended by then."""
        before = time.time() - _UNUSED_SECONDS
        with suppress(FileNotFoundError):
            for place in list(self.folder.iterdir()):
                with suppress(FileNotFoundError):
                    if place.stat().st_mtime < before:
                        shutil.rmtree(place, ignore_errors=True)

    def _make(self, fresh: Path) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        fresh.mkdir()
        fresh.chmod(0o755)
