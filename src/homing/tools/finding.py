"""Which job a model means: by id, by the id of one of its runs, or by its name; in a scheduled turn, its own."""

from homing.model.errors import Invalid, NotFound
from homing.model.jobs import Job
from homing.model.sessions import Session
from homing.operations.access import find_job, see_job
from homing.operations.context import Context


def wanted_job(ctx: Context, session: Session, given: str | None) -> Job:
    """Find the job that is meant; several that fit are refused with the candidates."""
    if given is None:
        return see_job(ctx, _own(ctx))
    refusals: list[NotFound] = []
    # Here first; where nothing is called so, another conversation of the same user may have it. Rule 60: what its user
    # has elsewhere is not for those who also read here.
    for session_id in (session.id,) if session.several else (session.id, None):
        try:
            job = find_job(ctx, given, session_id=session_id)
        except NotFound as unknown:
            refusals.append(unknown)
            continue
        if given.partition(":")[0].strip() == job.id or given.strip().casefold() == job.name.casefold():
            return job
        # Half a name is enough to find a job, and not enough to change one.
        refusals.append(NotFound(f'There is no automation "{given}". Did you mean "{job.name}" ({job.id})?'))
    raise refusals[0]


def wanted_or_removed_job(ctx: Context, session: Session, given: str | None) -> Job:
    """Find a job whose last change is to be taken back, which may have been its removal."""
    try:
        return wanted_job(ctx, session, given)
    except NotFound as unknown:
        try:
            job = see_job(ctx, (given or "").partition(":")[0].strip(), removed=True)
        except NotFound:
            raise unknown from None
        if session.several and job.session_id != session.id:
            raise
        return job


def _own(ctx: Context) -> str:
    turn = ctx.caller.turn
    if turn is None or turn.job_id is None or turn.source == "person":
        raise Invalid("job_id is missing: say which automation, by id or name.", field="job_id", code="missing")
    return turn.job_id
