"""Files of conversations: what is known of one, names that are safe everywhere, and types by content, never by name."""

import codecs
import re
import unicodedata
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol, cast

MAX_FILE = 25 << 20
MAX_FILES = 10
"""Files of one message."""
HEAD = 4096
"""Bytes from the beginning of a file that decide its type."""

INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What a browser may show in place; everything else is a download (rule 55)."""
SEEN = INLINE | {"application/pdf"}
"""What a model can be shown, if it can see."""

_PLAIN = "application/octet-stream"
_TEXT = "text/plain"
_MAX_NAME_GIVEN = 1_000
_MAX_NAME_BYTES = 200
_MAX_EXTENSION = 16
# Not in a name: what a path, a shell or Windows reads as something else.
_UNSAFE = re.compile(r'[<>:"|?*`$]')
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?")
# Control, format (bidi marks are among them), surrogate and private characters; line and paragraph ends.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# A comment cannot run past its own end: with `.*?` many short comments took exponential time.
_MARKUP = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).)*-->\s*)*<(!doctype\s+)?([a-z]+)", re.IGNORECASE | re.DOTALL
)
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1aE\xdf\xa3", "video/webm"),
)
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav", b"AVI ": "video/x-msvideo"}
# An extension only says more about what the content shows already.
_OFFICE = "application/vnd.openxmlformats-officedocument."
_FINER = {
    "application/zip": {
        "docx": _OFFICE + "wordprocessingml.document",
        "xlsx": _OFFICE + "spreadsheetml.sheet",
        "pptx": _OFFICE + "presentationml.presentation",
        "odt": "application/vnd.oasis.opendocument.text",
        "ods": "application/vnd.oasis.opendocument.spreadsheet",
        "epub": "application/epub+zip",
    },
    _TEXT: {"csv": "text/csv", "md": "text/markdown", "json": "application/json", "ics": "text/calendar"},
}


@dataclass(frozen=True, kw_only=True)
class File:
    """One kept file, without its bytes: those lie in the file store under its id."""

    id: str
    user_id: str
    name: str
    media_type: str
    bytes: int
    sha256: str
    created_at: datetime
    stored_at: datetime | None
    """When the bytes were whole in the file store; None while they are on their way, or never came."""
    gone_at: datetime | None
    """When the sweeper began to remove it: nothing may refer to it any more."""

    def plain(self) -> dict[str, object]:
        """Spell it as inbounds and messages keep it: nothing of it ever changes."""
        return {
            "id": self.id,
            "name": self.name,
            "media_type": self.media_type,
            "bytes": self.bytes,
            "sha256": self.sha256,
        }


@dataclass(frozen=True, kw_only=True)
class AttachedFile:
    """A file of a message, as the message's row knows it. Its bytes are read by its id."""

    id: str
    name: str
    media_type: str
    bytes: int
    sha256: str


def attached(files: Sequence[Mapping[str, object]]) -> list[AttachedFile]:
    """Read the files that an inbound or a message keeps."""
    return [AttachedFile(**cast("dict[str, Any]", dict(file))) for file in files]


@dataclass(frozen=True, kw_only=True)
class Upload:
    """Bytes that have come in whole, in a file that nobody else knows, with what they showed on their way."""

    path: Path
    size: int
    sha256: str
    head: bytes


class FileStore(Protocol):
    """Where the bytes of files lie. Its errors: `NotFound` for a file that is not there, `FilesAway` for the rest."""

    @property
    def incoming(self) -> Path:
        """Name the folder in which uploads are gathered."""
        ...

    async def put(self, file_id: str, upload: Upload) -> None:
        """Keep the bytes of an upload under an id, whole or not at all; the upload's own file may be used up."""
        ...

    def read(self, file_id: str) -> AsyncIterator[bytes]:
        """Give the bytes of a file, in pieces."""
        ...

    async def delete(self, file_id: str) -> None:
        """Drop the bytes of a file, if they are there."""
        ...

    async def tidy(self, before: datetime) -> None:
        """Drop what uploads that were killed have left behind."""
        ...

    async def check(self) -> None:
        """Find out whether files can be kept now; `FilesAway` says why not."""
        ...


def safe_name(given: str) -> str:
    """Make a name that is one plain component on every system, and shows what it is."""
    # Its end, because the extension is there; to compose a long one takes too long.
    name = re.split(r"[/\\]", unicodedata.normalize("NFC", given[-_MAX_NAME_GIVEN:]))[-1]
    name = "".join("" if unicodedata.category(char) in _INVISIBLE else char for char in name)
    name = " ".join(_UNSAFE.sub("_", name).split()).strip(". ")
    if _RESERVED.fullmatch(name):
        name = f"_{name}"
    return _shortened(name) or "file"


def _shortened(name: str) -> str:
    """Cut a long name, and leave its extension whole."""
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    stem, dot, extension = name.rpartition(".")
    if not dot or len(extension) > _MAX_EXTENSION:
        stem, dot, extension = name, "", ""
    room = _MAX_NAME_BYTES - len((dot + extension).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + dot + extension


def sniff(head: bytes, name: str) -> str:
    """Say what a file is by how it begins. Its name only tells kinds of one content apart."""
    found = _by_magic(head) or (_by_text(head) if _is_text(head) else _PLAIN)
    extension = name.rpartition(".")[2].lower()
    return _FINER.get(found, {}).get(extension, found)


def _by_magic(head: bytes) -> str | None:
    if head[:4] == b"RIFF":
        return _RIFF.get(head[8:12])
    if head[4:8] == b"ftyp":
        return "audio/mp4" if head[8:11] == b"M4A" else "video/mp4"
    if len(head) > 1 and head[0] == 0xFF and head[1] in (0xFB, 0xF3, 0xF2):
        return "audio/mpeg"
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


def _by_text(head: bytes) -> str:
    markup = _MARKUP.match(head.removeprefix(codecs.BOM_UTF8))
    if markup is None:
        return _TEXT
    name = markup[2].lower()
    if name == b"svg":
        return "image/svg+xml"
    return "text/html" if markup[1] or name in (b"html", b"head", b"body", b"script") else _TEXT


def _is_text(head: bytes) -> bool:
    try:
        # The head may end inside a character.
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return not any(char < " " and char not in "\t\n\r\f\x1b" for char in text)


def size_words(count: int) -> str:
    """Say a size as people do."""
    if count < 1000:
        return f"{count} bytes" if count != 1 else "1 byte"
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"
