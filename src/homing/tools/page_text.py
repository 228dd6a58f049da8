"""What a page says, as text for a model: HTML becomes Markdown with whole links, other text stays as it is."""

import asyncio
import codecs
import math
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from contextlib import suppress
from dataclasses import dataclass
from html import unescape
from pathlib import Path

from homing.model.encodings import known_encoding

# What a model is shown of one page. Together with its other results that must fit the model, page after page.
MAX_CHARACTERS = 40_000
CONVERT_SECONDS = 10.0

# Of the converter: a length, a line break, and characters of up to four bytes.
_MAX_SAID = 20 + 4 * MAX_CHARACTERS
_CONVERTER = str(Path(__file__).with_name("html_converter.py"))

_HTML = ("text/html", "application/xhtml+xml")
_TEXT = re.compile(
    r"text/.+|.+\+(json|xml)|application/(json|xml|javascript|ecmascript|x-ndjson|(x-)?yaml|toml|rtf|sql|x-sh)"
)
_UNSURE = ("", "application/octet-stream", "binary/octet-stream", "unknown/unknown")
_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)
_DECLARED = re.compile(
    rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})|^\s*<\?xml[^>]{0,100}?encoding=[\"']([\w.-]{1,40})",
    re.IGNORECASE,
)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
_TITLE = re.compile(r"<title\b[^>]{0,200}>([^<]{1,1000})", re.IGNORECASE)
_HEAD = 100_000


@dataclass(frozen=True, kw_only=True)
class PageText:
    """A page's title and words, and our own remark on what is missing from them."""

    title: str = ""
    text: str = ""
    remark: str = ""


async def read_page(body: bytes, content_type: str, url: str, *, seconds: float = CONVERT_SECONDS) -> PageText:
    """Read a body as text."""
    media_type = content_type.partition(";")[0].strip().lower()
    if not body.strip():
        return PageText(remark="The page is empty.")
    if media_type in _UNSURE:
        media_type = _guess(body)
    if media_type not in _HTML and not _TEXT.fullmatch(media_type):
        return PageText(remark=f"It is {_shown(media_type)} of {len(body)} bytes, and only text can be read.")
    text = _decode(body, content_type)
    if "\0" in text:
        return PageText(remark=f"It says that it is {_shown(media_type)}, but its {len(body)} bytes are not text.")
    if media_type not in _HTML:
        return _cut("", text, len(text))
    title = _title(text)
    said = await _to_markdown(text, url, seconds)
    if said is None:
        return PageText(title=title, remark="The page is written in a way that cannot be read.")
    length, _, markdown = said.partition("\n")
    if not markdown:
        return PageText(title=title, remark="The page has no readable text; perhaps it is drawn by a script.")
    return _cut(title, markdown, int(length))


async def _to_markdown(html: str, url: str, seconds: float) -> str | None:
    """Convert in another process, to a length and the first characters; None when that takes too long or dies."""
    limits = (str(math.ceil(seconds)), str(MAX_CHARACTERS))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", _CONVERTER, *limits, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env={}
    )
    try:
        async with asyncio.timeout(seconds):
            given = f"{url}\n{html}".encode("utf-8", "replace")
            _, said, code = await asyncio.gather(_feed(process, given), _read(process), process.wait())
    except TimeoutError:
        return None
    finally:
        if process.returncode is None:
            process.kill()
            # To the very end, since `wait` hangs while a pipe is left unread.
            await _read(process)
            await process.wait()
    return said.decode() if code == 0 else None


async def _feed(process: Process, given: bytes) -> None:
    assert process.stdin
    with suppress(ConnectionError):
        process.stdin.write(given)
        await process.stdin.drain()
    process.stdin.close()


async def _read(process: Process) -> bytes:
    """Read to the end, and keep no more than there should be."""
    assert process.stdout
    said = bytearray()
    while chunk := await process.stdout.read(1 << 16):
        said += chunk[: _MAX_SAID - len(said)]
    return bytes(said)


def _cut(title: str, text: str, length: int) -> PageText:
    if length <= MAX_CHARACTERS:
        return PageText(title=title, text=text)
    remark = f"Only the first {MAX_CHARACTERS} of {length} characters are shown."
    return PageText(title=title, text=text[:MAX_CHARACTERS], remark=remark)


def _guess(body: bytes) -> str:
    start = body[:1024].lstrip(codecs.BOM_UTF8 + b" \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html", b"<head", b"<body")):
        return "text/html"
    return "application/octet-stream" if b"\0" in body[:1024] else "text/plain"


def _decode(body: bytes, content_type: str) -> str:
    for bom, name in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(name, "replace")
    named = _CHARSET.search(content_type)
    declared = _DECLARED.search(body, 0, 2048)
    names = [named[1] if named else "", (declared[1] or declared[2]).decode("ascii") if declared else ""]
    for name in filter(None, map(known_encoding, names)):
        return body.decode(name, "replace")
    try:
        return body.decode()
    except UnicodeDecodeError:
        # Browsers read it so where nobody says anything better.
        return body.decode("cp1252", "replace")


def _title(html: str) -> str:
    found = _TITLE.search(html, 0, _HEAD)
    return " ".join(unescape(found[1]).split())[:300] if found else ""


def _shown(media_type: str) -> str:
    return re.sub(r"[^\w.+/-]", "", media_type)[:80] or "a file"
