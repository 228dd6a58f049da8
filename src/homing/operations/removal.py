"""Take jobs and their runs away (rules 6, 28 and 39): what is queued is withdrawn, what runs is asked to stop."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from homing.model.errors import Refused
from homing.model.jobs import Job
from homing.model.runs import COUNTED, SCHEDULED, TRIGGERS, Run, Trigger
from homing.operations.access import hold_job
from homing.operations.context import Context
from homing.operations.definition import columns_of, to_json
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import JobRef
from homing.operations.views import show_job
from homing.store import Tx, gates, inbounds, jobs, runs, sessions, turns
from homing.store.runs import Finished


def remove_job(ctx: Context, ask: JobRef) -> JobShape:
    """Remove a job; undo_job brings it back within thirty days."""
    return show_job(ctx, remove(ctx, hold_job(ctx, ask.job_id)))


def remove(ctx: Context, job: Job, *, undoable: bool = True) -> Job:
    """Remove a locked job. The very turn that asks for it may finish."""
    spared = ctx.caller.turn.id if ctx.caller.turn else ""
    running = withdraw_runs(ctx.tx, [job.id], reason="removed").running
    turns.request_cancels(ctx.tx, running - {spared}, "removed")
    sessions.lock(ctx.tx, [job.session_id])
    rev = sessions.touch(ctx.tx, job.session_id)
    undo = {"change": "removed", "revision": job.revision + 1, "before": to_json(columns_of(job))}
    return jobs.remove(ctx.tx, job, rev=rev, undo=undo if undoable else None)


@dataclass(frozen=True, kw_only=True)
class Withdrawn:
    """The runs that left their lane, and the turns of those that run and stay."""

    runs: tuple[Run, ...] = ()
    running: frozenset[str] = frozenset()


def withdraw_runs(
    tx: Tx,
    job_ids: Collection[str],
    *,
    reason: str,
    triggers: Collection[Trigger] = TRIGGERS,
    also: Collection[int] = (),
) -> Withdrawn:
    """Withdraw the queued runs of locked jobs (`skipped`, with the reason).

    `also` names sessions that the caller needs locked as well: all in one go, for the order of locks.
    """
    active = runs.active_runs(tx, job_ids)
    sessions.lock(tx, {i for run in active.values() for i in (run.session_id, run.lane_id)} | set(also))
    if not active:
        return Withdrawn()
    # Read again under the locks: a queued one may have opened meanwhile.
    active = runs.active_runs(tx, job_ids)
    queued = [run.id for run in active.values() if run.state == "queued" and run.trigger in triggers]
    withdrawn = {inbound.run_id for inbound in inbounds.withdraw_runs(tx, queued)} if queued else set[str | None]()
    # What is in no lane yet waits for its gate.
    withdrawn |= gates.drop(tx, [run_id for run_id in queued if run_id not in withdrawn])
    gone = [run for run in active.values() if run.id in withdrawn]
    if gone:
        revisions = sessions.bump_rev(tx, dict.fromkeys({run.session_id for run in gone}, 0))
        runs.finish_runs(
            tx,
            [
                Finished(run_id=run.id, state="skipped", reason=reason, rev=revisions[run.session_id].rev)
                for run in gone
            ],
        )
        uncount(tx, gone)
    running = frozenset(run.turn_id for run in active.values() if run.turn_id is not None)
    return Withdrawn(runs=tuple(gone), running=running)


def uncount(tx: Tx, withdrawn: Collection[Run]) -> None:
    """Give back what runs that never opened had used up of `max_runs`."""
    jobs.uncount_runs(tx, [run.job_id for run in withdrawn if run.trigger in COUNTED])


def go_on_without(tx: Tx, withdrawn: Collection[Run], *, reason: str) -> None:
    """Let jobs whose last run was withdrawn go on at their next instant; one that has none is done."""
    waiting = {run.job_id for run in withdrawn if run.trigger in SCHEDULED}
    for job in jobs.get_many(tx, waiting).values() if waiting else ():
        if not job.enabled or job.removed_at is not None or job.next_run_at is not None:
            continue
        rev = sessions.touch(tx, job.session_id)
        upcoming = _next_of(tx, job)
        jobs.plan(tx, job.id, upcoming, rev=rev)
        if upcoming is None:
            jobs.retire(tx, [job.id], reason=reason)


def _next_of(tx: Tx, job: Job) -> datetime | None:
    try:
        return job.timing.next_due(tx.now())
    except Refused:
        return None
