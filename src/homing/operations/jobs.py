"""Add, read and list jobs."""

from typing import Any

from homing.model.errors import Conflict, Forbidden, Invalid, NotFound
from homing.model.ids import is_id, new_id
from homing.model.people import OWNER
from homing.model.schedules import warnings as schedule_warnings
from homing.model.sessions import Session
from homing.operations.brakes import check_pace
from homing.operations.definition import (
    When,
    check_pairing,
    next_from_now,
    plain_columns,
    read_times,
    time_columns,
    timing_of,
)
from homing.operations.desk import Desk
from homing.operations.job_changes import change_fields
from homing.operations.models import check_model
from homing.operations.reach import see_job
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import AddJob, GetJob, ListJobs
from homing.operations.views import show_job, show_jobs
from homing.store import LookAgain, job_lists, jobs, sessions
from homing.store.job_lists import JobFilter


def add_job(desk: Desk, ask: AddJob) -> JobShape:
    """Add a job to a session; a dedupe_key that the session knows changes that job instead."""
    _check_may_add(desk)
    session = _bound_session(desk, ask)
    known = jobs.by_dedupe_key(desk.tx, session.id, ask.dedupe_key) if ask.dedupe_key else None
    if known is not None:
        return _upsert(desk, known.id, ask)
    columns = plain_columns(ask, None)
    check_pairing(columns)
    check_model(desk, columns["model"])
    when = read_times(desk, ask, zone=desk.zone(session), before=None)
    assert when is not None
    sessions.lock(desk.tx, [session.id])
    if sessions.get(desk.tx, session.id).deleted_at is not None:
        raise NotFound(f"There is no session {session.key}. Make it with add_session.")
    if ask.dedupe_key and jobs.by_dedupe_key(desk.tx, session.id, ask.dedupe_key) is not None:
        # Somebody was faster. To change that job it is locked first, and the session, which we hold, after it.
        raise LookAgain
    if not jobs.has_room(desk.tx, desk.caller.user_id, desk.settings.max_jobs):
        raise Conflict(
            f"You have {desk.settings.max_jobs} automations, the most allowed. Remove one first.", code="quota_reached"
        )
    return _insert(desk, ask, session, columns, when)


def _insert(desk: Desk, ask: AddJob, session: Session, columns: dict[str, Any], when: When) -> JobShape:
    tx, turn = desk.tx, desk.caller.turn
    job_id, warnings = _new_id(desk, ask)
    columns |= time_columns(when)
    timing = timing_of(columns, when.schedule, 0)
    upcoming = next_from_now(desk, timing)
    check_pace(desk, timing, upcoming)
    enabled = ask.enabled is not False
    rev = sessions.mark(tx, {session.id: 0})[session.id].rev
    job = jobs.insert(
        tx,
        columns
        | {
            "id": job_id, "session_id": session.id, "user_id": session.user_id, "agent_id": session.agent_id,
            "sender_id": turn.sender_id if turn else columns["sender_id"], "kind": "user",
            "origin_door": desk.caller.door, "origin_turn_id": turn.id if turn else None, "enabled": enabled,
            "disabled_by": None if enabled else "person", "next_run_at": upcoming if enabled else None, "rev": rev,
            "undo": {"change": "added", "revision": 1, "before": {}},
        },
    )  # fmt: skip
    warnings += [*when.warnings, *schedule_warnings(when.schedule, desk.now, desk.settings.lookahead_days)]
    twins = job_lists.same_message(tx, session.id, job.payload.message, but=job.id)
    warnings += [f'"{name}" already says the same.' for name in twins]
    return show_job(desk, job, warnings=warnings)


def _upsert(desk: Desk, job_id: str, ask: AddJob) -> JobShape:
    shape = change_fields(desk, job_id, ask)
    return shape.model_copy(update={"deduped": True})


def _new_id(desk: Desk, ask: AddJob) -> tuple[str, list[str]]:
    if ask.id is None:
        return new_id("job"), []
    if not is_id(ask.id):
        raise Invalid("An id has letters, digits, _ and - only.", field="id", code="out_of_range")
    if desk.caller.user_id != OWNER:
        # Job ids are one name space: with an ending always, nobody learns from it which ids others have.
        job_id = new_id(ask.id[:48])
        return job_id, [f"Ids that you choose get a random ending here: this job is {job_id}."]
    if jobs.get(desk.tx, ask.id) is None:
        return ask.id, []
    return new_id("job"), [f"The id {ask.id} is taken, so this job has another."]


def _check_may_add(desk: Desk) -> None:
    turn = desk.caller.turn
    if turn is not None and turn.source != "person" and not turn.may_schedule:
        raise Forbidden(
            "A turn that no person opened adds no automations, unless its own says may_schedule. It may change its own:"
            " use update."
        )


def _bound_session(desk: Desk, ask: AddJob) -> Session:
    """Rule 21: an agent's session is that of its turn; everybody else names one."""
    turn = desk.caller.turn
    if turn is not None:
        session = sessions.get(desk.tx, turn.session_id)
        # An isolated run's own session ends with it: what it schedules belongs to the conversation.
        return session if session.parent_id is None else sessions.get(desk.tx, session.parent_id)
    if ask.session_key is None:
        raise Invalid("session_key is missing: name the session it belongs to.", field="session_key", code="missing")
    return desk.session(ask.session_key)


def get_job(desk: Desk, ask: GetJob) -> JobShape:
    """Read one job."""
    [shape] = show_jobs(desk, [see_job(desk, ask.job_id)], recent=ask.recent)
    return shape


def list_jobs(desk: Desk, ask: ListJobs) -> Page[JobShape]:
    """List one's own jobs; an agent lists its own session's unless asked for all."""
    turn = desk.caller.turn
    session_id = desk.session(ask.session_key).id if ask.session_key else None
    if turn is not None and session_id is None and not ask.all:
        session = sessions.get(desk.tx, turn.session_id)
        session_id = session.parent_id or session.id
    wanted = JobFilter(
        user_id=desk.caller.user_id,
        agent_id=turn.agent_id if turn else None,
        session_id=session_id,
        enabled=ask.enabled,
        status=ask.status,
        q=ask.q,
    )
    return page_of_jobs(desk, wanted, sort=ask.sort, cursor=ask.cursor, limit=ask.limit, recent=ask.recent)


def page_of_jobs(
    desk: Desk, wanted: JobFilter, *, sort: str, cursor: str | None, limit: int, recent: int | None
) -> Page[JobShape]:
    """Give one page of jobs in an order."""
    key = cursors.decode(cursor, str, (str, int, type(None)), int)
    if key is not None and (key[0] != sort or isinstance(key[1], str) != (sort == "name" and key[1] is not None)):
        raise cursors.bad()
    found = job_lists.listed(
        desk.tx, wanted, sort=sort, after=None if key is None else (key[1], key[2]), limit=limit + 1
    )
    more = len(found) > limit
    found = found[:limit]
    following = cursors.encode(sort, found[-1][1], found[-1][0].n) if more else None
    return Page(items=show_jobs(desk, [job for job, _ in found], recent=recent), next_cursor=following)
