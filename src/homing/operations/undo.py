"""Take back the last change of a job, one level, and nobody else's."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from homing.model.errors import Conflict
from homing.model.jobs import Job
from homing.operations.access import hold_job
from homing.operations.brakes import check_may_enable, check_pace
from homing.operations.context import Context
from homing.operations.definition import STATE, columns_of, from_json, next_from_now, timing_of
from homing.operations.job_changes import (
    RESCHEDULED,
    check_dedupe_key,
    forgotten_state,
    stale,
    withdraw_rescheduled,
    write_values,
)
from homing.operations.removal import remove, withdraw_runs
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import UndoJob
from homing.operations.skips import passed
from homing.operations.views import show_job
from homing.store import jobs, runs, sessions
from homing.store.rows import schedule_of

_OVER = "Its time passed before the change was taken back."


def undo_job(ctx: Context, ask: UndoJob) -> JobShape:
    """Undo the change that made the given revision: added → removed, removed → back, and so on."""
    job = hold_job(ctx, ask.job_id, removed=True)
    if ask.revision != job.revision:
        raise stale(ctx, job)
    undo = job.undo
    if undo is None or (job.removed_at is not None) != (undo["change"] == "removed"):
        raise Conflict("There is nothing to undo: its last change cannot be taken back.", code="nothing_to_undo")
    match undo["change"]:
        case "added":
            return show_job(ctx, remove(ctx, job, undoable=False))
        case "skipped":
            return _unskip(ctx, job, undo)
        case "removed":
            _check_can_return(ctx, job)
            return _restore(ctx, job, undo, {"removed_at": None})
        case _:
            return _restore(ctx, job, undo, {})


def _restore(ctx: Context, job: Job, undo: Mapping[str, Any], more: Mapping[str, Any]) -> JobShape:
    # A field that is younger than the change stays as it is.
    columns = columns_of(job) | from_json(undo["before"])
    if ctx.caller.turn:
        # Its own turn may be the one that takes the change back: what that was shown stays shown.
        columns["outside"] = columns["outside"] or job.outside or ctx.caller.turn.shown_outside
    schedule = schedule_of(columns)
    if not columns["enabled"] and job.enabled:
        withdraw_runs(ctx.tx, [job.id], reason="disabled", also=[job.session_id])
    elif (schedule, columns["starts_at"]) != (job.timing.schedule, job.timing.starts_at):
        withdraw_rescheduled(ctx, job)
    job = jobs.get(ctx.tx, job.id) or job
    check_dedupe_key(ctx, job, columns["dedupe_key"])
    retry = columns["retry"]
    columns |= _next_instant(ctx, job, columns)
    if columns["disabled_by"] in {None, "done"}:
        columns |= _run_again(ctx, undo.get("withdrawn"), retry)
    awakes = columns["enabled"] and not job.enabled
    if awakes:
        check_may_enable(ctx, job)
    timing = timing_of(columns, schedule, job.timing.runs_queued)
    check_pace(ctx, timing, columns["next_run_at"], before=None if awakes else job)
    columns |= forgotten_state(job, columns)
    return show_job(ctx, write_values(ctx, job, {**columns, **more, "undo": None}))


def _run_again(ctx: Context, run_id: object, retry: int) -> dict[str, Any]:
    """Let the run fire after all that the change had withdrawn: late, under the rules for late ones."""
    run = runs.get(ctx.tx, str(run_id)) if run_id is not None else None
    if run is None or run.reason != RESCHEDULED or not runs.delete_skip(ctx.tx, run.id):
        return {}
    values: dict[str, Any] = {"enabled": True, "disabled_by": None, "disabled_reason": None}
    if run.trigger == "retry":
        return values | {"next_run_at": ctx.now, "retry": retry, "retry_of": run.scheduled_for}
    return values | {"next_run_at": run.scheduled_for}


def _next_instant(ctx: Context, job: Job, columns: Mapping[str, Any]) -> dict[str, Any]:
    """An instant that is still to come is kept, since it knows of skips; else it counts from now."""
    still: dict[str, Any] = {"retry": 0, "retry_of": None}
    if not columns["enabled"]:
        return still | {"next_run_at": None}
    timing = timing_of(columns, schedule_of(columns), job.timing.runs_queued)
    if job.disabled_by != "person" and job.removed_at is None and timing.instants == job.timing.instants:
        # The change was not about when: what the engine did since then stands, be it a run, a retry or a pause.
        return {name: value for name, value in columns_of(job).items() if name in STATE}
    kept: datetime | None = columns["next_run_at"]
    if kept is None or kept <= ctx.now or columns["retry"]:
        kept = next_from_now(ctx, timing)
    if kept is None and runs.active_jobs(ctx.tx, [job.id]):
        # Its last run is under way, and how that ends says what comes after it.
        return still | {"next_run_at": None}
    if kept is None:
        return still | {"enabled": False, "disabled_by": "done", "disabled_reason": _OVER, "next_run_at": None}
    return still | {"next_run_at": kept}


def _check_can_return(ctx: Context, job: Job) -> None:
    if sessions.get(ctx.tx, job.session_id).deleted_at is not None:
        raise Conflict("Its session is deleted, so it cannot come back. Add it again to another session.")
    if not jobs.has_room(ctx.tx, job.user_id, ctx.settings.max_jobs):
        raise Conflict(f"You have {ctx.settings.max_jobs} automations, the most allowed.", code="quota_reached")


def _unskip(ctx: Context, job: Job, undo: Mapping[str, Any]) -> JobShape:
    told = undo["skip"]
    first, last = datetime.fromisoformat(told["first"]), datetime.fromisoformat(told["last"])
    if last <= ctx.now:
        raise Conflict("There is nothing to undo: the time that was left out is over.", code="nothing_to_undo")
    sessions.lock(ctx.tx, [job.session_id])
    rev = sessions.touch(ctx.tx, job.session_id)
    upcoming = first
    if first <= ctx.now:
        # Some of it is over: those instants stay left out.
        upcoming = job.timing.next_due(ctx.now)
        gone, count = passed(job, first, ctx.now)
        runs.shorten_skip(ctx.tx, told["run_id"], until=gone, count=int(told.get("count_before", 0)) + count, rev=rev)
    elif "until" in told:
        until = datetime.fromisoformat(told["until"])
        runs.shorten_skip(ctx.tx, told["run_id"], until=until, count=int(told["count_before"]), rev=rev)
        runs.set_next(ctx.tx, told["run_id"], first)
    else:
        runs.delete_skip(ctx.tx, told["run_id"])
    check_may_enable(ctx, job)
    check_pace(ctx, job.timing, upcoming)
    columns = from_json(undo["before"])
    state = {name: columns[name] for name in ("enabled", "disabled_by", "disabled_reason", "disabled_until")}
    return show_job(ctx, write_values(ctx, job, {**state, "next_run_at": upcoming, "undo": None}))
