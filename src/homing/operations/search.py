"""Search: the caller's own messages, automations, memories and conversations."""

from homing.model.search_terms import excerpt, read_query
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.base import utc
from homing.operations.shapes.search import FoundPage, FoundShape, Search
from homing.store import search as index


def search(ctx: Context, ask: Search) -> FoundPage:
    """Find your messages, automations, memories and conversations by their words, the newest first."""
    user_id = ctx.caller.user_id
    before = cursors.decode_in("search", ask.cursor)
    pending = index.pending(ctx.tx, user_id=user_id)
    query = read_query(ask.q)
    if not query.terms and query.begun is None:
        return FoundPage(items=[], pending=pending)
    found = index.find(ctx.tx, query, user_id=user_id, kind=ask.kind, before_n=before, limit=ask.limit + 1)
    page = found[: ask.limit]
    items: list[FoundShape] = []
    for hit in page:
        words, marks = excerpt(hit.text, query)
        items.append(FoundShape.of(hit, words=words, marks=marks, at=utc(hit.at)))
    following = cursors.encode_in("search", page[-1].n) if len(found) > ask.limit else None
    return FoundPage(items=items, next_cursor=following, pending=pending)
