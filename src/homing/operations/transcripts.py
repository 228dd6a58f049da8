"""A whole conversation as a file, read page by page.

In Markdown every line of a message is quoted, and what opens HTML or loads a picture is escaped: no message can look
like another speaker's, and reading the file asks nobody for anything. In JSON messages are as the API shows them.
"""

import json
import re
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from homing.model.messages import FROM_NAME
from homing.operations.context import Context
from homing.operations.shapes.base import Answer
from homing.operations.shapes.message import MessageShape
from homing.operations.shapes.session_asks import ExportSession
from homing.operations.views import show_messages
from homing.store import Store, Tx, agents, messages, people

MEDIA_TYPES = {"markdown": "text/markdown", "json": "application/json"}
_ENDINGS = {"markdown": "md", "json": "json"}
_PAGE = 200
# At the beginning of a line: indented ones may end earlier than they look, with the list that they are in.
_FENCE = re.compile(r"(?P<mark>`{3,}|~{3,})(?P<info>.*)")
_HIDDEN_FENCE = re.compile(r"[\s>*+.)\d-]+(`{3,}|~{3,})")
_UNSAFE = re.compile(r"(?<!\\)(\\*)(<(?=[A-Za-z/!?])|!(?=\[))")
_PUNCTUATION = re.compile(r"([\\`*_{}\[\]()<>#+.!|~&-])")


class ExportShape(Answer):
    """A conversation about to be written into a file."""

    session_key: str
    session_id: int
    title: str | None
    user_name: str
    agent_name: str
    timezone: str
    until: int
    """The last message that belongs to it; what is said meanwhile does not."""
    exported_at: str
    format: str

    @property
    def file_name(self) -> str:
        """Name the file after the conversation, in letters that every file system takes."""
        words = re.sub(r"[^\w-]+", "-", self.title or self.session_key).strip("-")[:80]
        return f"{words or 'conversation'}.{_ENDINGS[self.format]}"


def export_session(ctx: Context, ask: ExportSession) -> ExportShape:
    """Export a conversation as Markdown or JSON: who said what and when."""
    session = ctx.session(ask.session_key)
    user, agent = people.get_user(ctx.tx, session.user_id), agents.get(ctx.tx, session.agent_id)
    return ExportShape(
        session_key=session.key,
        session_id=session.id,
        title=session.title,
        user_name=(user.name if user else None) or session.user_id,
        agent_name=agent.name if agent else session.agent_id,
        timezone=ctx.zone(session),
        until=session.seq,
        exported_at=_stamp(ctx.now, ctx.zone(session)),
        format=ask.format,
    )


async def write_out(store: Store, context: Callable[[Tx], Context], export: ExportShape) -> AsyncIterator[bytes]:
    """Give a conversation piece by piece, each read in a transaction of its own."""
    write = _markdown if export.format == "markdown" else _json
    yield _head(export)
    after, first = 0, True
    while page := await store.read(lambda tx: _page(context(tx), export, after)):  # noqa: B023 - awaited at once
        for message in page:
            yield write(export, message, first).encode()
            first = False
        after = page[-1].seq
    yield b"" if export.format == "markdown" else b"\n]}\n"


def _page(ctx: Context, export: ExportShape, after: int) -> list[MessageShape]:
    session = ctx.session(export.session_key)
    if session.id != export.session_id:
        return []
    found = messages.page(ctx.tx, session.id, after=after, before=None, limit=_PAGE)
    return show_messages(ctx, [message for message in found if message.seq <= export.until])


def _head(export: ExportShape) -> bytes:
    if export.format == "json":
        head = export.model_dump(include={"session_key", "title", "user_name", "agent_name", "timezone", "exported_at"})
        return (json.dumps(head, ensure_ascii=False)[:-1] + ', "messages": [').encode()
    return (
        f"# {_line(export.title or export.session_key)}\n\n"
        f"{_line(export.session_key)}, exported {_line(export.exported_at)}\n"
    ).encode()


def _json(export: ExportShape, message: MessageShape, first: bool) -> str:
    return ("\n" if first else ",\n") + message.model_dump_json()


def _markdown(export: ExportShape, message: MessageShape, first: bool) -> str:
    at = _stamp(datetime.fromisoformat(message.created_at), export.timezone)
    parts = [f"\n## {_line(_who(export, message))}, {_line(at)}\n"]
    parts += [_quoted(message.text)] if message.text else []
    parts += [f"- File: {_line(file.name)} ({file.bytes} bytes)" for file in message.files]
    return "\n".join(parts) + "\n"


def _who(export: ExportShape, message: MessageShape) -> str:
    """Say who speaks; of what no person wrote, also why it is there."""
    meta: dict[str, Any] = message.meta
    job = str(meta.get("cron_job_name") or "")
    if message.role == "assistant":
        why = "" if message.kind == "chat" else f" ({message.kind}, {job})" if job else f" ({message.kind})"
        return f"{export.agent_name}{why}"
    if message.kind != "chat":
        return f"{job or meta.get(FROM_NAME) or 'Homing'} ({message.kind})"
    name = str(meta.get("sender_name") or meta.get(FROM_NAME) or export.user_name)
    # Guests choose their names: one may be called as the user is.
    return f"{name} (guest)" if meta.get("guest") else name


def _quoted(text: str) -> str:
    """Quote a message line by line; in code it stays as it is.

    A fence that is indented, or in a list or quote, may begin or end code for some readers and not for others: from
    there on nothing counts as code, so all of it is escaped.
    """
    fence: str | None = None
    sure = True
    lines: list[str] = []
    for line in re.split(r"\r\n|\r|\n", text.replace("\0", "\ufffd")):
        if fence is not None and line.strip().startswith(fence):
            # Only marks of the same sort, and no space before them, end it for everybody.
            sure = not line.rstrip(" \t").strip(fence[0])
            fence = None
        elif fence is not None:
            lines.append(line)
            continue
        elif sure and (opened := _FENCE.match(line)):
            fence = opened["mark"] if opened["mark"][0] == "~" or "`" not in opened["info"] else None
        elif _HIDDEN_FENCE.match(line):
            sure = False
        lines.append(_UNSAFE.sub(_escape, line))
    return "\n".join(f"> {line}" if line else ">" for line in lines)


def _escape(found: re.Match[str]) -> str:
    """Put a backslash before it, unless it has one that is not escaped itself."""
    before, unsafe = found.groups()
    return found[0] if len(before) % 2 else f"{before}\\{unsafe}"


def _line(text: str) -> str:
    """Escape somebody's words so that they mean nothing in Markdown, on one line."""
    return _PUNCTUATION.sub(r"\\\1", " ".join(text.split()))


def _stamp(at: datetime, zone: str) -> str:
    local = at.astimezone(ZoneInfo(zone))
    offset = f"{local:%z}"
    return f"{local:%Y-%m-%d %H:%M:%S} {zone} (UTC{offset[:3]}:{offset[3:5]})"
