"""What Discord tells, as messages of people. Pure: events in, messages out; bots and system notes are dropped."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, cast

from homing.channels import File, IncomingMessage

Fetch = Callable[[str], AsyncIterator[bytes]]
"""Downloads a file by its address."""

_WRITTEN, _REPLY, _PRESSED = 0, 19, 3


@dataclass(frozen=True, kw_only=True)
class Me:
    """Who we are there."""

    id: str
    name: str


def read_message(
    written: Mapping[str, Any], me: Me, name: str, fetch: Fetch, *, direct: bool, edited: bool = False
) -> IncomingMessage | None:
    """Read a message; None for what no person wrote, and for words in a server that we may not see."""
    author = written.get("author")
    if author is None or author.get("bot") or "webhook_id" in written or author["id"] == me.id:
        return None
    # Discord also tells so when it adds the preview of a link.
    if written.get("type", _WRITTEN) not in (_WRITTEN, _REPLY) or (edited and not written.get("edited_timestamp")):
        return None
    mentions = cast("list[dict[str, Any]]", written.get("mentions") or [])
    answered = as_object(written.get("referenced_message"))
    ours = as_object(answered.get("author")).get("id") == me.id
    addressed = direct or ours or any(one["id"] == me.id for one in mentions)
    text = _plain(written, mentions, me)
    attached = cast("list[dict[str, Any]]", written.get("attachments") or []) if not edited else []
    if not addressed and not text and not attached:
        return None
    reference = as_object(written.get("message_reference")) if written.get("type") == _REPLY else {}
    return IncomingMessage(
        external_id=f"{written['channel_id']}:{written['id']}",
        address=f"{name}:{written['channel_id']}",
        sender=str(author["id"]),
        sender_name=str(author.get("global_name") or author.get("username") or author["id"]),
        direct=direct,
        addressed=addressed,
        text=text,
        at=datetime.fromisoformat(str(written["edited_timestamp" if edited else "timestamp"])),
        files=[_file(one, fetch) for one in attached],
        replies_to=f"{written['channel_id']}:{reference['message_id']}" if reference.get("message_id") else None,
        edited=edited,
    )


def read_press(pressed: Mapping[str, Any], name: str) -> IncomingMessage | None:
    """Read a pressed button; None for one that is not ours."""
    if pressed.get("type") != _PRESSED:
        return None
    custom_id = str(pressed["data"]["custom_id"])
    question_id, _, number = custom_id.rpartition(":")
    if not question_id or not number.isdecimal():
        return None
    sender, card = pressed.get("user") or pressed["member"]["user"], pressed["message"]
    rows = cast("list[dict[str, Any]]", card.get("components") or [])
    labels = {one.get("custom_id"): one.get("label") for row in rows for one in row.get("components", ())}
    place = pressed["channel_id"]
    return IncomingMessage(
        external_id=f"{place}:press-{pressed['id']}",
        address=f"{name}:{place}",
        sender=str(sender["id"]),
        sender_name=str(sender.get("global_name") or sender.get("username") or sender["id"]),
        direct="guild_id" not in pressed,
        addressed=True,
        text=str(labels.get(custom_id) or ""),
        # Discord does not say when it was pressed.
        at=datetime.fromisoformat(str(card["timestamp"])),
        answer=(question_id, int(number)),
        replies_to=f"{place}:{card['id']}",
    )


def as_object(given: Any) -> dict[str, Any]:
    """Give an object of Discord's, which may be missing."""
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def _plain(written: Mapping[str, Any], mentions: list[dict[str, Any]], me: Me) -> str:
    names = {str(one["id"]): str(one.get("username") or one["id"]) for one in mentions} | {me.id: me.name}

    def shown(found: re.Match[str]) -> str:
        return "@" + re.sub(r"\W", "_", names[found[1]]) if found[1] in names else found[0]

    text = re.sub(r"<@!?([0-9]{1,20})>", shown, str(written.get("content") or ""))
    stickers = cast("list[dict[str, Any]]", written.get("sticker_items") or [])
    return "\n".join(filter(None, [text, *(f"[sticker {one.get('name', '')}]" for one in stickers)]))


def _file(file: Mapping[str, Any], fetch: Fetch) -> File:
    return File(
        id=str(file["id"]),
        name=str(file.get("filename") or "file"),
        media_type=str(file.get("content_type") or ""),
        size=int(file.get("size") or 0),
        read=partial(fetch, str(file.get("url") or "")),
    )
