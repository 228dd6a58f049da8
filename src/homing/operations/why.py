"""Why a job did or did not run, in plain sentences, on the clock of its zone."""

from datetime import datetime

from homing.model.errors import Refused
from homing.model.jobs import ON_TIME, Job
from homing.model.runs import Run
from homing.model.schedules import previous_before
from homing.model.schedules.words import interval, moment
from homing.operations.desk import Desk
from homing.operations.instants import read_instant
from homing.operations.reach import see_job
from homing.operations.shapes.base import local
from homing.operations.shapes.job import schedule_words
from homing.operations.shapes.job_asks import WhyJob
from homing.operations.shapes.run_asks import ExplainedRun, WhyShape
from homing.operations.status import ALIVE
from homing.operations.views import show_runs
from homing.store import run_lists, upkeep

_LAST = 5
_SKIPPED = {
    "missed": "was missed: Homing was not running, or came too late for it",
    "overlap": "was left out, because the run before it had not ended",
    "asked": "was left out, because somebody asked for that",
    "disabled": "was withdrawn, because the automation was paused before it could start",
    "rescheduled": "was withdrawn, because the automation was given another time before it could start",
    "removed": "was withdrawn, because the automation was removed",
    "session_deleted": "was withdrawn, because the session was deleted",
    "busy": "was left out, because the session stayed busy",
    "gate": "was left out by its gate",
}
_FAILED = {
    "model": "failed: the model gave no answer",
    "tool": "failed: a tool did not work",
    "timeout": "failed: it took longer than it may",
    "interrupted": "failed: its worker stopped three times in the middle",
    "session_missing": "failed: its session is gone",
    "schedule": "failed: its schedule cannot be computed",
}
_CANCELLED = {
    "removed": "was cancelled, because the automation was removed",
    "session_deleted": "was cancelled, because the session was deleted",
}


def why_job(desk: Desk, ask: WhyJob) -> WhyShape:
    """Say why a job did or did not run: lately, or at one instant."""
    job = see_job(desk, ask.job_id)
    tz = job.timing.schedule.tz
    if ask.at:
        at = read_instant(ask.at, field="at", now=desk.now, tz=tz, hours=desk.settings.named_hours)
        found = run_lists.covering(desk.tx, job.id, at, ON_TIME)
        sentences = [_sentence(desk, run) for run in found] or _no_run(desk, job, at)
    else:
        found = run_lists.listed(desk.tx, user_id=job.user_id, job_id=job.id, limit=_LAST)
        sentences = [*_state(desk, job), *_overdue(desk, job)]
        sentences += [_sentence(desk, run) for run in found[:1]] or ["It has not run yet."]
    return WhyShape(
        job_id=job.id,
        answer=" ".join(sentences),
        next_run_at=local(job.next_run_at, tz),
        timezone=tz,
        runs=[_explained(desk, run) for run in found],
    )


def _explained(desk: Desk, run: Run) -> ExplainedRun:
    return ExplainedRun(
        id=run.id,
        scheduled_for=str(local(run.scheduled_for, run.tz)),
        state=run.state,
        reason=run.reason,
        sentence=_sentence(desk, run),
    )


def _state(desk: Desk, job: Job) -> list[str]:
    tz = job.timing.schedule.tz
    reason = f" {_ended(job.disabled_reason)}" if job.disabled_reason else ""
    match job.disabled_by:
        case "person":
            until = f" It goes on again from {moment(job.disabled_until, tz)}." if job.disabled_until else ""
            return [f"It is paused{':' if reason else '.'}{reason}{until}"]
        case "engine":
            return [f"Homing paused it.{reason} Enable it to go on."]
        case "done":
            return [f"It is done.{reason}"]
        case None:
            pass
    if job.next_run_at is None:
        return ["It is enabled, and no further time follows."]
    if job.timing.retry:
        return [f"It failed and is tried again on {moment(job.next_run_at, tz)}."]
    return [f"It is enabled ({schedule_words(job.timing.schedule)}) and runs next on {moment(job.next_run_at, tz)}."]


def _overdue(desk: Desk, job: Job) -> list[str]:
    if job.next_run_at is None or job.next_run_at > desk.now:
        return []
    working = [worker for worker in upkeep.workers(desk.tx, ALIVE) if worker.schedules]
    if not desk.settings.scheduler_enabled or not working:
        return ["That time has come, but no scheduler is at work: start one with `homing up`."]
    return ["That time has just come."]


def _no_run(desk: Desk, job: Job, at: datetime) -> list[str]:
    tz = job.timing.schedule.tz
    if at < job.created_at:
        return [f"It did not exist then: it was added on {moment(job.created_at, tz)}."]
    if at > desk.now:
        return ["That time is still to come.", *_state(desk, job)]
    try:
        before = previous_before(job.timing.schedule, at + ON_TIME)
    except Refused as error:
        return [f"Its schedule cannot be computed: {error.detail}"]
    if before is None or before < at - ON_TIME:
        near = f" The last time before that was {moment(before, tz)}." if before else ""
        return [f"It was not due then ({schedule_words(job.timing.schedule)}).{near}"]
    if not job.enabled and job.updated_at <= at:
        return ["It was paused then.", *_state(desk, job)]
    if job.updated_at > at:
        changed = moment(job.updated_at, tz)
        return [f"By its schedule of today it would have been due then, but it was changed on {changed}."]
    if job.next_run_at is not None and job.next_run_at <= desk.now:
        return _overdue(desk, job)
    return ["It was due then, and no run is on record any more: old runs are dropped after a while."]


def _sentence(desk: Desk, run: Run) -> str:
    when = moment(run.scheduled_for, run.tz)
    subject = f"The run asked for by hand on {when}" if run.trigger == "manual" else f"The run of {when}"
    if run.trigger == "retry":
        subject = f"A further try at the run of {when}"
    if run.state == "skipped" and (run.missed_count or 1) > 1 and run.missed_until is not None:
        subject = f"Each of the {run.missed_count} runs from {when} to {moment(run.missed_until, run.tz)}"
    return f"{subject} {_became(desk, run)}."


def _became(desk: Desk, run: Run) -> str:
    match run.state:
        case "queued":
            [row] = show_runs(desk, [run])
            waits = "its session, which is busy" if row.waiting_for == "session" else "a free slot"
            return f"waits for {waits}"
        case "running":
            return "is going on now"
        case "skipped":
            return _SKIPPED.get(run.reason or "", "was left out")
        case "error":
            said = f" ({run.summary})" if run.summary else ""
            return _FAILED.get(run.reason or "", "failed") + said
        case "cancelled":
            return _CANCELLED.get(run.reason or "", "was cancelled, because somebody asked for that")
        case "ok":
            outcome = {"empty": "gave an empty result", "quiet": "had nothing to report"}.get(
                run.reason or "", "went well"
            )
            return f"{_late(run)}{outcome}"


def _late(run: Run) -> str:
    late = run.lateness_ms or 0
    if late <= ON_TIME.total_seconds() * 1000:
        return ""
    missed = f" after {run.missed_count} missed ones" if run.missed_count else ""
    return f"came {interval(late // 60_000 * 60_000)} late{missed}, and "


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
