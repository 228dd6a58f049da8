"""Memories: lasting facts about a user, found again by search. Nobody's search ever sees another user's."""

from dataclasses import replace

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.memories import Memory
from homing.model.search_terms import index_terms, query_terms
from homing.model.sessions import Session
from homing.store import search as index
from homing.store import tables as t
from homing.store.base import Row, Tx, columns

_memories = sa.select(t.memory, t.session.c.key.label("session_key")).outerjoin(
    t.session, t.session.c.id == t.memory.c.session_id
)


def add(
    tx: Tx,
    *,
    user_id: str,
    session_id: int | None,
    sender_id: str | None,
    text: str,
    source: str | None = None,
    by_person: bool = False,
) -> Memory:
    """Keep a fact; the same words of the same user are kept once.

    With a source it is not confirmed, until a person adds it themselves or confirms it.
    """
    lock(tx, user_id)
    known = tx.rows(_memories.where(t.memory.c.user_id == user_id, t.memory.c.text == text))
    if known:
        memory = _memory_of(known[0])
        return confirm(tx, memory) if by_person and not memory.confirmed else memory
    memory_id = new_id("mem")
    tx.run(
        sa.insert(t.memory).values(
            id=memory_id,
            user_id=user_id,
            session_id=session_id,
            sender_id=sender_id,
            text=text,
            grams=index_terms(text),
            source=source,
            confirmed=source is None,
            created_at=tx.now(),
        )
    )
    return _memory_of(tx.rows(_memories.where(t.memory.c.id == memory_id))[0])


def lock(tx: Tx, user_id: str) -> None:
    """Let one at a time write memories of a user: a look and a write must not have another's write between them."""
    if tx.postgres:
        tx.rows(sa.select(t.user.c.id).where(t.user.c.id == user_id).with_for_update(key_share=True))


def add_known(tx: Tx, *, user_id: str, session_id: int | None, text: str, source: str) -> str | None:
    """Keep a confirmed fact drawn from what a user wrote, with its source; the user's memories are locked."""
    if tx.rows(sa.select(t.memory.c.id).where(t.memory.c.user_id == user_id, t.memory.c.text == text)):
        return None
    memory_id = new_id("mem")
    values = {"id": memory_id, "user_id": user_id, "session_id": session_id, "text": text, "source": source}
    more = {"grams": index_terms(text), "confirmed": True, "created_at": tx.now()}
    tx.run(sa.insert(t.memory).values(values | more))
    return memory_id


def confirmed_of(tx: Tx, user_id: str, *, limit: int) -> list[Memory]:
    """List the newest memories of a user that are confirmed, oldest first; what a shared place told stays there."""
    mine = (t.memory.c.user_id == user_id, t.memory.c.confirmed, _elsewhere())
    rows = tx.rows(_memories.where(*mine).order_by(t.memory.c.n.desc()).limit(limit))
    return [_memory_of(row) for row in reversed(rows)]


def confirm(tx: Tx, memory: Memory) -> Memory:
    """Keep a fact as if the person had said it themselves."""
    tx.run(sa.update(t.memory).where(t.memory.c.id == memory.id).values(confirmed=True, source=None))
    return replace(memory, confirmed=True, source=None)


def search(
    tx: Tx, *, user_id: str, query: str, limit: int, confirmed: bool = False, within: Session | None = None
) -> list[Memory]:
    """Find the memories of a user that fit a text best, all or only the confirmed ones.

    `within` a conversation in which several people write they are its own; elsewhere those are left out (rule 60).
    """
    terms = query_terms(query)
    if not terms:
        return []
    mine = [t.memory.c.user_id == user_id, *([t.memory.c.confirmed] if confirmed else []), *_seen_in(within)]
    if tx.postgres:
        # PostgreSQL: lexemes joined by "or", ranked by how many there are.
        wanted = sa.func.to_tsquery("simple", " | ".join(f"'{term}'" for term in terms))
        document = sa.func.to_tsvector("simple", t.memory.c.grams)
        statement = _memories.where(*mine, document.op("@@")(wanted)).order_by(
            sa.func.ts_rank(document, wanted).desc(), t.memory.c.n.desc()
        )
    else:
        # SQLite: the same terms, quoted for FTS5, ranked by bm25.
        matching = "select rowid as hit_n, rank as hit_rank from memory_fts where memory_fts match :wanted"
        hits = (
            sa.text(matching)
            .columns(sa.column("hit_n", sa.Integer), sa.column("hit_rank", sa.Float))
            .bindparams(wanted=" OR ".join(f'"{term}"' for term in terms))
            .subquery("hits")
        )
        statement = (
            _memories.join(hits, hits.c.hit_n == t.memory.c.n)
            .where(*mine)
            .order_by(hits.c.hit_rank, t.memory.c.n.desc())
        )
    return [_memory_of(row) for row in tx.rows(statement.limit(limit))]


def _seen_in(within: Session | None) -> list[sa.ColumnElement[bool]]:
    if within is None:
        return []
    elsewhere = _elsewhere()
    if within.parent_id is None:
        return [t.memory.c.session_id == within.id if within.several else elsewhere]
    # A run that works apart has the memories of its conversation.
    parent = t.session.alias("parent")
    several = sa.exists().where(parent.c.id == within.parent_id, parent.c.several)
    own = sa.and_(several, t.memory.c.session_id == within.parent_id)
    return [sa.or_(own, sa.and_(~several, elsewhere))]


def _elsewhere() -> sa.ColumnElement[bool]:
    return sa.func.coalesce(t.session.c.several, sa.false()).is_(sa.false())


def listed(tx: Tx, *, user_id: str, before_n: int | None, limit: int) -> list[tuple[int, Memory]]:
    """List a user's memories, newest first, each with its number for paging."""
    where = [t.memory.c.user_id == user_id]
    if before_n is not None:
        where.append(t.memory.c.n < before_n)
    rows = tx.rows(_memories.where(*where).order_by(t.memory.c.n.desc()).limit(limit))
    return [(row.n, _memory_of(row)) for row in rows]


def remove(tx: Tx, *, user_id: str, memory_id: str, within: Session | None = None) -> bool:
    """Forget a fact of this user; `within` a conversation of several people only one of its own."""
    mine = [t.memory.c.user_id == user_id, t.memory.c.id == memory_id]
    if within is not None and within.several:
        mine.append(t.memory.c.session_id == within.id)
    if tx.run(sa.delete(t.memory).where(*mine)) != 1:
        return False
    index.forget(tx, "memory", [memory_id])
    return True


def get(tx: Tx, *, user_id: str, memory_id: str) -> Memory | None:
    rows = tx.rows(_memories.where(t.memory.c.user_id == user_id, t.memory.c.id == memory_id))
    return _memory_of(rows[0]) if rows else None


def _memory_of(row: Row) -> Memory:
    m = columns(row)
    return Memory(
        id=m["id"],
        user_id=m["user_id"],
        session_key=m["session_key"],
        text=m["text"],
        source=m["source"],
        confirmed=m["confirmed"],
        created_at=m["created_at"],
    )
