"""Which jobs a caller reaches (rules 27, 30, 31), and under which words they are found."""

import re

from homing.model.errors import Conflict, Forbidden, NotFound
from homing.model.jobs import UNDO_FOR, Job
from homing.model.naming import fitting, longest_word
from homing.model.runs import Run, from_epoch_us
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.context import Context
from homing.store import job_lists, jobs, runs, sessions, turns
from homing.store.job_lists import JobFilter

_CANDIDATES = 20
_LOOKED_AT = 200


def see_job(ctx: Context, job_id: str, *, removed: bool = False, gone: bool = False) -> Job:
    """Find a job of the caller's; with `removed`, also one that can still be brought back; with `gone`, any."""
    job = jobs.get(ctx.tx, job_id)
    if job is None or not _is_mine(ctx, job):
        raise _unknown(job_id)
    returnable = removed and job.removed_at is not None and ctx.now - job.removed_at <= UNDO_FOR
    if job.removed_at is not None and not (gone or returnable):
        raise _unknown(job_id)
    return job


def hold_job(ctx: Context, job_id: str, *, removed: bool = False) -> Job:
    """Lock a job that the caller is about to change, and read it again."""
    see_job(ctx, job_id, removed=removed)
    jobs.lock(ctx.tx, [job_id])
    job = see_job(ctx, job_id, removed=removed)
    if job.kind == "system":
        raise Conflict(f"{job.name} belongs to Homing itself: its agent (update_agent) and the settings change it.")
    check_may_change(ctx, job.id)
    return job


def check_may_change(ctx: Context, job_id: str) -> None:
    """Rule 30: from a turn no person opened, an agent changes only its own job."""
    turn = ctx.caller.turn
    if turn is not None and turn.source != "person" and turn.job_id != job_id:
        raise Forbidden("A turn that no person opened may change only its own automation.")


def see_run(ctx: Context, run_id: str, *, counted: bool = False) -> Run:
    """Find a run of the caller's; also one of a removed job; with `counted`, also the run that counts an instant."""
    run = runs.get(ctx.tx, run_id) or (_counting(ctx, run_id) if counted else None)
    if run is None or run.user_id != ctx.caller.user_id or not _agent_sees(ctx, run.job_id):
        raise NotFound(f"There is no run {run_id}. List them with list_runs.")
    return run


def _counting(ctx: Context, run_id: str) -> Run | None:
    job_id, _, instant = run_id.rpartition(":")
    if not job_id or not re.fullmatch(r"\d{1,15}", instant):
        return None
    return runs.counting(ctx.tx, job_id, from_epoch_us(int(instant) * 1000))


def see_turn(ctx: Context, turn_id: str) -> tuple[Turn, Session]:
    """Find a turn of the caller's, and its session, which was not deleted."""
    turn = turns.get_turn(ctx.tx, turn_id)
    if turn is not None and turn.user_id == ctx.caller.user_id:
        session = sessions.get(ctx.tx, turn.session_id)
        if session.deleted_at is None:
            return turn, session
    raise NotFound(f"There is no turn {turn_id}. List them with list_turns.")


def find_job(ctx: Context, given: str, *, session_id: int | None = None) -> Job:
    """Find a job by id, by the id of one of its runs, by name, or by what fits only one; several are listed.

    With `session_id`, only a job of that conversation.
    """
    exact = jobs.get(ctx.tx, given.partition(":")[0].strip())
    here = exact is not None and session_id in (None, exact.session_id)
    if exact is not None and here and _is_mine(ctx, exact) and exact.removed_at is None:
        return exact
    wanted = JobFilter(
        user_id=ctx.caller.user_id,
        agent_id=ctx.caller.turn.agent_id if ctx.caller.turn else None,
        session_id=session_id,
        q=longest_word(given),
    )
    found = [job for job, _ in job_lists.listed(ctx.tx, wanted, sort="next", after=None, limit=_LOOKED_AT)]
    fits = fitting(given, found, lambda job: (job.id, job.name), prefix="job_")
    if len(fits) == 1:
        return fits[0]
    candidates = fits[:_CANDIDATES] or [job for job, _ in _all(ctx, wanted)]
    raise NotFound(_choose(given, candidates, several=bool(fits)), extra={"candidates": [job.id for job in candidates]})


def _all(ctx: Context, wanted: JobFilter) -> list[tuple[Job, int | str | None]]:
    everything = JobFilter(user_id=wanted.user_id, agent_id=wanted.agent_id, session_id=wanted.session_id)
    return job_lists.listed(ctx.tx, everything, sort="next", after=None, limit=_CANDIDATES)


def _choose(given: str, candidates: list[Job], *, several: bool) -> str:
    if not candidates:
        return f"There is no automation {given!r}, and none at all here."
    shown = ", ".join(f'{job.id} "{job.name}"' for job in candidates)
    return (
        f"{given!r} fits several: {shown}. Give the id." if several else f"There is no {given!r}. There are: {shown}."
    )


def _is_mine(ctx: Context, job: Job) -> bool:
    if job.user_id != ctx.caller.user_id:
        return False
    return ctx.caller.turn is None or job.agent_id == ctx.caller.turn.agent_id


def _agent_sees(ctx: Context, job_id: str) -> bool:
    if ctx.caller.turn is None:
        return True
    job = jobs.get(ctx.tx, job_id)
    return job is not None and _is_mine(ctx, job)


def _unknown(job_id: str) -> NotFound:
    return NotFound(f"There is no automation {job_id}. List yours with list_jobs.")
