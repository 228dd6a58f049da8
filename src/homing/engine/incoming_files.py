"""Files that come in through channels are kept before their message is taken: row, bytes, then the reference with it.

Killed in between, the platform gives the message again, and its files are fetched again; the first ones are swept.
Whatever is wrong with a file, the words of its message are taken, with a line that says so.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import structlog

from homing.channels import File
from homing.engine.outgoing_files import file_store
from homing.files import gather
from homing.model.bounds import MAX_MESSAGE
from homing.model.errors import ChannelFailed, Conflict, Failed, FilesAway, NotReady, TooLarge
from homing.model.files import MAX_FILE, MAX_FILES, FileStore, safe_name, size_words
from homing.model.incoming import Incoming
from homing.operations.context import Instance
from homing.operations.files import keep_file
from homing.operations.incoming import WHOLE_TEXT, files_owner
from homing.store import Store

log = structlog.get_logger(__name__)

_TRIES = 3
_FETCH_SECONDS = 120.0
_LONGEST_REASON = 200


@dataclass(kw_only=True, eq=False)
class IncomingFiles:
    """Keeps the files of what was heard. A file that cannot be fetched now is tried three times in all."""

    store: Store
    instance: Instance
    _failed: dict[str, int] = field(default_factory=dict[str, int])

    async def keep(self, channel: str, incoming: Incoming, given: Sequence[File]) -> Incoming:
        """Give the message with what was kept of its files; raise ChannelFailed where another try may help."""
        is_long = len(incoming.text) > MAX_MESSAGE
        if not given and not is_long:
            return incoming
        owner = await self.store.read(lambda tx: files_owner(tx, channel, incoming))
        if owner is None:
            lines = tuple(_not_kept(file, "files are taken from linked people only") for file in given)
            return replace(incoming, lines=lines)
        kept, lines = list[str](), list[str]()
        for file in given:
            if len(kept) == MAX_FILES - is_long:
                lines.append(_not_kept(file, f"a message has at most {MAX_FILES} files"))
                continue
            try:
                kept.append(await self._keep(file, owner, incoming.taken_id))
            except (_Useless, Conflict, TooLarge) as error:
                lines.append(_not_kept(file, str(error)))
        if is_long:
            try:
                kept.append(await self._keep(_text_file(incoming.text), owner, incoming.taken_id))
            except (_Useless, Conflict, TooLarge) as error:
                log.warning("text_cut", channel=channel, reason=str(error))
                is_long = False
        self._failed.pop(incoming.taken_id, None)
        return replace(incoming, files=tuple(kept), lines=tuple(lines), whole=is_long)

    async def _keep(self, file: File, owner: str, taken_id: str) -> str:
        try:
            files = await file_store(self.instance)
            return await self._fetch(files, file, owner)
        except (ChannelFailed, FilesAway, TimeoutError) as error:
            reason = "it took too long to fetch it" if isinstance(error, TimeoutError) else str(error)
            if isinstance(error, ChannelFailed) and error.permanent:
                raise _Useless(reason) from error
            self._failed[taken_id] = self._failed.get(taken_id, 0) + 1
            if self._failed[taken_id] >= _TRIES:
                raise _Useless(reason) from error
            raise ChannelFailed(f"A file that came in could not be kept: {reason}") from error

    async def _fetch(self, files: FileStore, file: File, owner: str) -> str:
        if file.size > MAX_FILE:
            raise TooLarge(f"it has more than {MAX_FILE >> 20} MB")
        async with asyncio.timeout(_FETCH_SECONDS), gather(files.incoming) as gathering:
            async for piece in _pieces(file):
                await gathering.add(piece)
            upload = await gathering.finish()
            if not upload.size:
                raise _Useless("it is empty")
            most_mb = self.instance.settings.max_files_mb
            return (await keep_file(self.store, files, file.name, upload, user_id=owner, most_mb=most_mb)).id


class _Useless(Failed):
    """No further try helps with this file."""


async def _pieces(file: File) -> AsyncIterator[bytes]:
    try:
        async for piece in file.read():
            yield piece
    except (ChannelFailed, Conflict, TooLarge, NotReady, TimeoutError):
        raise
    except Exception as error:  # the rim: a package's channel may fail in any way there is, and the words are taken
        log.exception("file_fetch_broke", file=safe_name(file.name))
        # Only its kind: what it says may hold an address with a key.
        raise ChannelFailed(f"its channel broke while it was fetched ({type(error).__name__})") from error


def _not_kept(file: File, reason: str) -> str:
    size = f", {size_words(file.size)}," if file.size else ""
    return f"(The file {safe_name(file.name)}{size} was not kept: {reason[:_LONGEST_REASON].rstrip('. ')}.)"


def _text_file(text: str) -> File:
    data = text.encode(errors="replace")

    async def read() -> AsyncIterator[bytes]:
        yield data

    return File(id="", name=WHOLE_TEXT, media_type="text/plain", size=len(data), read=read)
