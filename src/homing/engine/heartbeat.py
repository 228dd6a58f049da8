"""When Homing's own jobs run: only if there is something to look at, and as agents, users and settings say now."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from homing.model.dreams import KEY as DREAM
from homing.model.heartbeats import CHECKLIST, beat_job_of
from homing.model.jobs import Job, Stretch, Verdict, due_at
from homing.operations.context import Instance
from homing.operations.dreams import has_news, wanted_dream
from homing.operations.heartbeats import redefine, wanted_beat
from homing.operations.models import uses_offline
from homing.store import Tx, agents, inbounds, jobs


def hold_heartbeats(tx: Tx, decided: Sequence[Verdict], instance: Instance) -> list[Verdict]:
    """Let a heartbeat run only when something waits for it, inside the active hours. Its job is locked."""
    beats = {one.job.id: one.job.session_id for one in decided if one.job.kind == "system"}
    if not beats:
        return list(decided)
    found = jobs.get_many(tx, beats)
    waiting = inbounds.with_notes(tx, set(beats.values()))
    return [_look(tx, one, found[one.job.id], waiting, instance) if one.job.id in beats else one for one in decided]


def _look(tx: Tx, one: Verdict, job: Job, waiting: set[int], instance: Instance) -> Verdict:
    if one.scheduled_for is None:
        return one
    now = tx.now()
    if job.dedupe_key == DREAM:
        return _look_at_dream(tx, one, job, instance)
    wanted = wanted_beat(tx, job, instance.settings)
    if wanted is None:
        # Switched off, it beats no more: events then wake their sessions by themselves.
        return replace(_held(one, now), next_run_at=None)
    heartbeat, beat = wanted
    if beat_job_of(job) != beat:
        job = redefine(tx, job, beat)
        due = due_at(job, one.job.next_run_at)
        one = replace(one, job=due, next_run_at=due.timing.next_due(now))
    if (job.dedupe_key or "").startswith(CHECKLIST):
        # The model without a key goes through no list.
        needed = not _is_offline(tx, job, instance)
    else:
        needed = job.session_id in waiting
    return one if needed and heartbeat.is_awake(now, beat.tz) else _held(one, now)


def _look_at_dream(tx: Tx, one: Verdict, job: Job, instance: Instance) -> Verdict:
    now = tx.now()
    wanted = wanted_dream(tx, job, instance)
    if wanted is None:
        return replace(_held(one, now), next_run_at=None)
    zone, agent_id = wanted
    if (job.timing.schedule.tz, job.agent_id) != wanted:
        changed = jobs.change(tx, job, {"tz": zone, "agent_id": agent_id})
        assert changed is not None, "the job is locked"
        due = due_at(changed, one.job.next_run_at)
        job, one = changed, replace(one, job=due, next_run_at=due.timing.next_due(now))
    # Without anything new there is nothing to ask a model.
    return one if not _is_offline(tx, job, instance) and has_news(tx, job.user_id) else _held(one, now)


def _is_offline(tx: Tx, job: Job, instance: Instance) -> bool:
    agent = agents.get(tx, job.agent_id)
    return agent is not None and uses_offline(instance, agent)


def _held(one: Verdict, now: datetime) -> Verdict:
    instant = one.scheduled_for or now
    gate = Stretch(reason="gate", first=instant, until=instant, count=1)
    return replace(one, scheduled_for=None, skips=(*one.skips, gate))
