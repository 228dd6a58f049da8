"""Lanes: who goes next, which are busy, which lost their worker.

Callers that act on an answer have locked the lanes' sessions before (`enter`, `sessions.lock`);
`touched_by_opening` tells what to lock.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import sqlalchemy as sa

from homing.model.sessions import UNIFIED, Session, unified_key
from homing.model.turns import Inbound, choose_head
from homing.store import sessions
from homing.store import tables as t
from homing.store.base import LookAgain, Tx
from homing.store.fetch import Fetch
from homing.store.rows import inbound_columns, inbound_of


@dataclass(frozen=True, kw_only=True)
class Head:
    """The one that goes next, and the notes it takes along."""

    inbound: Inbound
    notes: Sequence[Inbound]


def enter(tx: Tx, session: Session, *, unified: bool, also: Collection[int] = ()) -> int:
    """Lock a session and its lane before something goes in, with `also` other sessions that change at the same time;
    return the lane. Read the session again afterwards.
    """
    lane_id = lane_of(tx, session, unified=unified)
    sessions.lock(tx, {session.id, lane_id, *also})
    now = sessions.get(tx, session.id) if lane_id != session.id else session
    if (now.agent_id, now.several) != (session.agent_id, session.several):
        # It got another agent or became a shared place, and with it another lane, between our look and our lock.
        raise LookAgain
    return lane_id


def lane_of(tx: Tx, session: Session, *, unified: bool) -> int:
    """Rule 29: a session is its own lane; with a unified session, all chats of a user with one agent share one, except
    those in which several people write (rule 60).
    """
    if not unified or session.parent_id is not None or session.several:
        return session.id
    return unified_lanes(tx, [(session.user_id, session.agent_id)])[session.user_id, session.agent_id]


def unified_lanes(tx: Tx, pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    """Name the shared lane of each user and agent, made if missing. Ask before locking any session."""
    wanted = {
        (user_id, agent_id): sessions.NewSession(key=unified_key(user_id, agent_id), user_id=user_id, agent_id=agent_id)
        for user_id, agent_id in sorted(set(pairs))
    }
    ids = sessions.make_missing(tx, list(wanted.values()))
    return {pair: ids[new.user_id, new.key] for pair, new in wanted.items()}


def _first(line: str) -> sa.ScalarSelect[int]:
    return (
        sa.select(sa.func.min(t.inbound.c.n))
        .where(t.inbound.c.lane_id == t.session.c.id, t.inbound.c.line == line, t.inbound.c.state == "waiting")
        .scalar_subquery()
    )


_FIRSTS = Fetch(
    lambda spelling: sa.select(t.session.c.id, _first("people"), _first("machines")).where(
        spelling.among(t.session.c.id)
    )
)
_WAITING_BY_N = Fetch(
    lambda spelling: sa.select(*inbound_columns).where(spelling.among(t.inbound.c.n), t.inbound.c.state == "waiting")
)
_WAITING_NOTES = Fetch(
    lambda spelling: (
        sa.select(*inbound_columns)
        .where(spelling.among(t.inbound.c.lane_id), t.inbound.c.line == "note", t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.n)
    )
)


def take_heads(tx: Tx, lane_ids: Collection[int]) -> list[Head]:
    """Find who goes next in each free lane of those locked; `open_turns` takes them in the same transaction."""
    taken = busy(tx, lane_ids)
    free = [lane_id for lane_id in lane_ids if lane_id not in taken]
    firsts = {lane_id: (person, machine) for lane_id, person, machine in _FIRSTS.rows(tx, free)}
    numbers: list[int] = [n for pair in firsts.values() for n in pair if n is not None]
    by_n = {inbound.n: inbound for inbound in map(inbound_of, _WAITING_BY_N.rows(tx, numbers))}
    if not by_n:
        return []
    notes: dict[int, list[Inbound]] = {}
    for note in map(inbound_of, _WAITING_NOTES.rows(tx, free)):
        notes.setdefault(note.lane_id, []).append(note)
    now = tx.now()
    heads: list[Head] = []
    for lane_id, (person, machine) in sorted(firsts.items()):
        inbound = choose_head(by_n.get(person), by_n.get(machine), now)
        if inbound is not None:
            heads.append(Head(inbound=inbound, notes=notes.get(lane_id, ())))
    return heads


_BUSY = Fetch(
    lambda spelling: sa.select(t.turn.c.lane_id).where(spelling.among(t.turn.c.lane_id), t.turn.c.state != "closed")
)


def busy(tx: Tx, lane_ids: Collection[int]) -> set[int]:
    """Name the lanes that have an open turn."""
    return {lane_id for (lane_id,) in _BUSY.rows(tx, lane_ids)}


@dataclass(frozen=True, kw_only=True)
class Cause:
    """What keeps causing turns in a session: one of its jobs or hooks, a grant by which an agent writes there, or the
    answers of other agents, all together and without an id.
    """

    kind: Literal["job", "hook", "grant", "answers"]
    id: str = ""


def caused_since(tx: Tx, session_id: int, lane_id: int, cause: Cause, since: datetime) -> int:
    """Count a session's turns of depth 1 or more that one cause had: opened since then, or waiting to be."""
    turn, inbound = t.turn.c, t.inbound.c
    by = {
        "job": inbound.job_id == cause.id,
        "hook": inbound.hook_id == cause.id,
        "grant": inbound.grant_id == cause.id,
        "answers": sa.and_(inbound.source == "agent", inbound.grant_id.is_(None)),
    }
    caused = (
        inbound.session_id == session_id,
        inbound.line == "machines",
        inbound.depth > 0,
        by[cause.kind],
    )
    opened = (
        sa.select(sa.func.count())
        .select_from(t.turn.join(t.inbound, inbound.turn_id == turn.id))
        .where(turn.session_id == session_id, turn.opened_at > since, turn.depth > 0, *caused)
    )
    waiting = sa.select(sa.func.count()).where(inbound.lane_id == lane_id, inbound.state == "waiting", *caused)
    [(had, to_come)] = tx.rows(sa.select(opened.scalar_subquery(), waiting.scalar_subquery()))
    return int(had) + int(to_come)


_STALE = Fetch(
    lambda spelling: (
        sa.select(t.turn.c.lane_id, t.turn.c.claimed_until.is_(None))
        .where(
            spelling.among(t.turn.c.lane_id),
            t.turn.c.state != "closed",
            sa.or_(t.turn.c.claimed_until <= sa.bindparam("b_now", type_=t.Instant), t.turn.c.claimed_until.is_(None)),
        )
        .order_by(t.turn.c.id)
    )
)


def stale_among(tx: Tx, lane_ids: Collection[int]) -> list[tuple[int, bool]]:
    """Name those of some lanes whose open turn may have nobody at work any more, in the order in which turns are
    locked: its claim ran out, or (True) it has no expiry, and an outside engine vouches for it.
    """
    return [(lane_id, bool(vouched)) for lane_id, vouched in _STALE.rows(tx, lane_ids, b_now=tx.now())]


@dataclass(frozen=True, kw_only=True)
class NextTurn:
    """What the next turn of a lane needs."""

    line: Literal["people", "machines"]
    taken_up: bool
    """A turn is open already."""
    agents: frozenset[str]


def next_of(tx: Tx, lane_id: int) -> NextTurn:
    """Look at what is next in a lane: a hint, since nothing is locked."""
    open_turns = tx.rows(
        sa.select(t.turn.c.source, t.turn.c.agent_id).where(t.turn.c.lane_id == lane_id, t.turn.c.state != "closed")
    )
    if open_turns:
        [(source, agent_id)] = open_turns
        line = "people" if source == "person" else "machines"
        return NextTurn(line=line, taken_up=True, agents=frozenset({agent_id}))
    waiting = tx.rows(
        sa.select(t.inbound.c.line, t.session.c.agent_id)
        .join(t.session, t.session.c.id == t.inbound.c.session_id)
        .where(t.inbound.c.lane_id == lane_id, t.inbound.c.state == "waiting", t.inbound.c.line != "note")
        .distinct()
    )
    line = "people" if any(found == "people" for found, _ in waiting) else "machines"
    return NextTurn(line=line, taken_up=False, agents=frozenset(agent_id for _, agent_id in waiting))


_PARENTS = Fetch(
    lambda spelling: sa.select(t.session.c.parent_id).where(
        spelling.among(t.session.c.id), t.session.c.parent_id.is_not(None)
    )
)
_CHATS = Fetch(
    lambda spelling: (
        sa.select(t.inbound.c.session_id)
        .join(t.session, t.session.c.id == t.inbound.c.lane_id)
        .where(
            spelling.among(t.session.c.id),
            t.session.c.key.startswith(UNIFIED, autoescape=True),
            t.inbound.c.state == "waiting",
        )
        .distinct()
    )
)


def touched_by_opening(tx: Tx, lane_ids: Collection[int]) -> set[int]:
    """Name the other sessions that opening some lanes touches: a look before the lock, so that all lock in order.

    An isolated run is a row of its bound session; in a shared lane several chats wait,
    also after sharing was switched off.
    """
    bound = {parent_id for (parent_id,) in _PARENTS.rows(tx, lane_ids)}
    return bound | {session_id for (session_id,) in _CHATS.rows(tx, lane_ids)}
