"""Take jobs and their runs away (rules 6 and 28): what is queued is withdrawn, what runs is asked to stop."""

from collections.abc import Collection

from homing.model.jobs import Job
from homing.operations.definition import columns_of, frozen
from homing.operations.desk import Desk
from homing.operations.reach import hold_job
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import JobRef
from homing.operations.views import show_job
from homing.store import Tx, inbounds, jobs, runs, sessions, turns
from homing.store.runs import Finished


def remove_job(desk: Desk, ask: JobRef) -> JobShape:
    """Remove a job; it can be brought back for thirty days."""
    return show_job(desk, remove(desk, hold_job(desk, ask.job_id)))


def remove(desk: Desk, job: Job, *, undoable: bool = True) -> Job:
    """Remove a locked job. The very turn that asks for it may finish."""
    spared = desk.caller.turn.id if desk.caller.turn else ""
    running = withdraw_runs(desk.tx, [job.id], reason="removed")
    turns.request_cancels(desk.tx, running - {spared}, "removed")
    sessions.lock(desk.tx, [job.session_id])
    rev = sessions.mark(desk.tx, {job.session_id: 0})[job.session_id].rev
    undo = {"change": "removed", "revision": job.revision + 1, "before": frozen(columns_of(job))}
    removed = jobs.change(
        desk.tx,
        job,
        {
            "removed_at": desk.now, "next_run_at": None, "disabled_until": None, "retry": 0, "retry_of": None,
            "rev": rev, "undo": undo if undoable else None,
        },
    )  # fmt: skip
    assert removed is not None, "the job is locked"
    return removed


def withdraw_runs(tx: Tx, job_ids: Collection[str], *, reason: str, also: Collection[int] = ()) -> set[str]:
    """Withdraw the queued runs of locked jobs (`skipped`, with the reason); name the turns of those that run.

    `also` names sessions that the caller needs locked as well: all in one go, for the order of locks.
    """
    active = runs.active_runs(tx, job_ids)
    sessions.lock(tx, {i for run in active.values() for i in (run.session_id, run.lane_id)} | set(also))
    if not active:
        return set()
    # Read again under the locks: a queued one may have opened meanwhile.
    active = runs.active_runs(tx, job_ids)
    queued = [run.id for run in active.values() if run.state == "queued"]
    withdrawn = {inbound.run_id for inbound in inbounds.withdraw_runs(tx, queued)} if queued else set[str | None]()
    gone = [run for run in active.values() if run.id in withdrawn]
    if gone:
        marks = sessions.mark(tx, dict.fromkeys({run.session_id for run in gone}, 0))
        runs.finish_runs(
            tx,
            [Finished(run_id=run.id, state="skipped", reason=reason, rev=marks[run.session_id].rev) for run in gone],
        )
    return {run.turn_id for run in active.values() if run.turn_id is not None}
