"""Add, read and list jobs."""

from typing import Any

from homing.model.errors import Conflict, Forbidden, Invalid, NotFound
from homing.model.ids import is_id, new_id
from homing.model.jobs import LISTED_FOR, Job
from homing.model.people import OWNER
from homing.model.schedules import warnings as schedule_warnings
from homing.model.sessions import Session
from homing.operations.access import see_job
from homing.operations.brakes import check_pace
from homing.operations.budgets import check_ceiling
from homing.operations.context import Context
from homing.operations.definition import (
    When,
    check_pairing,
    next_from_now,
    plain_columns,
    read_times,
    time_columns,
    timing_of,
)
from homing.operations.hands import Desk
from homing.operations.job_changes import change_fields
from homing.operations.models import check_model
from homing.operations.reach import check_alert_to
from homing.operations.scripts import NOT_TRIED, TriedScript, check_tried, script_after, try_before
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import AddJob, GetJob, ListJobs
from homing.operations.views import show_job, show_jobs
from homing.store import LookAgain, job_lists, jobs, sessions
from homing.store.job_lists import JobFilter


async def prepare_add_job(desk: Desk, ask: AddJob) -> TriedScript:
    """Run the script of a new job once."""
    if ask.script is None:
        return NOT_TRIED

    def look(ctx: Context) -> tuple[Job | None, str]:
        _check_may_add(ctx)
        session = _bound_session(ctx, ask)
        known = jobs.by_dedupe_key(ctx.tx, session.id, ask.dedupe_key) if ask.dedupe_key else None
        return known, session.agent_id

    known, agent_id = await desk.read(look)
    return await try_before(desk, script_after(ask, known), known, agent_id=agent_id)


def add_job(ctx: Context, ask: AddJob, tried: TriedScript = NOT_TRIED) -> JobShape:
    """Add a job to a session; if the session has a job with this dedupe_key, change that one instead."""
    _check_may_add(ctx)
    session = _bound_session(ctx, ask)
    known = jobs.by_dedupe_key(ctx.tx, session.id, ask.dedupe_key) if ask.dedupe_key else None
    if known is not None:
        return _upsert(ctx, known.id, ask, tried)
    columns = plain_columns(ask, None)
    check_pairing(columns)
    check_tried(ctx, columns, None, tried, session.agent_id)
    check_model(ctx, columns["model"])
    when = read_times(ctx, ask, zone=ctx.zone(session), before=None)
    assert when is not None
    sessions.lock(ctx.tx, [session.id])
    # Its agent may be another one by now.
    session = sessions.get(ctx.tx, session.id)
    if session.deleted_at is not None:
        raise NotFound(f"There is no session {session.key}. Make it with add_session.")
    if ask.dedupe_key and jobs.by_dedupe_key(ctx.tx, session.id, ask.dedupe_key) is not None:
        # Somebody was faster. To change that job it is locked first, and the session, which we hold, after it.
        raise LookAgain
    if not jobs.has_room(ctx.tx, ctx.caller.user_id, ctx.settings.max_jobs):
        raise Conflict(
            f"You have {ctx.settings.max_jobs} automations, the most allowed. Remove one first.", code="quota_reached"
        )
    check_ceiling(ctx, columns, session.agent_id, session.id)
    check_alert_to(ctx, columns, session.user_id)
    return _insert(ctx, ask, session, columns, when)


def _insert(ctx: Context, ask: AddJob, session: Session, columns: dict[str, Any], when: When) -> JobShape:
    tx, turn = ctx.tx, ctx.caller.turn
    job_id, warnings = _new_id(ctx, ask)
    columns |= time_columns(when)
    timing = timing_of(columns, when.schedule, 0)
    upcoming = next_from_now(ctx, timing)
    check_pace(ctx, timing, upcoming)
    enabled = ask.enabled is not False
    rev = sessions.touch(tx, session.id)
    job = jobs.insert(
        tx,
        columns
        | {
            "id": job_id,
            "session_id": session.id,
            "user_id": session.user_id,
            "agent_id": session.agent_id,
            "sender_id": turn.sender_id if turn else columns["sender_id"],
            "kind": "user",
            "origin_door": ctx.caller.door,
            "origin_turn_id": turn.id if turn else None,
            "outside": turn.shown_outside if turn else None,
            "enabled": enabled,
            "disabled_by": None if enabled else "person",
            "next_run_at": upcoming if enabled else None,
            "rev": rev,
            "undo": {"change": "added", "revision": 1, "before": {}},
        },
    )
    warnings += [*when.warnings, *schedule_warnings(when.schedule, ctx.now, ctx.settings.lookahead_days)]
    twins = job_lists.same_message(tx, session.id, job.payload.message, but=job.id)
    warnings += [f'"{name}" already says the same.' for name in twins]
    return show_job(ctx, job, warnings=warnings)


def _upsert(ctx: Context, job_id: str, ask: AddJob, tried: TriedScript) -> JobShape:
    shape = change_fields(ctx, job_id, ask, tried)
    return shape.model_copy(update={"deduped": True})


def _new_id(ctx: Context, ask: AddJob) -> tuple[str, list[str]]:
    if ask.id is None:
        return new_id("job"), []
    if not is_id(ask.id):
        raise Invalid("An id has letters, digits, _ and - only.", field="id", code="out_of_range")
    if ctx.caller.user_id != OWNER:
        # Job ids are one name space: with an ending always, nobody learns from it which ids others have.
        job_id = new_id(ask.id[:48])
        return job_id, [f"Ids that you choose get a random ending here: this job is {job_id}."]
    if jobs.get(ctx.tx, ask.id) is None:
        return ask.id, []
    return new_id("job"), [f"The id {ask.id} is taken, so this job has another."]


def _check_may_add(ctx: Context) -> None:
    turn = ctx.caller.turn
    if turn is not None and turn.source != "person" and not turn.may_schedule:
        raise Forbidden(
            "A turn that no person opened adds no automations, unless its own says may_schedule. It may change its own:"
            " use update."
        )


def _bound_session(ctx: Context, ask: AddJob) -> Session:
    """Rule 21: an agent's session is that of its turn; everybody else names one."""
    turn = ctx.caller.turn
    if turn is not None:
        session = sessions.get(ctx.tx, turn.session_id)
        # An isolated run's own session ends with it: what it schedules belongs to the conversation.
        return session if session.parent_id is None else sessions.get(ctx.tx, session.parent_id)
    if ask.session_key is None:
        raise Invalid("session_key is missing: name the session it belongs to.", field="session_key", code="missing")
    return ctx.session(ask.session_key)


def get_job(ctx: Context, ask: GetJob) -> JobShape:
    """Read one job."""
    [shape] = show_jobs(ctx, [see_job(ctx, ask.job_id)], recent=ask.recent)
    return shape


def list_jobs(ctx: Context, ask: ListJobs) -> Page[JobShape]:
    """List your jobs; an agent lists those of its session unless asked for all."""
    turn = ctx.caller.turn
    session_id = ctx.session(ask.session_key).id if ask.session_key else None
    if turn is not None and session_id is None and not ask.all:
        session = sessions.get(ctx.tx, turn.session_id)
        session_id = session.parent_id or session.id
    wanted = JobFilter(
        user_id=ctx.caller.user_id,
        agent_id=turn.agent_id if turn else None,
        session_id=session_id,
        enabled=ask.enabled,
        status=ask.status,
        q=ask.q,
        listed_since=ctx.now - LISTED_FOR,
        removed=ask.removed,
        system=ask.system,
    )
    return page_of_jobs(ctx, wanted, sort=ask.sort, cursor=ask.cursor, limit=ask.limit, recent=ask.recent)


def page_of_jobs(
    ctx: Context, wanted: JobFilter, *, sort: str, cursor: str | None, limit: int, recent: int | None
) -> Page[JobShape]:
    """Give one page of jobs in an order."""
    key = cursors.decode(cursor, str, (str, int, type(None)), int)
    if key is not None and (key[0] != sort or isinstance(key[1], str) != (sort == "name" and key[1] is not None)):
        raise cursors.bad()
    found = job_lists.listed(
        ctx.tx, wanted, sort=sort, after=None if key is None else (key[1], key[2]), limit=limit + 1
    )
    more = len(found) > limit
    found = found[:limit]
    following = cursors.encode(sort, found[-1][1], found[-1][0].n) if more else None
    return Page(items=show_jobs(ctx, [job for job, _ in found], recent=recent), next_cursor=following)
