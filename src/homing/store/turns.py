"""Turns: one open in a lane, and the index says so too. Its worker writes under its fence.

Locked after the lane's session, several of them by id. Every verb repeats its condition on the row it takes, so
a late one takes nothing.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.errors import Lost
from homing.model.messages import Message
from homing.model.turns import Outcome, Turn
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.bulk import Bulk, insert_rows, names_of
from homing.store.fetch import Fetch, Spelling
from homing.store.lanes import Head
from homing.store.rows import message_of, messages, noun_of, policy_json, turn_columns, turn_of

_OPEN = insert_rows(t.turn, *(column.name for column in turn_columns))
_TAKE = Bulk(
    sa.update(t.inbound)
    .where(t.inbound.c.n == sa.bindparam("b_n"), t.inbound.c.state == "waiting")
    .values(state="taken", turn_id=sa.bindparam("b_turn_id"))
)


def open_turns(tx: Tx, opening: Sequence[tuple[Turn, Head]]) -> None:
    """Open turns on heads just taken. The index refuses a second one in a lane."""
    _OPEN.run(tx, [{**vars(turn), "policy": policy_json(turn.policy)} for turn, _ in opening])
    taken = [{"n": inbound.n, "turn_id": turn.id} for turn, head in opening for inbound in (head.inbound, *head.notes)]
    if _TAKE.run(tx, taken) not in (-1, len(taken)):
        raise Lost("an inbound was taken by somebody else")


def answering(tx: Tx, worker_id: str) -> list[tuple[str, str]]:
    """List user and address where somebody waits for an answer that this worker is working on."""
    c, address = t.turn.c, t.address.c
    # Spelled as the indexes of open turns are: SQLite does not conclude it from "running".
    at_work = (c.state != "closed", c.worker_id == worker_id, c.source == "person", c.cancel_requested_at.is_(None))
    where = sa.select(c.user_id, address.address).join(t.address, address.session_id == c.session_id)
    return [(user_id, found) for user_id, found in tx.rows(where.where(*at_work))]


def get_turn(tx: Tx, turn_id: str) -> Turn | None:
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.id == turn_id))
    return turn_of(rows[0]) if rows else None


def listed(
    tx: Tx, session_id: int, *, lane_ids: Collection[int], before_n: int | None, limit: int
) -> list[tuple[Turn, int]]:
    """List a session's turns, newest first, each with its number; `lane_ids` are those in which they may stand."""
    c = t.turn.c
    where = [c.lane_id.in_(list(lane_ids)), c.session_id == session_id]
    if before_n is not None:
        where.append(c.n < before_n)
    rows = tx.rows(sa.select(*turn_columns, c.n).where(*where).order_by(c.n.desc()).limit(limit))
    return [(turn_of(row), row[-1]) for row in rows]


def last_outside(tx: Tx, turn_id: str) -> str | None:
    """Name what a tool brought from outside into this turn, or last into an earlier one of its lane."""
    lane = sa.select(t.turn.c.lane_id).where(t.turn.c.id == turn_id).scalar_subquery()
    marked = sa.select(t.turn.c.outside).where(t.turn.c.lane_id == lane, t.turn.c.outside.is_not(None))
    rows = tx.rows(marked.order_by(t.turn.c.n.desc()).limit(1))
    return rows[0].outside if rows else None


def depth_behind(tx: Tx, *, turn_id: str | None, run_id: str | None) -> int:
    """Tell how deep the turn is that wrote a message, or that ran apart for the run it is about; without one, 0."""
    of_run = sa.select(t.run.c.turn_id).where(t.run.c.id == run_id).scalar_subquery()
    rows = tx.rows(sa.select(t.turn.c.depth).where(t.turn.c.id == (of_run if turn_id is None else turn_id)))
    return int(rows[0][0]) if rows else 0


def open_turn_of(tx: Tx, lane_id: int) -> Turn | None:
    """Read the lane's open turn."""
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.lane_id == lane_id, t.turn.c.state != "closed"))
    return turn_of(rows[0]) if rows else None


def open_turns_of(tx: Tx, lane_ids: Collection[int]) -> dict[int, Turn]:
    """Read the open turns of lanes."""
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.lane_id.in_(list(lane_ids)), t.turn.c.state != "closed"))
    return {turn.lane_id: turn for turn in map(turn_of, rows)}


def open_turn_ids(tx: Tx, user_id: str, *, session_id: int | None = None) -> list[str]:
    """Name the open turns of a user, or of one session."""
    where = [t.turn.c.user_id == user_id, t.turn.c.state != "closed"]
    if session_id is not None:
        where.append(t.turn.c.session_id == session_id)
    return [str(turn_id) for (turn_id,) in tx.rows(sa.select(t.turn.c.id).where(*where))]


def opening_of(tx: Tx, turn: Turn) -> Message:
    """Read a turn's opening."""
    rows = tx.rows(messages.where(t.message.c.session_id == turn.session_id, t.message.c.seq == turn.opening_seq))
    return message_of(rows[0])


def hold(tx: Tx, turn_id: str, fence: int) -> Turn:
    """Lock a running turn under its fence before writing for it; `Lost` when it is another's now."""
    statement = sa.select(*turn_columns).where(
        t.turn.c.id == turn_id, t.turn.c.fence == fence, t.turn.c.state == "running"
    )
    if tx.postgres:
        # Not shared: two steps at once that then count again (`made_progress`) would wait for each other.
        statement = statement.with_for_update(key_share=True)
    rows = tx.rows(statement)
    if not rows:
        raise Lost(f"{turn_id} is not mine any more")
    return turn_of(rows[0])


@dataclass(frozen=True, kw_only=True)
class Held:
    """What may have changed in a turn since it was opened."""

    id: str
    fence: int
    cancel_requested_at: datetime | None
    cancel_reason: str | None


def _held(spelling: Spelling) -> sa.Select[*tuple[Any, ...]]:
    statement = (
        sa.select(t.turn.c.id, t.turn.c.fence, t.turn.c.cancel_requested_at, t.turn.c.cancel_reason)
        .where(spelling.among(t.turn.c.id), t.turn.c.state == "running")
        .order_by(t.turn.c.id)
    )
    return statement.with_for_update() if spelling.postgres else statement


_HOLD = Fetch(_held)


def hold_many(tx: Tx, fences: Mapping[str, int]) -> dict[str, Held]:
    """Lock many turns to close them, in id order; those that are another's now are left out."""
    held = [noun_of(Held, row) for row in _HOLD.rows(tx, fences.keys())]
    return {turn.id: turn for turn in held if turn.fence == fences[turn.id]}


@dataclass(frozen=True, kw_only=True)
class Closed:
    """How a held turn closes."""

    turn_id: str
    outcome: Outcome
    reason: str | None
    error: str | None
    history: str | None
    closing_seq: int | None
    input_tokens: int
    output_tokens: int
    cost_nano_usd: int | None = None


_CLOSE = Bulk(
    sa.update(t.turn)
    .where(t.turn.c.id == sa.bindparam("b_turn_id"), t.turn.c.state == "running")
    .values(
        state="closed",
        worker_id=sa.null(),
        claimed_until=sa.null(),
        closed_at=sa.bindparam("b_now"),
        **{name: sa.bindparam(f"b_{name}") for name in names_of(Closed)[1:]},
    )
)


def close_turns(tx: Tx, closed: Sequence[Closed]) -> None:
    """Close turns that are held; the lane is free with the commit."""
    _CLOSE.run(tx, closed, now=tx.now())
    tx.ring("lanes")


def renew(tx: Tx, worker_id: str, turn_ids: Collection[str], until: datetime) -> list[Turn]:
    """Prolong this worker's claims; return the turns that are still its own."""
    if not turn_ids:
        return []
    if tx.postgres:
        # An update takes its rows in any order; closing or taking over many takes them by id, so we do too.
        mine = sa.select(t.turn.c.id).where(t.turn.c.id.in_(list(turn_ids))).order_by(t.turn.c.id)
        tx.rows(mine.with_for_update(key_share=True))
    rows = tx.rows(
        sa.update(t.turn)
        .where(t.turn.c.id.in_(sorted(turn_ids)), t.turn.c.worker_id == worker_id, t.turn.c.state == "running")
        .values(claimed_until=until)
        .returning(*turn_columns)
    )
    return [turn_of(row) for row in rows]


def watch(tx: Tx, worker_id: str) -> list[Turn]:
    """Read this worker's turns that somebody asked to cancel."""
    rows = tx.rows(
        sa.select(*turn_columns).where(
            t.turn.c.state != "closed", t.turn.c.worker_id == worker_id, t.turn.c.cancel_requested_at.is_not(None)
        )
    )
    return [turn_of(row) for row in rows]


def held_by(tx: Tx, worker_id: str) -> list[Turn]:
    """Read the open turns of a worker."""
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.state != "closed", t.turn.c.worker_id == worker_id))
    return [turn_of(row) for row in rows]


def request_cancel(tx: Tx, turn_id: str, reason: str) -> bool:
    """Ask that a running turn be stopped; the first reason stays."""
    tx.ring("cancels", "lanes")
    return (
        tx.run(
            sa.update(t.turn)
            .where(t.turn.c.id == turn_id, t.turn.c.state == "running", t.turn.c.cancel_requested_at.is_(None))
            .values(cancel_requested_at=tx.now(), cancel_reason=reason)
        )
        == 1
    )


def request_cancels(tx: Tx, turn_ids: Collection[str], reason: str) -> None:
    """Ask that several turns be stopped. They are locked by id first, as by everybody who takes more than one."""
    if not turn_ids:
        return
    if tx.postgres:
        wanted = sa.select(t.turn.c.id).where(t.turn.c.id.in_(list(turn_ids))).order_by(t.turn.c.id)
        tx.rows(wanted.with_for_update(key_share=True))
    for turn_id in turn_ids:
        request_cancel(tx, turn_id, reason)


def take_over(tx: Tx, lane_id: int, worker_id: str, until: datetime | None, *, vouched: bool = False) -> Turn | None:
    """Take up the lane's open turn whose claim ran out, or (`vouched`) has no expiry, under a new fence. The caller
    has locked the lane, and knows that the claim without expiry does not hold any more.
    """
    free = t.turn.c.claimed_until.is_(None) if vouched else t.turn.c.claimed_until <= tx.now()
    mine = (t.turn.c.lane_id == lane_id, t.turn.c.state == "running", free)
    if tx.postgres:
        tx.rows(sa.select(t.turn.c.id).where(*mine).with_for_update())
    rows = tx.rows(
        sa.update(t.turn)
        .where(*mine)
        .values(worker_id=worker_id, claimed_until=until, fence=t.turn.c.fence + 1, attempts=t.turn.c.attempts + 1)
        .returning(*turn_columns)
    )
    return turn_of(rows[0]) if rows else None


def hand_back(tx: Tx, turn_id: str, fence: int) -> bool:
    """Give a turn back at a graceful stop: anybody may take it up at once, and the attempt is not counted."""
    tx.ring("lanes")
    return (
        tx.run(
            sa.update(t.turn)
            .where(t.turn.c.id == turn_id, t.turn.c.fence == fence, t.turn.c.state == "running")
            # Once: the attempt is taken back with the first, and with no other.
            .where(t.turn.c.worker_id.is_not(None))
            # Nobody's: a renewal that is still under way must not bind it again.
            .values(worker_id=None, claimed_until=tx.now(), attempts=t.turn.c.attempts - 1)
        )
        == 1
    )
