"""Files that channels carry out: their bytes are read when they are sent, checked, and never kept here."""

import hashlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from homing.channels import Capabilities, File
from homing.model.cutting import cut
from homing.model.errors import ChannelFailed, FilesAway, NoFiles, NotFound
from homing.model.files import AttachedFile, FileStore, size_words
from homing.operations.context import Instance

_LONGEST_REASON = 200
# What a slow line surely carries; the longest attempt stays below `deliveries.ATTEMPT`.
_BYTES_PER_SECOND = 1_000_000


async def file_store(instance: Instance) -> FileStore:
    """Give where the bytes of files lie, or refuse with the sentence that helps."""
    if instance.hands is None:
        raise NoFiles("This process keeps no files.")
    return await instance.hands.file_store()


def seconds_for(file: AttachedFile | None) -> float:
    """Say how much longer than a text a file may take."""
    return file.bytes / _BYTES_PER_SECOND if file else 0.0


def kept_here(file: AttachedFile) -> str:
    """Say of a file that a channel cannot carry where it is."""
    return f"({file.name}, {size_words(file.bytes)}, cannot be sent here. It is in this conversation on the page.)"


def refused_there(file: AttachedFile, reason: str, can: Capabilities) -> str:
    """Say that a channel did not take a file; it stays in the conversation."""
    line = f"(The file {file.name} could not be sent here: {reason[:_LONGEST_REASON].rstrip('. ')}.)"
    return cut(line, can.max_length, can.length_unit)[0]


@dataclass(kw_only=True)
class OutgoingFile:
    """One file on its way out, and what went wrong with reading it."""

    files: FileStore
    attached: AttachedFile
    trouble: ChannelFailed | None = None

    def part_file(self) -> File:
        """Give it as a channel gets it."""
        one = self.attached
        return File(id=one.id, name=one.name, media_type=one.media_type, size=one.bytes, read=self._read)

    async def _read(self) -> AsyncIterator[bytes]:
        """Give the bytes, the last of them only if the whole is what was kept: nothing damaged arrives whole."""
        digest, held = hashlib.sha256(), b""
        try:
            async for piece in self.files.read(self.attached.id):
                digest.update(piece)
                if held:
                    yield held
                held = piece
            if digest.hexdigest() != self.attached.sha256:
                raise NotFound(f"The bytes of {self.attached.id} are damaged.")
        except NotFound as error:
            self.trouble = ChannelFailed("its content is missing or damaged", permanent=True)
            raise self.trouble from error
        except FilesAway as error:
            self.trouble = ChannelFailed(str(error))
            raise self.trouble from error
        yield held
