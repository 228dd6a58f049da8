"""Delete a session (rule 28): blocked while automations are bound to it, unless they are to go as well."""

from homing.model.errors import Conflict
from homing.model.jobs import Job
from homing.model.people import SESSION_GRANT
from homing.model.runs import ACTIVE
from homing.model.sessions import Session
from homing.operations.agent_messages import askers_of, tell_askers
from homing.operations.approvals import end_all_of_session as end_approvals
from homing.operations.context import Context
from homing.operations.questions import end_all_of_session as end_questions
from homing.operations.removal import go_on_without, withdraw_runs
from homing.operations.shapes.session_asks import BlockingJob, DeletedShape, DeleteSession
from homing.store import (
    LookAgain,
    Tx,
    agents,
    approvals,
    cards,
    inbounds,
    jobs,
    kept_files,
    people,
    runs,
    sessions,
    turns,
)


def delete_session(ctx: Context, ask: DeleteSession) -> DeletedShape:
    """Delete a session: what waits is withdrawn, what runs is asked to stop, and the key may be used again."""
    tx = ctx.tx
    session = ctx.session(ask.session_key)
    bound = jobs.bound_to(tx, session.id)
    if not ask.delete_automations:
        _refuse_blocked(bound)
    working = _working_in(tx, session)
    ending = [*(job.id for job in bound), *working]
    jobs.lock(tx, ending)
    # With earlier agents, too: what was said to them may be in the summary of their lane.
    lane_ids = {session.id} | sessions.unified_of(tx, ((session.user_id, name) for name in agents.ids_like(tx, "")))
    asked = [approval.id for approval in approvals.open_in(tx, session.id)]
    showing = set[int]().union(*cards.sessions_showing(tx, approval_ids=asked).values())
    asked_here = inbounds.waiting_from_agents(tx, session_id=session.id)
    askers = askers_of(tx, asked_here, unified=ctx.settings.unified_session)
    waiting_for = {i for pair in askers.values() for i in pair}
    withdrawn = withdraw_runs(tx, ending, reason="session_deleted", also=lane_ids | showing | waiting_for)
    # Adding a job locks the session first: what is bound now stays all there is.
    if {job.id for job in jobs.bound_to(tx, session.id)} - {job.id for job in bound}:
        raise LookAgain
    ctx.again(session)
    if {approval.id for approval in approvals.open_in(tx, session.id)} - set(asked):
        raise LookAgain
    if {one.id for one in inbounds.waiting_from_agents(tx, session_id=session.id)} - {one.id for one in asked_here}:
        raise LookAgain
    # Not all that we saw: a turn may have opened one meanwhile, and answers it.
    gone = inbounds.withdraw_all(tx, session.id)
    tell_askers(tx, gone, askers, "the conversation was deleted.")
    people.remove_grants_to(tx, f"{SESSION_GRANT}{session.key}", user_id=session.user_id)
    end_approvals(tx, session.id)
    end_questions(tx, session.id)
    running = {turn.id for turn in turns.open_turns_of(tx, lane_ids).values() if turn.session_id == session.id}
    running |= withdrawn.running
    turns.request_cancels(tx, running, "session_deleted")
    rev = sessions.touch(tx, session.id)
    go_on_without(
        tx,
        [run for run in withdrawn.runs if run.job_id in working],
        reason="Its run was withdrawn, and it has no further time to run.",
    )
    jobs.remove_bound(tx, session.id, rev=rev)
    sessions.forget_summary(tx, lane_ids, session.id)
    sessions.delete(tx, session.id)
    kept_files.release(tx, session.id)
    tx.ring(f"user:{session.user_id}")
    # Those that nobody asked about, since they do not stand in the way.
    removed = [] if ask.delete_automations else [_named(job) for job in bound if job.kind != "system"]
    return DeletedShape(deleted=True, blocked_by_automations=False, automations=[], removed=removed)


def _working_in(tx: Tx, session: Session) -> list[str]:
    """Name the job of an isolated run: the run goes with the session it has for itself, the job stays with its own."""
    run = runs.get(tx, session.key.partition(":")[2]) if session.parent_id is not None else None
    return [run.job_id] if run is not None and run.lane_id == session.id and run.state in ACTIVE else []


def _refuse_blocked(bound: list[Job]) -> None:
    # System jobs do not count, and neither do old jobs that were never bound to a person's chat.
    blocking = [job for job in bound if job.kind == "user"]
    if not blocking:
        return
    body = DeletedShape(
        deleted=False,
        blocked_by_automations=True,
        automations=[_named(job) for job in blocking],
    )
    raise Conflict(
        f"{_counted(len(blocking))} to this session. Remove first what belongs to it, or repeat with"
        " delete_automations=true to delete it all together.",
        code="blocked_by_automations",
        extra=body.plain(),
    )


def _named(job: Job) -> BlockingJob:
    return BlockingJob(id=job.id, name=job.name, enabled=job.enabled)


def _counted(count: int) -> str:
    return "1 automation belongs" if count == 1 else f"{count} automations belong"
