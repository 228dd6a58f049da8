"""Sessions: their rows, their locks, and the numbers (`seq`, `rev`) that only their lock may hand out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import UpdateBase

from homing.model.messages import NewMessage
from homing.model.sessions import SCREENS, Session, channel_of, unified_key
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.bulk import insert_rows, names_of
from homing.store.fetch import Fetch, Spelling
from homing.store.rows import session_columns, session_of


@dataclass(frozen=True, kw_only=True)
class Revision:
    """What a session's lock handed out: the revision of this transaction, and the seqs its messages got."""

    rev: int
    first_seq: int
    user_id: str


_LOCK = Fetch(
    lambda spelling: (
        sa.select(t.session.c.id)
        .where(spelling.among(t.session.c.id))
        .order_by(t.session.c.id)
        .with_for_update(key_share=True)
    )
)


def lock(tx: Tx, session_ids: Iterable[int]) -> None:
    """Lock sessions in id order. Whatever touches a lane begins here and reads again afterwards."""
    if tx.postgres:
        _LOCK.rows(tx, sorted(set(session_ids)))


def bump_rev(tx: Tx, counts: Mapping[int, int]) -> dict[int, Revision]:
    """Bump the revision of locked sessions and set aside so many message numbers in each."""
    by_count: dict[int, list[int]] = {}
    for session_id, count in counts.items():
        by_count.setdefault(count, []).append(session_id)
    now = tx.now()
    revisions: dict[int, Revision] = {}
    for count, ids in by_count.items():
        rows = _SPEAK.rows(tx, ids, b_count=count, b_now=now) if count else _BUMP.rows(tx, ids)
        for session_id, rev, seq, user_id in rows:
            revisions[session_id] = Revision(rev=rev, first_seq=seq - count + 1, user_id=user_id)
            tx.ring(f"session:{session_id}", f"user:{user_id}/{session_id}")
    return revisions


def _bumped(spelling: Spelling, **change: Any) -> UpdateBase:
    return (
        sa.update(t.session)
        .where(spelling.among(t.session.c.id))
        .values(rev=t.session.c.rev + 1, **change)
        .returning(t.session.c.id, t.session.c.rev, t.session.c.seq, t.session.c.user_id)
    )


_BUMP = Fetch(_bumped)
_SPEAK = Fetch(
    lambda spelling: _bumped(
        spelling,
        seq=t.session.c.seq + sa.bindparam("b_count", type_=sa.BigInteger),
        updated_at=sa.bindparam("b_now", type_=t.Instant),
    )
)


_SAY = insert_rows(t.message, *names_of(NewMessage, "seq", "rev", "created_at"))


def touch(tx: Tx, session_id: int) -> int:
    """Give a locked session that changes visibly its next revision."""
    return bump_rev(tx, {session_id: 0})[session_id].rev


def append_messages(
    tx: Tx, messages: Collection[NewMessage], *, also: Collection[int] = ()
) -> tuple[list[int], dict[int, Revision]]:
    """Append messages to locked sessions; return their seqs in order, and the marks of every session touched.

    `also` names sessions that change visibly without a message.
    """
    counts: dict[int, int] = dict.fromkeys(also, 0)
    for message in messages:
        counts[message.session_id] = counts.get(message.session_id, 0) + 1
    if not counts:
        return [], {}
    revisions = bump_rev(tx, counts)
    given = {session_id: m.first_seq for session_id, m in revisions.items()}
    seqs: list[int] = []
    for m in messages:
        seqs.append(given[m.session_id])
        given[m.session_id] += 1
    rows = [{**vars(m), "seq": seq, "rev": revisions[m.session_id].rev} for m, seq in zip(messages, seqs, strict=True)]
    _SAY.run(tx, rows, created_at=tx.now())
    return seqs, revisions


def note_sender(tx: Tx, session: Session, sender_id: str) -> None:
    """Note who writes in a locked session; a second person makes it a session of several."""
    if session.several or session.sender_id == sender_id:
        return
    change = {"sender_id": sender_id} if session.sender_id is None else {"several": True}
    tx.run(sa.update(t.session).where(t.session.c.id == session.id).values(**change))


def find(tx: Tx, key: str, *, user_id: str) -> Session | None:
    """Find a user's living session by its key. Keys are names of one user: another's session of that key is unseen."""
    c = t.session.c
    rows = tx.rows(sa.select(*session_columns).where(c.key == key, c.user_id == user_id, c.deleted_at.is_(None)))
    return session_of(rows[0]) if rows else None


def get(tx: Tx, session_id: int) -> Session:
    """Read a session by its own id; also one that was deleted."""
    return session_of(tx.rows(sa.select(*session_columns).where(t.session.c.id == session_id))[0])


_BY_ID = Fetch(lambda spelling: sa.select(*session_columns).where(spelling.among(t.session.c.id)))


def get_many(tx: Tx, session_ids: Collection[int]) -> dict[int, Session]:
    """Read sessions by their own ids; also deleted ones."""
    return {session.id: session for session in map(session_of, _BY_ID.rows(tx, session_ids))}


def unified_of(tx: Tx, pairs: Iterable[tuple[str, str]]) -> set[int]:
    """Name the shared lanes of users with agents, where they have one. A session waits in no other shared lane."""
    keys = {(user_id, unified_key(user_id, agent_id)) for user_id, agent_id in pairs}
    return {lane_id for pair, lane_id in _ids_of(tx, [key for _, key in keys]).items() if pair in keys}


def add(
    tx: Tx,
    *,
    key: str,
    user_id: str,
    agent_id: str,
    title: str | None = None,
    timezone: str | None = None,
    parent_id: int | None = None,
    addresses: Collection[str] | None = None,
) -> Session | None:
    """Make a session with its own address; None when the user has one of that key already."""
    new = NewSession(key=key, user_id=user_id, agent_id=agent_id, title=title, timezone=timezone, parent_id=parent_id)
    rows = tx.rows(insert_new(tx, t.session).values(_row(new, tx.now())).returning(*session_columns))
    if not rows:
        return None
    session = session_of(rows[0])
    own = [key] if addresses is None else list(addresses)
    if own:
        tx.run(sa.insert(t.address), [{"session_id": session.id, "address": a} for a in own])
    tx.ring(f"session:{session.id}", f"user:{user_id}/{session.id}")
    return session


@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A session about to be made."""

    key: str
    user_id: str
    agent_id: str
    title: str | None = None
    timezone: str | None = None
    parent_id: int | None = None


def make_missing(tx: Tx, wanted: Sequence[NewSession]) -> dict[tuple[str, str], int]:
    """Make those sessions that their user does not have yet, without an address; return the id of each user and key."""
    keys = [new.key for new in wanted]
    known = _ids_of(tx, keys)
    rows = [_row(new, tx.now()) for new in wanted if (new.user_id, new.key) not in known]
    if rows:
        tx.rows(insert_new(tx, t.session).returning(t.session.c.id), rows)
        # Read again: of those refused, somebody else made them meanwhile.
        known = _ids_of(tx, keys)
    return known


def _row(new: NewSession, now: datetime) -> dict[str, object]:
    begun = {"created_at": now, "updated_at": now, "seq": 0, "rev": 1, "revision": 1, "summary_until": 0}
    return {**vars(new), **begun}


def _ids_of(tx: Tx, keys: Collection[str]) -> dict[tuple[str, str], int]:
    if not keys:
        return {}
    c = t.session.c
    rows = tx.rows(sa.select(c.user_id, c.key, c.id).where(c.key.in_(list(keys)), c.deleted_at.is_(None)))
    return {(user_id, key): session_id for user_id, key, session_id in rows}


_ADDRESSES = Fetch(
    lambda spelling: (
        sa.select(t.address.c.session_id, t.address.c.address)
        .where(spelling.among(t.address.c.session_id))
        .order_by(t.address.c.n)
    )
)


def addresses(tx: Tx, session_ids: Collection[int]) -> dict[int, list[str]]:
    """Read the addresses of sessions, in the order they were given."""
    found: dict[int, list[str]] = {session_id: [] for session_id in session_ids}
    for session_id, address in _ADDRESSES.rows(tx, session_ids):
        found[session_id].append(address)
    return found


def set_addresses(tx: Tx, session_id: int, wanted: Collection[str]) -> None:
    """Replace a session's addresses."""
    tx.run(sa.delete(t.address).where(t.address.c.session_id == session_id))
    if wanted:
        tx.run(sa.insert(t.address), [{"session_id": session_id, "address": a} for a in wanted])


def waiting_apart(tx: Tx, session_id: int) -> set[int]:
    """Name the sessions of a conversation's isolated runs that have not begun."""
    begun = sa.exists().where(t.inbound.c.session_id == t.session.c.id, t.inbound.c.state == "waiting")
    return {id_ for (id_,) in tx.rows(sa.select(t.session.c.id).where(t.session.c.parent_id == session_id, begun))}


def give_agent(tx: Tx, session_ids: Collection[int], agent_id: str) -> None:
    """Give locked sessions of isolated runs the agent of their conversation."""
    tx.run(sa.update(t.session).where(t.session.c.id.in_(list(session_ids))).values(agent_id=agent_id))


def change(tx: Tx, session: Session, values: Mapping[str, object], *, revision: int | None) -> bool:
    """Write a person's change of a session under its revision; False when somebody was faster."""
    where = [t.session.c.id == session.id, t.session.c.deleted_at.is_(None)]
    if revision is not None:
        where.append(t.session.c.revision == revision)
    changed = tx.run(
        sa.update(t.session)
        .where(*where)
        .values({**values, "revision": t.session.c.revision + 1, "rev": t.session.c.rev + 1, "updated_at": tx.now()})
    )
    tx.ring(f"session:{session.id}", f"user:{session.user_id}/{session.id}")
    return changed == 1


def delete(tx: Tx, session_id: int) -> bool:
    """Mark a locked session as deleted; its key may then be used again."""
    now = tx.now()
    rows = tx.rows(
        sa.update(t.session)
        .where(t.session.c.id == session_id, t.session.c.deleted_at.is_(None))
        .values(deleted_at=now, updated_at=now, rev=t.session.c.rev + 1)
        .returning(t.session.c.user_id)
    )
    tx.ring(f"session:{session_id}", *(f"user:{user_id}/{session_id}" for (user_id,) in rows))
    return bool(rows)


def keep_summary(tx: Tx, lane_id: int, summary: str, until: int, *, before: int, of: Collection[int]) -> bool:
    """Keep a running summary of a lane's older messages, unless a newer one is there or one of its chats is gone."""
    # Locked before the look at its chats: deleting one locks the lane as well.
    lock(tx, [lane_id])
    chat = t.session.alias("chat")
    gone = sa.exists().where(chat.c.id.in_(list(of)), chat.c.deleted_at.is_not(None))
    return (
        tx.run(
            sa.update(t.session)
            .where(t.session.c.id == lane_id, t.session.c.summary_until == before, ~gone)
            .values(summary=summary, summary_until=until)
        )
        == 1
    )


def forget_summary(tx: Tx, lane_ids: Collection[int], session_id: int) -> None:
    """Drop the summary of locked lanes that holds words of a chat: what is left is told, or summarised, again."""
    messages_exist = sa.exists().where(
        t.message.c.lane_id == t.session.c.id,
        t.message.c.session_id == session_id,
        t.message.c.n <= t.session.c.summary_until,
    )
    tx.run(
        sa.update(t.session)
        .where(t.session.c.id.in_(list(lane_ids)), t.session.c.summary_until > 0, messages_exist)
        .values(summary=None, summary_until=0)
    )


def revs_of(tx: Tx, user_id: str) -> dict[int, int]:
    """Read how far each conversation of a user is; those of isolated runs are left out, for they are many and brief."""
    c = t.session.c
    rows = tx.rows(sa.select(c.id, c.rev).where(c.user_id == user_id, c.parent_id.is_(None), c.deleted_at.is_(None)))
    return {int(session_id): int(rev) for session_id, rev in rows}


def listed(
    tx: Tx, *, user_id: str, q: str | None, channel: str | None, before: tuple[datetime, int] | None, limit: int
) -> list[Session]:
    """List a user's sessions, newest activity first; those of isolated runs only when asked for."""
    c = t.session.c
    where = [c.user_id == user_id, c.deleted_at.is_(None)]
    if channel:
        where.append(c.key.startswith(f"{channel}:", autoescape=True))
    else:
        where.append(~c.key.startswith("cron:"))
        where.append(~c.key.startswith("unified:"))
    if q:
        where.append(sa.or_(c.title.icontains(q, autoescape=True), c.key.icontains(q, autoescape=True)))
    if before:
        where.append(sa.or_(c.updated_at < before[0], sa.and_(c.updated_at == before[0], c.id < before[1])))
    rows = tx.rows(sa.select(*session_columns).where(*where).order_by(c.updated_at.desc(), c.id.desc()).limit(limit))
    return [session_of(row) for row in rows]


def is_screen(address: str) -> bool:
    """Say whether the stored message is itself the delivery to this address."""
    return channel_of(address) in SCREENS


def with_address(tx: Tx, address: str, user_id: str, agent_id: str | None = None) -> list[int]:
    """Name a user's living sessions that answer to an address; with `agent_id` only those of one agent."""
    c = t.session.c
    where = [t.address.c.address == address, c.user_id == user_id, c.deleted_at.is_(None)]
    if agent_id is not None:
        where.append(c.agent_id == agent_id)
    rows = tx.rows(sa.select(c.id).join(t.address, t.address.c.session_id == c.id).where(*where).order_by(c.id))
    return [session_id for (session_id,) in rows]


def drop_address(tx: Tx, address: str, session_ids: Collection[int]) -> None:
    """Take an address from sessions that answered to it; they change visibly."""
    if not session_ids:
        return
    lock(tx, session_ids)
    tx.run(sa.delete(t.address).where(t.address.c.address == address, t.address.c.session_id.in_(session_ids)))
    bump_rev(tx, dict.fromkeys(session_ids, 0))
