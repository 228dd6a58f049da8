"""What a Matrix server tells, as messages of people, and text as what its clients show. Pure: no I/O.

A room's messages are `NAME:!room`, a thread's `NAME:!room/$root`. Event ids are unique over all servers, so ids
carry no account.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from homing.channels import File, IncomingMessage

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

Fetch = Callable[[Mapping[str, Any]], AsyncIterator[bytes]]
"""Downloads the file of a message's content, and decrypts it where it is encrypted."""

TIMELINE = ("m.room.message", "m.room.encrypted", "m.room.member", "m.room.encryption", "m.sticker")
"""The events that matter here: all others (reactions, topics) make no gap longer."""
ROOM_ID = re.compile(r"![^\s/]{1,255}")
"""Ids of rooms that can be addresses: behind a slash is a thread. Another room is neither heard nor entered."""
_FILES = {"m.image": "picture", "m.file": "file", "m.audio": "audio", "m.video": "video"}
# Said outright, else @room in an agent's words rings everybody.
_NOBODY: dict[str, Any] = {"m.mentions": {}}
# What old clients put before an answer: the words that it answers.
_QUOTED = re.compile(r"(?:^> ?.*\n)+\n?", re.MULTILINE)
# JSON writes these as six bytes each, and nobody sees them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
# A server's name begins with a letter or digit, or is an IPv6 address: `..` would lead to another path.
_MXC = re.compile(r"mxc://((?:[A-Za-z0-9]|\[[0-9A-Fa-f:.]+\])[A-Za-z0-9.:-]{0,254})/([A-Za-z0-9_-]{1,255})")


@dataclass(frozen=True, kw_only=True)
class Room:
    """Who is in a room; the names of those who are invited count too, because they will read it."""

    id: str
    names: Mapping[str, str]
    joined: frozenset[str] = frozenset()
    """Those of them who are in it already."""

    def is_direct(self, me: str) -> bool:
        return len(self.names) == 2 and me in self.names


def read_event(event: Mapping[str, Any], room: Room, me: str, name: str, fetch: Fetch) -> IncomingMessage | None:
    """Read one event of a room's timeline; None for what no person wrote."""
    if event.get("type") not in ("m.room.message", "m.sticker") or event.get("sender") == me:
        return None
    content = inside(event, "content")
    sticker = event["type"] == "m.sticker"
    # A notice is what programs write: two that answer each other never end. What was deleted has no content.
    if not (sticker or isinstance(content.get("msgtype"), str)) or content.get("msgtype") == "m.notice":
        return None
    relates = inside(content, "m.relates_to")
    edits = text_in(relates, "event_id") if relates.get("rel_type") == "m.replace" else None
    shown = (inside(content, "m.new_content") or content) if edits else content
    file = None if edits or sticker else _file(shown, fetch)
    answers = _answered(relates)
    thread = text_in(relates, "event_id") if relates.get("rel_type") == "m.thread" else None
    direct = room.is_direct(me)
    sender = str(event["sender"])
    text = f"[sticker {content.get('body') or ''}]" if sticker else _text(shown, file, quotes=answers is not None)
    return IncomingMessage(
        external_id=message_id(room.id, edits or str(event["event_id"])),
        address=f"{name}:{room.id}" + (f"/{thread}" if thread else ""),
        sender=sender,
        sender_name=room.names.get(sender) or sender,
        direct=direct,
        addressed=direct or _names(content, me),
        text=text,
        at=datetime.fromtimestamp(event["origin_server_ts"] / 1000, UTC),
        files=[file] if file is not None else (),
        replies_to=message_id(room.id, answers) if answers else None,
        edited=edits is not None,
    )


def inside(whole: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """Give an object inside an object; an empty one where there is none."""
    for name in names:
        found = whole.get(name)
        whole = cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}
    return whole


def text_in(whole: Mapping[str, Any], name: str) -> str | None:
    """Give a text inside an object; None where there is none, or something else: lists in lists cannot be shown."""
    found = whole.get(name)
    return found if isinstance(found, str) else None


def message_id(room_id: str, event_id: str) -> str:
    """Name a message as `IncomingMessage.external_id` does."""
    return f"{room_id}:{event_id}"


def event_of(external_id: str) -> str:
    """Give the event's id of a message's."""
    _, _, event = external_id.partition(":$")
    return f"${event}"


def media_of(url: object) -> tuple[str, str] | None:
    """Read an mxc address: the server and the id there."""
    found = _MXC.fullmatch(url) if isinstance(url, str) else None
    return (found[1], found[2]) if found else None


def text_content(text: str) -> dict[str, Any]:
    """Write a text as clients show it: as it is, and as HTML where Markdown says more. Tags in it stay text."""
    body = _CONTROLS.sub("", text) or "…"
    content: dict[str, Any] = {"msgtype": "m.text", "body": body, **_NOBODY}
    html = _markdown().render(body).strip()
    if html != "<p>{}</p>".format(_escaped(body).replace("\n", "<br />\n")):
        content |= {"format": "org.matrix.custom.html", "formatted_body": html}
    return content


def file_content(file: File, where: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a file that lies at `where`: `{"url": …}`, or `{"file": …}` with its keys."""
    kind = file.media_type.partition("/")[0]
    msgtype = f"m.{kind}" if kind in ("image", "audio", "video") else "m.file"
    name = _CONTROLS.sub("", file.name) or "file"
    info = {"mimetype": file.media_type, "size": file.size}
    return {"msgtype": msgtype, "body": name, "filename": name, "info": info, **_NOBODY, **where}


def _text(content: Mapping[str, Any], file: File | None, *, quotes: bool) -> str:
    body = str(content.get("body") or "")
    kind = content.get("msgtype")
    if file is not None:
        # Without a name beside it, the words are the file's name.
        return body if content.get("filename") not in (None, body) else ""
    if kind in _FILES:
        return f"[{_FILES[str(kind)]} {body}]"
    return _QUOTED.sub("", body, count=1) if quotes and body.startswith("> ") else body


def _file(content: Mapping[str, Any], fetch: Fetch) -> File | None:
    if content.get("msgtype") not in _FILES:
        return None
    hidden = inside(content, "file")
    if media_of(hidden.get("url") or content.get("url")) is None:
        return None
    info = inside(content, "info")
    size = info.get("size")
    return File(
        id=str(hidden.get("url") or content.get("url")),
        name=str(content.get("filename") or content.get("body") or "file"),
        media_type=str(info.get("mimetype") or ""),
        size=size if isinstance(size, int) and size > 0 else 0,
        read=partial(fetch, content),
    )


def _answered(relates: Mapping[str, Any]) -> str | None:
    """Name the event that this one answers. In a thread, clients also name its newest one for old clients: that counts
    as an answer to the thread's first.
    """
    answered = text_in(inside(relates, "m.in_reply_to"), "event_id")
    if relates.get("rel_type") == "m.thread" and (answered is None or relates.get("is_falling_back")):
        return text_in(relates, "event_id")
    return answered or None


def _names(content: Mapping[str, Any], me: str) -> bool:
    if "m.mentions" in content:
        return me in (inside(content, "m.mentions").get("user_ids") or ())
    return me in str(content.get("body") or "") or me in str(content.get("formatted_body") or "")


@cache
def _markdown() -> "MarkdownIt":
    from markdown_it import MarkdownIt  # noqa: PLC0415 - only where something is sent

    # Pictures of other servers are shown by no client.
    return MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"]).disable("image")


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
