"""Lasting facts about the caller's user."""

from homing.model.errors import Forbidden, Invalid, NotFound
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.people_asks import AddMemory, Gone, ListMemories, MemoryRef, MemoryShape
from homing.store import memories, sessions


def list_memories(ctx: Context, ask: ListMemories) -> Page[MemoryShape]:
    """List memories, newest first; with `q`, the best matches."""
    user_id = ctx.caller.user_id
    before = cursors.decode_in("memories", ask.cursor)
    if ask.q and ask.q.strip():
        hits = memories.search(ctx.tx, user_id=user_id, query=ask.q, limit=ask.limit)
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
    turn = ctx.caller.turn
    session_id = None
    if turn is not None:
        session = sessions.get(ctx.tx, turn.session_id)
        session_id = session.parent_id or session.id
    return MemoryShape.of(
        memories.add(
            ctx.tx,
            user_id=ctx.caller.user_id,
            session_id=session_id,
            sender_id=turn.sender_id if turn else None,
            text=text,
            source=source or (turn.outside if turn else None),
            # An agent may repeat what it read, in one of our turns or as an MCP client.
            by_person=turn is None and ctx.caller.door != "mcp",
        )
    )


def remove_memory(ctx: Context, ask: MemoryRef) -> Gone:
    """Forget a fact."""
    if not memories.remove(ctx.tx, user_id=ctx.caller.user_id, memory_id=ask.memory_id):
        raise NotFound(f"There is no memory {ask.memory_id}. List yours with list_memories.")
    return Gone(id=ask.memory_id)


def confirm_memory(ctx: Context, ask: MemoryRef) -> MemoryShape:
    """Confirm a memory that came from outside text; only a person can."""
    if ctx.caller.turn is not None:
        raise Forbidden("Only a person may confirm a memory.")
    memory = memories.get(ctx.tx, user_id=ctx.caller.user_id, memory_id=ask.memory_id)
    if memory is None:
        raise NotFound(f"There is no memory {ask.memory_id}. List yours with list_memories.")
    return MemoryShape.of(memories.confirm(ctx.tx, memory))
