"""What a decided run becomes: an inbound in its lane, a reminder on the screen, or an event laid into the session.

The tick and "run now" both come through here, so there is no second path. Lists in, one statement a kind of row; what
is written further joins the runs that were really new. The caller holds the jobs' locks; sessions are locked here.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from homing.model.jobs import DueJob
from homing.model.messages import NewMessage
from homing.model.runs import Trigger, isolated_key, run_id
from homing.model.sessions import Session
from homing.operations.brakes import is_beyond
from homing.store import Tx, deliveries, inbounds, jobs, runs, sessions
from homing.store.inbounds import NewInbound
from homing.store.jobs import GoodEnd
from homing.store.lanes import unified_lanes
from homing.store.runs import Finished, NewRun
from homing.store.sessions import NewSession

SUMMARY = 200
DONE = "It has no further time to run."


@dataclass(frozen=True, kw_only=True, slots=True)
class Firing:
    """One run already decided: this job, for this instant, now."""

    job: DueJob
    trigger: Trigger
    scheduled_for: datetime
    retry: int = 0
    lateness_ms: int | None = None
    missed_count: int | None = None
    missed_until: datetime | None = None
    next_run_at: datetime | None
    depth: int = 0
    """Of a run that a turn asked for (rule 35); a due instant, or a person's "run now", goes back to no turn."""

    @property
    def run_id(self) -> str:
        return run_id(self.job.id, self.scheduled_for, self.trigger, self.retry)

    @property
    def of_schedule(self) -> bool:
        return self.trigger != "manual"


@dataclass(frozen=True, kw_only=True)
class Fired:
    """What was written: the runs that were really new, and the revision each touched session has now."""

    run_ids: set[str]
    revs: Mapping[int, int]
    braked: frozenset[str] = frozenset()
    """Of these, the runs that a brake stopped: they are written as skipped."""


def fire(
    tx: Tx, firings: Sequence[Firing], *, unified: bool, beating: bool = False, also: Collection[int] = ()
) -> Fired:
    """Write runs and what they become. `also` names further sessions to lock and mark in the same go.

    Without `beating` heartbeats are switched off: those that are left from before will not beat again.
    """
    bound = {f.job.session_id for f in firings} | set(also)
    if not bound:
        return Fired(run_ids=set(), revs={})
    shared = unified_lanes(tx, ((f.job.user_id, f.job.agent_id) for f in firings)) if unified else {}
    sessions.lock(tx, bound | set(shared.values()))
    found = sessions.get_many(tx, bound)
    # Under the lock the next revision is known before it is written, so that rows can carry it.
    revs = {session_id: session.rev + 1 for session_id, session in found.items()}
    braked = frozenset(f.run_id for f in firings if f.depth and _is_beyond(tx, f, shared))
    own = _isolated_sessions(tx, [f for f in firings if f.run_id not in braked], found)
    lane_ids = {f.run_id: own.get(f.run_id) or _home_lane(f, shared) for f in firings}
    fresh = runs.add_runs(
        tx, [_new_run(f, found[f.job.session_id], lane_ids[f.run_id], revs, braked=f.run_id in braked) for f in firings]
    )
    going = fresh - braked
    living = [f for f in firings if f.run_id in going and found[f.job.session_id].deleted_at is None]
    told = [f for f in living if f.job.payload_kind == "reminder"]
    seqs, _ = deliveries.post(tx, [_reminder(f, lane_ids[f.run_id]) for f in told], also=bound)
    events = [f for f in living if f.job.payload_kind == "system_event"]
    turns = [f for f in living if f.job.payload_kind == "agent_turn"]
    inbounds.take_in(tx, [_turn_inbound(f, found, own, lane_ids) for f in turns], revised=True)
    inbounds.take_in(tx, _event_inbounds(tx, events, lane_ids, beating=beating), revised=True)
    _finish(tx, told, dict(zip((f.run_id for f in told), seqs, strict=True)), revs)
    _finish(tx, events, {}, revs)
    return Fired(run_ids=fresh, revs=revs, braked=braked & fresh)


def _is_beyond(tx: Tx, firing: Firing, shared: Mapping[tuple[str, str], int]) -> bool:
    """Counted where its people are, also for a run that works apart."""
    job, lane_id = firing.job, _home_lane(firing, shared)
    return is_beyond(tx, job.id, session_id=job.session_id, lane_id=lane_id, depth=firing.depth)


def _isolated_sessions(tx: Tx, firings: Sequence[Firing], found: Mapping[int, Session]) -> dict[str, int]:
    """Give each isolated run the session of its own in which it works, on its bound session's clock; by run id."""
    alone = {f.run_id: f for f in firings if f.job.isolated}
    keys = {run: isolated_key(f.job.id, f.scheduled_for, f.trigger, f.retry) for run, f in alone.items()}
    ids = sessions.make_missing(
        tx,
        [
            NewSession(
                key=keys[run],
                user_id=f.job.user_id,
                agent_id=f.job.agent_id,
                title=f.job.name,
                parent_id=f.job.session_id,
                timezone=found[f.job.session_id].timezone,
            )
            for run, f in alone.items()
        ],
    )
    return {run: ids[alone[run].job.user_id, key] for run, key in keys.items()}


def _home_lane(firing: Firing, shared: Mapping[tuple[str, str], int]) -> int:
    return shared.get((firing.job.user_id, firing.job.agent_id), firing.job.session_id)


def _new_run(firing: Firing, session: Session, lane_id: int, revs: Mapping[int, int], *, braked: bool) -> NewRun:
    gone = session.deleted_at is not None
    state, reason = ("error", "session_missing") if gone else ("skipped", "brake") if braked else ("queued", None)
    return NewRun(
        id=firing.run_id,
        job_id=firing.job.id,
        session_id=session.id,
        lane_id=lane_id,
        user_id=firing.job.user_id,
        trigger=firing.trigger,
        scheduled_for=firing.scheduled_for,
        state=state,
        reason=reason,
        error="The session of this job is gone." if gone else None,
        revision=firing.job.revision,
        rev=revs[session.id],
        lateness_ms=firing.lateness_ms,
        missed_count=firing.missed_count or None,
        missed_until=firing.missed_until,
        next_run_at=firing.next_run_at,
    )


def _ids(firing: Firing) -> dict[str, object]:
    return {"cron_job_id": firing.job.id, "cron_job_name": firing.job.name, "cron_run_id": firing.run_id}


def _turn_inbound(
    firing: Firing, found: Mapping[int, Session], own: Mapping[str, int], lane_ids: Mapping[str, int]
) -> NewInbound:
    session_id = own.get(firing.run_id, firing.job.session_id)
    return NewInbound(
        session_id=session_id,
        lane_id=lane_ids[firing.run_id],
        user_id=firing.job.user_id,
        source="run",
        text=firing.job.message,
        line="machines",
        run_id=firing.run_id,
        job_id=firing.job.id,
        sender_id=firing.job.sender_id,
        depth=firing.depth,
        address=None if firing.job.isolated else found[session_id].key,
    )


def _event_inbounds(
    tx: Tx, firings: Sequence[Firing], lane_ids: Mapping[str, int], *, beating: bool
) -> list[NewInbound]:
    waiting = [f.job.session_id for f in firings if f.job.wake == "next_heartbeat"]
    looked_at = jobs.with_heartbeat(tx, waiting) if waiting and beating else set[int]()
    return [
        NewInbound(
            session_id=f.job.session_id,
            lane_id=lane_ids[f.run_id],
            user_id=f.job.user_id,
            source="system",
            text=f.job.message,
            # Without a heartbeat nobody would ever look, so the event wakes the lane itself.
            line="note" if f.job.wake == "next_heartbeat" and f.job.session_id in looked_at else "machines",
            job_id=f.job.id,
            sender_id=f.job.sender_id,
            depth=f.depth,
            meta=_ids(f),
        )
        for f in firings
    ]


def _reminder(firing: Firing, lane_id: int) -> NewMessage:
    return NewMessage(
        session_id=firing.job.session_id,
        lane_id=lane_id,
        role="assistant",
        kind="reminder",
        text=firing.job.message,
        job_id=firing.job.id,
        run_id=firing.run_id,
        meta=_ids(firing),
    )


def _finish(tx: Tx, firings: Sequence[Firing], seqs: Mapping[str, int], revs: Mapping[int, int]) -> None:
    """A reminder or an event is done when it is written: no turn follows that could fail."""
    if not firings:
        return
    now = tx.now()
    runs.finish_runs(
        tx,
        [
            Finished(
                run_id=f.run_id,
                state="ok",
                reason=None,
                rev=revs[f.job.session_id],
                summary=f.job.message[:SUMMARY],
                closing_seq=seqs.get(f.run_id),
            )
            for f in firings
        ],
    )
    jobs.finish_ok(
        tx,
        [
            GoodEnd(
                job_id=f.job.id,
                run_id=f.run_id,
                at=now,
                ms=0,
                rev=revs[f.job.session_id],
                revision=f.job.revision,
            )
            for f in firings
        ],
        last=[f.job.id for f in firings if f.of_schedule],
        done=[f.job.id for f in firings if f.of_schedule and f.next_run_at is None],
        reason=DONE,
    )
