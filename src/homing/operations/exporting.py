"""Write down one's jobs as a file that `homing import` reads, and if wanted the conversations they belong to."""

from collections.abc import Iterable, Iterator
from typing import Any

from homing.operations.context import Context
from homing.operations.import_formats import FORMAT
from homing.operations.jobs import list_jobs
from homing.operations.messages import list_messages
from homing.operations.sessions import list_sessions
from homing.operations.shapes.base import utc
from homing.operations.shapes.job_asks import ListJobs
from homing.operations.shapes.message import MessageShape
from homing.operations.shapes.session_asks import ListMessages, ListSessions
from homing.store import sessions

_PAGE = 200


def export_jobs(ctx: Context, *, history: bool = False) -> dict[str, Any]:
    """Put together all jobs of the caller; with `history`, also their conversations."""
    jobs = list(_jobs(ctx))
    file: dict[str, Any] = {"format": FORMAT, "version": 1, "exported_at": utc(ctx.now), "jobs": jobs}
    if history:
        file["sessions"] = list(_sessions(ctx))
    return file


def _jobs(ctx: Context) -> Iterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        page = list_jobs(ctx, ListJobs(limit=_PAGE, sort="name", cursor=cursor, all=True))
        for job in page.items:
            if job.kind != "system":
                yield job.plain() | {"addresses": _addresses(ctx, job.session_key)}
        cursor = page.next_cursor
        if cursor is None:
            return


def _addresses(ctx: Context, key: str) -> list[str]:
    session_id = ctx.session(key).id
    return sessions.addresses(ctx.tx, [session_id])[session_id]


def _sessions(ctx: Context) -> Iterator[dict[str, Any]]:
    cursor: str | None = None
    while True:
        page = list_sessions(ctx, ListSessions(limit=_PAGE, cursor=cursor))
        for session in page.items:
            yield {
                "key": session.key,
                "title": session.title,
                "timezone": session.timezone,
                "created_at": session.created_at,
                "messages": [_plain(message) for message in _messages(ctx, session.key)],
            }
        cursor = page.next_cursor
        if cursor is None:
            return


def _messages(ctx: Context, key: str) -> Iterable[MessageShape]:
    seq = 0
    while True:
        page = list_messages(ctx, ListMessages(session_key=key, limit=_PAGE, after=seq))
        yield from page.items
        if len(page.items) < _PAGE:
            return
        seq = page.items[-1].seq


def _plain(message: MessageShape) -> dict[str, Any]:
    """Spell a message; `_cron_turn` is how nanobot's readers know a scheduled one (H2)."""
    told = message.plain()
    if message.meta.get("cron_turn"):
        told["_cron_turn"] = True
    return told
