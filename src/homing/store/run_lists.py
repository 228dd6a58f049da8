"""Runs read back in lists and counts. Reads only, and locks nothing."""

from collections.abc import Collection
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.model.messages import Delivery
from homing.model.runs import ACTIVE, UNTOLD, Run
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx


def listed(
    tx: Tx,
    *,
    user_id: str | None,
    job_id: str | None = None,
    session_id: int | None = None,
    state: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    before_n: int | None = None,
    limit: int,
) -> list[Run]:
    """List runs, newest first."""
    c = t.run.c
    where: list[sa.ColumnElement[bool]] = []
    if user_id is not None:
        where.append(c.user_id == user_id)
    if job_id is not None:
        where.append(c.job_id == job_id)
    if session_id is not None:
        where.append(c.session_id == session_id)
    if state is not None:
        where.append(c.state == state)
    if since is not None:
        where.append(sa.func.coalesce(c.missed_until, c.scheduled_for) >= since)
    if until is not None:
        where.append(c.scheduled_for <= until)
    if before_n is not None:
        where.append(c.n < before_n)
    return [r.run_of(row) for row in tx.rows(r.runs.where(*where).order_by(c.n.desc()).limit(limit))]


def newest(tx: Tx, job_id: str, limit: int) -> list[Run]:
    """Read the runs of a job that were written last, newest first, among those of its last instants."""
    c = t.run.c
    of_late = t.run.alias("of_late")
    ids = sa.select(of_late.c.id).where(of_late.c.job_id == job_id).order_by(of_late.c.scheduled_for.desc())
    rows = tx.rows(r.runs.where(c.id.in_(ids.limit(4 * limit))).order_by(c.n.desc()).limit(limit))
    return [r.run_of(row) for row in rows]


def number_of(tx: Tx, run_id: str) -> int:
    """Tell a run's place in the order of writing."""
    return tx.rows(sa.select(t.run.c.n).where(t.run.c.id == run_id))[0][0]


def recent(tx: Tx, job_ids: Collection[str], count: int) -> dict[str, list[Run]]:
    """Read the last runs of several jobs, oldest first; not one that nobody is told of before its gate has decided."""
    found: dict[str, list[Run]] = {}
    c = t.run.c
    for job_id in job_ids:
        told = sa.or_(c.rev != UNTOLD, c.state != "queued")
        rows = tx.rows(r.runs.where(c.job_id == job_id, told).order_by(c.scheduled_for.desc()).limit(count))
        found[job_id] = [r.run_of(row) for row in reversed(rows)]
    return found


def count_active(tx: Tx, user_id: str | None) -> dict[str, int]:
    """Count queued and running runs."""
    statement = sa.select(t.run.c.state, sa.func.count()).where(t.run.c.state.in_(ACTIVE)).group_by(t.run.c.state)
    if user_id is not None:
        statement = statement.where(t.run.c.user_id == user_id)
    return {"queued": 0, "running": 0} | dict(tx.rows(statement))


def covering(tx: Tx, job_id: str, at: datetime, within: timedelta) -> list[Run]:
    """Find the runs of a job that stand for an instant, or were planned close to it; nearest last."""
    c = t.run.c
    rows = tx.rows(
        r.runs.where(
            c.job_id == job_id,
            c.scheduled_for <= at + within,
            sa.func.coalesce(c.missed_until, c.scheduled_for) >= sa.literal(at - within, t.Instant),
        )
        .order_by(c.scheduled_for, c.n)
        .limit(50)
    )
    return [r.run_of(row) for row in rows]


def deliveries_of(tx: Tx, run_ids: Collection[str]) -> dict[str, list[Delivery]]:
    """Read how far the closings of runs got."""
    rows = tx.rows(
        r.deliveries.add_columns(t.run.c.id.label("of_run"))
        .join(t.run, sa.and_(t.run.c.session_id == t.delivery.c.session_id, t.run.c.closing_seq == t.delivery.c.seq))
        .join(
            t.message,
            # An isolated run's closing stands in another session under the same number.
            sa.and_(
                t.message.c.session_id == t.delivery.c.session_id,
                t.message.c.seq == t.delivery.c.seq,
                t.message.c.run_id == t.run.c.id,
            ),
        )
        .where(t.run.c.id.in_(list(run_ids)))
        .order_by(t.delivery.c.n)
    )
    found: dict[str, list[Delivery]] = {}
    for row in rows:
        found.setdefault(row.of_run, []).append(r.delivery_of(row))
    return found
