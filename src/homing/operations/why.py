"""Why a job did or did not run, in plain sentences, on the clock of its zone."""

from collections.abc import Collection, Sequence
from datetime import datetime

from homing.model.alerts import Alert
from homing.model.brakes import disabled_words
from homing.model.errors import Refused
from homing.model.jobs import ON_TIME, Job, due_at
from homing.model.messages import Delivery
from homing.model.runs import Run
from homing.model.schedules import count_between, previous_before
from homing.model.schedules.describe import interval, listed, moment
from homing.model.words import reason_words
from homing.operations.access import see_job
from homing.operations.budgets import Ceilings, find_beyond
from homing.operations.context import Context
from homing.operations.heartbeats import looked_at
from homing.operations.instants import read_instant
from homing.operations.shapes.base import local
from homing.operations.shapes.delivery import CarriedShape
from homing.operations.shapes.job import schedule_words
from homing.operations.shapes.job_asks import WhyJob
from homing.operations.shapes.run import RunRow
from homing.operations.shapes.run_asks import ExplainedRun, WhyShape
from homing.operations.status import ALIVE
from homing.operations.views import show_runs
from homing.store import alerts, approvals, deliveries, gates, inbounds, maintenance, run_lists, sessions

_LAST = 5
_ASKED = 3
_WAITS = {
    "session": "its session, which is busy",
    "slot": "a free slot",
    "gate": "its script, which looks first",
    "worker": "a worker that has the sandbox and the shared folder (HOMING_SHARE) for its agent's workspace tools",
}
_NO_SANDBOX = "a worker that can run its bash script: that needs the sandbox (`homing doctor` says what is missing)"
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
        found = run_lists.newest(ctx.tx, job.id, _LAST)
        explained = _explained(ctx, job, found)
        sentences = [*_state(job), *_overdue(ctx, job), *_beyond(ctx, job), *_alerted(ctx, job)]
        sentences += [one.sentence for one in explained[:1]] or ["It has not run yet."]
    sentences += _asked(ctx, job)
    return WhyShape(
        job_id=job.id,
        answer=" ".join(sentences),
        next_run_at=local(job.next_run_at, tz),
        timezone=tz,
        runs=explained,
    )


def _asked(ctx: Context, job: Job) -> list[str]:
    """Name what its runs asked for and nobody has answered."""
    return [
        f"It asked for something that waits for an answer: {approval.title} (`homing approvals get {approval.id}`)."
        for approval in approvals.pending_of_job(ctx.tx, job.id, limit=_ASKED)
    ]


def _explained(ctx: Context, job: Job, found: Sequence[Run]) -> list[ExplainedRun]:
    rows = show_runs(ctx, found)
    unseen = _unseen_events(ctx, job)
    stuck = [run.id for run, row in zip(found, rows, strict=True) if row.waiting_for == "worker"]
    looking = gates.waiting(ctx.tx, stuck) if stuck else {}
    kept = sessions.addresses(ctx.tx, [job.session_id])[job.session_id]
    return [
        ExplainedRun(
            id=run.id,
            scheduled_for=str(local(run.scheduled_for, run.tz)),
            state=run.state,
            reason=run.reason,
            sentence=_sentence(run, row, kept, unseen.get(run.id), _NO_SANDBOX if run.id in looking else None),
        )
        for run, row in zip(found, rows, strict=True)
    ]


def _unseen_events(ctx: Context, job: Job) -> dict[str, str]:
    """Say of events that no turn has seen yet what they wait for, by run."""
    if job.payload.kind != "system_event":
        return {}
    waiting = inbounds.waiting_events(ctx.tx, job.session_id, job.id)
    beats = bool(waiting and looked_at(ctx.tx, [due_at(job, ctx.now)], ctx.settings))
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
            again = "Save its agent again" if job.kind == "system" else "Enable it"
            return [f"Homing paused it.{reason} {again} to go on."]
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
    if job.timing.runs_left != 0:
        return None
    most = job.timing.max_runs
    return "It has had its one run (max_runs)." if most == 1 else f"It has had all of its {most} runs (max_runs)."


def _overdue(ctx: Context, job: Job) -> list[str]:
    if job.next_run_at is None or job.next_run_at > ctx.now:
        return []
    working = [worker for worker in maintenance.workers(ctx.tx, ALIVE) if worker.schedules]
    if not ctx.settings.scheduler_enabled or not working:
        return ["That time has come, but no scheduler is at work: start one with `homing up`."]
    return ["That time has just come."]


def _beyond(ctx: Context, job: Job) -> list[str]:
    if job.next_run_at is None or job.payload.kind == "reminder":
        return []
    ceilings = Ceilings(job_usd=job.max_cost_usd_per_day, user_usd=ctx.settings.budget_usd_per_day)
    beyond = find_beyond(ctx.tx, ceilings, ctx.settings, user_id=job.user_id, job_id=job.id)
    return [] if beyond is None else [beyond.words]


def _alerted(ctx: Context, job: Job) -> list[str]:
    """Say of what does not work now whether anybody was told by another route."""
    tz = job.timing.schedule.tz
    told: list[str] = []
    for alert in alerts.of_job(ctx.tx, job.id):
        if alert.given_at is None:
            told.append("An alert about it waits to be sent.")
        elif alert.given_to:
            told += _carried(ctx, alert, tz)
        else:
            told.append(
                f"An alert about it is in your home conversation since {moment(alert.given_at, tz)}; there was no other"
                " address to send it to."
            )
    return told


def _carried(ctx: Context, alert: Alert, tz: str) -> list[str]:
    """Say how far an alert got on its way to each address."""
    found: Sequence[Delivery] = ()
    if alert.session_id is not None and alert.seq is not None:
        found = deliveries.of_messages(ctx.tx, alert.session_id, [alert.seq]).get(alert.seq, ())
    told: list[str] = []
    for one in found:
        if one.address not in (alert.given_to or ()):
            continue
        match one.state:
            case "sent":
                told.append(f"An alert about it went to {one.address} on {moment(one.sent_at or ctx.now, tz)}.")
            case "dead":
                because = f": {one.error.rstrip('.')}" if one.error else ""
                told.append(f"An alert about it is in your home conversation; it did not reach {one.address}{because}.")
            case _:
                told.append(f"An alert about it is on its way to {one.address}.")
    return told


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
    return timing.runs_left is None or count_between(timing.schedule, first, due) < timing.runs_left


def _sentence(run: Run, row: RunRow, kept: Collection[str], unseen: str | None, lacking: str | None) -> str:
    when = moment(run.scheduled_for, run.tz)
    subject = f"The run asked for by hand on {when}" if run.trigger == "manual" else f"The run of {when}"
    if run.trigger == "retry":
        subject = f"A further try at the run of {when}"
    if run.state == "skipped" and (run.missed_count or 1) > 1 and run.missed_until is not None:
        subject = f"Each of the {run.missed_count} runs from {when} to {moment(run.missed_until, run.tz)}"
    if unseen is not None and run.state == "ok":
        return f"{subject} was inserted into the conversation and waits {unseen}: no turn has seen it yet."
    return f"{subject} {f'waits for {lacking}' if lacking else _became(run, row, kept)}."


def _became(run: Run, row: RunRow, kept: Collection[str]) -> str:
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
            return f"{_late(run)}{_arrived(row.deliveries, kept) or well}"


def _arrived(carried: Sequence[CarriedShape], kept: Collection[str]) -> str | None:
    """Say what keeps an answer from its people; None when it reached them all. `kept` are its addresses of today."""
    dead = [one for one in carried if one.state == "dead"]
    pending = [one for one in carried if one.state == "pending"]
    late = dead or pending
    if not late:
        return None
    where = listed(one.address for one in late)
    because = f": {late[-1].error.rstrip('.')}" if late[-1].error else ""
    if not dead:
        return f"ended, and its message is still on its way to {where}{because}"
    again = [f"`homing deliveries retry {one.id}`" for one in dead if one.address in kept]
    advice = f"Send it again with {listed(again)}" if again else "The conversation no longer has that address"
    if any(one.state == "sent" for one in carried):
        return f"ended, but its message did not reach {where}{because}. {advice}"
    return f"ended, but its message reached nobody (not {where}){because}. {advice}"


def _late(run: Run) -> str:
    late = run.lateness_ms or 0
    if run.trigger == "retry" or late <= ON_TIME.total_seconds() * 1000:
        return ""
    missed = f" after {run.missed_count} missed ones" if run.missed_count else ""
    length = interval(late // 60_000 * 60_000)
    return f"came {length if length[0].isdigit() else f'1 {length}'} late{missed}, and "


def _ended(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."
