"""Run a job now, read its runs, cancel one."""

from homing.model.brakes import DEEPEST
from homing.model.errors import Conflict
from homing.model.jobs import due_at
from homing.model.runs import Run
from homing.model.schedules import check_zone
from homing.operations.access import check_may_change, hold_job, see_job, see_run
from homing.operations.brakes import check_may_run, depth_after, stop_job
from homing.operations.budgets import check_may_spend
from homing.operations.context import Context
from homing.operations.firing import Firing, fire
from homing.operations.heartbeats import give_heartbeats
from homing.operations.instants import read_instant
from homing.operations.removal import go_on_without, uncount
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.run import RunRow, RunShape
from homing.operations.shapes.run_asks import ListRuns, RunRef
from homing.operations.views import show_run, show_runs
from homing.store import gates, inbounds, jobs, run_lists, runs, sessions, turns
from homing.store.lanes import lane_of
from homing.store.runs import Finished


def run_job(ctx: Context, ask: JobRef) -> RunShape:
    """Run a job now: an ordinary run, trigger `manual`; its schedule stays as it is."""
    check_may_run(ctx)
    job = hold_job(ctx, ask.job_id)
    active = runs.active_jobs(ctx.tx, [job.id])
    if job.id in active:
        raise _already(active[job.id])
    check_zone(job.timing.schedule.tz, field="schedule.tz")
    check_may_spend(ctx, job)
    firing = Firing(
        job=due_at(job, ctx.now),
        trigger="manual",
        scheduled_for=ctx.now,
        lateness_ms=0,
        next_run_at=job.next_run_at,
        depth=depth_after(ctx.caller.turn),
    )
    beating = give_heartbeats(ctx.tx, [firing.job], ctx.settings)
    fired = fire(
        ctx.tx,
        [firing],
        unified=ctx.settings.unified_session,
        beating=beating,
    )
    if firing.run_id not in fired.run_ids:
        raise _already(firing.run_id)
    jobs.touch(ctx.tx, job.id, fired.revs[job.session_id])
    if firing.run_id in fired.braked and firing.depth <= DEEPEST:
        home = sessions.get(ctx.tx, job.session_id)
        lane_id = lane_of(ctx.tx, home, unified=ctx.settings.unified_session)
        stop_job(ctx.tx, job, home=home, lane_id=lane_id, run_id=firing.run_id)
    return show_run(ctx, see_run(ctx, firing.run_id))


def _already(run_id: str) -> Conflict:
    return Conflict(
        f"It is already running, or waits to: {run_id}. Wait for that run, or cancel it.",
        code="already_running",
        extra={"run_id": run_id},
    )


def list_runs(ctx: Context, ask: ListRuns) -> Page[RunRow]:
    """List runs, newest first; those of a removed job stay readable."""
    before = cursors.decode_in("runs", ask.cursor)
    if ask.job_id is not None:
        see_job(ctx, ask.job_id, gone=True)
    session = ctx.session(ask.session_key) if ask.session_key else None
    tz = ctx.zone(session)
    found = run_lists.listed(
        ctx.tx,
        user_id=ctx.caller.user_id,
        job_id=ask.job_id,
        session_id=session.id if session else None,
        state=ask.state,
        since=read_instant(ask.from_, field="from", now=ctx.now, tz=tz, hours=ctx.settings.named_hours)
        if ask.from_
        else None,
        until=read_instant(ask.to, field="to", now=ctx.now, tz=tz, hours=ctx.settings.named_hours, day_ends=True)
        if ask.to
        else None,
        before_n=before,
        limit=ask.limit + 1,
    )
    more = len(found) > ask.limit
    page = found[: ask.limit]
    following = cursors.encode_in("runs", run_lists.number_of(ctx.tx, page[-1].id)) if more else None
    return Page(items=show_runs(ctx, page), next_cursor=following)


def get_run(ctx: Context, ask: RunRef) -> RunShape:
    """Read one run in full: its prompt, its steps, and where its answer was delivered."""
    # An instant that was left out with others has the run that counts it.
    return show_run(ctx, see_run(ctx, ask.run_id, counted=True))


def cancel_run(ctx: Context, ask: RunRef) -> RunShape:
    """Cancel a run: a queued one leaves its lane, a running one is asked to stop."""
    see = see_run(ctx, ask.run_id)
    check_may_change(ctx, see.job_id)
    jobs.lock(ctx.tx, [see.job_id])
    sessions.lock(ctx.tx, [see.session_id, see.lane_id])
    run = see_run(ctx, ask.run_id)
    if run.state == "queued" and (inbounds.withdraw_runs(ctx.tx, [run.id]) or gates.drop(ctx.tx, [run.id])):
        rev = sessions.touch(ctx.tx, run.session_id)
        runs.finish_runs(ctx.tx, [Finished(run_id=run.id, state="cancelled", reason="asked", rev=rev)])
        _after_cancel(ctx, run, rev)
    elif run.state == "running" and run.turn_id is not None:
        turns.request_cancel(ctx.tx, run.turn_id, "asked")
    else:
        raise Conflict(f"This run is over: {run.state}. Only a queued or running one can be cancelled.")
    return show_run(ctx, see_run(ctx, run.id))


def _after_cancel(ctx: Context, run: Run, rev: int) -> None:
    """A run that never opened counts for nothing; a one-shot whose only run it was has no time left."""
    jobs.note_run(ctx.tx, run.job_id, run_id=run.id, at=ctx.now, rev=rev)
    uncount(ctx.tx, [run])
    go_on_without(ctx.tx, [run], reason="Its run was cancelled, and it has no further time to run.")
