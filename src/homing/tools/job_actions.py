"""What each action of `schedule_task` does: one operation, a reply, and a card for the closing where a job changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from homing.model.brakes import LOOP, disabled_words
from homing.model.ids import is_id
from homing.model.jobs import Job
from homing.model.schedules.suggestions import shortened, unreadable
from homing.model.schedules.zones import zone
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.job_changes import disable_job, enable_job, prepare_update_job, skip_job, update_job
from homing.operations.jobs import add_job, get_job, list_jobs, prepare_add_job
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.scripts import NOT_TRIED, TriedScript
from homing.operations.shapes.base import Nothing
from homing.operations.shapes.base import read as read_ask
from homing.operations.shapes.job import JobShape, next_fires
from homing.operations.shapes.job_asks import (
    AddJob,
    DisableJob,
    GetJob,
    JobRef,
    ListJobs,
    ListUpcoming,
    SkipJob,
    UndoJob,
    UpdateJob,
    WhyJob,
)
from homing.operations.status import get_status, why_nothing_fires
from homing.operations.undo import undo_job
from homing.operations.upcoming import list_upcoming
from homing.operations.why import why_job
from homing.store.steps import Done
from homing.tools import replies
from homing.tools.finding import wanted_job, wanted_or_removed_job
from homing.tools.reading import Action, Asked

SCRIPTED = frozenset({"script", "script_language", "script_hosts", "script_seconds"})
"""Fields that change what a script does: a call that gives one is tried first."""
_DAYS = ("friday", "2026-11-20", "next week")


@dataclass(frozen=True, kw_only=True)
class Call:
    """One call that was understood."""

    ctx: Context
    session: Session
    asked: Asked
    tried: TriedScript = NOT_TRIED

    @property
    def now(self) -> datetime:
        return self.ctx.now

    def job(self) -> Job:
        """Find the job that is meant: the one named, or in a scheduled turn its own."""
        return wanted_job(self.ctx, self.session, self.asked.job)


async def try_script_of(desk: Desk, asked: Asked, home: Callable[[Context], Session]) -> TriedScript:
    """Run the script once that a call writes; refuse one that does not work."""
    if asked.action == "add":
        key = await desk.read(lambda ctx: home(ctx).key)
        return await prepare_add_job(desk, _ask_to_add(asked, key))
    before = await desk.read(lambda ctx: wanted_job(ctx, home(ctx), asked.job))
    return await prepare_update_job(desk, read_ask(UpdateJob, {"job_id": before.id, **asked.fields}))


def _ask_to_add(asked: Asked, session_key: str) -> AddJob:
    given = {"session_key": session_key, **asked.fields}
    if asked.job:
        # Models put a name where an id may be proposed.
        given.setdefault("id" if is_id(asked.job) else "name", asked.job)
    return read_ask(AddJob, given)


def _add(call: Call) -> Done:
    job = add_job(call.ctx, _ask_to_add(call.asked, call.session.key), call.tried)
    if job.deduped:
        return _done(job, "updated", replies.changed("Updated", job, call.now, note="It has the same dedupe_key."))
    return _done(job, "added", replies.changed("Added", job, call.now))


def _list(call: Call) -> Done:
    asked = call.asked
    # Rule 60: what its user has elsewhere is not for those who also read here.
    everywhere = asked.everywhere and not call.session.several
    where = "in all your conversations" if everywhere else "in this conversation"
    if asked.when:
        return _list_days(call, asked.when, None if everywhere else call.session.key, where)
    ask = ListJobs(
        session_key=None if everywhere else call.session.key,
        all=everywhere,
        enabled=asked.enabled,
        limit=min(max(asked.limit or 50, 1), 200),
    )
    page = list_jobs(call.ctx, ask)
    if not page.items:
        return Done(text=f"No automations {where}.")
    noun = "automation" if len(page.items) == 1 else "automations"
    lines = [replies.line(job, call.now, where=everywhere) for job in page.items]
    more = ["There are more; ask with a larger limit, up to 200."] if page.next_cursor else []
    return Done(text="\n".join([f"{len(page.items)} {noun} {where}:", *lines, *more]))


def _list_days(call: Call, when: str, session_key: str | None, where: str) -> Done:
    # The grammar is imported when it is needed.
    from homing.model.schedules.phrases import LONGEST  # noqa: PLC0415
    from homing.model.schedules.spans import read_days  # noqa: PLC0415

    tz = call.ctx.zone(call.session)
    days = read_days(when, now=call.now, tz=tz) if len(when) <= LONGEST else None
    if days is None:
        raise unreadable(f"when is not a day or week: {shortened(when)!r}.", field="when", examples=_DAYS)
    first, last = (day.isoformat() for day in days)
    ask = read_ask(ListUpcoming, {"from": first, "to": last, "session_key": session_key})
    found = list_upcoming(call.ctx, ask).finish()
    stretch = f"{replies.days(*days, call.now.astimezone(zone(tz)).date())} ({tz})"
    lines = replies.by_job(found.items, tz, call.now)
    if not lines:
        return Done(text=f"Nothing is scheduled {stretch} {where}.")
    more = ["There are more; ask for fewer days."] if found.more else []
    noun = "automation" if len(lines) == 1 else "automations"
    return Done(text="\n".join([f"{len(lines)} {noun} {stretch} {where}:", *lines, *more]))


def _get(call: Call) -> Done:
    job_id = call.job().id
    job = get_job(call.ctx, GetJob(job_id=job_id))
    why = why_job(call.ctx, WhyJob(job_id=job_id))
    earlier = [f"Before that: {run.sentence}" for run in why.runs[1:]]
    return Done(text="\n".join([*replies.whole(job, call.now), why.answer, *earlier]))


def _update(call: Call) -> Done:
    before = call.job()
    given = {"job_id": before.id, **call.asked.fields}
    if call.asked.revision is not None:
        given["revision"] = call.asked.revision
    return _moved(call, before, update_job(call.ctx, read_ask(UpdateJob, given), call.tried), "updated")


def _remove(call: Call) -> Done:
    before = call.job()
    return _moved(call, before, remove_job(call.ctx, JobRef(job_id=before.id)), "removed")


def _enable(call: Call) -> Done:
    before = call.job()
    return _moved(call, before, enable_job(call.ctx, JobRef(job_id=before.id)), "enabled")


def _disable(call: Call) -> Done:
    before = call.job()
    ask = {"job_id": before.id, "reason": call.asked.reason, "until": call.asked.until}
    job = disable_job(call.ctx, read_ask(DisableJob, ask))
    until = job.state.disabled_until
    note = f"It goes on by itself on {replies.moment(until, job.schedule.tz, call.now)}." if until else ""
    return _moved(call, before, job, "disabled", note=note)


def _run(call: Call) -> Done:
    run = run_job(call.ctx, JobRef(job_id=call.job().id))
    job = get_job(call.ctx, GetJob(job_id=run.job_id))
    if run.reason == "brake":
        return Done(text=f"Not run: {disabled_words(LOOP)} Tell the user; it does not run for some minutes.")
    if run.state == "ok":
        how = "done"
    elif job.session == "isolated":
        how = "it works apart and reports here"
    else:
        how = "it starts as soon as this conversation is free"
    return Done(text=f"Running {replies.named(job)} now: {how}. Its schedule stays: {replies.words(job)}.")


def _skip(call: Call) -> Done:
    before, count = call.job(), call.asked.count or 1
    times = next_fires(before, call.now, count)
    job = skip_job(call.ctx, read_ask(SkipJob, {"job_id": before.id, "count": count}))
    shown = ", ".join(replies.moment(time.isoformat(), job.schedule.tz, call.now) for time in times[:3])
    more = f" and {len(times) - 3} more" if len(times) > 3 else ""
    return _moved(call, before, job, "skipped", note=f"Left out: {shown}{more}.")


def _undo(call: Call) -> Done:
    before = wanted_or_removed_job(call.ctx, call.session, call.asked.job)
    revision = before.revision if call.asked.revision is None else call.asked.revision
    job = undo_job(call.ctx, read_ask(UndoJob, {"job_id": before.id, "revision": revision}))
    if job.removed_at is not None:
        return _done(job, "removed", replies.changed("Undone: removed", job, call.now))
    if before.removed_at is not None:
        return _done(job, "added", replies.changed("Undone: brought back", job, call.now))
    return _done(job, "updated", replies.changed("Undone: set back", job, call.now))


def _status(call: Call) -> Done:
    if call.asked.job:
        return _get(call)
    status = get_status(call.ctx, Nothing())
    counts = ", ".join(f"{count} {name}" for name, count in status.jobs.model_dump().items())
    silent = why_nothing_fires(call.ctx)
    if silent is not None:
        return Done(text=f"{silent} Automations: {counts}.")
    at, tz = status.scheduler.next_wake_at, status.timezone
    wake = f"{replies.moment(at, tz, call.now)} {tz}" if at else "none"
    return Done(text=f"Scheduler: on. Next wake: {wake}. Automations: {counts}.")


def _moved(call: Call, before: Job, job: JobShape, change: str, *, note: str = "") -> Done:
    if job.revision == before.revision:
        return Done(text=f"Nothing changed: {replies.line(job, call.now).removeprefix('- ')}")
    return _done(job, change, replies.changed(change.capitalize(), job, call.now, note=note))


def _done(job: JobShape, change: str, text: str) -> Done:
    return Done(text=text, cards=[{"kind": "job", "job_id": job.id, "change": change, "revision": job.revision}])


ACTIONS: Mapping[Action, Callable[[Call], Done]] = {
    "add": _add,
    "list": _list,
    "get": _get,
    "update": _update,
    "remove": _remove,
    "enable": _enable,
    "disable": _disable,
    "run": _run,
    "skip": _skip,
    "undo": _undo,
    "status": _status,
}
