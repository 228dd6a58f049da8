"""What a model is told about jobs: the sentence, the id, the zone and the next times, so that it can tell the user."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime

from homing.agent.frames import frame
from homing.model.schedules.describe import MONTHS, WEEKDAYS, clock, listed
from homing.model.schedules.zones import zone
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.run_asks import UpcomingShape

_UNDO = {
    "Added": "remove",
    "Updated": "undo",
    "Removed": "undo",
    "Skipped": "undo",
    "Enabled": "disable",
    "Disabled": "enable",
}
_LONGEST_MESSAGE = 1000
_MOST_TIMES = 6


def named(job: JobShape) -> str:
    """Name a job so that model, person and program find it again."""
    return _called(job.name, job.id)


def _called(name: str, job_id: str) -> str:
    return f'"{" ".join(name.split())}" ({job_id})'


def changed(verb: str, job: JobShape, now: datetime, *, note: str = "") -> str:
    """Tell a change: Added "fruit watch" (job_…): weekdays at 08:00 Europe/Berlin. Next: … To undo: remove."""
    parts = [f"{verb} {named(job)}: {words(job)}."]
    parts += [note] if note else []
    if job.removed_at is None:
        parts.append(upcoming(job, now))
        parts += [f"Bounds: {', '.join(limits)}."] if (limits := _limits(job, now)) else []
    parts += [f"To undo: {_UNDO[verb]}."] if verb in _UNDO else []
    parts += [f"Note: {warning}" for warning in job.warnings or ()]
    return " ".join(parts)


def line(job: JobShape, now: datetime, *, where: bool = False) -> str:
    """Tell a job in one line of a list."""
    place = f" In {job.session_key}." if where else ""
    return f"- {named(job)}: {words(job)}. {upcoming(job, now, 1)} {status(job)}{place}"


def days(first: date, last: date, today: date) -> str:
    """Say a stretch of days: on Fri 20 Nov, from Sat 21 Nov to Sun 22 Nov."""
    begin, end = _day(first, today), _day(last, today)
    return f"on {begin}" if first == last else f"from {begin} to {end}"


def by_job(items: Iterable[UpcomingShape], tz: str, now: datetime) -> list[str]:
    """Tell what comes, one line per job in the order of their first times, on one clock."""
    jobs: dict[str, list[UpcomingShape]] = {}
    for item in items:
        jobs.setdefault(item.job_id, []).append(item)
    return [f"- {_called(one[0].job_name, job_id)}: {_times(one, tz, now)}." for job_id, one in jobs.items()]


def _times(items: Sequence[UpcomingShape], tz: str, now: datetime) -> str:
    shown: list[str] = []
    before = ""
    for item in items[:_MOST_TIMES]:
        day, _, at = moment(item.at, tz, now).rpartition(" ")
        shown.append(at if day == before else f"{day} {at}")
        before = day
    left = sum(item.count for item in items) - len(shown)
    return ", ".join(shown) + (f" and {left} more" if left else "")


def words(job: JobShape) -> str:
    """Say the schedule as a part of a sentence; days keep their capital."""
    first = job.words.partition(" ")[0].rstrip("s,")
    return job.words if first in WEEKDAYS else job.words[0].lower() + job.words[1:]


def upcoming(job: JobShape, now: datetime, count: int = 3) -> str:
    """Tell the next times on the clock of the job's zone."""
    if not job.next:
        return "Next: none." if job.enabled or job.status == "done" else "Next: none while it is disabled."
    return f"Next: {', '.join(moment(time, job.schedule.tz, now) for time in job.next[:count])}."


def moment(instant: str, tz: str, now: datetime) -> str:
    """Say an instant in short: Mon 16 Nov 08:00, with the year if it is not this one."""
    local = datetime.fromisoformat(instant).astimezone(zone(tz))
    day = _day(local.date(), now.astimezone(zone(tz)).date())
    return f"{day} {clock(local.hour, local.minute, local.second)}"


def _day(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    return f"{WEEKDAYS[day.isoweekday() % 7][:3]} {day.day} {MONTHS[day.month - 1][:3]}{year}"


def status(job: JobShape) -> str:
    """Say how a job stands, and why where it does not run."""
    why = job.state.disabled_words if not job.enabled else job.state.last_error
    if not why or job.status not in ("paused", "attention"):
        return f"{job.status_words.capitalize()}."
    return f"{job.status_words.capitalize()}: {why.rstrip('.')}."


def whole(job: JobShape, now: datetime) -> list[str]:
    """Tell everything about one job, in lines."""
    message = job.payload.message
    shown = message if len(message) <= _LONGEST_MESSAGE else f"{message[:_LONGEST_MESSAGE]}…"
    extras, found = _extras(job, now), job.state.last_note
    return [
        f"{named(job)}: {words(job)}. {upcoming(job, now)} {status(job)}",
        f"{'Sends, word for word' if job.payload.kind == 'reminder' else 'Message'}: {shown}",
        *([f"Also: {listed(extras)}."] if extras else []),
        *([f"Found last time ({moment(found.at, job.schedule.tz, now)}):", _found(job, found.text)] if found else []),
    ]


def _found(job: JobShape, note: str) -> str:
    return frame("status.line", note, name=job.name)


def _limits(job: JobShape, now: datetime) -> list[str]:
    """Say how its repeating is bounded, as it was understood."""
    tz = job.schedule.tz
    limits = [f"from {moment(job.starts_at, tz, now)}"] if job.starts_at else []
    limits += [f"until {moment(job.ends_at, tz, now)}"] if job.ends_at else []
    return [*limits, *([f"at most {job.max_runs} runs"] if job.max_runs else [])]


def _extras(job: JobShape, now: datetime) -> list[str]:
    tz = job.schedule.tz
    known = (
        (job.session == "isolated", "works apart and reports here"),
        (job.quiet, "silent when there is no news"),
        (job.delete_after_run, "removed after it ran"),
        (job.state.disabled_until, f"paused until {moment(job.state.disabled_until or job.created_at, tz, now)}"),
    )
    return [*(text for holds, text in known if holds), *_limits(job, now)]
