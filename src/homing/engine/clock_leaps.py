"""When the clock is set: what was planned by the wrong one is planned once more (ADR 0027)."""

from datetime import datetime, timedelta

from homing.model.jobs import Job
from homing.model.schedules import count_between, previous_before
from homing.store import Tx, jobs, runs, sessions

_BATCH = 500
_MICROSECOND = timedelta(microseconds=1)


def plan_again(tx: Tx, *, after: int = 0) -> int | None:
    """Set one batch of recurring jobs to their next instant from now; say where the next batch begins.

    A run's identity forbids that an instant runs twice; what is counted as missed and still to come was not missed.
    """
    now = tx.now()
    found = jobs.take_recurring(tx, now, _BATCH, after=after)
    sessions.lock(tx, {job.session_id for job in found})
    for job in found:
        _plan(tx, job, now)
    tx.ring("jobs")
    return found[-1].n if len(found) == _BATCH else None


def _plan(tx: Tx, job: Job, now: datetime) -> None:
    try:
        upcoming = job.timing.next_due(max(now, runs.left_out_until(tx, job.id) or now))
    except Exception:  # noqa: BLE001 - one bad job must not hold up the others; its own tick will report it
        return
    if upcoming is None or job.next_run_at is None or upcoming >= job.next_run_at:
        return
    rev = sessions.touch(tx, job.session_id)
    jobs.plan(tx, job.id, upcoming, rev=rev)
    schedule = job.timing.schedule
    for run_id, first in runs.missed_beyond(tx, job.id, now):
        last = previous_before(schedule, now + _MICROSECOND)
        if first > now:
            runs.forget_skip(tx, run_id)
        elif last is None or last <= first:
            runs.shorten_skip(tx, run_id, until=first, count=1, rev=rev)
        else:
            runs.shorten_skip(tx, run_id, until=last, count=count_between(schedule, first, last) + 1, rev=rev)
