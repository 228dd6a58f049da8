"""What Slack tells, as messages of people. Pure: events in, messages out; bots and Slack's own notes are dropped.

A mention comes twice, as `message` and as `app_mention`: both name one channel and `ts`, which are the message's id.
"""

import html
import re
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, cast

from homing.channels import File, IncomingMessage

Fetch = Callable[[str], AsyncIterator[bytes]]
"""Downloads a file by its address."""

_WRITTEN = (None, "file_share", "thread_broadcast", "me_message")
_LINK = re.compile(r"<([^<>\n]+)>")


@dataclass(frozen=True, kw_only=True)
class Me:
    """Who we are there."""

    user_id: str
    name: str
    team_id: str
    team: str


def read_event(event: Mapping[str, Any], me: Me, name: str, fetch: Fetch) -> IncomingMessage | None:
    """Read one event, or one message of the history with its channel; None for what no person wrote."""
    if event.get("type") not in ("message", "app_mention"):
        return None
    if event.get("subtype") == "message_changed":
        changed, before = event["message"], as_object(event.get("previous_message"))
        # Slack also tells so when it adds the preview of a link.
        if "edited" not in changed or changed.get("text") == before.get("text"):
            return None
        place = {key: event[key] for key in ("channel", "channel_type") if key in event}
        return _message({**changed, **place}, me, name, None)
    return _message(event, me, name, fetch)


def read_press(payload: Mapping[str, Any], name: str) -> IncomingMessage | None:
    """Read a pressed button; None for one that is not ours."""
    if payload.get("type") != "block_actions":
        return None
    [action, *_] = payload["actions"]
    question_id, _, number = str(action.get("value", "")).rpartition(":")
    if not question_id or not number.isdecimal():
        return None
    sender, card = payload["user"], payload["container"]
    channel, ts = str(card["channel_id"]), str(card["message_ts"])
    return IncomingMessage(
        external_id=f"{channel}:press-{ts}-{sender['id']}-{action['action_ts']}",
        address=_address(name, channel, card.get("thread_ts")),
        sender=str(sender["id"]),
        sender_name=str(sender.get("name") or sender.get("username") or sender["id"]),
        direct=_is_direct(channel),
        addressed=True,
        text=str(action.get("text", {}).get("text", "")),
        at=instant_of(str(action["action_ts"])),
        answer=(question_id, int(number)),
        replies_to=f"{channel}:{ts}",
    )


def as_object(given: Any) -> dict[str, Any]:
    """Give an object of Slack's, which may be missing."""
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {}


def instant_of(ts: str) -> datetime:
    """Read when a message was written, which is its `ts`."""
    return datetime.fromtimestamp(float(ts), UTC)


def order_of(ts: str) -> tuple[int, int]:
    """Give what a `ts` is compared by: as a number it would lose its last digits."""
    seconds, _, rest = ts.partition(".")
    return int(seconds or 0), int(rest or 0)


def _message(written: Mapping[str, Any], me: Me, name: str, fetch: Fetch | None) -> IncomingMessage | None:
    sender = written.get("user")
    if not sender or sender == me.user_id or written.get("bot_id") or written.get("subtype") not in _WRITTEN:
        return None
    channel, ts, thread = str(written["channel"]), str(written["ts"]), written.get("thread_ts")
    text, direct = str(written.get("text") or ""), _is_direct(channel)
    ours = written.get("parent_user_id") == me.user_id
    answered = thread if thread and thread != ts else None
    return IncomingMessage(
        external_id=f"{channel}:{ts}",
        address=_address(name, channel, answered),
        sender=str(sender),
        sender_name=str(sender),
        direct=direct,
        addressed=direct or f"<@{me.user_id}" in text or ours,
        text=_plain(text, me),
        at=instant_of(str(written["edited"]["ts"]) if fetch is None else ts),
        files=[_file(file, fetch) for file in written.get("files") or ()] if fetch is not None else (),
        replies_to=f"{channel}:{answered}" if answered else None,
        edited=fetch is None,
    )


def _is_direct(channel: str) -> bool:
    return channel.startswith("D")


def _address(name: str, channel: str, thread: object) -> str:
    # In a direct chat a thread is an answer to one message: it stays in the one conversation of that chat.
    return f"{name}:{channel}" + (f"/{thread}" if thread and not _is_direct(channel) else "")


def _plain(text: str, me: Me) -> str:
    """Write what Slack marks up as people read it. First the marks, then the escapes: those may look like marks."""

    def shown(found: re.Match[str]) -> str:
        what, _, label = found[1].partition("|")
        if what == f"@{me.user_id}":
            return "@" + re.sub(r"\W", "_", me.name)
        if what.startswith(("@", "#", "!")):
            return (what[0] if what[0] != "!" else "@") + (label.lstrip("@#") or what[1:])
        return f"{label} ({what})" if label and label not in what else what

    return html.unescape(_LINK.sub(shown, text))


def _file(file: Mapping[str, Any], fetch: Fetch) -> File:
    address = str(file.get("url_private_download") or file.get("url_private") or "")
    return File(
        id=str(file["id"]),
        name=str(file.get("name") or file.get("title") or "file"),
        media_type=str(file.get("mimetype") or ""),
        size=int(file.get("size") or 0),
        read=partial(fetch, address),
    )
