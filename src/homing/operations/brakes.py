"""Loop brakes (rule 35): what turns cause is counted in rows, under the session's lock, and stopped at a limit.

Only what another turn caused is ever counted or stopped: a person's message and a due instant pass unseen.
"""

from datetime import datetime, timedelta

from homing.model.brakes import (
    CAUSED_WITHIN,
    DEEPEST,
    LOOP,
    MOST_CAUSED,
    NEAREST,
    NEAREST_SCHEDULING,
    disabled_words,
)
from homing.model.errors import Forbidden, Invalid
from homing.model.jobs import Job, Timing
from homing.model.people import ActingTurn
from homing.model.schedules import check
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.notes import give_note
from homing.store import Tx, jobs, lanes, sessions
from homing.store.lanes import Cause

_A_SECOND = timedelta(seconds=1)


def depth_after(turn: ActingTurn | None) -> int:
    """Give the depth of what a caller causes: a turn's own plus one, and none for everybody else."""
    return 0 if turn is None else turn.depth + 1


def is_beyond(tx: Tx, job_id: str, *, session_id: int, lane_id: int, depth: int) -> bool:
    """Say whether one more of this depth is more than a session takes of a job. Session and lane are locked."""
    if depth == 0:
        return False
    cause = Cause(kind="job", id=job_id)
    return depth > DEEPEST or caused_too_many(tx, cause, session_id=session_id, lane_id=lane_id)


def caused_too_many(tx: Tx, cause: Cause, *, session_id: int, lane_id: int) -> bool:
    """Say whether a locked session has had, or has waiting, all the turns that a job or hook may cause for now."""
    return lanes.caused_since(tx, session_id, lane_id, cause, tx.now() - CAUSED_WITHIN) >= MOST_CAUSED


def stop_job(tx: Tx, job: Job, *, home: Session, lane_id: int, run_id: str | None) -> None:
    """Disable a locked job that asked for more turns than its conversation takes of one, and say so once."""
    if not job.enabled or job.next_run_at is None:
        return
    rev = sessions.touch(tx, home.id)
    jobs.disable(tx, job.id, by="engine", reason=LOOP, rev=rev)
    words = f'I paused the automation "{job.name}". {disabled_words(LOOP)} Enable it to go on.'
    give_note(tx, home=home, lane_id=lane_id, job=job, run_id=run_id, text=words)


def check_may_run(ctx: Context) -> None:
    """Refuse to run a job from a turn that no person opened."""
    if is_unattended(ctx):
        raise Forbidden(
            "A turn that no person opened cannot run an automation: it runs by itself at its next time. To look again"
            " sooner, give your own another time with update."
        )


def check_may_enable(ctx: Context, job: Job) -> None:
    """Refuse to enable a job that the engine disabled from a turn that no person opened."""
    if job.disabled_by == "engine" and is_unattended(ctx):
        raise Forbidden(
            "Homing paused this automation, and this is a turn that no person opened: a person has to enable it. Tell"
            " the user why it is paused."
        )


def is_unattended(ctx: Context) -> bool:
    """Say whether the caller is a turn that no person opened."""
    return _unattended(ctx) is not None


def check_pace(ctx: Context, timing: Timing, upcoming: datetime | None, *, before: Job | None = None) -> None:
    """Refuse a time nearer than five minutes, or repeated more often, from a turn that no person opened.

    `before` is the job as it was, unless the change enables it: one that only removes instants is always allowed.
    """
    turn = _unattended(ctx)
    if turn is None or upcoming is None or (before is not None and _only_less(before, timing)):
        return
    least = NEAREST_SCHEDULING if turn.may_schedule else NEAREST
    minutes = least // timedelta(minutes=1)
    words = "1 minute" if minutes == 1 else f"{minutes} minutes"
    if upcoming - ctx.now < least - _A_SECOND:
        raise Invalid(
            f"In a turn that no person opened the next time must be at least {words} away. Give a later one, for"
            f" example 'in {words}'.",
            field="when",
            code="schedule_too_often",
        )
    try:
        check(
            timing.schedule,
            now=ctx.now,
            min_interval_seconds=least.total_seconds(),
            starts_at=timing.starts_at,
            ends_at=timing.ends_at,
        )
    except Invalid as refused:
        raise Invalid(
            f"This is a turn that no person opened. {refused.detail}", field="when", code=refused.field_code
        ) from refused


def _unattended(ctx: Context) -> ActingTurn | None:
    turn = ctx.caller.turn
    return None if turn is None or turn.source == "person" else turn


def _only_less(job: Job, timing: Timing) -> bool:
    before = job.timing
    return (
        (timing.schedule, timing.starts_at) == (before.schedule, before.starts_at)
        and (before.ends_at is None or (timing.ends_at is not None and timing.ends_at <= before.ends_at))
        and (before.max_runs is None or (timing.max_runs is not None and timing.max_runs <= before.max_runs))
    )
