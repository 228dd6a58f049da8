"""What a decided run becomes: an inbound in its lane, a reminder on the screen, or an event laid into the session.

The tick and "run now" both come through here, so there is no second path. Lists in, one statement a kind of row; what
is written further joins the runs that were really new. The caller holds the jobs' locks; sessions are locked here.
A run of a job with a script waits for its gate first, and goes on in `pass_gate` (rule 50).
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from homing.model.jobs import DueJob
from homing.model.messages import NewMessage
from homing.model.runs import UNTOLD, Trigger, isolated_key, run_id
from homing.model.scripts import Said, as_text
from homing.model.sessions import Session
from homing.operations.brakes import is_beyond
from homing.store import Tx, deliveries, gates, inbounds, jobs, runs, sessions
from homing.store.gates import NewGate
from homing.store.inbounds import NewInbound
from homing.store.jobs import GoodEnd
from homing.store.lanes import unified_lanes
from homing.store.runs import Finished, NewRun
from homing.store.sessions import NewSession

GATE = "gate"
"""In the meta of an inbound: what its script found."""
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
    said: Said | None = None
    """By its script, once that has looked."""
    written_id: str | None = None
    """Of a run that is written already, and waited for its gate."""

    @property
    def run_id(self) -> str:
        return self.written_id or run_id(self.job.id, self.scheduled_for, self.trigger, self.retry)

    @property
    def of_schedule(self) -> bool:
        return self.trigger != "manual"

    @property
    def gated(self) -> bool:
        """Say whether a script is asked first."""
        return self.job.gate is not None and self.said is None

    @property
    def words(self) -> str:
        """What people or the conversation are told: of a reminder, what its script found is the message."""
        if self.said is None or self.said.data in (None, ""):
            return self.job.message
        found = as_text(self.said.data)
        return found if self.job.payload_kind == "reminder" else f"{self.job.message}\n\n{found}"


@dataclass(frozen=True, kw_only=True)
class Fired:
    """What was written: the runs that were really new, and the revision each touched session has now."""

    run_ids: set[str]
    revs: Mapping[int, int]
    braked: frozenset[str] = frozenset()
    """Of these, the runs that a brake stopped: they are written as skipped."""


def fire(
    tx: Tx, firings: Sequence[Firing], *, unified: bool, beating: Collection[int] = (), also: Collection[int] = ()
) -> Fired:
    """Write runs and what they become. `also` names further sessions to lock and mark in the same go.

    `beating` names the sessions in which a heartbeat will look at events that wait for one.
    """
    bound = {f.job.session_id for f in firings} | set(also)
    if not bound:
        return Fired(run_ids=set(), revs={})
    shared = unified_lanes(tx, ((f.job.user_id, f.job.agent_id) for f in firings)) if unified else {}
    sessions.lock(tx, bound | set(shared.values()))
    found = sessions.get_many(tx, bound)
    # Under the lock the next revision is known before it is written, so that rows can carry it.
    revs = {session_id: session.rev + 1 for session_id, session in found.items()}
    braked = frozenset(f.run_id for f in firings if f.depth and _is_beyond(tx, f, _home_lane(f, shared, found)))
    own = _isolated_sessions(tx, [f for f in firings if f.run_id not in braked and not f.gated], found)
    lane_ids = {f.run_id: own.get(f.run_id) or _home_lane(f, shared, found) for f in firings}
    fresh = runs.add_runs(
        tx, [_new_run(f, found[f.job.session_id], lane_ids[f.run_id], revs, braked=f.run_id in braked) for f in firings]
    )
    going = fresh - braked
    living = [f for f in firings if f.run_id in going and found[f.job.session_id].deleted_at is None]
    gates.add(tx, [_new_gate(f) for f in living if f.gated])
    places = _Places(found=found, own=own, lane_ids=lane_ids, revs=revs)
    _become(tx, [f for f in living if not f.gated], places, also=bound, beating=beating)
    return Fired(run_ids=fresh, revs=revs, braked=braked & fresh)


def pass_gate(tx: Tx, firing: Firing, *, unified: bool, beating: Collection[int] = ()) -> None:
    """Let a queued run go on whose script said so. The caller holds the job's lock and the gate's."""
    job = firing.job
    shared = unified_lanes(tx, [(job.user_id, job.agent_id)]) if unified else {}
    sessions.lock(tx, {job.session_id, *shared.values()})
    found = sessions.get_many(tx, [job.session_id])
    revs = {job.session_id: found[job.session_id].rev + 1}
    own = _isolated_sessions(tx, [firing], found)
    lane_ids = {firing.run_id: own.get(firing.run_id) or _home_lane(firing, shared, found)}
    runs.pass_gate(tx, firing.run_id, lane_id=lane_ids[firing.run_id], rev=revs[job.session_id])
    places = _Places(found=found, own=own, lane_ids=lane_ids, revs=revs)
    _become(tx, [firing], places, also={job.session_id}, beating=beating)
    jobs.touch(tx, job.id, revs[job.session_id])


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Where runs belong: their locked sessions, the sessions of isolated ones, their lanes, and the revisions."""

    found: Mapping[int, Session]
    own: Mapping[str, int]
    lane_ids: Mapping[str, int]
    revs: Mapping[int, int]


def _become(
    tx: Tx, living: Sequence[Firing], places: _Places, *, also: Collection[int], beating: Collection[int]
) -> None:
    lane_ids = places.lane_ids
    told = [f for f in living if f.job.payload_kind == "reminder"]
    seqs, _ = deliveries.post(tx, [_reminder(f, lane_ids[f.run_id]) for f in told], also=also)
    events = [f for f in living if f.job.payload_kind == "system_event"]
    turns = [f for f in living if f.job.payload_kind == "agent_turn"]
    inbounds.take_in(tx, [_turn_inbound(f, places) for f in turns], revised=True)
    inbounds.take_in(tx, _event_inbounds(events, lane_ids, beating=beating), revised=True)
    _finish(tx, told, dict(zip((f.run_id for f in told), seqs, strict=True)), places.revs)
    _finish(tx, events, {}, places.revs)


def _new_gate(firing: Firing) -> NewGate:
    return NewGate(run_id=firing.run_id, job_id=firing.job.id, user_id=firing.job.user_id, depth=firing.depth)


def _is_beyond(tx: Tx, firing: Firing, lane_id: int) -> bool:
    """Counted where its people are, also for a run that works apart."""
    job = firing.job
    return is_beyond(tx, job.id, session_id=job.session_id, lane_id=lane_id, depth=firing.depth)


def _isolated_sessions(tx: Tx, firings: Sequence[Firing], found: Mapping[int, Session]) -> dict[str, int]:
    """Give each isolated run the session of its own in which it works, on its bound session's clock; by run id."""
    alone = {f.run_id: f for f in firings if f.job.isolated}
    keys = {run: isolated_key(run) for run in alone}
    ids = sessions.make_missing(
        tx,
        [
            NewSession(
                key=keys[run],
                user_id=f.job.user_id,
                agent_id=f.job.agent_id,
                model=found[f.job.session_id].model,
                title=f.job.name,
                parent_id=f.job.session_id,
                timezone=found[f.job.session_id].timezone,
            )
            for run, f in alone.items()
        ],
    )
    return {run: ids[alone[run].job.user_id, key] for run, key in keys.items()}


def _home_lane(firing: Firing, shared: Mapping[tuple[str, str], int], found: Mapping[int, Session]) -> int:
    job = firing.job
    # Rule 60: where several people write, the lane is the session's own.
    return job.session_id if found[job.session_id].several else shared.get((job.user_id, job.agent_id), job.session_id)


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
        # A timer's run that its script may still leave out is nobody's news yet.
        rev=UNTOLD if firing.gated and firing.of_schedule and state == "queued" else revs[session.id],
        lateness_ms=firing.lateness_ms,
        missed_count=firing.missed_count or None,
        missed_until=firing.missed_until,
        next_run_at=firing.next_run_at,
    )


def _ids(firing: Firing) -> dict[str, object]:
    return {"cron_job_id": firing.job.id, "cron_job_name": firing.job.name, "cron_run_id": firing.run_id}


def _turn_inbound(firing: Firing, places: _Places) -> NewInbound:
    session_id = places.own.get(firing.run_id, firing.job.session_id)
    return NewInbound(
        session_id=session_id,
        lane_id=places.lane_ids[firing.run_id],
        user_id=firing.job.user_id,
        source="run",
        text=firing.job.message,
        line="machines",
        run_id=firing.run_id,
        job_id=firing.job.id,
        sender_id=firing.job.sender_id,
        depth=firing.depth,
        address=None if firing.job.isolated else places.found[session_id].key,
        meta=_found(firing),
    )


def _found(firing: Firing) -> dict[str, Any] | None:
    return None if firing.said is None else {GATE: {"data": firing.said.data}}


def _event_inbounds(
    firings: Sequence[Firing], lane_ids: Mapping[str, int], *, beating: Collection[int]
) -> list[NewInbound]:
    return [
        NewInbound(
            session_id=f.job.session_id,
            lane_id=lane_ids[f.run_id],
            user_id=f.job.user_id,
            source="system",
            text=f.words,
            # Without a heartbeat nobody would ever look, so the event wakes the lane itself.
            line="note" if f.job.wake == "next_heartbeat" and f.job.session_id in beating else "machines",
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
        text=firing.words,
        job_id=firing.job.id,
        run_id=firing.run_id,
        meta=_ids(firing),
        unasked=True,
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
                summary=f.words[:SUMMARY],
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
