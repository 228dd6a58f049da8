"""What a finished run means for its job: counters, retries, the end of a one-shot, the automatic pause (rules 15, 18).

Only the engine's columns are written, and none of the counters when the job was edited since the run was queued.
"""

from collections.abc import Sequence
from datetime import datetime

from homing.engine.closing_turn import ClosingTurn
from homing.engine.turn_result import TurnResult
from homing.model.errors import Broken
from homing.model.jobs import MAX_FAILURES, Job, retry_after_failure
from homing.model.schedules import At
from homing.operations.notes import give_note
from homing.store import Tx, jobs, runs
from homing.store.jobs import GoodEnd

_ERROR_LINE = 200
_NOTE = 2_000


def after_runs(tx: Tx, ended: Sequence[ClosingTurn]) -> None:
    """Write what runs that just ended mean for their jobs."""
    good: list[GoodEnd] = []
    last: list[Job] = []
    for one in ended:
        if one.turn.job_id is None or one.turn.run_id is None:
            continue
        if one.result.outcome in {"answered", "empty"}:
            good.append(
                GoodEnd(
                    job_id=one.turn.job_id,
                    run_id=one.turn.run_id,
                    at=one.turn.opened_at,
                    ms=_ms(one, tx.now()),
                    rev=one.rev,
                    revision=one.turn.policy.revision,
                )
            )
            if one.job is not None:
                _keep_note(tx, one, one.job)
                last += [one.job] if one.scheduled else []
        elif one.job is None:
            raise Broken("a run went wrong, and its job was not looked at")
        elif one.result.outcome == "failed":
            _after_failure(tx, one, one.job)
        else:
            _after_cancel(tx, one, one.job)
    if good:
        ran = {end.job_id: end.revision for end in good}
        jobs.finish_ok(
            tx,
            good,
            last=[job.id for job in last if job.delete_after_run and ran[job.id] == job.revision],
            done=[job.id for job in last if job.next_run_at is None],
            reason="It ran, and has no further time to run.",
        )


def _keep_note(tx: Tx, one: ClosingTurn, job: Job) -> None:
    """Rule 36: what a quiet job found is kept for its next run, unless it was given another task meanwhile."""
    found = one.result.text[:_NOTE].strip()
    about_it = one.turn.policy.message in {None, job.payload.message}
    if found and about_it and (job.quiet or one.result.reason == "quiet"):
        jobs.keep_note(tx, job.id, found)


def _after_cancel(tx: Tx, one: ClosingTurn, job: Job) -> None:
    jobs.note_run(tx, job.id, run_id=one.turn.run_id, at=one.turn.opened_at, rev=one.rev)
    if one.scheduled and job.enabled and job.next_run_at is None and job.removed_at is None:
        jobs.disable(
            tx, job.id, by="done", reason="Its run was cancelled, and it has no further time to run.", rev=one.rev
        )


def _ms(one: ClosingTurn, now: datetime) -> int:
    return int((now - one.turn.opened_at).total_seconds() * 1000)


def _after_failure(tx: Tx, one: ClosingTurn, job: Job) -> None:
    line = _short(one.result)
    failures = job.consecutive_failures + int(one.same_revision(job) and job.removed_at is None)
    jobs.note_failure(
        tx,
        job.id,
        run_id=one.turn.run_id,
        at=one.turn.opened_at,
        ms=_ms(one, tx.now()),
        error=line,
        failures=failures,
        rev=one.rev,
    )
    if job.removed_at is not None:
        return
    if not job.enabled:
        return
    recurring = not isinstance(job.timing.schedule, At)
    if recurring and one.same_revision(job) and failures >= MAX_FAILURES:
        # However they came about: a job that fails by hand fails by the clock as well.
        _pause(tx, one, job, f"It failed {failures} times in a row; the last time: {line}")
    elif not one.scheduled:
        return
    elif not recurring:
        # Given another instant meanwhile, it simply waits for that one.
        if job.next_run_at is None:
            _retry_or_pause(tx, one, job, line)
    elif job.next_run_at is None:
        jobs.disable(
            tx,
            job.id,
            by="done",
            reason=f"Its last run failed ({line}), and it has no further time to run.",
            rev=one.rev,
        )


def _retry_or_pause(tx: Tx, one: ClosingTurn, job: Job, line: str) -> None:
    """Rule 15: a one-shot that failed transiently gets up to three more runs; then it stays, with the reason."""
    retry = job.timing.retry
    again_at = None if one.result.permanent else retry_after_failure(retry, tx.now())
    if again_at is None:
        tries = f" after {retry + 1} tries" if retry else ""
        _pause(tx, one, job, f"It failed{tries}: {line}")
        return
    assert one.turn.run_id is not None
    run = runs.get(tx, one.turn.run_id)
    assert run is not None
    jobs.plan(tx, job.id, again_at, rev=one.rev, retry=retry + 1, retry_of=run.scheduled_for)


def _pause(tx: Tx, one: ClosingTurn, job: Job, reason: str) -> None:
    """Disable a job ourselves, and say so once, where its people will see it."""
    jobs.disable(tx, job.id, by="engine", reason=reason, rev=one.rev)
    give_note(
        tx,
        home=one.home,
        lane_id=one.home_lane,
        job=job,
        run_id=one.turn.run_id,
        text=f'I paused the automation "{job.name}". {reason}',
    )


def _short(result: TurnResult) -> str:
    told = (result.error or result.reason) if result.reason in {"timeout", "interrupted"} else result.text
    return (told or "")[:_ERROR_LINE]
