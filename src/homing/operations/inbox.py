"""The inbox: what arrived unread, approvals and questions that the caller may answer, and what failed.

What was seen is kept per user; what arrived leaves the inbox when its conversation is read.
"""

from dataclasses import replace

from homing.model.errors import Invalid
from homing.model.inbox import InboxItem
from homing.model.runs import epoch_us
from homing.model.words import reason_words
from homing.operations.context import Context
from homing.operations.sessions import read_up_to
from homing.operations.shapes import cursors
from homing.operations.shapes.inbox import InboxCounts, InboxItemShape, InboxPage, ListInbox, SeeInbox
from homing.store import inbox

_NAME = "inbox"


def list_inbox(ctx: Context, ask: ListInbox) -> InboxPage:
    """List what arrived unread, what waits for your answer and what failed within 30 days, newest first."""
    found = _items(ctx)
    counts = _counted(ctx, found)
    before = cursors.decode(ask.cursor, str, int, str, str)
    if before is not None and before[0] != _NAME:
        raise cursors.bad()
    rest = found if before is None else [item for item in found if _place(item) < before[1:]]
    page = rest[: ask.limit]
    following = cursors.encode(_NAME, *_place(page[-1])) if len(rest) > ask.limit else None
    return InboxPage(
        items=[InboxItemShape.of(item, title=_title(item)) for item in page],
        next_cursor=following,
        waiting=counts.waiting,
        unseen=counts.unseen,
        unread=counts.unread,
    )


def see_inbox(ctx: Context, ask: SeeInbox) -> InboxCounts:
    """Note that you have looked at an item of your inbox, or at all; one that has left it meanwhile is not an error."""
    if (ask.kind is None) != (ask.id is None):
        raise Invalid("Give kind and id of one item, or neither for all.", field="id", code="missing")
    found, user_id = _items(ctx), ctx.caller.user_id
    looked = [item for item in found if not item.seen and ask.id in (None, item.id) and ask.kind in (None, item.kind)]
    # Sessions are locked in the order of their ids.
    arrived = {item.session_key: item for item in looked if item.kind == "unread"}
    for session in sorted(map(ctx.session, arrived), key=lambda session: session.id):
        read_up_to(ctx, session, arrived[session.key].last_seq or 0)
    for item in looked:
        if item.kind != "unread":
            inbox.see(ctx.tx, user_id, item.kind, item.id)
    if looked:
        ctx.tx.ring(inbox.inbox_topic(user_id))
    left = [item for item in found if item.kind != "unread" or item not in looked]
    return _counted(ctx, [replace(item, seen=True) if item in looked else item for item in left])


def count_inbox(ctx: Context) -> InboxCounts:
    """Count the caller's inbox."""
    return _counted(ctx, _items(ctx))


def _items(ctx: Context) -> list[InboxItem]:
    found = inbox.items(ctx.tx, ctx.caller.user_id, admin=ctx.caller.admin)
    if not found:
        return found
    seen = inbox.seen(ctx.tx, ctx.caller.user_id)
    return [replace(item, seen=(item.kind, item.id) in seen) for item in found]


def _counted(ctx: Context, found: list[InboxItem]) -> InboxCounts:
    return InboxCounts(
        waiting=sum(item.kind in ("approval", "question") for item in found),
        unseen=sum(not item.seen for item in found),
        unread=inbox.count_unread(ctx.tx, ctx.caller.user_id),
    )


def _place(item: InboxItem) -> tuple[int, str, str]:
    return epoch_us(item.at), item.kind, item.id


def _title(item: InboxItem) -> str:
    if item.kind != "failure":
        return item.title
    if item.job_id is None:
        why = f": {item.reason}" if item.reason else ""
        return f"Not delivered to {item.title}{why}"
    why = f": {reason_words(item.reason)}" if item.reason else ""
    return f"{item.title} failed{why}"
