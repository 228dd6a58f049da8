"""A job's definition: what an ask makes of it, and its columns as an undo keeps them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from homing.model.errors import Invalid
from homing.model.jobs import DEFAULT_TIMEOUT_SECONDS, DEFAULT_WINDOW_SECONDS, THINKING_LEVELS, Job, Timing
from homing.model.schedules import At, Cron, Every, Schedule, check, check_zone, read_schedule
from homing.model.schedules.instants import every_nth
from homing.model.schedules.times import whole_ms
from homing.model.schedules.zones import instant_of, wall_of, zone
from homing.operations.context import Context
from homing.operations.instants import read_future, read_instant
from homing.operations.shapes.job_asks import JobFields
from homing.store.rows import schedule_columns

_NAME_FROM_MESSAGE = 24
# field of the ask -> column and default
_PLAIN: Mapping[str, tuple[str, object]] = {
    "description": ("description", None),
    "sender_id": ("sender_id", None),
    "write_back": ("write_back", "full"),
    "continue_": ("continues", True),
    "wake": ("wake", "now"),
    "catch_up": ("catch_up", "latest"),
    "catch_up_window_seconds": ("catch_up_window_seconds", DEFAULT_WINDOW_SECONDS),
    "quiet": ("quiet", False),
    "delete_after_run": ("delete_after_run", False),
    "dedupe_key": ("dedupe_key", None),
    "max_runs": ("max_runs", None),
    "may_schedule": ("may_schedule", False),
}
_PAYLOAD: Mapping[str, tuple[str, object]] = {
    "kind": ("payload_kind", "agent_turn"),
    "message": ("message", ""),
    "model": ("model", None),
    "thinking": ("thinking", None),
    "timeout_seconds": ("timeout_seconds", DEFAULT_TIMEOUT_SECONDS),
    "context": ("context", "session"),
}
_INSTANTS = frozenset({"at", "anchor", "starts_at", "ends_at", "disabled_until", "next_run_at", "retry_of"})


@dataclass(frozen=True, kw_only=True)
class When:
    """When a job fires, as an ask wants it."""

    schedule: Schedule
    starts_at: datetime | None
    ends_at: datetime | None
    warnings: Sequence[str] = field(default_factory=list[str])


def columns_of(job: Job) -> dict[str, Any]:
    """Spread a job over the columns that people may change."""
    timing, payload = job.timing, job.payload
    return {
        "name": job.name,
        "description": job.description,
        "sender_id": job.sender_id,
        **schedule_columns(timing.schedule),
        "starts_at": timing.starts_at,
        "ends_at": timing.ends_at,
        "max_runs": timing.max_runs,
        "payload_kind": payload.kind,
        "message": payload.message,
        "model": payload.model,
        "thinking": payload.thinking,
        "timeout_seconds": payload.timeout_seconds,
        "context": payload.context,
        "isolated": job.isolated,
        "write_back": job.write_back,
        "continues": job.continues,
        "wake": job.wake,
        "catch_up": timing.catch_up,
        "catch_up_window_seconds": timing.catch_up_window_seconds,
        "quiet": job.quiet,
        "delete_after_run": job.delete_after_run,
        "may_schedule": job.may_schedule,
        "dedupe_key": job.dedupe_key,
        "enabled": job.enabled,
        "disabled_by": job.disabled_by,
        "disabled_reason": job.disabled_reason,
        "disabled_until": job.disabled_until,
        "next_run_at": job.next_run_at,
        "retry": timing.retry,
        "retry_of": timing.retry_of,
    }


def to_json(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Make columns fit for JSON."""
    return {k: v.isoformat() if isinstance(v, datetime) else v for k, v in columns.items()}


def from_json(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Read columns back from JSON."""
    return {k: datetime.fromisoformat(v) if k in _INSTANTS and v is not None else v for k, v in columns.items()}


def plain_columns(ask: JobFields, before: Job | None) -> dict[str, Any]:
    """Read all but the times: given fields count, null means the default; on an add, nothing given does too."""
    columns: dict[str, Any] = {}
    for name, (column, default) in _PLAIN.items():
        if before is None or ask.gave(name):
            value = getattr(ask, name)
            columns[column] = default if value is None else value
    if before is None or ask.gave("session"):
        columns["isolated"] = ask.session == "isolated"
    columns |= _payload_columns(ask, before)
    message = str(columns.get("message") or (before.payload.message if before else ""))
    if before is None or ask.gave("name"):
        columns["name"] = (ask.name or "").strip() or name_of(message)
    return columns


def _payload_columns(ask: JobFields, before: Job | None) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    payload = ask.payload
    for name, (column, default) in _PAYLOAD.items():
        if before is None or (payload is not None and payload.gave(name)):
            value = getattr(payload, name) if payload is not None else None
            columns[column] = default if value is None else value
    inner = payload.message if payload is not None else None
    if ask.message is not None:
        if inner is not None and inner != ask.message:
            raise Invalid("message and payload.message differ; give one of them.", field="message", code="wrong_type")
        columns["message"] = ask.message
    elif before is not None and (ask.gave("message") or (ask.gave("payload") and payload is None)):
        # There is no default for what is to be done.
        columns["message"] = inner or ""
    if "message" in columns and not str(columns["message"]).strip():
        raise Invalid(
            "message is missing. Say what is to be done then, for example 'Look for new fruit and tell me'.",
            field="message",
            code="missing",
        )
    thinking = columns.get("thinking")
    if thinking is not None and str(thinking).strip().lower() not in THINKING_LEVELS:
        raise Invalid(
            f"payload.thinking must be one of {', '.join(THINKING_LEVELS)}, not {thinking!r}.",
            field="payload.thinking",
            code="out_of_range",
        )
    return columns


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


def read_times(ctx: Context, ask: JobFields, *, zone: str, before: Job | None) -> When | None:
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


def _raw(ask: JobFields, *, adding: bool) -> Mapping[str, object] | str | None:
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
    ctx: Context, raw: Mapping[str, object] | str | None, ask: JobFields, tz: str, before: Job | None
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


def _bounded(ctx: Context, when: When, ask: JobFields, *, before: Job | None, fresh: bool) -> When:
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
    return Timing(
        schedule=schedule,
        starts_at=columns["starts_at"],
        ends_at=columns["ends_at"],
        max_runs=columns["max_runs"],
        runs_queued=runs_queued,
    )
