"""Why a job did or did not run, in plain sentences, on the clock of its zone."""

from collections.abc import Sequence
from datetime import datetime

from homing.model.brakes import disabled_words
from homing.model.errors import Refused
from homing.model.jobs import ON_TIME, Job
from homing.model.runs import Run
from homing.model.schedules import count_between, previous_before
from homing.model.schedules.describe import interval, listed, moment
from homing.model.words import reason_words
from homing.operations.access import see_job
from homing.operations.context import Context
from homing.operations.instants import read_instant
from homing.operations.shapes.base import local
from homing.operations.shapes.delivery import CarriedShape
from homing.operations.shapes.job import schedule_words
from homing.operations.shapes.job_asks import WhyJob
from homing.operations.shapes.run import RunRow
from homing.operations.shapes.run_asks import ExplainedRun, WhyShape
from homing.operations.status import ALIVE
from homing.operations.views import show_runs
from homing.store import inbounds, jobs, maintenance, run_lists

_LAST = 5
_WAITS = {
    "session": "its session, which is busy",
    "slot": "a free slot",
    "worker": "a worker that has the sandbox and the shared folder (HOMING_SHARE) for its agent's workspace tools",
}
_SKIPPED = {
    "missed": "was missed: ",
    "brake": "was stopped by a brake, because ",
    **dict.fromkeys(("disabled", "rescheduled", "removed", "session_deleted"), "was withdrawn, because "),
}


def why_job(ctx: Context, ask: WhyJob) -> WhyShape:
    """Explain why a job did or did not run: lately, or at a given time."""
    job = see_job(ctx, ask.job_id)
    tz = job.timing.schedule.tz
    if ask.at:
        at = read_instant(ask.at, field="at", now=ctx.now, tz=tz, hours=ctx.settings.named_hours)
        found = run_lists.covering(ctx.tx, job.id, at, ON_TIME)
        explained = _explained(ctx, job, found)
        sentences = [one.sentence for one in explained] or _no_run(ctx, job, at)
    else:
        found = run_lists.listed(ctx.tx, user_id=job.user_id, job_id=job.id, limit=_LAST)
        explained = _explained(ctx, job, found)
        sentences = [*_state(job), *_overdue(ctx, job)]
        sentences += [one.sentence for one in explained[:1]] or ["It has not run yet."]
    return WhyShape(
        job_id=job.id,
        answer=" ".join(sentences),
        next_run_at=local(job.next_run_at, tz),
        timezone=tz,
        runs=explained,
    )


def _explained(ctx: Context, job: Job, found: Sequence[Run]) -> list[ExplainedRun]:
    rows = show_runs(ctx, found)
    unseen = _unseen_events(ctx, job)
    return [
        ExplainedRun(
            id=run.id,
            scheduled_for=str(local(run.scheduled_for, run.tz)),
            state=run.state,
            reason=run.reason,
            sentence=_sentence(run, row, unseen.get(run.id)),
        )
        for run, row in zip(found, rows, strict=True)
    ]


def _unseen_events(ctx: Context, job: Job) -> dict[str, str]:
    """Say of events that no turn has seen yet what they wait for, by run."""
    if job.payload.kind != "system_event":
        return {}
    waiting = inbounds.waiting_events(ctx.tx, job.id)
    beats = bool(waiting and ctx.settings.heartbeat_minutes and jobs.with_heartbeat(ctx.tx, [job.session_id]))
    note = "for the next heartbeat" if beats else "for the next turn of this conversation"
    return {
        str(event.meta.get("cron_run_id")): note if event.line == "note" else "until the conversation is free"
        for event in waiting
    }


def _state(job: Job) -> list[str]:
    tz = job.timing.schedule.tz
    words = disabled_words(job.disabled_reason)
    reason = f" {_ended(words)}" if words else ""
    match job.disabled_by:
        case "person":
            until = f" It goes on again from {moment(job.disabled_until, tz)}." if job.disabled_until else ""
            return [f"It is paused{':' if reason else '.'}{reason}{until}"]
        case "engine":
            return [f"Homing paused it.{reason} Enable it to go on."]
        case "done":
            return [f"It is done. {_all_runs(job) or reason.strip()}".rstrip()]
        case None:
            pass
    if job.next_run_at is None:
        return ["It is enabled, and no further time follows."]
    if job.timing.retry:
        return [f"It failed and is tried again on {moment(job.next_run_at, tz)}."]
    return [f"It is enabled ({schedule_words(job.timing.schedule)}) and runs next on {moment(job.next_run_at, tz)}."]


def _all_runs(job: Job) -> str | None:
    most = job.timing.max_runs
    if most is None or job.timing.runs_queued < most:
        return None
    return "It has had its one run (max_runs)." if most == 1 else f"It has had all of its {most} runs (max_runs)."


def _overdue(ctx: Context, job: Job) -> list[str]:
    if job.next_run_at is None or job.next_run_at > ctx.now:
        return []
    working = [worker for worker in maintenance.workers(ctx.tx, ALIVE) if worker.schedules]
    if not ctx.settings.scheduler_enabled or not working:
        return ["That time has come, but no scheduler is at work: start one with `homing up`."]
    return ["That time has just come."]


def _no_run(ctx: Context, job: Job, at: datetime) -> list[str]:
    tz = job.timing.schedule.tz
    if at < job.created_at:
        return [f"It did not exist then: it was added on {moment(job.created_at, tz)}."]
    ends_at = job.timing.ends_at
    if ends_at is not None and at > ends_at:
        ended = "ended" if ends_at <= ctx.now else "ends"
        return [f"Nothing runs then: it {ended} on {moment(ends_at, tz)}.", *_state(job)]
    try:
        if at > ctx.now:
            return _to_come(job, at)
        before = previous_before(job.timing.schedule, at + ON_TIME)
    except Refused as error:
        return [f"Its schedule cannot be computed: {error.detail}"]
    if before is None or before < at - ON_TIME:
        near = f" The last time before that was {moment(before, tz)}." if before else ""
        return [f"It was not due then ({schedule_words(job.timing.schedule)}).{near}"]
    if not job.enabled and job.updated_at <= at:
        return ["It was paused then.", *_state(job)]
    if job.updated_at > at:
        changed = moment(job.updated_at, tz)
        return [f"By its schedule of today it would have been due then, but it was changed on {changed}."]
    if job.next_run_at is not None and job.next_run_at <= ctx.now:
        return _overdue(ctx, job)
    return ["It was due then, and no run is on record any more: old runs are dropped after a while."]


def _to_come(job: Job, at: datetime) -> list[str]:
    state = _state(job)
    if not job.enabled or _planned(job, at):
        return ["That time is still to come.", *state]
    words = schedule_words(job.timing.schedule)
    later = None if job.timing.retry else job.timing.next_due(at)
    after = moment(later, job.timing.schedule.tz) if later is not None and _planned(job, later) else None
    return [f"Nothing is planned then ({words}).", f"The first time after that is {after}." if after else state[0]]


def _planned(job: Job, at: datetime) -> bool:
    """Say whether a job fires at an instant to come, as far as its bounds are known today."""
    timing, first = job.timing, job.next_run_at
    if first is None or timing.retry or abs(first - at) <= ON_TIME:
        return first is not None and abs(first - at) <= ON_TIME
    due = timing.next_due(max(first, at - ON_TIME))
    if at < first or due is None or due > at + ON_TIME:
        return False
    # The first of the runs that are left is the next one itself.
    return timing.max_runs is None or count_between(timing.schedule, first, due) < timing.max_runs - timing.runs_queued


def _sentence(run: Run, row: RunRow, unseen: str | None) -> str:
    when = moment(run.scheduled_for, run.tz)
    subject = f"The run asked for by hand on {when}" if run.trigger == "manual" else f"The run of {when}"
    if run.trigger == "retry":
        subject = f"A further try at the run of {when}"
    if run.state == "skipped" and (run.missed_count or 1) > 1 and run.missed_until is not None:
        subject = f"Each of the {run.missed_count} runs from {when} to {moment(run.missed_until, run.tz)}"
    if unseen is not None and run.state == "ok":
        return f"{subject} was inserted into the conversation and waits {unseen}: no turn has seen it yet."
    return f"{subject} {_became(run, row)}."


def _became(run: Run, row: RunRow) -> str:
    words = reason_words(run.reason)
    match run.state:
        case "queued":
            return f"waits for {_WAITS[row.waiting_for or 'slot']}"
        case "running":
            return "is going on now"
        case "skipped":
            return f"{_SKIPPED.get(run.reason or '', 'was left out, because ')}{words}" if words else "was left out"
        case "error":
            return f"failed{f': {words}' if words else ''}{f' ({run.summary})' if run.summary else ''}"
        case "cancelled":
            return f"was cancelled, because {words or reason_words('asked')}"
        case "ok":
            well = f"went well: {words}" if words else "went well"
            return f"{_late(run)}{_arrived(row.deliveries) or well}"


def _arrived(deliveries: Sequence[CarriedShape]) -> str | None:
    """Say what keeps an answer from its people; None when it reached them all."""
    dead = [one for one in deliveries if one.state == "dead"]
    pending = [one for one in deliveries if one.state == "pending"]
    late = dead or pending
    if not late:
        return None
    where = listed(one.address for one in late)
    because = f": {late[-1].error.rstrip('.')}" if late[-1].error else ""
    if not dead:
        return f"ended, and its message is still on its way to {where}{because}"
    again = listed(f"`homing deliveries retry {one.id}`" for one in dead)
    if any(one.state == "sent" for one in deliveries):
        return f"ended, but its message did not reach {where}{because}. Send it again with {again}"
    return f"ended, but its message reached nobody (not {where}){because}. Send it again with {again}"


def _late(run: Run) -> str:
    late = run.lateness_ms or 0
    if run.trigger == "retry" or late <= ON_TIME.total_seconds() * 1000:
        return ""
    missed = f" after {run.missed_count} missed ones" if run.missed_count else ""
    length = interval(late // 60_000 * 60_000)
    return f"came {length if length[0].isdigit() else f'1 {length}'} late{missed}, and "


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
