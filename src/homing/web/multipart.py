"""A form with one file, read as it comes in: nothing but the file's bytes is passed on, and no more than it may have.

Only what browsers and HTTP libraries send for one file is understood; everything else is refused with a sentence.
"""

import re
from collections.abc import AsyncIterator
from email.message import Message
from urllib.parse import unquote

from homing.files import Gathering
from homing.model.errors import Malformed

_FIELD = "file"
_MOST_HEAD = 8192
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=?]{1,70}")
_HOW = 'Send the file as multipart/form-data with one part named "file".'
_CUT = "The upload broke off before its end. Send the file again."


async def read_form(content_type: str, stream: AsyncIterator[bytes], into: Gathering) -> str:
    """Put the bytes of the form's file into a gathering; give the file's name."""
    reader = _Reader(stream)
    mark = b"--" + _boundary(content_type)
    # A form may begin with words for readers that know no forms.
    opening = await reader.until(mark + b"\r\n", most=_MOST_HEAD)
    if opening and not opening.endswith(b"\r\n"):
        raise Malformed(_HOW)
    name = _name(await reader.until(b"\r\n\r\n", most=_MOST_HEAD))
    async for piece in reader.pieces_until(b"\r\n" + mark):
        await into.add(piece)
    if await reader.take(2) != b"--":
        raise Malformed(f"Send one file at a time. {_HOW}")
    await reader.drain()
    return name


class _Reader:
    """Bytes of a stream, looked at as far as needed."""

    def __init__(self, stream: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._held = b""

    async def until(self, end: bytes, *, most: int) -> bytes:
        """Give what comes before an end, and pass the end."""
        while (at := self._held.find(end)) < 0:
            if len(self._held) > most:
                raise Malformed(_HOW)
            await self._more()
        found, self._held = self._held[:at], self._held[at + len(end) :]
        return found

    async def pieces_until(self, end: bytes) -> AsyncIterator[bytes]:
        """Give what comes before an end, as it comes, and pass the end."""
        while (at := self._held.find(end)) < 0:
            # The end may have begun already.
            sure = len(self._held) - len(end) + 1
            if sure > 0:
                piece, self._held = self._held[:sure], self._held[sure:]
                yield piece
            await self._more()
        piece, self._held = self._held[:at], self._held[at + len(end) :]
        yield piece

    async def take(self, count: int) -> bytes:
        while len(self._held) < count:
            await self._more()
        found, self._held = self._held[:count], self._held[count:]
        return found

    async def drain(self) -> None:
        """Read a short rest, so that the client has sent all when it is answered."""
        left = _MOST_HEAD - len(self._held)
        async for piece in self._stream:
            left -= len(piece)
            if left < 0:
                raise Malformed(f"There is more behind the file. {_HOW}")

    async def _more(self) -> None:
        async for piece in self._stream:
            if piece:
                self._held += piece
                return
        raise Malformed(_CUT)


def _boundary(content_type: str) -> bytes:
    given = Message()
    given["content-type"] = content_type
    boundary = given.get_boundary("") if given.get_content_type() == "multipart/form-data" else ""
    if not _BOUNDARY.fullmatch(boundary):
        raise Malformed(_HOW)
    return boundary.encode()


def _name(head: bytes) -> str:
    """Read the name of the part's file from its headers."""
    for line in head.decode("utf-8", "replace").split("\r\n"):
        header, _, value = line.partition(":")
        if header.strip().lower() == "content-disposition":
            found = dict(_parameters(value))
            if found.get("name") != _FIELD or not ({"filename", "filename*"} & found.keys()):
                raise Malformed(_HOW)
            return _extended(found.get("filename*", "")) or found.get("filename", "")
    raise Malformed(_HOW)


def _parameters(value: str) -> list[tuple[str, str]]:
    pairs = re.findall(r';\s*([\w*-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s]*))', value)
    # Browsers spell a quote, and nothing else that could end a name, as %22.
    return [(name.lower(), quoted.replace('\\"', '"').replace("%22", '"') or plain) for name, quoted, plain in pairs]


def _extended(value: str) -> str:
    charset, _, rest = value.partition("''")
    return unquote(rest, charset, "replace") if charset.lower() in ("utf-8", "iso-8859-1") else ""
