"""What keeps the house: workers' beats, answers kept for repeated requests, and retention."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.store import tables as t
from homing.store.base import Tx, insert_new

IDEMPOTENCY_KEPT = timedelta(hours=24)
_BATCH = 500


@dataclass(frozen=True, kw_only=True)
class Worker:
    """A process that moves rows."""

    id: str
    name: str
    schedules: bool
    beat_at: datetime
    next_wake_at: datetime | None
    note: str | None
    """What people should know of it: that it waits, and for what."""
    can: frozenset[str]
    """What it has that not every worker has."""


def beat(
    tx: Tx,
    worker_id: str,
    *,
    name: str,
    schedules: bool,
    next_wake_at: datetime | None,
    note: str | None = None,
    can: Collection[str] = (),
) -> None:
    """Say that a worker is alive, when it wakes next, and what it can do."""
    now = tx.now()
    fresh = {
        "beat_at": now,
        "next_wake_at": next_wake_at,
        "schedules": schedules,
        "note": note,
        "can": sorted(can),
    }
    if not tx.run(sa.update(t.worker).where(t.worker.c.id == worker_id).values(fresh)):
        tx.run(sa.insert(t.worker).values(id=worker_id, name=name, started_at=now, **fresh))


def newest_stamp(tx: Tx) -> datetime | None:
    """Tell when the database was last worked on, as far as its runs and workers know."""
    seen = [
        *tx.rows(sa.select(t.run.c.queued_at).order_by(t.run.c.n.desc()).limit(1)),
        *tx.rows(sa.select(sa.func.max(t.worker.c.beat_at))),
    ]
    return max((at for (at,) in seen if at is not None), default=None)


def leave(tx: Tx, worker_id: str) -> None:
    tx.run(sa.delete(t.worker).where(t.worker.c.id == worker_id))


def workers(tx: Tx, alive_within: timedelta) -> list[Worker]:
    """List the workers that were heard of lately."""
    rows = tx.rows(sa.select(t.worker).where(t.worker.c.beat_at >= tx.now() - alive_within))
    return [
        Worker(
            id=row.id,
            name=row.name,
            schedules=row.schedules,
            beat_at=row.beat_at,
            next_wake_at=row.next_wake_at,
            note=row.note,
            can=frozenset(row.can or ()),
        )
        for row in rows
    ]


_SHARE_ID = "share_id"


def share_id(tx: Tx) -> str | None:
    """Tell the id of the folder that holds the workspaces of this database."""
    rows = tx.rows(sa.select(t.setting.c.value).where(t.setting.c.name == _SHARE_ID))
    return rows[0].value if rows else None


def keep_share_id(tx: Tx, fresh: str) -> str:
    """Keep the id of that folder, unless another machine was first; give the one that counts."""
    tx.run(insert_new(tx, t.setting).values(name=_SHARE_ID, value=fresh))
    return share_id(tx) or fresh


@dataclass(frozen=True, kw_only=True)
class KeptAnswer:
    """The first answer to a request, for those who ask again."""

    body_sha256: str
    status: int
    answer: str


def kept_answer(tx: Tx, *, user_id: str, path: str, key: str) -> KeptAnswer | None:
    c = t.idempotency.c
    if tx.postgres:
        # Two first requests at once: the second waits here for the first one's answer.
        tx.rows(sa.select(sa.func.pg_advisory_xact_lock(sa.func.hashtextextended(f"{user_id} {path} {key}", 0))))
    rows = tx.rows(
        sa.select(c.body_sha256, c.status, c.answer).where(
            c.user_id == user_id, c.path == path, c.key == key, c.created_at > tx.now() - IDEMPOTENCY_KEPT
        )
    )
    return KeptAnswer(body_sha256=rows[0][0], status=rows[0][1], answer=rows[0][2]) if rows else None


def keep_answer(tx: Tx, *, user_id: str, path: str, key: str, kept: KeptAnswer) -> None:
    c = t.idempotency.c
    tx.run(sa.delete(t.idempotency).where(c.user_id == user_id, c.path == path, c.key == key))
    tx.run(
        sa.insert(t.idempotency).values(
            user_id=user_id,
            path=path,
            key=key,
            body_sha256=kept.body_sha256,
            status=kept.status,
            answer=kept.answer,
            created_at=tx.now(),
        )
    )


def prune(tx: Tx, *, keep_runs: timedelta) -> int:
    """Drop what is older than it is kept: finished runs with their steps, old answers, dead workers, spent codes."""
    now = tx.now()
    gone = [
        n
        for (n,) in tx.rows(
            sa.select(t.run.c.n)
            .where(
                t.run.c.finished_at < now - keep_runs,
                # The newest run of a living job stays: it is how the job was last.
                ~sa.exists().where(t.job.c.last_run_id == t.run.c.id, t.job.c.removed_at.is_(None)),
                ~sa.exists().where(t.inbound.c.run_id == t.run.c.id, t.inbound.c.state == "waiting"),
            )
            .limit(_BATCH)
        )
    ]
    if gone:
        ids = sa.select(t.run.c.id).where(t.run.c.n.in_(gone))
        turns = sa.select(t.turn.c.id).where(t.turn.c.run_id.in_(ids))
        tx.run(sa.delete(t.step).where(t.step.c.turn_id.in_(turns)))
        tx.run(sa.delete(t.inbound).where(t.inbound.c.run_id.in_(ids)))
        tx.run(sa.delete(t.run).where(t.run.c.n.in_(gone)))
    tx.run(sa.delete(t.idempotency).where(t.idempotency.c.created_at < now - IDEMPOTENCY_KEPT))
    tx.run(sa.delete(t.worker).where(t.worker.c.beat_at < now - timedelta(hours=1)))
    tx.run(sa.delete(t.token).where(t.token.c.expires_at < now, t.token.c.kind != "token"))
    return len(gone)
