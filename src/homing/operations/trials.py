"""Test an automation (ADR 0074): it runs once in a separate session, and only the turn's own record is kept."""

from dataclasses import dataclass, replace
from typing import Any

from homing.model.errors import Conflict
from homing.model.ids import new_id
from homing.model.jobs import Job, due_at
from homing.model.schedules import check_zone
from homing.model.scripts import Fault, Said, given_to_script, read_end
from homing.model.trials import MOST_TRIALS, TRIAL, trial_key, trial_turn_id
from homing.operations.access import see_job
from homing.operations.brakes import check_may_run
from homing.operations.budgets import check_may_spend
from homing.operations.context import Context
from homing.operations.firing import GATE, Firing
from homing.operations.hands import Desk
from homing.operations.scripts import about_job, last_run, tried_shape
from homing.operations.shapes.base import local
from homing.operations.shapes.script_asks import TriedScriptShape
from homing.operations.shapes.turn import TrialShape, TryJob
from homing.store import inbounds, jobs, sessions
from homing.store.inbounds import NewInbound
from homing.store.lanes import lane_of
from homing.store.sessions import NewSession


@dataclass(frozen=True, kw_only=True)
class _Script:
    """What a job's script said: nothing, where it has none."""

    said: Said | None = None
    shape: TriedScriptShape | None = None

    @property
    def wakes(self) -> bool:
        return self.shape is None or (self.said is not None and self.said.wake)


async def try_job(desk: Desk, ask: TryJob) -> TrialShape:
    """Test a job: what it would do now, in a separate session. Only read-only tools are called."""
    job, given = await desk.read(lambda ctx: _look(ctx, ask))
    script = await _try_script(desk, job, given)
    return await desk.write(lambda ctx: _begin(ctx, ask, script))


def _look(ctx: Context, ask: TryJob) -> tuple[Job, dict[str, Any]]:
    check_may_run(ctx)
    job = see_job(ctx, ask.job_id)
    if job.kind == "system":
        raise Conflict(f"{job.name} belongs to Homing itself and cannot be tested.")
    check_zone(job.timing.schedule.tz, field="schedule.tz")
    check_may_spend(ctx, job)
    return job, given_to_script(
        job=about_job(job),
        scheduled_for=str(local(ctx.now, job.timing.schedule.tz)),
        last_run=last_run(job),
        state=job.script_state,
    )


async def _try_script(desk: Desk, job: Job, given: dict[str, Any]) -> _Script:
    if job.gate is None:
        return _Script()
    end = await desk.hands.try_script(job.gate, given)
    said = read_end(end, job.gate.seconds)
    return _Script(said=None if isinstance(said, Fault) else said, shape=tried_shape(end, said))


def _begin(ctx: Context, ask: TryJob, script: _Script) -> TrialShape:
    # Read again: it may have been removed while its script ran.
    job, _ = _look(ctx, ask)
    payload = job.payload
    text = ask.message or payload.message
    if not script.wakes:
        return TrialShape(job_id=job.id, state="closed", script=script.shape)
    if payload.kind != "agent_turn":
        due = replace(due_at(job, ctx.now), message=text)
        firing = Firing(job=due, trigger="manual", scheduled_for=ctx.now, next_run_at=None, said=script.said)
        return TrialShape(job_id=job.id, state="closed", answer=firing.words, script=script.shape)
    jobs.lock(ctx.tx, [job.id])
    if inbounds.trials_of(ctx.tx, job.id, job.user_id) >= MOST_TRIALS:
        raise Conflict(
            f"{MOST_TRIALS} tests of it are under way. Wait for one of them, or cancel one.", code="already_running"
        )
    inbound_id, key = _take_in(ctx, job, text, {} if script.said is None else {GATE: {"data": script.said.data}})
    return TrialShape(
        id=trial_turn_id(inbound_id), job_id=job.id, session_key=key, state="waiting", script=script.shape
    )


def _take_in(ctx: Context, job: Job, text: str, found: dict[str, Any]) -> tuple[str, str]:
    """Put the work into a lane of its own, beside the conversation it would have been done in."""
    tx, key = ctx.tx, trial_key(new_id("t").partition("_")[2])
    bound = sessions.get(tx, job.session_id)
    seen = None if job.isolated else lane_of(tx, bound, unified=ctx.settings.unified_session)
    apart = NewSession(
        key=key,
        user_id=job.user_id,
        agent_id=job.agent_id,
        model=bound.model,
        title=job.name,
        parent_id=job.session_id,
        timezone=bound.timezone,
    )
    [session_id] = sessions.make_missing(tx, [apart]).values()
    sessions.lock(tx, [session_id])
    entering = NewInbound(
        session_id=session_id,
        lane_id=session_id,
        user_id=job.user_id,
        source="system",
        text=text,
        line="machines",
        job_id=job.id,
        sender_id=job.sender_id,
        meta={TRIAL: {"history_lane": seen}, **found},
    )
    [inbound_id] = inbounds.take_in(tx, [entering])
    return inbound_id, key
