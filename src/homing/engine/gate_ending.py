"""The end of a gate, in one transaction: the run is left out and counted, or goes on, or has failed (rule 50).

Locks in the order of the house: job, sessions, gate. A gate that is another's by now, or whose run was withdrawn, is
left alone.
"""

from typing import Literal

from homing.engine.job_outcomes import ERROR_LINE, FailedRun, after_failure
from homing.model.jobs import Job, due_at
from homing.model.runs import COUNTED, Run, run_id
from homing.model.schedules import At
from homing.model.scripts import MOST_RUNS, DueMeanwhile, Fault, Said, Script, ScriptEnd, read_end
from homing.model.sessions import Session
from homing.operations.context import Instance
from homing.operations.firing import Firing, pass_gate
from homing.operations.heartbeats import looked_at
from homing.operations.removal import go_on_without, uncount
from homing.operations.shapes.base import clean_text, cleaned
from homing.store import Tx, gates, jobs, runs, sessions
from homing.store.gates import Taken
from homing.store.lanes import lane_of, unified_lanes
from homing.store.runs import Finished, NewRun

Became = Literal["passed", "skipped", "failed", "again", "lost"]
_KEPT_ERROR = 8 << 10
_NO_TIME = "Its script found nothing to do, and it has no further time to run."
_DIED = f"The script was interrupted {MOST_RUNS} times because its worker stopped."


def end_gate(
    tx: Tx, taken: Taken, *, script: Script | None, end: ScriptEnd | Said | None, instance: Instance
) -> Became:
    """End a gate that a worker holds. Without an end its workers died; what was `Said` needed no script."""
    jobs.lock(tx, [taken.job_id])
    job, run = jobs.get(tx, taken.job_id), runs.get(tx, taken.run_id)
    assert job is not None
    if run is None or run.state != "queued":
        return "lost"
    unified = instance.settings.unified_session
    shared = unified_lanes(tx, [(job.user_id, job.agent_id)]) if unified else {}
    sessions.lock(tx, {run.session_id, *shared.values()})
    held = gates.hold(tx, taken.run_id, taken.fence)
    if held is None:
        return "lost"
    if job.gate != script:
        # Somebody changed it meanwhile: what the old one said answers another question.
        gates.release(tx, taken.run_id, taken.fence)
        return "again"
    depth, due = held
    said = _said(end, script)
    kept = None if isinstance(end, Said) or end is None else _clean(end)
    if kept is not None or end is None:
        gates.end(tx, run.id, ended=kept, said=said if isinstance(said, Said) else None)
    else:
        gates.drop(tx, [run.id])
    tx.ring(f"user:{run.user_id}")
    if isinstance(said, Fault):
        _fail(tx, job, run, due, said.sentence, kept, unified=unified)
        return "failed"
    if not said.wake:
        _leave_out(tx, job, run, due, said)
        return "skipped"
    _overlapped(tx, job, run, due)
    _go_on(tx, job, run, depth, said, instance)
    return "passed"


def _said(end: ScriptEnd | Said | None, script: Script | None) -> Said | Fault:
    if isinstance(end, Said):
        return end
    if end is None:
        return Fault(sentence=_DIED)
    said = read_end(end, script.seconds if script else 0)
    if isinstance(said, Fault):
        return said
    # What no database keeps is taken out, as at every door.
    return Said(wake=said.wake, data=cleaned(said.data), state=cleaned(said.state), gives_state=said.gives_state)


def _clean(end: ScriptEnd) -> ScriptEnd:
    return ScriptEnd(ended=end.ended, code=end.code, out=clean_text(end.out), err=clean_text(end.err))


def _leave_out(tx: Tx, job: Job, run: Run, due: DueMeanwhile | None, said: Said) -> None:
    """Count the instant in the row before, if that one was left out for the same reason; a manual run never is."""
    rev = sessions.touch(tx, run.session_id)
    until, count = (due.until, 1 + due.count) if due else (run.scheduled_for, 1)
    before = runs.skip_before(tx, job.id, run.scheduled_for, "gate") if run.trigger in COUNTED else None
    if before is not None:
        runs.prolong_skip(tx, before.id, until=until, more=count, rev=rev)
        runs.set_next(tx, before.id, job.next_run_at)
        gates.fold(tx, run.id, into=before.id)
    else:
        runs.finish_runs(tx, [Finished(run_id=run.id, state="skipped", reason="gate", rev=rev)])
        if due is not None:
            runs.prolong_skip(tx, run.id, until=until, more=due.count, rev=rev)
    uncount(tx, [run])
    jobs.note_no(tx, job.id, revision=run.revision, rev=rev)
    if said.gives_state:
        jobs.keep_script_state(tx, job.id, said.state, revision=run.revision)
    go_on_without(tx, [run], reason=_NO_TIME)


def _go_on(tx: Tx, job: Job, run: Run, depth: int, said: Said, instance: Instance) -> None:
    settings = instance.settings
    firing = Firing(
        job=due_at(job, run.scheduled_for),
        trigger=run.trigger,
        scheduled_for=run.scheduled_for,
        next_run_at=job.next_run_at,
        depth=depth,
        said=said,
        written_id=run.id,
    )
    beating = looked_at(tx, [firing.job], settings)
    pass_gate(tx, firing, unified=settings.unified_session, beating=beating)
    if said.gives_state and job.payload.kind != "agent_turn":
        # No turn follows that could fail.
        jobs.keep_script_state(tx, job.id, said.state, revision=run.revision)


def _fail(
    tx: Tx, job: Job, run: Run, due: DueMeanwhile | None, line: str, end: ScriptEnd | None, *, unified: bool
) -> None:
    """A fault of the script is the run's; the agent is not woken. It counts as one that may pass (rule 15)."""
    rev = sessions.touch(tx, run.session_id)
    error = "\n\n".join(filter(None, [line, end.err[-_KEPT_ERROR:].strip() if end else None]))
    runs.finish_runs(
        tx,
        [Finished(run_id=run.id, state="error", reason="script", rev=rev, summary=line[:ERROR_LINE], error=error)],
    )
    _overlapped(tx, job, run, due)
    uncount(tx, [run])
    if not isinstance(job.timing.schedule, At):
        go_on_without(
            tx, [run], reason=f"Its last run failed ({line[:ERROR_LINE]}), and it has no further time to run."
        )
        job = jobs.get(tx, job.id) or job
    home: Session = sessions.get(tx, run.session_id)
    after_failure(
        tx,
        FailedRun(
            job=job,
            run_id=run.id,
            at=run.queued_at,
            ms=int((tx.now() - run.queued_at).total_seconds() * 1000),
            line=line[:ERROR_LINE],
            permanent=False,
            scheduled=run.trigger != "manual",
            same_revision=run.revision == job.revision,
            home=home,
            home_lane=lane_of(tx, home, unified=unified),
            rev=rev,
        ),
    )


def _overlapped(tx: Tx, job: Job, run: Run, due: DueMeanwhile | None) -> None:
    """What came due while the gate decided found a run before it: that is its reason now (rule 14)."""
    if due is None:
        return
    rev = sessions.touch(tx, run.session_id)
    skipped = NewRun(
        id=run_id(job.id, due.first, "timer"),
        job_id=job.id,
        session_id=run.session_id,
        lane_id=run.session_id,
        user_id=run.user_id,
        trigger="timer",
        scheduled_for=due.first,
        state="skipped",
        reason="overlap",
        revision=run.revision,
        rev=rev,
        missed_count=due.count,
        missed_until=due.until,
        next_run_at=job.next_run_at,
    )
    runs.add_runs(tx, [skipped])
