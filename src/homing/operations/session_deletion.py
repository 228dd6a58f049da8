"""Delete a session (rule 28): blocked while automations are bound to it, unless they are to go as well."""

from homing.model.errors import Conflict
from homing.model.jobs import Job
from homing.operations.desk import Desk
from homing.operations.removal import withdraw_runs
from homing.operations.shapes.session_asks import BlockingJob, DeletedShape, DeleteSession
from homing.store import LookAgain, inbounds, jobs, sessions, turns


def delete_session(desk: Desk, ask: DeleteSession) -> DeletedShape:
    """Delete a session: what waits is withdrawn, what runs is asked to stop, and the key may begin anew."""
    tx = desk.tx
    session = desk.session(ask.session_key)
    bound = jobs.bound_to(tx, session.id)
    if not ask.delete_automations:
        _refuse_blocked(bound)
    jobs.lock(tx, [job.id for job in bound])
    lane_ids = {session.id} | sessions.unified_of(tx, [session.user_id])
    running = withdraw_runs(tx, [job.id for job in bound], reason="session_deleted", also=lane_ids)
    # Whoever adds a job locks the session first: what is bound now stays all there is.
    if {job.id for job in jobs.bound_to(tx, session.id)} - {job.id for job in bound}:
        raise LookAgain
    desk.again(session)
    inbounds.withdraw_all(tx, session.id)
    running |= {turn.id for turn in turns.open_turns_of(tx, lane_ids).values() if turn.session_id == session.id}
    turns.request_cancels(tx, running, "session_deleted")
    rev = sessions.mark(tx, {session.id: 0})[session.id].rev
    jobs.remove_bound(tx, session.id, rev=rev)
    sessions.delete(tx, session.id)
    tx.ring(f"user:{session.user_id}")
    return DeletedShape(deleted=True, blocked_by_automations=False, automations=[])


def _refuse_blocked(bound: list[Job]) -> None:
    # System jobs do not count, and neither do old jobs that were never bound to a person's chat.
    blocking = [job for job in bound if job.kind == "user"]
    if not blocking:
        return
    body = DeletedShape(
        deleted=False,
        blocked_by_automations=True,
        automations=[BlockingJob(id=job.id, name=job.name, enabled=job.enabled) for job in blocking],
    )
    raise Conflict(
        f"{_counted(len(blocking))} to this session. Remove first what belongs to it, or repeat with"
        " delete_automations=true to delete it all together.",
        code="blocked_by_automations",
        extra=body.plain(),
    )


def _counted(count: int) -> str:
    return "1 automation belongs" if count == 1 else f"{count} automations belong"
