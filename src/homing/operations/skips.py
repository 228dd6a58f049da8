"""Times that somebody asked to leave out and that are still ahead: what a job's next instant has to do with them."""

from datetime import datetime

from homing.model.jobs import Job, Timing
from homing.operations.context import Context
from homing.operations.definition import next_from_now
from homing.store import runs, sessions


def next_besides_skips(ctx: Context, job: Job, timing: Timing) -> datetime | None:
    """Find the next instant of a definition written now. What was left out stays so over a pause, but not over another
    schedule, nor when somebody goes on with a job that is done."""
    if job.disabled_by == "done" or (timing.schedule, timing.starts_at) != (job.timing.schedule, job.timing.starts_at):
        _forget(ctx, job)
        return next_from_now(ctx, timing)
    until = runs.left_out_until(ctx.tx, job.id)
    return timing.next_due(until) if until is not None and until > ctx.now else next_from_now(ctx, timing)


def passed(job: Job, first: datetime, now: datetime) -> tuple[datetime, int]:
    """Say which is the last instant of a stretch that is over, and how many are."""
    last, count = first, 1
    following = job.timing.next_due(first)
    while following is not None and following <= now:
        last, count = following, count + 1
        following = job.timing.next_due(following)
    return last, count


def _forget(ctx: Context, job: Job) -> None:
    skip = runs.last_skip(ctx.tx, job.id)
    if skip is None or skip.reason != "asked" or (skip.missed_until or skip.scheduled_for) <= ctx.now:
        return
    sessions.lock(ctx.tx, [job.session_id])
    if skip.scheduled_for > ctx.now:
        runs.delete_skip(ctx.tx, skip.id)
        return
    rev = sessions.touch(ctx.tx, job.session_id)
    gone, count = passed(job, skip.scheduled_for, ctx.now)
    runs.shorten_skip(ctx.tx, skip.id, until=gone, count=count, rev=rev)
