"""Inbounds: what enters a lane and waits in it, until a turn takes it or somebody withdraws it.

Callers that add, take or withdraw have locked the lane's session (`sessions.lock`). Only what still waits is taken or
withdrawn: each verb repeats that on the row.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.people import Source
from homing.model.trials import TRIAL_KEY
from homing.model.turns import Inbound, Turn
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.bulk import insert_rows, names_of
from homing.store.rows import inbound_columns, inbound_of
from homing.store.sessions import bump_rev


@dataclass(frozen=True, kw_only=True)
class NewInbound:
    """Something about to enter a lane."""

    session_id: int
    lane_id: int
    user_id: str
    source: Source
    text: str
    line: str
    mode: str = "queue"
    run_id: str | None = None
    job_id: str | None = None
    sender_id: str | None = None
    address: str | None = None
    external_id: str | None = None
    hook_id: str | None = None
    grant_id: str | None = None
    depth: int = 0
    meta: Mapping[str, object] | None = None
    files: Sequence[Mapping[str, object]] = ()


_TAKE_IN = insert_rows(t.inbound, *names_of(NewInbound, "id", "queued_at"), state="waiting")


def take_in(tx: Tx, items: Sequence[NewInbound], *, revised: bool = False) -> list[str]:
    """The only road in: put items into lanes that `lanes.enter` or `sessions.lock` has locked; give their new ids.

    Their sessions get a new revision, unless the caller has given them one already (`revised`).
    """
    if not items:
        return []
    ids = [new_id("in") for _ in items]
    _TAKE_IN.run(tx, [{**vars(i), "id": new} for i, new in zip(items, ids, strict=True)], queued_at=tx.now())
    tx.ring("lanes")
    if not revised:
        bump_rev(tx, dict.fromkeys((i.session_id for i in items), 0))
    return ids


def find_external(tx: Tx, session_id: int, external_id: str) -> Inbound | None:
    """Find what a channel brought in before under the same message id."""
    rows = tx.rows(
        sa.select(*inbound_columns).where(t.inbound.c.session_id == session_id, t.inbound.c.external_id == external_id)
    )
    return inbound_of(rows[0]) if rows else None


def known_external(tx: Tx, external_ids: Collection[str]) -> set[str]:
    """Name those of some messages' ids under which something was taken before, in any session."""
    c = t.inbound.c
    rows = tx.rows(sa.select(c.external_id).where(c.external_id.in_(list(external_ids)))) if external_ids else []
    return {external_id for (external_id,) in rows}


def session_of_external(tx: Tx, external_id: str) -> tuple[int, str | None] | None:
    """Name the session that took a message, and its sender there."""
    c = t.inbound.c
    rows = tx.rows(sa.select(c.session_id, c.sender_id).where(c.external_id == external_id))
    return (rows[0][0], rows[0][1]) if rows else None


def latest_text(tx: Tx, session_id: int, external_id: str) -> str | None:
    """Read what a message said last: as it was taken, or as its newest edit has it."""
    c = t.inbound.c
    said = sa.or_(c.external_id == external_id, _edits(external_id))
    rows = tx.rows(sa.select(c.text).where(c.session_id == session_id, said).order_by(c.n.desc()).limit(1))
    return rows[0][0] if rows else None


def withdraw_edits(tx: Tx, session_id: int, external_id: str) -> list[Inbound]:
    """Take out a waiting note that a message was edited, which a newer one replaces."""
    return withdraw(tx, t.inbound.c.session_id == session_id, _edits(external_id))


def _edits(external_id: str) -> sa.ColumnElement[bool]:
    c = t.inbound.c
    return sa.and_(c.line == "note", c.external_id.startswith(f"{external_id}:edit:", autoescape=True))


def inbound_by_id(tx: Tx, inbound_id: str) -> Inbound | None:
    rows = tx.rows(sa.select(*inbound_columns).where(t.inbound.c.id == inbound_id))
    return inbound_of(rows[0]) if rows else None


def heard_by_turn(tx: Tx, turn_id: str, address: str) -> str | None:
    """Give the id of the last message from an address that a turn has taken."""
    c = t.inbound.c
    mine = (c.turn_id == turn_id, c.address == address, c.external_id.is_not(None), c.line == "people")
    rows = tx.rows(sa.select(c.external_id).where(*mine).order_by(c.n.desc()).limit(1))
    return rows[0][0] if rows else None


def inbound_of_turn(tx: Tx, turn_id: str) -> list[Inbound]:
    rows = tx.rows(sa.select(*inbound_columns).where(t.inbound.c.turn_id == turn_id).order_by(t.inbound.c.n))
    return [inbound_of(row) for row in rows]


def waiting(tx: Tx, lane_id: int, limit: int) -> list[Inbound]:
    """List what waits in a lane, first in line first."""
    rows = tx.rows(
        sa.select(*inbound_columns)
        .where(t.inbound.c.lane_id == lane_id, t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.line != "people", t.inbound.c.n)
        .limit(limit)
    )
    return [inbound_of(row) for row in rows]


def waiting_of(tx: Tx, lane_ids: Collection[int], session_ids: Collection[int], limit: int) -> dict[int, list[Inbound]]:
    """Read what waits for each session, first in line first, at most so much of each."""
    c = t.inbound.c
    place = sa.func.row_number().over(partition_by=c.session_id, order_by=(c.line != "people", c.n)).label("place")
    ranked = (
        sa.select(*inbound_columns, place)
        .where(c.lane_id.in_(list(lane_ids)), c.state == "waiting", c.session_id.in_(list(session_ids)))
        .subquery()
    )
    rows = tx.rows(sa.select(ranked).where(ranked.c.place <= limit).order_by(ranked.c.session_id, ranked.c.place))
    found: dict[int, list[Inbound]] = {}
    for inbound in map(inbound_of, rows):
        found.setdefault(inbound.session_id, []).append(inbound)
    return found


def waiting_sizes(tx: Tx, lane_ids: Collection[int], session_ids: Collection[int]) -> dict[int, int]:
    """Count what waits for each session in its own lane or a shared one."""
    c = t.inbound.c
    rows = tx.rows(
        sa.select(c.session_id, sa.func.count())
        .where(c.lane_id.in_(list(lane_ids)), c.state == "waiting", c.session_id.in_(list(session_ids)))
        .group_by(c.session_id)
    )
    return {int(session_id): int(count) for session_id, count in rows}


def with_notes(tx: Tx, session_ids: Collection[int]) -> set[int]:
    """Name the sessions into which something was laid that no turn has seen."""
    rows = tx.rows(
        sa.select(t.inbound.c.session_id)
        .where(
            t.inbound.c.session_id.in_(list(session_ids)), t.inbound.c.line == "note", t.inbound.c.state == "waiting"
        )
        .distinct()
    )
    return {session_id for (session_id,) in rows}


def waiting_events(tx: Tx, session_id: int, job_id: str) -> list[Inbound]:
    """List the events of a job that no turn of its session has seen yet."""
    c = t.inbound.c
    mine = (c.session_id == session_id, c.job_id == job_id, c.source == "system", c.state == "waiting")
    rows = tx.rows(sa.select(*inbound_columns).where(*mine).order_by(c.n))
    return [inbound_of(row) for row in rows]


def from_hook(tx: Tx, hook_id: str, since: datetime) -> int:
    """Count what one hook woke its lane with of late."""
    c = t.inbound.c
    woke = sa.select(sa.func.count()).where(c.hook_id == hook_id, c.queued_at > since, c.line == "machines")
    return int(tx.rows(woke)[0][0])


def by_grants(tx: Tx, grant_ids: Collection[str], since: datetime) -> int:
    """Count what an agent wrote into other conversations of late, by its locked grants."""
    c = t.inbound.c
    wrote = sa.select(sa.func.count()).where(c.grant_id.in_(list(grant_ids)), c.queued_at > since)
    return int(tx.rows(wrote)[0][0])


def waiting_from_agents(tx: Tx, *, session_id: int | None = None, grant_id: str | None = None) -> list[Inbound]:
    """List what agents wrote that no turn has seen yet: into a session, or by a grant."""
    c = t.inbound.c
    where = c.grant_id == grant_id if session_id is None else c.session_id == session_id
    asked = (c.state == "waiting", c.grant_id.is_not(None), where)
    return [inbound_of(row) for row in tx.rows(sa.select(*inbound_columns).where(*asked).order_by(c.n))]


def withdraw_of_grant(tx: Tx, grant_id: str) -> list[Inbound]:
    return withdraw(tx, t.inbound.c.grant_id == grant_id)


def of_sender(tx: Tx, session_id: int, sender_id: str, since: datetime) -> tuple[int, int]:
    """Count what a sender said in a session: what still waits, and what came of late."""
    c = t.inbound.c
    waiting, late = sa.case((c.state == "waiting", 1), else_=0), sa.case((c.queued_at > since, 1), else_=0)
    found = sa.select(sa.func.coalesce(sa.func.sum(waiting), 0), sa.func.coalesce(sa.func.sum(late), 0))
    [(waits, came)] = tx.rows(found.where(c.session_id == session_id, c.sender_id == sender_id))
    return int(waits), int(came)


def hook_notes(tx: Tx, lane_id: int, hook_id: str) -> int:
    """Count the notes of one hook that nobody has seen yet."""
    c = t.inbound.c
    unseen = sa.select(sa.func.count()).where(
        c.lane_id == lane_id, c.line == "note", c.state == "waiting", c.hook_id == hook_id
    )
    return int(tx.rows(unseen)[0][0])


def injectable(tx: Tx, turn: Turn) -> list[Inbound]:
    """List what people said meanwhile in this turn's lane. Only people stand in that line; `may_inject` judges each."""
    rows = tx.rows(
        sa.select(*inbound_columns)
        .where(t.inbound.c.lane_id == turn.lane_id, t.inbound.c.line == "people", t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.n)
    )
    return [inbound_of(row) for row in rows]


def take_into(tx: Tx, turn: Turn, inbound: Inbound) -> bool:
    """Take one waiting message into a running turn."""
    return (
        tx.run(
            sa.update(t.inbound)
            .where(t.inbound.c.n == inbound.n, t.inbound.c.state == "waiting", t.inbound.c.line == "people")
            .values(state="taken", turn_id=turn.id, injected=True)
        )
        == 1
    )


def move_waiting(tx: Tx, session_id: int, *, from_lane: int, to_lane: int) -> None:
    """Move what waits for a session, and its queued runs, to another lane; both lanes are locked. Each keeps its place
    in the order of arrival.
    """
    for table in (t.inbound, t.run):
        c = table.c
        waits = c.state == ("waiting" if table is t.inbound else "queued")
        mine = (c.session_id == session_id, c.lane_id == from_lane, waits)
        tx.run(sa.update(table).where(*mine).values(lane_id=to_lane))
    tx.ring("lanes")


def withdraw(tx: Tx, *conditions: sa.ColumnElement[bool]) -> list[Inbound]:
    """Take waiting inbound out of locked lanes."""
    rows = tx.rows(
        sa.update(t.inbound)
        .where(t.inbound.c.state == "waiting", *conditions)
        .values(state="withdrawn")
        .returning(*inbound_columns)
    )
    return [inbound_of(row) for row in rows]


def withdraw_runs(tx: Tx, run_ids: Iterable[str]) -> list[Inbound]:
    return withdraw(tx, t.inbound.c.run_id.in_(list(run_ids)))


def withdraw_all(tx: Tx, session_id: int) -> list[Inbound]:
    return withdraw(tx, t.inbound.c.session_id == session_id)


def withdraw_trial(tx: Tx, session_id: int, inbound_id: str) -> bool:
    """Take out a trial that no worker has begun; say whether it still waited."""
    c = t.inbound.c
    return bool(withdraw(tx, c.session_id == session_id, c.id == inbound_id, c.source == "system"))


def trials_of(tx: Tx, job_id: str, user_id: str) -> int:
    """Count the trials of a job that wait or are at work."""
    c, turn = t.inbound.c, t.turn.c
    waiting = (c.user_id == user_id, c.line == "machines", c.state == "waiting", c.job_id == job_id)
    at_work = (turn.state != "closed", turn.job_id == job_id)
    apart = t.session.c.key.startswith(TRIAL_KEY, autoescape=True)
    count = sa.func.count()
    [(queued,)] = tx.rows(
        sa.select(count).join_from(t.inbound, t.session, t.session.c.id == c.session_id).where(apart, *waiting)
    )
    [(begun,)] = tx.rows(
        sa.select(count).join_from(t.turn, t.session, t.session.c.id == turn.session_id).where(apart, *at_work)
    )
    return queued + begun


def withdraw_reports(tx: Tx, session_id: int, job_id: str) -> list[Inbound]:
    """Take out a waiting report of the same job, which a newer one replaces."""
    return withdraw(
        tx, t.inbound.c.session_id == session_id, t.inbound.c.source == "report", t.inbound.c.job_id == job_id
    )
