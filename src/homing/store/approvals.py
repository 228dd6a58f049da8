"""Approvals. Each change names the state it leaves; the sessions that show an approval are locked before it.

An action is held like a turn: a worker claims it until an instant, and every later write repeats its fence.
"""

from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.approvals import Approval, ApprovalState, Ended
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx

_c = t.approval.c
_pending = _c.state == "pending"


def add(tx: Tx, approval: Approval) -> None:
    values = {name: value for name, value in asdict(approval).items() if name not in ("n", "session_key")}
    tx.run(sa.insert(t.approval).values(values))
    if approval.state == "approved":
        tx.ring("approvals")


def get(tx: Tx, approval_id: str) -> Approval | None:
    return _one(tx, _c.id == approval_id)


def get_many(tx: Tx, approval_ids: Sequence[str]) -> dict[str, Approval]:
    rows = tx.rows(r.approvals.where(_c.id.in_(list(approval_ids)))) if approval_ids else []
    return {approval.id: approval for approval in map(r.approval_of, rows)}


def pending_like(tx: Tx, session_id: int, digest: str) -> Approval | None:
    """Find the open request of a session for the same thing."""
    return _one(tx, _pending, _c.session_id == session_id, _c.digest == digest)


def pending_packages(tx: Tx, agent_id: str) -> Approval | None:
    """Find the one open request for packages of an agent."""
    return _one(tx, _pending, _c.agent_id == agent_id, _c.tool == "install_packages")


def pending_of_job(tx: Tx, job_id: str, *, limit: int) -> list[Approval]:
    """List the open requests of a job's runs, oldest first."""
    rows = tx.rows(r.approvals.where(_pending, _c.job_id == job_id).order_by(_c.n).limit(limit))
    return [r.approval_of(row) for row in rows]


def last_install(tx: Tx, agent_id: str) -> Approval | None:
    """Find the newest request for packages of an agent that was approved."""
    begun = _c.state.in_(("approved", "running", "done", "failed"))
    return _one(tx, begun, _c.agent_id == agent_id, _c.tool == "install_packages")


def denied_since(tx: Tx, session_id: int, digest: str, since: datetime) -> Approval | None:
    """Find the newest denial of the same thing."""
    return _one(tx, _c.session_id == session_id, _c.digest == digest, _c.state == "denied", _c.answered_at > since)


def count_pending(tx: Tx, session_id: int) -> int:
    return int(tx.rows(sa.select(sa.func.count()).where(_pending, _c.session_id == session_id))[0][0])


def count_asked(tx: Tx, agent_id: str, since: datetime) -> int:
    """Count what an agent asked for itself."""
    asked = (_c.agent_id == agent_id, _c.asked_at > since, _c.turn_id.is_not(None))
    return int(tx.rows(sa.select(sa.func.count()).where(*asked))[0][0])


def answer(
    tx: Tx,
    approval_id: str,
    *,
    digest: str,
    state: ApprovalState,
    by: str,
    answered_with: str | None,
    note: str | None,
) -> bool:
    """Write a person's answer: only while it is open, in time, and about what they saw."""
    now = tx.now()
    denied: dict[str, Any] = {"finished_at": now, "ended": "answered"} if state == "denied" else {}
    answered = tx.run(
        sa.update(t.approval)
        .where(_pending, _c.id == approval_id, _c.digest == digest, _c.expires_at > now)
        .values(state=state, answered_by=by, answered_with=answered_with, answered_at=now, note=note, **denied)
    )
    tx.ring("approvals")
    return answered == 1


def actionable(tx: Tx, limit: int, *, but_agents: Collection[str] = ()) -> list[Approval]:
    """Look which approved actions wait for a worker, and which lost theirs. A hint: taking decides."""
    waiting = sa.or_(_c.state == "approved", sa.and_(_c.state == "running", _c.claimed_until <= tx.now()))
    statement = r.approvals.where(waiting, _c.agent_id.not_in(list(but_agents))).order_by(_c.n).limit(limit)
    return [r.approval_of(row) for row in tx.rows(statement)]


def next_claim_end(tx: Tx) -> datetime | None:
    """Say when the first claim on a running action runs out; one that has is waiting already."""
    ahead = (_c.state == "running", _c.claimed_until > tx.now())
    return tx.rows(sa.select(sa.func.min(_c.claimed_until)).where(*ahead))[0][0]


def take(tx: Tx, seen: Approval, worker_id: str, until: datetime) -> Approval | None:
    """Claim an action that was seen waiting; None if somebody else has it by now.

    Its `begun_at` is given as it was before: the worker that has it now has not begun it.
    """
    now, before = tx.now(), get(tx, seen.id)
    free = sa.and_(
        _c.id == seen.id,
        _c.fence == seen.fence,
        sa.or_(_c.state == "approved", sa.and_(_c.state == "running", _c.claimed_until <= now)),
    )
    taken = tx.run(
        sa.update(t.approval)
        .where(free)
        .values(
            state="running",
            worker_id=worker_id,
            claimed_until=until,
            fence=_c.fence + 1,
            attempts=_c.attempts + 1,
            begun_at=sa.func.coalesce(_c.begun_at, _micros(now)),
        )
    )
    held = get(tx, seen.id) if taken == 1 else None
    return replace(held, begun_at=before.begun_at) if held and before else None


def renew(tx: Tx, held: Approval, until: datetime) -> bool:
    """Hold an action for longer, if it is still ours."""
    return tx.run(sa.update(t.approval).where(*_ours(held)).values(claimed_until=until)) == 1


def hand_back(tx: Tx, held: Approval, *, begun: bool) -> bool:
    """Give back an action, uncounted, for another worker: one that was not begun, or that may begin again."""
    values = {"state": "approved", "worker_id": None, "claimed_until": None, "attempts": held.attempts - 1}
    values |= {} if begun else {"begun_at": held.begun_at}
    return tx.run(sa.update(t.approval).where(*_ours(held)).values(values)) == 1


def finish(
    tx: Tx, held: Approval, *, state: ApprovalState, ended: Ended = "answered", result: str | None, error: str | None
) -> bool:
    """Write how an action ended, if it is still ours."""
    done = tx.run(
        sa.update(t.approval)
        .where(*_ours(held))
        .values(state=state, ended=ended, claimed_until=None, finished_at=tx.now(), result=result, error=error)
    )
    return done == 1


def expire(tx: Tx, approval_id: str, *, ended: Ended, answered: bool = False) -> bool:
    """End a request that nobody answered, or with `answered` also one that was approved and has not begun."""
    leaves = ("pending", "approved") if answered else ("pending",)
    # One that was begun and handed back may have happened: the worker that takes it says so.
    gone = tx.run(
        sa.update(t.approval)
        .where(_c.id == approval_id, _c.state.in_(leaves), _c.begun_at.is_(None))
        .values(state="expired", ended=ended, finished_at=tx.now())
    )
    return gone == 1


def overdue(tx: Tx, now: datetime, limit: int) -> list[Approval]:
    """List open requests whose time is over."""
    rows = tx.rows(r.approvals.where(_pending, _c.expires_at <= now).order_by(_c.expires_at).limit(limit))
    return [r.approval_of(row) for row in rows]


def open_in(tx: Tx, session_id: int) -> list[Approval]:
    """List what a session asked for that is pending or approved."""
    waits = _c.state.in_(("pending", "approved"))
    return [r.approval_of(row) for row in tx.rows(r.approvals.where(_c.session_id == session_id, waits))]


def listed(
    tx: Tx,
    *,
    user_id: str,
    all_admin: bool,
    state: str | None,
    session_id: int | None,
    agent_id: str | None = None,
    before_n: int | None,
    limit: int,
) -> list[Approval]:
    """List a user's approvals, newest first; with `all_admin` also those of others that admins answer."""
    mine = _c.user_id == user_id
    where: list[sa.ColumnElement[bool]] = [sa.or_(mine, _c.audience == "admin") if all_admin else mine]
    where += [_c.state == state] if state is not None else []
    where += [_c.session_id == session_id] if session_id is not None else []
    where += [_c.agent_id == agent_id] if agent_id is not None else []
    where += [_c.n < before_n] if before_n is not None else []
    return [r.approval_of(row) for row in tx.rows(r.approvals.where(*where).order_by(_c.n.desc()).limit(limit))]


def _one(tx: Tx, *which: sa.ColumnElement[bool]) -> Approval | None:
    rows = tx.rows(r.approvals.where(*which).order_by(_c.n.desc()).limit(1))
    return r.approval_of(rows[0]) if rows else None


def _ours(held: Approval) -> tuple[sa.ColumnElement[bool], ...]:
    return _c.id == held.id, _c.fence == held.fence, _c.state == "running"


def _micros(now: datetime) -> sa.ColumnElement[datetime]:
    return sa.bindparam("b_begun", now, type_=t.Instant)
