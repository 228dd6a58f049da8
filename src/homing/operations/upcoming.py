"""What is to come: the times of jobs in a stretch of time, and of a schedule that is only thought of."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from heapq import merge
from itertools import islice

from homing.model.errors import Invalid, Refused
from homing.model.jobs import Job
from homing.model.schedules import At, check, check_zone, count_between, next_times, read_schedule, warnings
from homing.model.schedules.instants import whole_ms
from homing.model.schedules.zones import instant_of, wall_of, zone
from homing.operations.context import Context
from homing.operations.instants import read_instant
from homing.operations.shapes.base import local
from homing.operations.shapes.job import schedule_shape, schedule_words
from homing.operations.shapes.job_asks import ListUpcoming, PreviewSchedule
from homing.operations.shapes.run_asks import PreviewShape, UpcomingList, UpcomingShape
from homing.store import job_lists

_DAYS = 7
_MOST_DAYS = 62
_MOST_JOBS = 500
_MOST_ITEMS = 5000
_FOLD = 24
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """The jobs whose times are asked for, and between which instants."""

    jobs: list[Job]
    now: datetime
    begin: datetime
    end: datetime

    def finish(self) -> UpcomingList:
        """Make the answer, after the transaction."""
        return tell_upcoming(self)


def list_upcoming(ctx: Context, ask: ListUpcoming) -> Ahead:
    """List what will run between two times; a day with many runs of one job is one item with a count."""
    session = ctx.session(ask.session_key) if ask.session_key else None
    tz = ctx.zone(session)
    begin = (
        read_instant(ask.from_, field="from", now=ctx.now, tz=tz, hours=ctx.settings.named_hours)
        if ask.from_
        else ctx.now
    )
    end = (
        read_instant(ask.to, field="to", now=ctx.now, tz=tz, hours=ctx.settings.named_hours, day_ends=True)
        if ask.to
        else _days_after(begin)
    )
    if end < begin or end - begin > timedelta(days=_MOST_DAYS):
        raise Invalid(f"to must come after from, and at most {_MOST_DAYS} days later.", field="to", code="out_of_range")
    turn = ctx.caller.turn
    found = job_lists.due_until(
        ctx.tx,
        user_id=ctx.caller.user_id,
        agent_id=turn.agent_id if turn else None,
        session_id=session.id if session else None,
        until=end,
        limit=_MOST_JOBS + 1,
    )
    return Ahead(jobs=found, now=ctx.now, begin=begin, end=end)


def _days_after(begin: datetime) -> datetime:
    try:
        return begin + timedelta(days=_DAYS)
    except OverflowError:
        raise Invalid("from is too far away.", field="from", code="out_of_range") from None


def tell_upcoming(ahead: Ahead) -> UpcomingList:
    """Compute the times, in their order and no further than is shown. It reads nothing, and may take a second."""
    each = [_of_job(job, ahead.now, ahead.begin, ahead.end) for job in ahead.jobs[:_MOST_JOBS]]
    items = list(islice(merge(*each, key=lambda item: item[0]), _MOST_ITEMS + 1))
    more = len(ahead.jobs) > _MOST_JOBS or len(items) > _MOST_ITEMS
    return UpcomingList(items=[_item(job, at, count) for at, job, count in items[:_MOST_ITEMS]], more=more)


def _of_job(job: Job, now: datetime, begin: datetime, end: datetime) -> Iterator[tuple[datetime, Job, int]]:
    tz = zone(job.timing.schedule.tz)
    left = job.timing.runs_left
    after = begin - _MICROSECOND if begin > now else now
    try:
        first = _first(job, begin, after)
        if left is not None and first is not None and job.next_run_at is not None and first > job.next_run_at:
            left -= count_between(job.timing.schedule, job.next_run_at, first)
        while first is not None and first <= end and (left is None or left > 0):
            midnight = datetime.combine(wall_of(first, tz).date() + timedelta(days=1), time())
            day_ends = min(end, instant_of(midnight, tz) - timedelta(microseconds=1))
            if job.timing.ends_at is not None:
                day_ends = min(day_ends, job.timing.ends_at)
            times = [first, *_until(job, first, day_ends)]
            count = len(times)
            if count > _FOLD:
                count = 1 + count_between(job.timing.schedule, first, day_ends)
                times = [first]
            if left is not None:
                count = min(count, left)
                times, left = times[:count], left - count
            yield from ((at, job, count if len(times) == 1 else 1) for at in times)
            first = None if job.timing.retry else job.timing.next_due(max(day_ends, now))
    except Refused:
        # A schedule that cannot be computed is told on the job itself.
        return


def _first(job: Job, begin: datetime, after: datetime) -> datetime | None:
    if job.next_run_at is None or job.next_run_at >= begin:
        return job.next_run_at
    # What waits is a further try at a one-shot, and it comes before this time.
    return None if job.timing.retry else job.timing.next_due(max(after, job.next_run_at))


def _until(job: Job, first: datetime, day_ends: datetime) -> list[datetime]:
    times: list[datetime] = []
    following = None if job.timing.retry else job.timing.next_due(first)
    while following is not None and following <= day_ends and len(times) <= _FOLD:
        times.append(following)
        following = job.timing.next_due(following)
    return times


def _item(job: Job, at: datetime, count: int) -> UpcomingShape:
    return UpcomingShape(
        job_id=job.id,
        job_name=job.name,
        session_key=job.session_key,
        at=str(local(at, job.timing.schedule.tz)),
        count=count,
    )


def preview_schedule(ctx: Context, ask: PreviewSchedule) -> PreviewShape:
    """Show what a schedule means and when it fires, without saving anything."""
    given = [one for one in (ask.when, ask.text, ask.schedule) if one is not None]
    if len(given) > 1:
        raise Invalid("Give one of when, text and schedule.", field="when", code="schedule_twice")
    if not given:
        raise Invalid("Say when, for example 'every weekday at 8'.", field="when", code="missing")
    if not isinstance(given[0], str | dict):
        raise Invalid("schedule must be an object or a phrase.", field="schedule", code="wrong_type")
    session = ctx.session(ask.session_key) if ask.session_key else None
    tz = check_zone(ask.timezone) if ask.timezone else ctx.zone(session)
    now = ctx.now
    after = (
        read_instant(ask.after, field="after", now=now, tz=tz, hours=ctx.settings.named_hours)
        if ask.after
        else whole_ms(now)
    )
    reading = read_schedule(given[0], now=now, zone=tz, hours=ctx.settings.named_hours)  # pyright: ignore[reportUnknownArgumentType]
    schedule = reading.schedule
    check(
        schedule,
        # One that is still to come may lie before the instant to start from: then nothing is next.
        now=min(after, now) if isinstance(schedule, At) else now,
        min_interval_seconds=ctx.settings.min_interval_seconds,
        starts_at=reading.starts_at,
        ends_at=reading.ends_at,
    )
    times = next_times(schedule, after, ask.count, starts_at=reading.starts_at, ends_at=reading.ends_at)
    return PreviewShape(
        schedule=schedule_shape(schedule),
        words=schedule_words(schedule),
        timezone=schedule.tz,
        next=[str(local(instant, schedule.tz)) for instant in times],
        warnings=[*reading.warnings, *warnings(schedule, after, ctx.settings.lookahead_days)],
    )
