"""Which jobs a caller reaches (rules 27, 30, 31), and under which words they are found."""

from homing.model.errors import Conflict, Forbidden, NotFound
from homing.model.jobs import UNDO_FOR, Job
from homing.model.naming import fitting, longest_word
from homing.model.runs import Run
from homing.operations.desk import Desk
from homing.store import job_lists, jobs, runs
from homing.store.job_lists import JobFilter

_CANDIDATES = 20
_LOOKED_AT = 200


def see_job(desk: Desk, job_id: str, *, removed: bool = False, gone: bool = False) -> Job:
    """Find a job of the caller's; with `removed`, also one that can still be brought back; with `gone`, any."""
    job = jobs.get(desk.tx, job_id)
    if job is None or not _is_mine(desk, job):
        raise _unknown(job_id)
    returnable = removed and job.removed_at is not None and desk.now - job.removed_at <= UNDO_FOR
    if job.removed_at is not None and not (gone or returnable):
        raise _unknown(job_id)
    return job


def hold_job(desk: Desk, job_id: str, *, removed: bool = False) -> Job:
    """Lock a job that the caller is about to change, and read it again."""
    see_job(desk, job_id, removed=removed)
    jobs.lock(desk.tx, [job_id])
    job = see_job(desk, job_id, removed=removed)
    if job.kind == "system":
        raise Conflict(f"{job.name} belongs to Homing itself and is changed by settings, not here.")
    check_may_change(desk, job.id)
    return job


def check_may_change(desk: Desk, job_id: str) -> None:
    """Rule 30: from a turn no person opened, an agent changes only its own job."""
    turn = desk.caller.turn
    if turn is not None and turn.source != "person" and turn.job_id != job_id:
        raise Forbidden("A turn that no person opened may change only its own automation.")


def see_run(desk: Desk, run_id: str) -> Run:
    """Find a run of the caller's; also one of a removed job."""
    run = runs.get(desk.tx, run_id)
    if run is None or run.user_id != desk.caller.user_id or not _agent_sees(desk, run.job_id):
        raise NotFound(f"There is no run {run_id}. List them with list_runs.")
    return run


def find_job(desk: Desk, said: str, *, session_id: int | None = None) -> Job:
    """Find a job by id, by the id of one of its runs, by name, or by what fits only one; several are listed."""
    exact = jobs.get(desk.tx, said.partition(":")[0].strip())
    if exact is not None and _is_mine(desk, exact) and exact.removed_at is None:
        return exact
    wanted = JobFilter(
        user_id=desk.caller.user_id,
        agent_id=desk.caller.turn.agent_id if desk.caller.turn else None,
        session_id=session_id,
        q=longest_word(said),
    )
    found = [job for job, _ in job_lists.listed(desk.tx, wanted, sort="next", after=None, limit=_LOOKED_AT)]
    fits = fitting(said, found, lambda job: (job.id, job.name), prefix="job_")
    if len(fits) == 1:
        return fits[0]
    candidates = fits[:_CANDIDATES] or [job for job, _ in _all(desk, wanted)]
    raise NotFound(_choose(said, candidates, several=bool(fits)), extra={"candidates": [job.id for job in candidates]})


def _all(desk: Desk, wanted: JobFilter) -> list[tuple[Job, int | str | None]]:
    everything = JobFilter(user_id=wanted.user_id, agent_id=wanted.agent_id, session_id=wanted.session_id)
    return job_lists.listed(desk.tx, everything, sort="next", after=None, limit=_CANDIDATES)


def _choose(said: str, candidates: list[Job], *, several: bool) -> str:
    if not candidates:
        return f"There is no automation {said!r}, and none at all here."
    shown = ", ".join(f'{job.id} "{job.name}"' for job in candidates)
    return f"{said!r} fits several: {shown}. Give the id." if several else f"There is no {said!r}. There are: {shown}."


def _is_mine(desk: Desk, job: Job) -> bool:
    if job.user_id != desk.caller.user_id:
        return False
    return desk.caller.turn is None or job.agent_id == desk.caller.turn.agent_id


def _agent_sees(desk: Desk, job_id: str) -> bool:
    if desk.caller.turn is None:
        return True
    job = jobs.get(desk.tx, job_id)
    return job is not None and _is_mine(desk, job)


def _unknown(job_id: str) -> NotFound:
    return NotFound(f"There is no automation {job_id}. List yours with list_jobs.")
