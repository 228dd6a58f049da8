"""Close: a turn's result becomes its closing, its run's outcome, an outbound and its deliveries, in one transaction.

Locks in the order of the house: jobs, sessions, turns. A turn that is another's by now is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal
from zoneinfo import ZoneInfo

from homing.agent.history import broken_off, dump, load
from homing.engine import thoughts
from homing.engine.aftermath import Aftermath, after_runs
from homing.engine.opening import Opened
from homing.engine.thoughts import EMPTY, NOTHING, Thought
from homing.model.errors import Broken
from homing.model.jobs import Job
from homing.model.messages import Kind, Message, NewMessage
from homing.model.runs import RunState
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.desk import House, lane_of, unified_lanes
from homing.store import Tx, deliveries, inbounds, jobs, messages, runs, sessions, turns
from homing.store.deliveries import NewOutbound
from homing.store.inbounds import NewInbound
from homing.store.runs import Finished
from homing.store.sessions import is_screen
from homing.store.turns import Closed, Held

Ended = Literal["closed", "lost"]
_SUMMARY = 200
_RUN_STATES: Mapping[str, RunState] = {"answered": "ok", "empty": "ok", "failed": "error", "cancelled": "cancelled"}


@dataclass(frozen=True, kw_only=True)
class Ending:
    """A turn this worker is done with."""

    opened: Opened
    fence: int
    thought: Thought


@dataclass(frozen=True, kw_only=True)
class _Scene:
    """One ending with its locked rows, read after the locks."""

    ending: Ending
    turn: Turn
    thought: Thought
    session: Session
    parent: Session | None
    job: Job | None
    """Read only where more of it changes than its counters."""

    @property
    def home(self) -> Session:
        """The bound session: an isolated run's rows and reports belong to its parent."""
        return self.parent or self.session

    @property
    def silent(self) -> bool:
        """Rule 28: a turn of a deleted session leaves neither message nor outbound."""
        return self.session.deleted_at is not None or self.thought.reason == "session_deleted"

    @property
    def newsless(self) -> bool:
        """A scheduled turn with nothing to say leaves one status line at home, and nothing is pushed outside."""
        return self.turn.source == "run" and self.thought.reason in {"quiet", "empty"}

    @property
    def quiet(self) -> bool:
        """Its closing is that line itself; an isolated one closes in its own session, and the line is laid in."""
        return self.newsless and self.parent is None


def close_turns(tx: Tx, endings: Sequence[Ending], house: House) -> list[Ended]:
    """Close held turns; say for each whether it was still ours."""
    scenes = _lock(tx, endings, house)
    written = [scene for scene in scenes if not scene.silent]
    seqs, marks = sessions.say(
        tx,
        [_closing_message(scene, tx) for scene in written],
        also={i for scene in scenes for i in (scene.session.id, scene.home.id)},
    )
    closing_seq = {scene.turn.id: seq for scene, seq in zip(written, seqs, strict=True)}
    turns.close_turns(tx, [_closed(scene, closing_seq.get(scene.turn.id)) for scene in scenes])
    runs_finished = [
        Finished(
            run_id=scene.turn.run_id, state=_RUN_STATES[scene.thought.outcome], reason=scene.thought.reason,
            rev=marks[scene.home.id].rev, summary=_summary(scene), error=scene.thought.error,
            closing_seq=closing_seq.get(scene.turn.id), input_tokens=scene.thought.input_tokens,
            output_tokens=scene.thought.output_tokens,
        )
        for scene in scenes
        if scene.turn.run_id is not None
    ]  # fmt: skip
    if runs_finished:
        runs.finish_runs(tx, runs_finished)
    addresses = sessions.addresses(tx, {scene.session.id for scene in written}) if written else {}
    deliveries.owe(
        tx,
        [
            NewOutbound(
                session_id=scene.session.id, user_id=scene.turn.user_id, seq=closing_seq[scene.turn.id],
                rev=marks[scene.session.id].rev, cause="closing", turn_id=scene.turn.id, run_id=scene.turn.run_id,
                addresses=[a for a in addresses[scene.session.id] if not scene.quiet or is_screen(a)],
            )
            for scene in written
        ],
    )  # fmt: skip
    for scene in scenes:
        _fold(tx, scene, closing_seq.get(scene.turn.id))
        _report(tx, scene, house)
    after_runs(
        tx,
        [
            Aftermath(
                job_id=scene.turn.job_id,
                job=scene.job,
                turn=scene.turn,
                thought=scene.thought,
                home=scene.home,
                rev=marks[scene.home.id].rev,
                lane_id=lane_of(tx, scene.home, unified=house.settings.unified_session),
            )
            for scene in scenes
            if scene.turn.job_id is not None and scene.turn.run_id is not None
        ],
    )
    tx.ring(*{f"user:{scene.turn.user_id}" for scene in scenes})
    ours = {id(scene.ending) for scene in scenes}
    return ["closed" if id(ending) in ours else "lost" for ending in endings]


def _lock(tx: Tx, endings: Sequence[Ending], house: House) -> list[_Scene]:
    # A zombie of this very process may ask beside the turn's owner: only the newest fence can be the right one.
    newest = {ending.opened.turn.id: ending for ending in sorted(endings, key=lambda ending: ending.fence)}
    job_ids = {e.opened.turn.job_id for e in endings if e.opened.turn.job_id and e.opened.turn.run_id}
    jobs.lock(tx, job_ids)
    # A session never changes its parent, and a job never its session: both are known before the lock.
    touched = {i for e in endings for i in (e.opened.turn.lane_id, e.opened.turn.session_id, e.opened.parent_id)}
    session_ids = {session_id for session_id in touched if session_id is not None}
    shared = set[int]()
    if house.settings.unified_session:
        # Made before any lock if it is missing: others wait for whoever makes it, and must not wait for us meanwhile.
        owners = {e.opened.turn.user_id: e.opened.turn.agent_id for e in endings}
        shared = set(unified_lanes(tx, owners).values())
    sessions.lock(tx, session_ids | shared)
    known = sessions.get_many(tx, session_ids)
    held = turns.hold_many(tx, {turn_id: ending.fence for turn_id, ending in newest.items()})
    now_held = [(newest[turn_id], _as_found(newest[turn_id].opened.turn, found)) for turn_id, found in held.items()]
    decided = [(ending, turn, _decide(turn, ending.thought)) for ending, turn in now_held]
    odd = {
        turn.job_id for ending, turn, thought in decided if ending.opened.parent_id is not None or not _plain(thought)
    }
    known_jobs = jobs.get_many(tx, (job_ids & odd) | jobs.last_runs(tx, job_ids)) if job_ids else {}
    return [
        _Scene(
            ending=ending,
            turn=turn,
            thought=thought,
            session=known[turn.session_id],
            parent=known[ending.opened.parent_id] if ending.opened.parent_id is not None else None,
            job=known_jobs.get(turn.job_id) if turn.job_id else None,
        )
        for ending, turn, thought in decided
    ]


def _plain(thought: Thought) -> bool:
    """Most runs answer and that is it: of their job nothing but counters changes."""
    return thought.outcome == "answered" and thought.reason is None


def _as_found(turn: Turn, found: Held) -> Turn:
    if found.cancel_requested_at is None:
        return turn
    return replace(turn, cancel_requested_at=found.cancel_requested_at, cancel_reason=found.cancel_reason)


def _decide(turn: Turn, thought: Thought) -> Thought:
    """A requested cancel wins over an answer, but not over the model's words it was paid for in tokens."""
    if turn.cancel_requested_at is None or thought.outcome == "cancelled":
        return thought
    stopped = thoughts.cancelled(turn)
    return replace(
        stopped,
        history=dump(broken_off(load(thought.history), stopped.text)) if thought.history else None,
        input_tokens=thought.input_tokens,
        output_tokens=thought.output_tokens,
    )


def _closed(scene: _Scene, closing_seq: int | None) -> Closed:
    return Closed(
        turn_id=scene.turn.id, outcome=scene.thought.outcome, reason=scene.thought.reason, error=scene.thought.error,
        history=scene.thought.history, closing_seq=closing_seq, input_tokens=scene.thought.input_tokens,
        output_tokens=scene.thought.output_tokens,
    )  # fmt: skip


def _summary(scene: _Scene) -> str | None:
    text = " ".join(scene.thought.text.split())
    return text if len(text) <= _SUMMARY else text[: _SUMMARY - 1] + "…"


def _closing_message(scene: _Scene, tx: Tx) -> NewMessage:
    turn, thought = scene.turn, scene.thought
    kind: Kind = "chat"
    text = thought.text or (NOTHING if thought.reason == "quiet" else EMPTY)
    meta: dict[str, object] = {}
    if turn.source in {"run", "report"}:
        kind = "scheduled" if turn.source == "run" else "report"
        meta = dict(scene.ending.opened.meta)
    if scene.quiet:
        kind = "status"
        text, meta = _status_line(scene, _status_before(tx, scene), meta, tx)
    if thought.outcome in {"failed", "cancelled"}:
        meta |= {"outcome": thought.outcome, "reason": thought.reason}
    return NewMessage(
        session_id=turn.session_id, lane_id=turn.lane_id, role="assistant", kind=kind, text=text, turn_id=turn.id,
        job_id=turn.job_id if turn.source == "run" else None, run_id=turn.run_id, model=thought.model, meta=meta,
        cards=thought.cards,
    )  # fmt: skip


def _status_line(
    scene: _Scene, before: Message | None, meta: Mapping[str, object], tx: Tx
) -> tuple[str, dict[str, object]]:
    """Rule 26: one line that counts, instead of chatter."""
    assert scene.job is not None
    count = 1 + (int(str(before.meta.get("checked", 1))) if before else 0)
    zone = ZoneInfo(scene.job.timing.schedule.tz)
    last = _wall(tx.now(), zone)
    note = f" {scene.thought.text}" if scene.thought.text else ""
    times = "Checked once" if count == 1 else f"Checked {count} times"
    return f"{times}, last {last}: nothing to report.{note}", {**meta, "checked": count}


def _wall(instant: datetime, zone: ZoneInfo) -> str:
    return f"{instant.astimezone(zone):%H:%M} {zone.key}"


def _status_before(tx: Tx, scene: _Scene) -> Message | None:
    """Find the line that a newer one replaces: it counts for the same job, and nothing was said since."""
    # A status line laid in from an isolated run stands after everything that is there.
    below = scene.turn.opening_seq if scene.parent is None else scene.parent.seq + 1
    assert below is not None
    before = messages.last_visible(tx, scene.home.id, below)
    same = before is not None and before.kind == "status" and before.job_id == scene.turn.job_id
    return before if same else None


def _fold(tx: Tx, scene: _Scene, closing_seq: int | None) -> None:
    """Hide a quiet turn's opening, and the status line that this one replaces."""
    if not scene.quiet or closing_seq is None or scene.turn.opening_seq is None:
        return
    before = _status_before(tx, scene)
    seqs = [scene.turn.opening_seq] + ([before.seq] if before is not None else [])
    messages.fold(tx, scene.session.id, seqs)
    messages.let_notes_stand(tx, scene.turn.id)


def _report(tx: Tx, scene: _Scene, house: House) -> None:
    """Rule 22: what an isolated run found goes home to the bound session; a failure as a short note."""
    parent, job, thought = scene.parent, scene.job, scene.thought
    if parent is None or job is None or scene.turn.run_id is None or parent.deleted_at is not None:
        return
    meta = {**scene.ending.opened.meta, "report": True}
    lane_id = lane_of(tx, parent, unified=house.settings.unified_session)
    if thought.outcome == "failed":
        text = f'The automation "{job.name}" failed in its own session: {thought.text}'
        _lay_in(tx, parent, lane_id, scene, text, meta, kind="note")
        return
    if job.write_back == "none":
        return
    if scene.newsless:
        before = _status_before(tx, scene)
        text, meta = _status_line(scene, before, meta, tx)
        messages.fold(tx, parent.id, [before.seq] if before else [])
        _lay_in(tx, parent, lane_id, scene, text, meta, kind="status")
        return
    if thought.outcome != "answered":
        return
    text = (_summary(scene) or "") if job.write_back == "summary" else thought.text
    if not job.continues:
        _lay_in(tx, parent, lane_id, scene, text, meta, kind="report")
        return
    replaced = inbounds.withdraw_reports(tx, parent.id, job.id)
    count = 1 + sum(int(str(old.meta.get("count", 1))) for old in replaced)
    inbounds.enqueue(
        tx,
        [
            NewInbound(
                session_id=parent.id, lane_id=lane_id, user_id=parent.user_id, source="report", text=text,
                line="machines", job_id=job.id, sender_id=job.sender_id, meta={**meta, "count": count},
            )
        ],
    )  # fmt: skip
    sessions.mark(tx, {parent.id: 0})


def _lay_in(
    tx: Tx, parent: Session, lane_id: int, scene: _Scene, text: str, meta: Mapping[str, object], *, kind: Kind
) -> None:
    """Write a message no turn wrote into the bound session, and owe it to its people."""
    if scene.job is None:
        raise Broken("a report without a job")
    message = NewMessage(
        session_id=parent.id, lane_id=lane_id, role="user" if kind == "report" else "assistant", kind=kind, text=text,
        job_id=scene.job.id, run_id=scene.turn.run_id, meta=meta,
    )  # fmt: skip
    (seq,), marks = sessions.say(tx, [message])
    places = sessions.addresses(tx, [parent.id])[parent.id]
    deliveries.owe(
        tx,
        [
            NewOutbound(
                session_id=parent.id, user_id=parent.user_id, seq=seq, rev=marks[parent.id].rev, cause="note",
                addresses=[a for a in places if kind != "status" or is_screen(a)], run_id=scene.turn.run_id,
            )
        ],
    )  # fmt: skip
