"""Jobs read back in lists and counts."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.jobs import Job
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx

# A warning need not look further back than this.
_LATEST = 200


def _same_message() -> sa.Select[Any]:
    c = t.job.c
    latest = (
        sa.select(c.id, c.name, c.message, c.enabled, c.removed_at)
        .where(c.session_id == sa.bindparam("b_session"))
        .order_by(c.rev.desc())
        .limit(_LATEST)
        .subquery()
    )
    of = latest.c
    same = (
        of.message == sa.bindparam("b_message"),
        of.enabled,
        of.removed_at.is_(None),
        of.id != sa.bindparam("b_but"),
    )
    return sa.select(of.name).where(*same).limit(3)


# Built once: every add asks it.
_SAME_MESSAGE = _same_message()


def same_message(tx: Tx, session_id: int, message: str, *, but: str) -> list[str]:
    """Name other living, enabled jobs that say the same, among those of a session that changed last."""
    asked = {"b_session": session_id, "b_message": message, "b_but": but}
    return [name for (name,) in tx.connection.execute(_SAME_MESSAGE, asked)]


def _undelivered() -> sa.ColumnElement[bool]:
    """The closing of the job's last run is dead on its way."""
    return sa.exists(
        sa.select(t.delivery.c.n)
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
        .where(t.run.c.id == t.job.c.last_run_id, t.delivery.c.state == "dead")
        .correlate(t.job)
    )


def undelivered(tx: Tx, job_ids: Collection[str]) -> set[str]:
    """Name those of the jobs whose last result did not reach everybody."""
    rows = tx.rows(sa.select(t.job.c.id).where(t.job.c.id.in_(list(job_ids)), _undelivered()))
    return {job_id for (job_id,) in rows}


def status_condition(status: str) -> sa.ColumnElement[bool]:
    """Spell a job's status as a condition; a test holds it and the shape together."""
    c = t.job.c
    failed = sa.or_(sa.func.coalesce(c.last_status, "") == "error", _undelivered())
    match status:
        case "paused":
            return c.disabled_by == "person"
        case "done":
            return c.disabled_by == "done"
        case "attention":
            return sa.or_(sa.func.coalesce(c.disabled_by, "") == "engine", sa.and_(c.enabled, failed))
        case _:
            return sa.and_(c.enabled, ~failed)


@dataclass(frozen=True, kw_only=True)
class JobFilter:
    """Which jobs a list shows."""

    user_id: str | None
    agent_id: str | None = None
    session_id: int | None = None
    session_key: str | None = None
    """Of whichever user: several may have one of that key."""
    enabled: bool | None = None
    status: str | None = None
    q: str | None = None
    """Finds also what left the lists."""
    listed_since: datetime | None = None
    """One-shots that were done before this left the lists."""
    system: bool | None = False
    """Homing's own jobs: none of them, only them, or with None all jobs alike."""
    removed: bool = False


def listed(
    tx: Tx, wanted: JobFilter, *, sort: str, after: tuple[int | str | None, int] | None, limit: int
) -> list[tuple[Job, int | str | None]]:
    """List living or removed jobs in an order, each with its key for paging; those without the key come last."""
    c = t.job.c
    key, descending = {
        "next": (c.next_run_at, False),
        "name": (sa.func.lower(c.name), False),
        "updated": (c.updated_at, True),
        "last": (c.last_run_at, True),
    }[sort]
    plain = key if sort == "name" else sa.type_coerce(key, sa.BigInteger)
    where = _filtered(wanted)
    if after is not None:
        where.append(_beyond(plain, after, descending=descending))
    order = plain.desc() if descending else plain.asc()
    rows = tx.rows(
        r.jobs.add_columns(plain.label("sort_key")).where(*where).order_by(plain.is_(None), order, c.n).limit(limit)
    )
    return [(r.job_of(row), row.sort_key) for row in rows]


def _beyond(
    key: sa.ColumnElement[Any], after: tuple[int | str | None, int], *, descending: bool
) -> sa.ColumnElement[bool]:
    value, n = after
    later = t.job.c.n > n
    if value is None:
        return sa.and_(key.is_(None), later)
    further = key < value if descending else key > value
    return sa.or_(key.is_(None), further, sa.and_(key == value, later))


def _left_the_lists(before: datetime) -> sa.ColumnElement[bool]:
    """A one-shot that is done, and was not planned, run or changed since."""
    c = t.job.c
    quiet = sa.and_(c.at < before, c.updated_at < before, sa.or_(c.last_run_at.is_(None), c.last_run_at < before))
    return sa.and_(c.schedule_kind == "at", sa.func.coalesce(c.disabled_by, "") == "done", quiet)


def _filtered(wanted: JobFilter) -> list[sa.ColumnElement[bool]]:
    c = t.job.c
    where: list[sa.ColumnElement[bool]] = [c.removed_at.is_not(None) if wanted.removed else c.removed_at.is_(None)]
    if wanted.user_id is not None:
        where.append(c.user_id == wanted.user_id)
    if wanted.agent_id is not None:
        where.append(c.agent_id == wanted.agent_id)
    if wanted.session_id is not None:
        where.append(c.session_id == wanted.session_id)
    if wanted.session_key is not None:
        where.append(t.session.c.key == wanted.session_key)
    if wanted.enabled is not None:
        where.append(c.enabled == wanted.enabled)
    if wanted.status is not None:
        where.append(status_condition(wanted.status))
    if wanted.system is not None:
        where.append(c.kind == "system" if wanted.system else c.kind != "system")
    if wanted.listed_since is not None and not wanted.q and not wanted.removed:
        where.append(~_left_the_lists(wanted.listed_since))
    if wanted.q:
        where.append(
            sa.or_(
                c.name.icontains(wanted.q, autoescape=True),
                c.message.icontains(wanted.q, autoescape=True),
                c.id.startswith(wanted.q, autoescape=True),
            )
        )
    return where


def due_until(
    tx: Tx, *, user_id: str, agent_id: str | None, session_id: int | None, until: datetime, limit: int
) -> list[Job]:
    """List a user's jobs that come due until an instant, soonest first."""
    c = t.job.c
    where = [c.user_id == user_id, c.next_run_at <= until, c.kind != "system"]
    if agent_id is not None:
        where.append(c.agent_id == agent_id)
    if session_id is not None:
        where.append(c.session_id == session_id)
    return [r.job_of(row) for row in tx.rows(r.jobs.where(*where).order_by(c.next_run_at, c.n).limit(limit))]


def count_bound(tx: Tx, session_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Count the user's living jobs of sessions: enabled, and all."""
    c = t.job.c
    rows = tx.rows(
        sa.select(c.session_id, sa.func.sum(sa.case((c.enabled, 1), else_=0)), sa.func.count())
        .where(c.session_id.in_(list(session_ids)), c.removed_at.is_(None), c.kind != "system")
        .group_by(c.session_id)
    )
    return {session_id: (int(enabled), int(total)) for session_id, enabled, total in rows}


def count_by_status(tx: Tx, user_id: str | None, *, listed_since: datetime) -> dict[str, int]:
    """Count the living jobs that lists show by status, in one look."""
    names = ("paused", "done", "attention")
    status = sa.case(*((status_condition(name), name) for name in names), else_="active").label("status")
    where = [t.job.c.removed_at.is_(None), t.job.c.kind != "system", ~_left_the_lists(listed_since)]
    if user_id is not None:
        where.append(t.job.c.user_id == user_id)
    found = sa.select(status).where(*where).subquery()
    rows = tx.rows(sa.select(found.c.status, sa.func.count()).group_by(found.c.status))
    return dict.fromkeys(("active", *names), 0) | {str(name): int(count) for name, count in rows}
