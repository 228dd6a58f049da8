"""Files in a bucket of S3 or of what speaks like it. Credentials come from the environment, as AWS's own tools read it.

An object in the bucket holds an id that the database keeps too, so that another bucket is told apart. Whether it does
is found out at the first use: a bucket that is away must not hold up what needs no files.
"""

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import S3Store

from homing.files.folder import tidy
from homing.model.errors import FilesAway, NotFound
from homing.model.files import Upload

_MARKER = "homing-files-id"
_PIECE = 256 << 10
_LONGEST_REASON = 300
_CONNECT = timedelta(seconds=5)
_WHOLE = timedelta(seconds=120)
_RETRIES = 2


class BucketStore:
    """Keeps each file as one object, under its id below the prefix."""

    def __init__(
        self,
        url: str,
        *,
        incoming: Path,
        find_id: Callable[[], Awaitable[str | None]],
        keep_id: Callable[[str], Awaitable[str]],
    ) -> None:
        """`find_id` reads the id that the database keeps; `keep_id` gives the first one and reads what is kept then."""
        at = urlsplit(url)
        self.url = url
        self.incoming = incoming
        self._find_id = find_id
        self._keep_id = keep_id
        self._checked = False
        self._store = S3Store(
            at.netloc,
            prefix=unquote(at.path).strip("/") or None,
            # An endpoint without encryption is one that an admin named.
            client_options={"connect_timeout": _CONNECT, "timeout": _WHOLE, "allow_http": _names_http()},
            retry_config={"max_retries": _RETRIES, "retry_timeout": 2 * _CONNECT},
        )

    async def put(self, file_id: str, upload: Upload) -> None:
        with self._reported():
            await self._agree()
            await obstore.put_async(self._store, file_id, upload.path)

    async def read(self, file_id: str) -> AsyncIterator[bytes]:
        with self._reported():
            await self._agree()
            try:
                found = await obstore.get_async(self._store, file_id)
            except FileNotFoundError:
                raise NotFound(f"The bytes of {file_id} are missing from the file store.") from None
            async for piece in found.stream(min_chunk_size=_PIECE):
                yield bytes(piece)

    async def delete(self, file_id: str) -> None:
        with self._reported():
            await self._agree()
            await self._drop(file_id)

    async def tidy(self, before: datetime) -> None:
        await asyncio.to_thread(tidy, self.incoming, before)

    async def check(self) -> None:
        """Write and drop an object; where the database keeps an id, the bucket must have the same."""
        trial = f"trial-{secrets.token_hex(8)}"
        with self._reported():
            if (known := await self._find_id()) is not None:
                self._compare(known, await self._marker())
            await obstore.put_async(self._store, trial, b"homing")
            await self._drop(trial)

    async def _agree(self) -> None:
        if self._checked:
            return
        known, found = await self._find_id(), await self._marker()
        if known is None:
            found = found or await self._mark()
            known = await self._keep_id(found)
        self._compare(known, found)
        self._checked = True

    def _compare(self, known: str, found: str | None) -> None:
        if found == known:
            return
        state = "is another one" if found else f"has no object {_MARKER}"
        raise FilesAway(
            f"Files are off here: the database keeps its files under the id {known}, and {self.url} {state}. Set"
            f" HOMING_FILES_URL to the right bucket. To begin with an empty one instead, write that id into {_MARKER}."
        )

    async def _marker(self) -> str | None:
        try:
            return bytes(await (await obstore.get_async(self._store, _MARKER)).bytes_async()).decode().strip()
        except FileNotFoundError:
            return None

    async def _mark(self) -> str:
        fresh = secrets.token_hex(16)
        try:
            # The first one stays: several processes may start at once.
            await obstore.put_async(self._store, _MARKER, f"{fresh}\n".encode(), mode="create")
        except AlreadyExistsError:
            return await self._marker() or ""
        return fresh

    async def _drop(self, name: str) -> None:
        try:
            await obstore.delete_async(self._store, name)
        except FileNotFoundError:
            return

    @contextmanager
    def _reported(self) -> Generator[None]:
        try:
            yield
        except (BaseError, OSError, ValueError) as error:
            raise FilesAway(f"Files cannot be kept or read now, in {self.url}: {_reason(error)}.") from error


def _reason(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket"
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)):
        return "the credentials are refused (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY)"
    # The first line has the address and the times of all attempts before what was wrong.
    said = next(iter(str(error).splitlines()), type(error).__name__)
    return said.rpartition(" - ")[2][:_LONGEST_REASON].rstrip(". ")


def _names_http() -> bool:
    names = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
    return next((os.environ[name] for name in names if name in os.environ), "").startswith("http://")
