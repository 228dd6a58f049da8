"""A job's definition: what an ask makes of it, and its columns as an undo keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from homing.model.errors import Invalid
from homing.model.job_fields import FIELDS, THINKING_LEVELS
from homing.model.jobs import Job, Timing
from homing.model.schedules import At, Cron, Every, Schedule, check, check_zone, read_schedule
from homing.model.schedules.instants import every_nth, whole_ms
from homing.model.schedules.zones import instant_of, wall_of, zone
from homing.operations.context import Context
from homing.operations.instants import read_future, read_instant
from homing.operations.shapes.job_asks import JobAsk
from homing.store.rows import schedule_columns

_NAME_FROM_MESSAGE = 24
# All but the times, the name and whether it is enabled, which need more than the value given.
_PLAIN = [row for row in FIELDS if row.kind is not datetime and row.name not in ("name", "enabled")]
_PAUSE = ("disabled_by", "disabled_reason", "disabled_until", "next_run_at")
_RETRY = ("retry", "retry_of")
STATE = frozenset({"enabled", *_PAUSE, *_RETRY})
"""What an undo keeps and the engine writes too."""
_INSTANTS = {"at", "anchor", "disabled_until", "next_run_at", "retry_of"} | {
    row.column for row in FIELDS if row.kind is datetime
}


@dataclass(frozen=True, kw_only=True)
class When:
    """When a job fires, as an ask wants it."""

    schedule: Schedule
    starts_at: datetime | None
    ends_at: datetime | None
    warnings: Sequence[str] = field(default_factory=list[str])


def columns_of(job: Job) -> dict[str, Any]:
    """Spread a job over the columns that people may change, and those that a change of them moves."""
    return {
        **{row.column: row.of(job) for row in FIELDS},
        **schedule_columns(job.timing.schedule),
        **{name: getattr(job, name) for name in _PAUSE},
        "outside": job.outside,
        **{name: getattr(job.timing, name) for name in _RETRY},
    }


def to_json(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Make columns fit for JSON."""
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in columns.items()}


def from_json(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Read columns back from JSON."""
    return {k: datetime.fromisoformat(v) if k in _INSTANTS and v is not None else v for k, v in columns.items()}


def plain_columns(ask: JobAsk, before: Job | None) -> dict[str, Any]:
    """Read all but the times: given fields count, null means the default; on an add, nothing given does too."""
    columns = {
        row.column: row.stored(getattr(part, row.name, None))
        for row in _PLAIN
        for part in (ask.payload if row.part == "payload" else ask,)
        if before is None or (part is not None and part.gave(row.name))
    }
    _read_message(ask, columns, before)
    check_thinking(columns.get("thinking"), field="payload.thinking")
    message = str(columns.get("message") or (before.payload.message if before else ""))
    if before is None or ask.gave("name"):
        columns["name"] = (ask.name or "").strip() or name_of(message)
    return columns


def _read_message(ask: JobAsk, columns: dict[str, Any], before: Job | None) -> None:
    inner = ask.payload.message if ask.payload is not None else None
    if ask.message is not None:
        if inner is not None and inner != ask.message:
            raise Invalid("message and payload.message differ; give one of them.", field="message", code="wrong_type")
        columns["message"] = ask.message
    elif before is not None and (ask.gave("message") or (ask.gave("payload") and ask.payload is None)):
        # There is no default for what is to be done.
        columns["message"] = inner or ""
    if "message" in columns and not str(columns["message"]).strip():
        raise Invalid(
            "message is missing. Say what is to be done then, for example 'Look for new fruit and tell me'.",
            field="message",
            code="missing",
        )


def check_thinking(level: str | None, *, field: str) -> None:
    """Refuse a level of thinking that no model knows."""
    if level is not None and level.strip().lower() not in THINKING_LEVELS:
        raise Invalid(
            f"{field} must be one of {', '.join(THINKING_LEVELS)}, not {level!r}.",
            field=field,
            code="out_of_range",
        )


def name_of(message: str) -> str:
    """Name a job after its message."""
    return " ".join(message.split())[:_NAME_FROM_MESSAGE].strip()


def check_pairing(columns: Mapping[str, Any]) -> None:
    """Rule 23: a reminder or an event happens in the session itself."""
    if columns["isolated"] and columns["payload_kind"] != "agent_turn":
        raise Invalid(
            f"A {columns['payload_kind']} cannot be isolated: leave out one of the two, or make it an agent_turn.",
            field="session",
            code="out_of_range",
        )


def read_times(ctx: Context, ask: JobAsk, *, zone: str, before: Job | None) -> When | None:
    """Read when a job fires; None when an update says nothing about it. What may not be is refused."""
    now = ctx.now
    tz = check_zone(ask.timezone) if ask.timezone else zone
    raw = _raw(ask, adding=before is None)
    bounds = ask.gave("starts_at") or ask.gave("ends_at")
    if raw is None and not ask.gave("timezone") and not bounds:
        return None
    when = _read_schedule(ctx, raw, ask, tz, before)
    when = _bounded(ctx, when, ask, before=before, fresh=raw is not None)
    if isinstance(when.schedule, Cron) and when.starts_at and ask.gave("starts_at") and not _anchored(raw):
        when = replace(when, schedule=every_nth(when.schedule, when.schedule.interval, now=now, anchor=when.starts_at))
    if raw is not None or not isinstance(when.schedule, At):
        check(
            when.schedule,
            now=now,
            min_interval_seconds=ctx.settings.min_interval_seconds,
            starts_at=when.starts_at,
            ends_at=when.ends_at,
        )
    return when


def _raw(ask: JobAsk, *, adding: bool) -> Mapping[str, object] | str | None:
    if ask.when is not None and ask.schedule is not None:
        raise Invalid("when and schedule are two schedules; give one of them.", field="when", code="schedule_twice")
    raw = ask.when if ask.when is not None else ask.schedule
    if raw is None and (adding or ask.gave("when") or ask.gave("schedule")):
        raise Invalid(
            'Say when, for example "when": "in 10 minutes", "every weekday at 8" or "0 9 * * 1-5".',
            field="when",
            code="missing",
        )
    if raw is not None and not isinstance(raw, str | Mapping):
        raise Invalid("schedule must be an object or a phrase.", field="schedule", code="wrong_type")
    return raw  # pyright: ignore[reportUnknownVariableType]


def _read_schedule(
    ctx: Context, raw: Mapping[str, object] | str | None, ask: JobAsk, tz: str, before: Job | None
) -> When:
    if raw is None:
        assert before is not None
        timing = before.timing
        # Only the zone was named, or null for the session's: the same schedule on another clock.
        schedule = _in_zone(timing.schedule, tz) if ask.gave("timezone") else timing.schedule
        return When(schedule=schedule, starts_at=timing.starts_at, ends_at=timing.ends_at)
    reading = read_schedule(raw, now=ctx.now, zone=tz, hours=ctx.settings.named_hours)
    schedule = reading.schedule
    if before is not None and reading.starts_at is None and not _anchored(raw):
        schedule = _same_phase(schedule, before.timing.schedule)
    return When(schedule=schedule, starts_at=reading.starts_at, ends_at=reading.ends_at, warnings=reading.warnings)


def _in_zone(schedule: Schedule, tz: str) -> Schedule:
    if isinstance(schedule, Cron) and schedule.anchor is not None:
        # Its days are those of the calendar: the anchor keeps its date on the other clock.
        day = wall_of(schedule.anchor, zone(schedule.tz))
        return replace(schedule, tz=tz, anchor=instant_of(day, zone(tz)))
    return replace(schedule, tz=tz)


def _anchored(raw: Mapping[str, object] | str | None) -> bool:
    return isinstance(raw, Mapping) and any("anchor" in key.lower() and value for key, value in raw.items())


def _same_phase(schedule: Schedule, before: Schedule) -> Schedule:
    """The same interval given again without an anchor keeps its phase."""
    match schedule, before:
        case Every(), Every() if schedule.every_ms == before.every_ms:
            return replace(schedule, anchor=before.anchor)
        case Cron(), Cron() if replace(schedule, anchor=before.anchor) == before:
            return before
        case _:
            return schedule


def _bounded(ctx: Context, when: When, ask: JobAsk, *, before: Job | None, fresh: bool) -> When:
    tz = when.schedule.tz
    read: Mapping[str, Any] = {"now": ctx.now, "tz": tz, "hours": ctx.settings.named_hours}
    starts_at, ends_at = when.starts_at, when.ends_at
    if before is not None and fresh:
        # The schedule is replaced; bounds that were set beside it stay.
        starts_at = starts_at or before.timing.starts_at
        ends_at = ends_at or before.timing.ends_at
    if ask.gave("starts_at"):
        starts_at = None if ask.starts_at is None else read_future(ask.starts_at, field="starts_at", **read)
    if ask.gave("ends_at"):
        ends_at = None if ask.ends_at is None else read_instant(ask.ends_at, field="ends_at", **read, day_ends=True)
    return replace(when, starts_at=starts_at, ends_at=ends_at)


def time_columns(when: When) -> dict[str, Any]:
    return {**schedule_columns(when.schedule), "starts_at": when.starts_at, "ends_at": when.ends_at}


def next_from_now(ctx: Context, timing: Timing) -> datetime | None:
    """Find the next instant of a definition written now. Anchors count whole milliseconds, and now is never next."""
    return timing.next_due(whole_ms(ctx.now))


def timing_of(columns: Mapping[str, Any], schedule: Schedule, runs_queued: int) -> Timing:
    """Put together what decides when columns about to be written come due."""
    fields = {row.attribute: columns[row.column] for row in FIELDS if row.part == "timing"}
    return Timing(schedule=schedule, runs_queued=runs_queued, **fields)
