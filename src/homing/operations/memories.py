"""Lasting facts about the caller's user."""

from homing.model.dreams import fingerprint
from homing.model.errors import Forbidden, Invalid, NotFound
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.people_asks import AddMemory, Gone, ListMemories, MemoryRef, MemoryShape
from homing.store import dreams, memories, messages, sessions


def list_memories(ctx: Context, ask: ListMemories) -> Page[MemoryShape]:
    """List memories, newest first; with `q`, the best matches."""
    user_id = ctx.caller.user_id
    before = cursors.decode_in("memories", ask.cursor)
    if ask.q and ask.q.strip():
        hits = memories.search(ctx.tx, user_id=user_id, query=ask.q, limit=ask.limit, within=_within(ctx))
        return Page(items=[MemoryShape.of(memory) for memory in hits])
    found = memories.listed(ctx.tx, user_id=user_id, before_n=before, limit=ask.limit + 1)
    page = found[: ask.limit]
    following = cursors.encode_in("memories", page[-1][0]) if len(found) > ask.limit else None
    return Page(items=[MemoryShape.of(memory) for _, memory in page], next_cursor=following)


def add_memory(ctx: Context, ask: AddMemory, *, source: str | None = None) -> MemoryShape:
    """Add a memory; the same text is stored once."""
    text = ask.text.strip()
    if not text:
        raise Invalid("text is empty; write what is to be remembered.", field="text", code="missing")
    turn, session = ctx.caller.turn, _within(ctx)
    by_person = turn is None and ctx.caller.door != "mcp"
    if by_person:
        # They removed it once, and say it themselves now.
        dreams.drop_mark(ctx.tx, ctx.caller.user_id, fingerprint(ctx.caller.user_id, text))
    return MemoryShape.of(
        memories.add(
            ctx.tx,
            user_id=ctx.caller.user_id,
            session_id=session.id if session is not None else None,
            sender_id=turn.sender_id if turn else None,
            text=text,
            source=source or (turn.outside if turn else None),
            # An agent may repeat what it read, in one of our turns or as an MCP client.
            by_person=by_person,
        )
    )


def remove_memory(ctx: Context, ask: MemoryRef) -> Gone:
    """Forget a fact, for good if a person asks: the memory upkeep does not learn it again."""
    user_id = ctx.caller.user_id
    # Upkeep reads memories and marks, then writes: a removal in between would be undone.
    memories.lock(ctx.tx, user_id)
    memory = memories.get(ctx.tx, user_id=user_id, memory_id=ask.memory_id)
    if memory is None or not memories.remove(ctx.tx, user_id=user_id, memory_id=ask.memory_id, within=_within(ctx)):
        raise NotFound(f"There is no memory {ask.memory_id}. List yours with list_memories.")
    if _asked_by_person(ctx):
        dreams.add_mark(ctx.tx, user_id, fingerprint(user_id, memory.text))
    return Gone(id=ask.memory_id)


def confirm_memory(ctx: Context, ask: MemoryRef) -> MemoryShape:
    """Confirm a memory that came from outside text; only a person can."""
    if ctx.caller.turn is not None:
        raise Forbidden("Only a person may confirm a memory.")
    memory = memories.get(ctx.tx, user_id=ctx.caller.user_id, memory_id=ask.memory_id)
    if memory is None:
        raise NotFound(f"There is no memory {ask.memory_id}. List yours with list_memories.")
    return MemoryShape.of(memories.confirm(ctx.tx, memory))


def _asked_by_person(ctx: Context) -> bool:
    """Say whether a person wants this: at a door of their own, or with their words in a turn that shows no others'."""
    turn = ctx.caller.turn
    if turn is None:
        return ctx.caller.door != "mcp"
    if turn.outside or turn.shown_outside:
        return False
    return messages.last_own_turn(ctx.tx, turn.session_id) == turn.id


def _within(ctx: Context) -> Session | None:
    """Give the conversation in which an agent asks; None for a person, who sees all their memories."""
    if ctx.caller.turn is None:
        return None
    session = sessions.get(ctx.tx, ctx.caller.turn.session_id)
    return session if session.parent_id is None else sessions.get(ctx.tx, session.parent_id)
