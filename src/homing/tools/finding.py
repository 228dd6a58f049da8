"""Which job a model means: by id, by the id of one of its runs, or by its name; in a scheduled turn, its own."""

from homing.model.errors import Invalid, NotFound
from homing.model.jobs import Job
from homing.model.sessions import Session
from homing.operations.desk import Desk
from homing.operations.reach import find_job, see_job


def wanted_job(desk: Desk, session: Session, said: str | None) -> Job:
    """Find the job that is meant; several that fit are refused with the candidates."""
    if said is None:
        return see_job(desk, _own(desk))
    refusals: list[NotFound] = []
    # Here first; where nothing is called so, another conversation of the same user may have it.
    for session_id in (session.id, None):
        try:
            job = find_job(desk, said, session_id=session_id)
        except NotFound as unknown:
            refusals.append(unknown)
            continue
        if said.partition(":")[0].strip() == job.id or said.strip().casefold() == job.name.casefold():
            return job
        # Half a name is enough to find a job, and not enough to change one.
        refusals.append(NotFound(f'There is no automation "{said}". Did you mean "{job.name}" ({job.id})?'))
    raise refusals[0]


def wanted_or_removed_job(desk: Desk, session: Session, said: str | None) -> Job:
    """Find a job whose last change is to be taken back, which may have been its removal."""
    try:
        return wanted_job(desk, session, said)
    except NotFound as unknown:
        try:
            return see_job(desk, (said or "").partition(":")[0].strip(), removed=True)
        except NotFound:
            raise unknown from None


def _own(desk: Desk) -> str:
    turn = desk.caller.turn
    if turn is None or turn.job_id is None or turn.source == "person":
        raise Invalid("job_id is missing: say which automation, by id or name.", field="job_id", code="missing")
    return turn.job_id
