"""What a finished run means for its job: counters, retries, the end of a one-shot, the automatic pause (rules 15, 18).

Only the engine's columns are written, and none of the counters when the job was edited since the run was queued.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from homing.engine.closing_turn import ClosingTurn
from homing.engine.turn_result import TurnResult
from homing.model.errors import Broken
from homing.model.jobs import MAX_FAILURES, DueJob, Job, retry_after_failure
from homing.model.schedules import At
from homing.model.sessions import Session
from homing.operations.notes import give_note
from homing.store import Tx, alerts, gates, jobs, runs
from homing.store.alerts import Trouble
from homing.store.jobs import GoodEnd

ERROR_LINE = 200
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
            after_failure(tx, _failed(tx, one, one.job))
        else:
            _after_cancel(tx, one, one.job)
    _keep_states(tx, ended)
    if good:
        ran = {end.job_id: end.revision for end in good}
        jobs.finish_ok(
            tx,
            good,
            last=[job.id for job in last if job.delete_after_run and ran[job.id] == job.revision],
            done=[job.id for job in last if job.next_run_at is None],
            reason="It ran, and has no further time to run.",
        )


def _keep_states(tx: Tx, ended: Sequence[ClosingTurn]) -> None:
    """Rule 50: what a script asked to remember counts once the turn that it woke has closed well."""
    well = {
        one.turn.run_id: one.turn
        for one in ended
        if one.turn.policy.gated and one.turn.run_id and one.result.outcome in {"answered", "empty"}
    }
    for run_id, state in gates.states_of(tx, well).items() if well else ():
        turn = well[run_id]
        assert turn.job_id is not None
        assert turn.policy.revision is not None
        jobs.keep_script_state(tx, turn.job_id, state, revision=turn.policy.revision)


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


@dataclass(frozen=True, kw_only=True)
class FailedRun:
    """A run that went wrong, in its turn or at its gate, with its locked job and home."""

    job: Job
    run_id: str
    at: datetime
    ms: int
    line: str
    """What went wrong, in a short line."""
    permanent: bool
    scheduled: bool
    same_revision: bool
    home: Session
    home_lane: int
    rev: int


def _failed(tx: Tx, one: ClosingTurn, job: Job) -> FailedRun:
    assert one.turn.run_id is not None
    return FailedRun(
        job=job,
        run_id=one.turn.run_id,
        at=one.turn.opened_at,
        ms=_ms(one, tx.now()),
        line=_short(one.result),
        permanent=one.result.permanent,
        scheduled=one.scheduled,
        same_revision=one.same_revision(job),
        home=one.home,
        home_lane=one.home_lane,
        rev=one.rev,
    )


def after_failure(tx: Tx, failed: FailedRun) -> None:
    """Count a failure; retry a one-shot; disable what fails again and again (rule 15)."""
    job, line = failed.job, failed.line
    failures = job.consecutive_failures + int(failed.same_revision and job.removed_at is None)
    jobs.note_failure(
        tx, job.id, run_id=failed.run_id, at=failed.at, ms=failed.ms, error=line, failures=failures, rev=failed.rev
    )
    if job.removed_at is not None:
        return
    if not job.enabled:
        return
    recurring = not isinstance(job.timing.schedule, At)
    given_up = _pause_or_retry(tx, failed, failures, recurring=recurring)
    reached = recurring and failed.same_revision and job.alert_after
    if given_up or (reached and failures >= job.alert_after):
        begins = failures == job.alert_after if recurring else given_up
        note_failing(tx, job, run_id=failed.run_id, line=line, count=failures, begins=bool(begins))


def note_failing(tx: Tx, job: Job | DueJob, *, run_id: str | None, line: str, count: int, begins: bool) -> None:
    """Rule 38: write that a job fails, so that its people are told by another route. System jobs never alert."""
    if job.kind == "system" or job.alert_after == 0:
        return
    trouble = Trouble(job_id=job.id, user_id=job.user_id, kind="failing", count=max(count, 1), run_id=run_id, line=line)
    alerts.note_trouble(tx, trouble, fresh=begins)


def _pause_or_retry(tx: Tx, failed: FailedRun, failures: int, *, recurring: bool) -> bool:
    """Decide how a failing job goes on; say whether it was given up."""
    job, line = failed.job, failed.line
    if recurring and failed.same_revision and failures >= MAX_FAILURES:
        # However they came about: a job that fails by hand fails by the clock as well.
        _pause(tx, failed, f"It failed {failures} times in a row; the last time: {line}")
        return True
    # Given another instant meanwhile, it simply waits for that one.
    if not failed.scheduled or job.next_run_at is not None:
        return False
    if not recurring:
        return _retry_or_pause(tx, failed)
    jobs.disable(
        tx,
        job.id,
        by="done",
        reason=f"Its last run failed ({line}), and it has no further time to run.",
        rev=failed.rev,
    )
    return True


def _retry_or_pause(tx: Tx, failed: FailedRun) -> bool:
    """Rule 15: a one-shot that failed transiently gets up to three more runs; then it stays, with the reason."""
    retry = failed.job.timing.retry
    again_at = None if failed.permanent else retry_after_failure(retry, tx.now())
    if again_at is None:
        tries = f" after {retry + 1} tries" if retry else ""
        _pause(tx, failed, f"It failed{tries}: {failed.line}")
        return True
    run = runs.get(tx, failed.run_id)
    assert run is not None
    jobs.plan(tx, failed.job.id, again_at, rev=failed.rev, retry=retry + 1, retry_of=run.scheduled_for)
    return False


def _pause(tx: Tx, failed: FailedRun, reason: str) -> None:
    """Disable a job ourselves, and say so once, where its people will see it."""
    job = failed.job
    jobs.disable(tx, job.id, by="engine", reason=reason, rev=failed.rev)
    give_note(
        tx,
        home=failed.home,
        lane_id=failed.home_lane,
        job=job,
        run_id=failed.run_id,
        text=f'I paused the automation "{job.name}". {reason}',
    )


def _short(result: TurnResult) -> str:
    told = (result.error or result.reason) if result.reason in {"timeout", "interrupted"} else result.text
    return (told or "")[:ERROR_LINE]
