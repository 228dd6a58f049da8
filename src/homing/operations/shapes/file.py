"""A file as it is asked for and shown."""

from typing import Annotated

from pydantic import Field

from homing.operations.shapes.base import Answer, Ask

FileId = Annotated[str, Field(min_length=1, max_length=64)]


class AddFile(Ask):
    """A file to keep. Its bytes come beside this: in the part `file` of a form, whose file name is the name."""

    name: str = Field(default="", max_length=4096)


class GetFile(Ask):
    """One file."""

    file_id: FileId


class FileShape(Answer):
    """A file: its name as it was cleaned, and its type as its content shows."""

    id: str
    name: str
    media_type: str
    bytes: int
    sha256: str
