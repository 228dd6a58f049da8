"""`inbox`: what arrived unread, what waits for an answer, and what failed."""

from typing import Any

from homing.cli.connection import AsJson, connected
from homing.cli.format import INBOX_GLYPHS
from homing.cli.resources import Limit, Resource, show_all, since
from homing.model.contract import Json

_WHAT_NEXT = {
    "unread": "homing chat {session_key}",
    "approval": "homing approvals approve {id}",
    "question": "homing questions answer {id} ANSWER",
    "failure": "homing cron why {job_id}",
}
_RETRY = "homing deliveries retry {id}"


def _sign(item: Json) -> Any:
    from homing.cli import widgets

    return widgets.sign(INBOX_GLYPHS, item["kind"])


def _title(item: Json) -> Any:
    from rich.text import Text

    more = f" (and {item['count'] - 1} more)" if item.get("count", 1) > 1 else ""
    return Text(item["title"] + more, style="" if item["seen"] else "bold")


def _next(item: Json) -> str:
    undelivered = item["kind"] == "failure" and item["job_id"] is None
    return (_RETRY if undelivered else _WHAT_NEXT[item["kind"]]).format(**item)


_INBOX = Resource(
    noun="item",
    prefix="",
    none="Nothing new, nothing waits for you, and nothing failed.",
    columns={
        "": _sign,
        "what": _title,
        "when": since("at"),
        "in": "session_key",
        "next": _next,
    },
    gives=("what", "in"),
    fold=True,
)


def inbox(limit: Limit = 50, as_json: AsJson = False) -> None:
    """List what arrived unread, what waits for your answer and what failed, newest first; what you have not seen is
    bold. Opening a conversation (`homing chat`, or the page) marks it as read.
    """
    with connected(as_json) as connection:
        show_all(connection, _INBOX, connection.server.pages("list_inbox", limit=limit))
