"""A job as it is shown."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, create_model

from homing.model.brakes import disabled_words
from homing.model.errors import Refused
from homing.model.job_fields import FIELDS, JobField
from homing.model.jobs import Job, JobKind, Status, Timing
from homing.model.runs import Run, RunState
from homing.model.schedules import At, Cron, Every, Schedule, words
from homing.model.usage import NOTHING, Sums
from homing.model.words import JOB_STATUSES, RUN_STATES, reason_words
from homing.operations.shapes.base import Answer, local, utc


class AtShape(Answer):
    kind: Literal["at"] = "at"
    at: str
    tz: str


class EveryShape(Answer):
    kind: Literal["every"] = "every"
    every_ms: int
    anchor: str
    tz: str


def _nothing(value: object) -> bool:
    return not value and value != []


class CronShape(Answer):
    kind: Literal["cron"] = "cron"
    cron: str
    tz: str
    interval: int | None = Field(default=None, exclude_if=_nothing)
    """Of its days (of its weeks, if it names weekdays) every n-th counts; absent: every one."""
    anchor: str | None = Field(default=None, exclude_if=_nothing)
    """With an interval: a time on the day, or in the week, from which it counts."""


ScheduleShape = Annotated[AtShape | EveryShape | CronShape, Field(discriminator="kind")]


_INSTANTS = [row for row in FIELDS if row.kind is datetime]


def _short(seconds: float | None) -> float:
    return 0 if seconds is None else int(seconds) if seconds == int(seconds) else seconds


def _answered(row: JobField) -> Any:
    if row.choices:
        return Annotated[Literal[row.choices], BeforeValidator(row.spoken)]
    if row.kind is list:
        return Annotated[list[str], BeforeValidator(lambda value: value or [])]
    if row.kind is float:
        # A field that may be null has null instead of a number.
        short: Any = Annotated[int | float, BeforeValidator(_short)]
        return short | None if row.default is None else short
    kind = str if row.kind is datetime else row.kind
    return kind | None if row.default is None else kind


def _table(*parts: str, **more: Any) -> Any:
    """Make an answer of the table's fields, to be read from the nouns' attributes. Type checkers see them as Any."""
    more |= {row.name: (_answered(row), Field(validation_alias=row.attribute)) for row in FIELDS if row.part in parts}
    return create_model("Fields", __base__=Answer, **more)


class PayloadShape(_table("payload"), Answer):
    """What a job does when it comes due."""


class OriginShape(Answer):
    door: str
    turn_id: str | None


class LastNoteShape(Answer):
    text: str
    at: str


class JobStateShape(Answer):
    next_run_at: str | None
    running_at: str | None
    active_run_id: str | None
    last_run_id: str | None
    last_run_at: str | None
    last_status: str | None
    last_status_words: str | None
    last_error: str | None
    last_duration_ms: int | None
    consecutive_failures: int
    disabled_reason: str | None
    disabled_words: str | None
    """The reason as a sentence, where it is a code."""
    disabled_until: str | None
    last_note: LastNoteShape | None
    """What a quiet job found last, and when."""


class JobUsageShape(Answer):
    """What a job's turns used."""

    turns: int
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    """Of the calls whose price is known; null: of none."""


class RecentShape(Answer):
    id: str
    scheduled_for: str
    state: RunState
    state_words: str
    reason: str | None
    reason_words: str | None


class JobShape(_table("job", "timing", id=(str, ...)), Answer):
    """A job: a schedule and a payload, bound to a session."""

    kind: JobKind
    status: Status
    status_words: str
    session_key: str
    session_title: str | None
    """What its conversation is called; null where nobody named it."""
    user_id: str
    agent_id: str
    schedule: ScheduleShape
    words: str
    next: list[str]
    payload: PayloadShape
    script_state: Any = None
    """What its script asked to remember."""
    origin: OriginShape
    revision: int
    created_at: str
    updated_at: str
    removed_at: str | None
    state: JobStateShape
    usage: JobUsageShape
    """Of the last 30 days."""
    recent: list[RecentShape] | None = Field(default=None, exclude_if=_nothing)
    """Only when asked for."""
    deduped: bool = Field(default=False, exclude_if=_nothing)
    """An add that met a job of the same dedupe_key changed that one: 200, not 201."""
    warnings: list[str] | None = Field(default=None, exclude_if=_nothing)
    """What may surprise, after an add or an update."""


def schedule_shape(schedule: Schedule) -> AtShape | EveryShape | CronShape:
    """Show a schedule; its instants are told on the clock of its zone."""
    match schedule:
        case At():
            return AtShape(at=str(local(schedule.at, schedule.tz)), tz=schedule.tz)
        case Every():
            anchor = str(local(schedule.anchor, schedule.tz))
            return EveryShape(every_ms=schedule.every_ms, anchor=anchor, tz=schedule.tz)
        case Cron():
            if schedule.anchor is None:
                return CronShape(cron=schedule.cron, tz=schedule.tz)
            anchor = str(local(schedule.anchor, schedule.tz))
            return CronShape(cron=schedule.cron, tz=schedule.tz, interval=schedule.interval, anchor=anchor)


def schedule_words(schedule: Schedule) -> str:
    """Say a schedule; also one that came in by import and cannot be read."""
    try:
        return words(schedule)
    except Refused as error:
        return f"A schedule that cannot be read: {error.detail}"


def next_fires(job: Job, now: datetime, count: int, until: datetime | None = None) -> list[datetime]:
    """Tell what will really fire: after skips, inside the bounds; nothing of a disabled or removed job."""
    first = job.next_run_at
    if first is None or not job.enabled or job.removed_at is not None or (until is not None and first > until):
        return []
    timing = job.timing
    if timing.retry:
        # What waits is a further try at a one-shot; nothing follows it.
        return [first]
    left = timing.left_of(count)
    return [first, *_following(timing, max(first, now), left - 1, until)] if left > 0 else []


def _following(timing: Timing, after: datetime, count: int, until: datetime | None) -> list[datetime]:
    times: list[datetime] = []
    while len(times) < count:
        try:
            upcoming = timing.next_due(after)
        except Refused:
            break
        if upcoming is None or (until is not None and upcoming > until):
            break
        times.append(upcoming)
        after = upcoming
    return times


def recent_shape(run: Run) -> RecentShape:
    scheduled_for = str(local(run.scheduled_for, run.tz))
    return RecentShape(
        id=run.id,
        scheduled_for=scheduled_for,
        state=run.state,
        state_words=RUN_STATES[run.state],
        reason=run.reason,
        reason_words=reason_words(run.reason),
    )


def job_shape(
    job: Job,
    *,
    now: datetime,
    active_run_id: str | None = None,
    running_at: datetime | None = None,
    undelivered: bool = False,
    used: Sums = NOTHING,
    recent: Sequence[Run] | None = None,
) -> JobShape:
    """Show a job."""
    tz = job.timing.schedule.tz
    status = "attention" if undelivered and job.status == "active" else job.status
    instants = {row.attribute: local(row.of(job), tz) for row in _INSTANTS}
    state = vars(job) | {
        "next_run_at": local(job.next_run_at, tz),
        "running_at": utc(running_at),
        "active_run_id": active_run_id,
        "last_run_at": utc(job.last_run_at),
        "last_status_words": None if job.last_status is None else RUN_STATES[job.last_status],
        "last_note": _last_note(job),
        "disabled_words": disabled_words(job.disabled_reason),
        "disabled_until": local(job.disabled_until, tz),
    }
    # What has no line here is shown as the nouns hold it.
    return JobShape.model_validate(
        {
            **vars(job),
            **vars(job.timing),
            **instants,
            "status": status,
            "status_words": JOB_STATUSES[status],
            "schedule": schedule_shape(job.timing.schedule),
            "words": schedule_words(job.timing.schedule),
            "next": [str(local(instant, tz)) for instant in next_fires(job, now, 3)],
            "payload": PayloadShape.model_validate(vars(job.payload)),
            "origin": OriginShape(door=job.origin_door, turn_id=job.origin_turn_id),
            "created_at": utc(job.created_at),
            "updated_at": utc(job.updated_at),
            "removed_at": utc(job.removed_at),
            "state": JobStateShape.model_validate(state),
            "usage": JobUsageShape.of(used, cost_usd=used.cost_usd),
            "recent": None if recent is None else [recent_shape(run) for run in recent],
        }
    )


def _last_note(job: Job) -> LastNoteShape | None:
    if job.last_note is None or job.last_note_at is None:
        return None
    return LastNoteShape(text=job.last_note, at=str(utc(job.last_note_at)))
