"""Gates: the script of a run waits for a worker, runs under its claim, and ends under its fence (rule 50).

A gate that has not ended belongs to a queued run; withdrawing the run deletes it, so the fence of a script that still
runs finds nothing. Who ends a gate has locked its job and its session.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from homing.model.scripts import DueMeanwhile, Said, ScriptEnd
from homing.store import tables as t
from homing.store.base import Tx

CLAIM = timedelta(seconds=15)
"""What a claim lasts beyond the seconds that its script may take."""

_c = t.gate.c


@dataclass(frozen=True, kw_only=True)
class NewGate:
    """A gate about to be written."""

    run_id: str
    job_id: str
    user_id: str
    depth: int


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A gate that this worker holds until its claim runs out."""

    run_id: str
    job_id: str
    user_id: str
    fence: int
    attempts: int


@dataclass(frozen=True, kw_only=True)
class EndedGate:
    """How a run's script ended, and what it said."""

    run_id: str
    ended: str
    code: int | None
    out: str | None
    err: str | None
    said: Mapping[str, Any] | None


def add(tx: Tx, gates: Sequence[NewGate]) -> None:
    """Let the scripts of queued runs wait for a worker."""
    if gates:
        tx.run(sa.insert(t.gate), [vars(gate) for gate in gates])
        tx.ring("gates")


def take(tx: Tx, worker_id: str, *, languages: Collection[str], full: Collection[str] = ()) -> Taken | None:
    """Take the first gate that nobody works on and that this worker can; not of users who have their share.

    Without a script by now, any worker can: there is nothing left to ask.
    """
    now = tx.now()
    free = sa.or_(_c.claimed_until.is_(None), _c.claimed_until <= now)
    able = sa.or_(t.job.c.script.is_(None), t.job.c.script_language.in_(list(languages)))
    statement = (
        sa.select(_c.n, t.job.c.script_seconds)
        .join(t.job, t.job.c.id == _c.job_id)
        .where(_c.ended.is_(None), free, able, _c.user_id.not_in(list(full)))
        .order_by(_c.n)
        .limit(1)
    )
    if tx.postgres:
        statement = statement.with_for_update(of=t.gate, skip_locked=True)
    for n, seconds in tx.rows(statement):
        rows = tx.rows(
            sa.update(t.gate)
            # A taker who waited for the row finds it taken.
            .where(_c.n == n, _c.ended.is_(None), free)
            .values(
                worker_id=worker_id,
                claimed_until=now + timedelta(seconds=seconds) + CLAIM,
                fence=_c.fence + 1,
                attempts=_c.attempts + 1,
            )
            .returning(_c.run_id, _c.job_id, _c.user_id, _c.fence, _c.attempts)
        )
        for row in rows:
            return Taken(run_id=row[0], job_id=row[1], user_id=row[2], fence=row[3], attempts=row[4])
    return None


def next_claim_end(tx: Tx) -> datetime | None:
    """Tell when the first claim runs out; one that has is waiting already, perhaps for another worker."""
    ahead = (_c.ended.is_(None), _c.claimed_until > tx.now())
    return tx.rows(sa.select(sa.func.min(_c.claimed_until)).where(*ahead))[0][0]


def hold(tx: Tx, run_id: str, fence: int) -> tuple[int, DueMeanwhile | None] | None:
    """Lock a gate under its fence: its depth, and what came due meanwhile. None when it is another's now, or gone."""
    statement = sa.select(_c.depth, _c.due_first, _c.due_until, _c.due_count).where(
        _c.run_id == run_id, _c.fence == fence, _c.ended.is_(None)
    )
    rows = tx.rows(statement.with_for_update() if tx.postgres else statement)
    if not rows:
        return None
    depth, first, until, count = rows[0]
    return depth, DueMeanwhile(first=first, until=until, count=count) if count else None


def end(tx: Tx, run_id: str, *, ended: ScriptEnd | None, said: Said | None) -> None:
    """Keep how a held gate ended; without an end, its workers died with it."""
    tx.run(
        sa.update(t.gate)
        .where(_c.run_id == run_id)
        .values(
            worker_id=None,
            claimed_until=None,
            ended=ended.ended if ended else "lost",
            code=ended.code if ended else None,
            out=ended.out if ended else None,
            err=ended.err if ended else None,
            said=said.line if said else None,
        )
    )


def fold(tx: Tx, run_id: str, *, into: str) -> None:
    """Let an earlier run, which counts this one, show how the script ended last."""
    tx.run(sa.delete(t.gate).where(_c.run_id == into))
    tx.run(sa.update(t.gate).where(_c.run_id == run_id).values(run_id=into))
    tx.run(sa.delete(t.run).where(t.run.c.id == run_id, t.run.c.state == "queued"))


def release(tx: Tx, run_id: str, fence: int) -> bool:
    """Hand a gate back uncounted, for anybody to take: its worker stops, or its script was changed."""
    free = {"worker_id": None, "claimed_until": None, "attempts": sa.case((_c.attempts > 0, _c.attempts - 1), else_=0)}
    tx.ring("gates")
    mine = (_c.run_id == run_id, _c.fence == fence, _c.ended.is_(None))
    return tx.run(sa.update(t.gate).where(*mine).values(free)) == 1


def drop(tx: Tx, run_ids: Collection[str]) -> set[str]:
    """Take away the gates of runs that are withdrawn; name the runs that still waited for theirs."""
    if not run_ids:
        return set()
    rows = tx.rows(sa.delete(t.gate).where(_c.run_id.in_(list(run_ids)), _c.ended.is_(None)).returning(_c.run_id))
    return {run_id for (run_id,) in rows}


def count_due(tx: Tx, run_id: str, due: DueMeanwhile) -> bool:
    """Count instants that came due while a gate decides; False when it has decided."""
    return (
        tx.run(
            sa.update(t.gate)
            .where(_c.run_id == run_id, _c.ended.is_(None))
            .values(
                due_first=sa.func.coalesce(_c.due_first, sa.literal(due.first, t.Instant)),
                due_until=due.until,
                due_count=_c.due_count + due.count,
            )
        )
        == 1
    )


def waiting(tx: Tx, run_ids: Collection[str]) -> dict[str, str | None]:
    """Read which runs wait for their gate, with the language of the script; null where it is gone."""
    rows = tx.rows(
        sa.select(_c.run_id, sa.case((t.job.c.script.is_not(None), t.job.c.script_language)))
        .join(t.job, t.job.c.id == _c.job_id)
        .where(_c.run_id.in_(list(run_ids)), _c.ended.is_(None))
    )
    return dict(rows)


def of_run(tx: Tx, run_id: str) -> EndedGate | None:
    """Read how a run's script ended."""
    chosen = (_c.run_id, _c.ended, _c.code, _c.out, _c.err, _c.said)
    rows = tx.rows(sa.select(*chosen).where(_c.run_id == run_id, _c.ended.is_not(None)))
    if not rows:
        return None
    return EndedGate(**dict(zip(("run_id", "ended", "code", "out", "err", "said"), rows[0], strict=True)))


def states_of(tx: Tx, run_ids: Collection[str]) -> dict[str, Any]:
    """Read what the scripts of runs asked to remember, where they did."""
    rows = tx.rows(sa.select(_c.run_id, _c.said).where(_c.run_id.in_(list(run_ids)), _c.said.is_not(None)))
    return {run_id: said["state"] for run_id, said in rows if "state" in said}
