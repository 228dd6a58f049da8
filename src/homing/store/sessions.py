"""Sessions: their rows, their locks, and the numbers (`seq`, `rev`) that only their lock may hand out."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import UpdateBase

from homing.model.messages import NewMessage
from homing.model.people import AGENT_GRANT
from homing.model.push import PUSH
from homing.model.sessions import SCREENS, UNIFIED, Session, channel_of, unified_key
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


def bump_rev(tx: Tx, counts: Mapping[int, int], *, keep_archived: Collection[int] = ()) -> dict[int, Revision]:
    """Bump the revision of locked sessions and set aside so many message numbers in each.

    With a message an archived session comes back into the list, except those in `keep_archived`.
    """
    by_count: dict[tuple[int, bool], list[int]] = {}
    for session_id, count in counts.items():
        by_count.setdefault((count, session_id in keep_archived), []).append(session_id)
    now = tx.now()
    revisions: dict[int, Revision] = {}
    for (count, stays), ids in by_count.items():
        rows = _SPEAK.rows(tx, ids, b_count=count, b_now=now, b_stays=stays) if count else _BUMP.rows(tx, ids)
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
        archived=sa.and_(t.session.c.archived, sa.bindparam("b_stays", type_=sa.Boolean)),
    )
)


_SAY = insert_rows(t.message, *names_of(NewMessage, "seq", "rev", "created_at", "own"))


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
    revisions = bump_rev(tx, counts, keep_archived=set(counts) - {m.session_id for m in messages if m.kind != "status"})
    given = {session_id: m.first_seq for session_id, m in revisions.items()}
    seqs: list[int] = []
    for m in messages:
        seqs.append(given[m.session_id])
        given[m.session_id] += 1
    rows = [
        {**vars(m), "own": m.own, "seq": seq, "rev": revisions[m.session_id].rev}
        for m, seq in zip(messages, seqs, strict=True)
    ]
    _SAY.run(tx, rows, created_at=tx.now())
    return seqs, revisions


def mark_read(tx: Tx, session: Session, seq: int) -> bool:
    """Note that the user of a locked session has read up to a seq; never back, and never beyond what is there.

    It is neither activity nor a change of the session's fields: order and revision stay.
    """
    seq = min(seq, session.seq)
    c = t.session.c
    if not tx.run(sa.update(t.session).where(c.id == session.id, c.read_seq < seq).values(read_seq=seq)):
        return False
    touch(tx, session.id)
    return True


def note_sender(tx: Tx, session: Session, sender_id: str, *, guest: bool = False) -> None:
    """Note who writes in a locked session. From the second on messages have names; only a guest makes it a shared
    place (rule 60), because a sender at HTTP is a label of one user's.
    """
    change: dict[str, object] = {"several": True} if guest and not session.several else {}
    if session.sender_id is None:
        change["sender_id"] = sender_id
    elif session.sender_id != sender_id and not session.named:
        change["named"] = True
    if change:
        tx.run(sa.update(t.session).where(t.session.c.id == session.id).values(**change))


def mark_several(tx: Tx, session_id: int) -> None:
    """Say of a session that several people write there, before the second has."""
    tx.run(sa.update(t.session).where(t.session.c.id == session_id).values(several=True))


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
    return add_new(tx, new, addresses=addresses)


def add_new(tx: Tx, new: "NewSession", *, addresses: Collection[str] | None = None) -> Session | None:
    """Make a session as it is described; None when its user has one of that key already."""
    rows = tx.rows(insert_new(tx, t.session).values(_row(new, tx.now())).returning(*session_columns))
    if not rows:
        return None
    session = session_of(rows[0])
    own = [new.key] if addresses is None else list(addresses)
    if own:
        tx.run(sa.insert(t.address), [{"session_id": session.id, "address": a} for a in own])
    tx.ring(f"session:{session.id}", f"user:{new.user_id}/{session.id}")
    return session


@dataclass(frozen=True, kw_only=True)
class NewSession:
    """A session about to be made."""

    key: str
    user_id: str
    agent_id: str
    model: str | None = None
    title: str | None = None
    timezone: str | None = None
    parent_id: int | None = None
    sender_id: str | None = None
    named: bool = False
    several: bool = False
    branch_of: int | None = None
    branch_seq: int | None = None


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
    begun = {"created_at": now, "updated_at": now, "seq": 0, "rev": 1, "revision": 1, "read_seq": 0, "summary_until": 0}
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


def _places(spelling: Spelling) -> sa.Select[*tuple[Any, ...]]:
    own = sa.select(t.address.c.session_id, t.address.c.address, sa.literal(0).label("kind"), t.address.c.n)
    pushed = (
        sa.select(t.session.c.id, f"{PUSH}:" + t.push.c.id, sa.literal(1), t.push.c.n)
        .join(t.push, t.push.c.user_id == t.session.c.user_id)
        .where(spelling.among(t.session.c.id), *direct())
    )
    both = sa.union_all(own.where(spelling.among(t.address.c.session_id)), pushed).subquery()
    return sa.select(both.c.session_id, both.c.address, both.c.kind).order_by(both.c.kind, both.c.n)


_PLACES = Fetch(_places)


def places(tx: Tx, session_ids: Collection[int]) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Read the addresses of sessions, and with the same statement the browsers that their users are notified on: of
    direct conversations only.
    """
    own: dict[int, list[str]] = {session_id: [] for session_id in session_ids}
    pushed: dict[int, list[str]] = {session_id: [] for session_id in session_ids}
    for session_id, address, kind in _PLACES.rows(tx, session_ids):
        (pushed if kind else own)[session_id].append(address)
    return own, pushed


def set_addresses(tx: Tx, session_id: int, wanted: Collection[str]) -> None:
    """Replace a session's addresses; those that stay are heard as before."""
    mine = t.address.c.session_id == session_id
    heard = {address for (address,) in tx.rows(sa.select(t.address.c.address).where(mine, t.address.c.heard))}
    tx.run(sa.delete(t.address).where(mine))
    if wanted:
        rows = [{"session_id": session_id, "address": a, "heard": a in heard} for a in wanted]
        tx.run(sa.insert(t.address), rows)


def hearing(tx: Tx, address: str) -> Session | None:
    """Find the living session that hears what is said at an address; there is at most one."""
    rows = tx.rows(
        sa.select(*session_columns)
        .join(t.address, t.address.c.session_id == t.session.c.id)
        .where(t.address.c.address == address, t.address.c.heard, t.session.c.deleted_at.is_(None))
    )
    return session_of(rows[0]) if rows else None


def granted_at(tx: Tx, address: str) -> list[Session]:
    """List the living sessions that answer at an address which was granted to their agent for their user."""
    g = t.grant.c
    granted = sa.exists().where(
        g.address == address, g.user_id == t.session.c.user_id, g.agent_id == t.session.c.agent_id
    )
    rows = tx.rows(
        sa.select(*session_columns)
        .join(t.address, t.address.c.session_id == t.session.c.id)
        .where(t.address.c.address == address, t.session.c.deleted_at.is_(None), granted)
        .order_by(t.session.c.id)
    )
    return [session_of(row) for row in rows]


def hear(tx: Tx, session_id: int, address: str) -> None:
    """Let a locked session hear an address, and no other session any more; it also answers there."""
    c = t.address.c
    tx.run(sa.update(t.address).where(c.address == address, c.heard, c.session_id != session_id).values(heard=False))
    tx.run(insert_new(tx, t.address).values(session_id=session_id, address=address, heard=False))
    tx.run(sa.update(t.address).where(c.session_id == session_id, c.address == address).values(heard=True))


def waiting_apart(tx: Tx, session_id: int) -> set[int]:
    """Name the sessions of a conversation's isolated runs that have not begun."""
    begun = sa.exists().where(t.inbound.c.session_id == t.session.c.id, t.inbound.c.state == "waiting")
    return {id_ for (id_,) in tx.rows(sa.select(t.session.c.id).where(t.session.c.parent_id == session_id, begun))}


def give_agent(tx: Tx, session_ids: Collection[int], agent_id: str) -> None:
    """Give locked sessions of isolated runs the agent of their conversation."""
    tx.run(sa.update(t.session).where(t.session.c.id.in_(list(session_ids))).values(agent_id=agent_id))


def change(tx: Tx, session: Session, values: Mapping[str, object], *, revision: int | None) -> bool:
    """Write a person's change of a session under its revision; False when somebody was faster.

    To pin or archive is not activity: the order of the list stays.
    """
    active = {"updated_at": tx.now()} if set(values) - {"pinned", "archived"} else {}
    where = [t.session.c.id == session.id, t.session.c.deleted_at.is_(None)]
    if revision is not None:
        where.append(t.session.c.revision == revision)
    changed = tx.run(
        sa.update(t.session)
        .where(*where)
        .values({**values, "revision": t.session.c.revision + 1, "rev": t.session.c.rev + 1, **active})
    )
    tx.ring(f"session:{session.id}", f"user:{session.user_id}/{session.id}")
    return changed == 1


def delete(tx: Tx, session_id: int) -> bool:
    """Mark a locked session as deleted; its key may then be used again."""
    now = tx.now()
    rows = tx.rows(
        sa.update(t.session)
        .where(t.session.c.id == session_id, t.session.c.deleted_at.is_(None))
        # Behind for search, which then drops its entries; less than any that somebody who indexes it now has read.
        .values(deleted_at=now, updated_at=now, rev=t.session.c.rev + 1, searched_revision=-1)
        .returning(t.session.c.user_id)
    )
    # Its addresses are free for another session to hear.
    tx.run(sa.update(t.address).where(t.address.c.session_id == session_id, t.address.c.heard).values(heard=False))
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


def first_direct(tx: Tx, user_id: str) -> Session | None:
    """Find the oldest living conversation of a user alone; runs that work apart, shared lanes, and where an agent is
    asked by others, are none.
    """
    c = t.session.c
    mine = (c.user_id == user_id, *direct(), _of_person())
    rows = tx.rows(sa.select(*session_columns).where(*mine).order_by(c.id).limit(1))
    return session_of(rows[0]) if rows else None


def users_with(tx: Tx, agent_id: str) -> list[str]:
    """Name the users who have a conversation with an agent; what other agents ask it is none."""
    c = t.session.c
    theirs = sa.exists().where(c.user_id == t.user.c.id, c.agent_id == agent_id, *direct(), _of_person())
    return [user_id for (user_id,) in tx.rows(sa.select(t.user.c.id).where(theirs).order_by(t.user.c.id))]


def _of_person() -> sa.ColumnElement[bool]:
    """Say in SQL that no message of an agent made a direct session (`Session.asks_agent`)."""
    return t.session.c.key != sa.literal(AGENT_GRANT) + t.session.c.agent_id


def direct() -> tuple[sa.ColumnElement[bool], ...]:
    """Say in SQL which sessions are living conversations: not runs that work apart, nor shared lanes."""
    c = t.session.c
    hidden = sa.or_(c.key.startswith(UNIFIED, autoescape=True), c.key.startswith("cron:", autoescape=True))
    return c.deleted_at.is_(None), c.parent_id.is_(None), ~c.several, ~hidden


def revs_of(tx: Tx, user_id: str) -> dict[int, int]:
    """Read how far each conversation of a user is; those of isolated runs are left out, for they are many and brief."""
    c = t.session.c
    rows = tx.rows(sa.select(c.id, c.rev).where(c.user_id == user_id, c.parent_id.is_(None), c.deleted_at.is_(None)))
    return {int(session_id): int(rev) for session_id, rev in rows}


def listed(
    tx: Tx,
    *,
    user_id: str,
    q: str | None,
    channel: str | None,
    pinned: bool | None = None,
    archived: bool | None = None,
    before: tuple[datetime, int] | None,
    limit: int,
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
    if pinned is not None:
        where.append(c.pinned.is_(pinned))
    if archived is not None:
        where.append(c.archived.is_(archived))
    if before:
        where.append(sa.or_(c.updated_at < before[0], sa.and_(c.updated_at == before[0], c.id < before[1])))
    rows = tx.rows(sa.select(*session_columns).where(*where).order_by(c.updated_at.desc(), c.id.desc()).limit(limit))
    return [session_of(row) for row in rows]


def outside_addresses(tx: Tx, user_id: str) -> list[str]:
    """List the addresses of a user's living conversations, without screens and without shared places."""
    c = t.session.c
    mine = (c.user_id == user_id, c.deleted_at.is_(None), c.several.is_(False))
    joined = sa.select(t.address.c.address).join(t.session, c.id == t.address.c.session_id)
    screens = (t.address.c.address.startswith(f"{channel}:") for channel in SCREENS)
    rows = tx.rows(joined.where(*mine, ~sa.or_(*screens)).distinct().order_by(t.address.c.address))
    return [address for (address,) in rows]


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


def at_place(tx: Tx, place: str, user_id: str) -> list[int]:
    """Name a user's sessions that answer to a place or to a thread in it."""
    c = t.session.c
    found = (
        sa.select(c.id).join(t.address, t.address.c.session_id == c.id).where(_in_place(place), c.user_id == user_id)
    )
    return [session_id for (session_id,) in tx.rows(found.distinct().order_by(c.id))]


def drop_place(tx: Tx, place: str, session_ids: Collection[int]) -> dict[int, Revision]:
    """Take a place and its threads from locked sessions; they change visibly."""
    if not session_ids:
        return {}
    tx.run(sa.delete(t.address).where(_in_place(place), t.address.c.session_id.in_(session_ids)))
    return bump_rev(tx, dict.fromkeys(session_ids, 0))


def _in_place(place: str) -> sa.ColumnElement[bool]:
    address = t.address.c.address
    return sa.or_(address == place, address.startswith(f"{place}/", autoescape=True))


def drop_address(tx: Tx, address: str, session_ids: Collection[int]) -> dict[int, int]:
    """Take an address from sessions that answered to it; they change visibly: to these revs."""
    if not session_ids:
        return {}
    lock(tx, session_ids)
    tx.run(sa.delete(t.address).where(t.address.c.address == address, t.address.c.session_id.in_(session_ids)))
    return {session_id: revision.rev for session_id, revision in bump_rev(tx, dict.fromkeys(session_ids, 0)).items()}


def copy_messages(tx: Tx, source: Session, branch: Session, until: int) -> None:
    """Give a new branch copies of a locked session's messages up to a seq, under the same numbers.

    A copy points to the turn of its original if all of that turn is copied: then the model knows its tool calls, too.
    Otherwise it stands for itself. Nobody has to read or carry it again, and no automation comes along.
    """
    m, later = t.message.c, t.message.alias("later")
    said_in = sa.func.coalesce(m.said_in, m.session_id)
    beyond = sa.exists().where(later.c.session_id == source.id, later.c.turn_id == m.turn_id, later.c.seq > until)
    of_turn = sa.exists().where(t.turn.c.id == m.turn_id, t.turn.c.session_id == said_in, t.turn.c.state == "closed")
    whole = sa.and_(sa.literal(source.parent_id is None), of_turn, ~beyond)
    copied = {
        **{name: m[name] for name in _COPIED},
        "session_id": sa.literal(branch.id),
        "lane_id": sa.literal(branch.id),
        "rev": sa.literal(branch.rev),
        "turn_id": sa.case((whole, m.turn_id)),
        "said_in": said_in,
        "own": sa.false(),
        "unasked": sa.false(),
    }
    chosen = sa.select(*copied.values()).where(m.session_id == source.id, m.seq <= until).order_by(m.seq)
    tx.run(sa.insert(t.message).from_select(list(copied), chosen))
    last = sa.select(sa.func.max(m.n)).where(m.session_id == branch.id)
    kept: dict[str, object] = {}
    if source.summary_until and tx.rows(sa.select(m.n).where(*_at(source.id, until), m.n >= source.summary_until)):
        summarised = sa.select(sa.func.max(m.seq)).where(m.session_id == source.id, m.n <= source.summary_until)
        kept["summary"] = source.summary
        kept["summary_until"] = last.where(m.seq <= summarised.scalar_subquery()).scalar_subquery()
    values = {"seq": until, "read_seq": until, **kept}
    tx.run(sa.update(t.session).where(t.session.c.id == branch.id).values(**values))


_COPIED = (
    "seq",
    "role",
    "kind",
    "text",
    "inbound_id",
    "job_id",
    "run_id",
    "model",
    "meta",
    "cards",
    "files",
    "folded",
    "created_at",
)


def _at(session_id: int, seq: int) -> tuple[sa.ColumnElement[bool], ...]:
    return t.message.c.session_id == session_id, t.message.c.seq == seq
