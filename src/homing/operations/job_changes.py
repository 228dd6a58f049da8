"""Change a job: update, enable, disable, skip. Each change makes a revision and can be taken back once."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Literal

from homing.model.errors import Conflict, Forbidden, Invalid
from homing.model.jobs import Job, Timing
from homing.model.runs import SCHEDULED, Run, run_id
from homing.model.schedules import At, Schedule
from homing.model.schedules import warnings as schedule_warnings
from homing.model.schedules.describe import moment
from homing.operations.access import hold_job, see_job
from homing.operations.brakes import check_may_enable, check_pace, is_unattended
from homing.operations.budgets import check_ceiling
from homing.operations.context import Context
from homing.operations.definition import (
    STATE,
    When,
    check_pairing,
    columns_of,
    next_from_now,
    plain_columns,
    read_times,
    time_columns,
    timing_of,
    to_json,
)
from homing.operations.hands import Desk
from homing.operations.instants import read_future
from homing.operations.models import check_model
from homing.operations.reach import check_alert_to
from homing.operations.removal import Withdrawn, withdraw_runs
from homing.operations.scripts import NOT_TRIED, TriedScript, check_tried, names_a_script, script_after, try_before
from homing.operations.shapes.job import JobShape, next_fires
from homing.operations.shapes.job_asks import DisableJob, JobAsk, JobRef, SkipJob, UpdateJob
from homing.operations.skips import next_besides_skips
from homing.operations.views import show_job
from homing.store import jobs, runs, sessions
from homing.store.runs import NewRun

Change = Literal["added", "updated", "removed", "enabled", "disabled", "skipped"]

_AWAKE: Mapping[str, Any] = {
    "enabled": True,
    "disabled_by": None,
    "disabled_reason": None,
    "disabled_until": None,
    "retry": 0,
    "retry_of": None,
}
RESCHEDULED = "rescheduled"
# What a person's "go on" forgives.
_FORGIVEN: Mapping[str, Any] = {"consecutive_failures": 0, "schedule_errors": 0}


async def prepare_update_job(desk: Desk, ask: UpdateJob) -> TriedScript:
    """Run a job's script once, if the change gives it another."""
    return await prepare_change(desk, ask, see_job)


async def prepare_change(desk: Desk, ask: UpdateJob, find: Callable[[Context, str], Job]) -> TriedScript:
    """Run the script once that a job would have after a change."""
    if not names_a_script(ask):
        return NOT_TRIED
    before = await desk.read(lambda ctx: find(ctx, ask.job_id))
    return await try_before(desk, script_after(ask, before), before, agent_id=before.agent_id)


def update_job(ctx: Context, ask: UpdateJob, tried: TriedScript = NOT_TRIED) -> JobShape:
    """Change the given fields of a job; null means the default."""
    return change_fields(ctx, ask.job_id, ask, tried)


def change_fields(ctx: Context, job_id: str, ask: JobAsk, tried: TriedScript = NOT_TRIED) -> JobShape:
    """Change a job's fields: for update, for an add that met its dedupe_key, and for admins."""
    return change_held(ctx, hold_job(ctx, job_id), ask, tried)


def change_held(ctx: Context, job: Job, ask: JobAsk, tried: TriedScript = NOT_TRIED) -> JobShape:
    """Change the fields of a job that is locked."""
    check_revision(ctx, job, ask.revision if isinstance(ask, UpdateJob) else None)
    turn = ctx.caller.turn
    if ask.may_schedule and turn is not None and turn.source != "person":
        raise Forbidden("Only a person may let an automation add others (may_schedule).")
    if ask.gave("max_cost_usd_per_day") and is_unattended(ctx):
        raise Forbidden("Only a person may change the budget of an automation (max_cost_usd_per_day).")
    if (ask.gave("alert_after") or ask.gave("alert_to")) and is_unattended(ctx):
        raise Forbidden("Only a person may change the alerts of an automation (alert_after, alert_to).")
    when = read_times(ctx, ask, zone=_zone(ctx, job), before=job)
    job, withdrawn = _withdraw(ctx, job, ask, when)
    before = columns_of(job)
    columns = before | plain_columns(ask, job)
    schedule = job.timing.schedule if when is None else when.schedule
    if when is not None:
        columns |= time_columns(when)
    check_pairing(columns)
    check_tried(ctx, columns, job, tried, job.agent_id)
    check_model(ctx, columns["model"], before=job.payload.model)
    if any(before[name] != columns[name] for name in ("model", "max_cost_usd_per_day")):
        check_ceiling(ctx, columns, job.agent_id, job.session_id)
    if before["alert_to"] != columns["alert_to"]:
        check_alert_to(ctx, columns, job.user_id)
    check_dedupe_key(ctx, job, columns["dedupe_key"])
    columns |= _awake_or_not(ctx, job, ask, columns, schedule)
    changed = {name: value for name, value in columns.items() if before[name] != value}
    if not changed:
        return show_job(ctx, job)
    if columns["enabled"] and not job.enabled:
        changed |= _FORGIVEN
    if "message" in changed:
        # What was found out about another task would only mislead.
        changed |= {"last_note": None, "last_note_at": None}
    changed |= forgotten_state(job, columns)
    changed |= _written(ctx, changed)
    changed_job = write_change(ctx, job, changed, change=_named(job, changed), withdrawn=withdrawn)
    warnings: list[str] = []
    if when is not None:
        warnings = [*when.warnings, *schedule_warnings(schedule, ctx.now, ctx.settings.lookahead_days)]
    return show_job(ctx, changed_job, warnings=warnings)


def forgotten_state(job: Job, columns: Mapping[str, Any]) -> dict[str, Any]:
    """Rule 50: another script does not know what the old one remembered."""
    same = (columns["script"], columns["script_language"]) == (job.script, job.script_language)
    return {} if same or job.script_state is None else {"script_state": None}


def _written(ctx: Context, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Note what from outside may speak in the words of a job: its runs may see nothing else of it (rule 41)."""
    outside = ctx.caller.turn.shown_outside if ctx.caller.turn else None
    # Its turn is shown the name too, but another name takes nothing out of the message.
    return {"outside": outside} if "message" in changed or ("name" in changed and outside) else {}


def _withdraw(ctx: Context, job: Job, ask: JobAsk, when: When | None) -> tuple[Job, Run | None]:
    """Take a waiting run out of its lane that a pause or another schedule leaves behind (rules 6 and 39).

    First of all, since it locks sessions and gives back what the run had used up; a refusal undoes it.
    """
    if ask.gave("enabled") and ask.enabled is False and job.enabled:
        gone = withdraw_runs(ctx.tx, [job.id], reason="disabled", also=[job.session_id])
    elif when is not None and (when.schedule, when.starts_at) != (job.timing.schedule, job.timing.starts_at):
        gone = withdraw_rescheduled(ctx, job)
    else:
        return job, None
    return (jobs.get(ctx.tx, job.id) or job, gone.runs[0]) if gone.runs else (job, None)


def withdraw_rescheduled(ctx: Context, job: Job) -> Withdrawn:
    """Rule 39: a waiting run of the old schedule does not run; one asked for by hand does."""
    return withdraw_runs(ctx.tx, [job.id], reason=RESCHEDULED, triggers=SCHEDULED, also=[job.session_id])


def _named(job: Job, changed: Mapping[str, Any]) -> Change:
    if "enabled" in changed and set(changed) <= STATE | set(_FORGIVEN):
        return "disabled" if job.enabled else "enabled"
    return "updated"


def _zone(ctx: Context, job: Job) -> str:
    return ctx.zone(sessions.get(ctx.tx, job.session_id))


def _awake_or_not(
    ctx: Context, job: Job, ask: JobAsk, columns: Mapping[str, Any], schedule: Schedule
) -> dict[str, Any]:
    """Decide what a change of fields means for the next instant. An edit of the schedule counts from now."""
    timing = timing_of(columns, schedule, job.timing.runs_queued)
    moved = timing.instants != job.timing.instants
    # Null means the default, and the default of `enabled` is true.
    wanted = ask.enabled is not False if ask.gave("enabled") else None
    awakes = not job.enabled and (wanted or (wanted is None and moved and job.disabled_by == "done"))
    if wanted is False or not (awakes or job.enabled):
        if moved:
            # What enables it later, such as disabled_until, does not check again.
            check_pace(ctx, timing, next_from_now(ctx, timing), before=job)
        return asleep(_own_reason(ctx, job), None) if job.enabled else {}
    if not awakes and not moved:
        return {}
    if awakes:
        check_may_enable(ctx, job)
    upcoming = next_besides_skips(ctx, job, timing)
    if upcoming is None:
        raise _no_instant(timing)
    check_pace(ctx, timing, upcoming, before=None if awakes else job)
    return {**_AWAKE, "next_run_at": upcoming}


def asleep(reason: str | None, until: datetime | None) -> dict[str, Any]:
    """Say what a job is that a person paused."""
    return {
        "enabled": False,
        "disabled_by": "person",
        "disabled_reason": reason,
        "disabled_until": until,
        "next_run_at": None,
        "retry": 0,
        "retry_of": None,
    }


def _own_reason(ctx: Context, job: Job) -> str | None:
    """Say who paused a job where nobody could guess it: a turn that no person opened."""
    turn = ctx.caller.turn
    if turn is None or turn.source == "person":
        return None
    return "It paused itself in a turn of its own." if turn.job_id == job.id else "Its agent paused it."


def _no_instant(timing: Timing) -> Invalid:
    queued = timing.runs_queued
    if timing.runs_left == 0:
        return Invalid(
            f"It had {queued} {'run' if queued == 1 else 'runs'}, and max_runs is {timing.max_runs}."
            " Raise max_runs, or set it to null.",
            field="max_runs",
            code="schedule_never_fires",
        )
    if isinstance(timing.schedule, At):
        return Invalid(
            "Its time has passed. Give it a new one with update, for example when: 'tomorrow at 9'.",
            field="schedule.at",
            code="schedule_in_past",
        )
    end = f" It ends on {moment(timing.ends_at, timing.schedule.tz)}." if timing.ends_at is not None else ""
    return Invalid(
        f"It has no further time to run inside its bounds.{end} Give a later ends_at, or another schedule.",
        field="ends_at",
        code="schedule_never_fires",
    )


def enable_job(ctx: Context, ask: JobRef) -> JobShape:
    """Enable a job: it runs at its next time from now on, not for the times it was paused."""
    job = hold_job(ctx, ask.job_id)
    if job.enabled:
        return show_job(ctx, job)
    check_may_enable(ctx, job)
    upcoming = next_besides_skips(ctx, job, job.timing)
    if upcoming is None:
        raise _no_instant(job.timing)
    check_pace(ctx, job.timing, upcoming)
    return show_job(ctx, write_change(ctx, job, {**_AWAKE, **_FORGIVEN, "next_run_at": upcoming}, change="enabled"))


def disable_job(ctx: Context, ask: DisableJob) -> JobShape:
    """Pause a job: its queued run is withdrawn, a running one finishes."""
    return disable_held(ctx, hold_job(ctx, ask.job_id), ask.reason, ask.until)


def disable_held(ctx: Context, job: Job, reason: str | None, until: str | None) -> JobShape:
    """Pause a job that is locked."""
    tz = job.timing.schedule.tz
    reason = reason or _own_reason(ctx, job)
    ends = (
        None if until is None else read_future(until, field="until", now=ctx.now, tz=tz, hours=ctx.settings.named_hours)
    )
    same = job.disabled_by == "person" and (job.disabled_reason, job.disabled_until) == (reason, ends)
    # A turn that no person opened may not turn the engine's pause into one that ends by itself.
    if same or job.disabled_by == "done" or (job.disabled_by == "engine" and is_unattended(ctx)):
        return show_job(ctx, job)
    withdraw_runs(ctx.tx, [job.id], reason="disabled")
    return show_job(ctx, write_change(ctx, job, asleep(reason, ends), change="disabled"))


def skip_job(ctx: Context, ask: SkipJob) -> JobShape:
    """Skip a job's next times; one run `skipped`, reason `asked`, counts them."""
    job = hold_job(ctx, ask.job_id)
    if job.next_run_at is None or job.timing.retry:
        why = "it is about to try again" if job.timing.retry else "it has no next time"
        raise Conflict(f"Nothing can be skipped: {why}.")
    left_out = next_fires(job, ctx.now, ask.count)
    first, last = left_out[0], left_out[-1]
    upcoming = job.timing.next_due(max(last, ctx.now))
    values: dict[str, Any] = {"next_run_at": upcoming}
    if upcoming is None:
        values |= {"enabled": False, "disabled_by": "done", "disabled_reason": "Its last time was left out."}
    sessions.lock(ctx.tx, [job.session_id])
    rev = sessions.touch(ctx.tx, job.session_id)
    skip = _write_skip(ctx, job, first, last, len(left_out), upcoming, rev)
    return show_job(ctx, write_change(ctx, job, values, change="skipped", skip=skip))


def _write_skip(
    ctx: Context, job: Job, first: datetime, last: datetime, count: int, upcoming: datetime | None, rev: int
) -> dict[str, Any]:
    """Rule 12: consecutive skips with one reason are one row. Return what an undo needs to know of it."""
    before = runs.last_skip(ctx.tx, job.id)
    told: dict[str, Any] = {"first": first.isoformat(), "last": last.isoformat(), "count": count}
    if before is not None and before.reason == "asked" and before.next_run_at == first:
        runs.prolong_skip(ctx.tx, before.id, until=last, more=count, rev=rev)
        runs.set_next(ctx.tx, before.id, upcoming)
        until = before.missed_until or before.scheduled_for
        return told | {"run_id": before.id, "until": until.isoformat(), "count_before": before.missed_count or 1}
    run = NewRun(
        id=run_id(job.id, first, "timer"),
        job_id=job.id,
        session_id=job.session_id,
        lane_id=job.session_id,
        user_id=job.user_id,
        trigger="timer",
        scheduled_for=first,
        state="skipped",
        reason="asked",
        revision=job.revision,
        rev=rev,
        missed_count=count,
        missed_until=last,
        next_run_at=upcoming,
    )
    runs.add_runs(ctx.tx, [run])
    return told | {"run_id": run.id}


def check_dedupe_key(ctx: Context, job: Job, key: str | None) -> None:
    """Refuse a dedupe_key that another job of the session has; one it has already is its own."""
    if key is None or (key == job.dedupe_key and job.removed_at is None):
        return
    # Under the lock, so that of two jobs that want the key at once one gets it.
    sessions.lock(ctx.tx, [job.session_id])
    other = jobs.by_dedupe_key(ctx.tx, job.session_id, key)
    if other is not None and other.id != job.id:
        raise Conflict(
            f"Another automation of this session, {other.id}, has the dedupe_key {key!r}. Give this one another, or"
            " remove that one first.",
            extra={"job_id": other.id},
        )


def check_revision(ctx: Context, job: Job, revision: int | None) -> None:
    """Refuse a change that was made for an older state."""
    if revision is not None and revision != job.revision:
        raise stale(ctx, job)


def stale(ctx: Context, job: Job) -> Conflict:
    return Conflict(
        f"Somebody changed it meanwhile: it is at revision {job.revision}. Look at it again, then repeat the change.",
        code="stale_revision",
        extra={"current": show_job(ctx, job).plain()},
    )


def write_change(
    ctx: Context,
    job: Job,
    values: Mapping[str, Any],
    *,
    change: Change,
    skip: Mapping[str, Any] | None = None,
    withdrawn: Run | None = None,
) -> Job:
    """Write a change of a locked job, with what it takes to take it back."""
    undo = {"change": change, "revision": job.revision + 1, "before": to_json(columns_of(job))}
    if skip is not None:
        undo["skip"] = dict(skip)
    if withdrawn is not None and change == "updated":
        undo["withdrawn"] = withdrawn.id
    return write_values(ctx, job, {**values, "undo": undo})


def write_values(ctx: Context, job: Job, values: Mapping[str, Any]) -> Job:
    """Write a locked job's columns under its session's lock, so that streams see it."""
    sessions.lock(ctx.tx, [job.session_id])
    rev = sessions.touch(ctx.tx, job.session_id)
    changed = jobs.change(ctx.tx, job, {**values, "rev": rev})
    if changed is None:
        raise stale(ctx, job)
    return changed
