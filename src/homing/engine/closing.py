"""Close: a turn's result becomes its closing, its run's outcome, an outbound and its deliveries, in one transaction.

Locks in the order of the house: jobs, sessions, turns. A turn that is another's by now is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from homing.agent.history import broken_off, dump, load
from homing.engine import thoughts
from homing.engine.aftermath import Aftermath, after_runs
from homing.engine.endings import Ending, Scene
from homing.engine.homecoming import fold, report, status_before, status_line
from homing.engine.thoughts import EMPTY, NOTHING, Thought
from homing.model.messages import Kind, NewMessage
from homing.model.runs import RunState
from homing.model.turns import Turn
from homing.operations.desk import House, lane_of, unified_lanes
from homing.store import Tx, deliveries, jobs, runs, sessions, turns
from homing.store.deliveries import NewOutbound
from homing.store.runs import Finished
from homing.store.sessions import is_screen
from homing.store.turns import Closed, Held

Ended = Literal["closed", "lost"]
_RUN_STATES: Mapping[str, RunState] = {"answered": "ok", "empty": "ok", "failed": "error", "cancelled": "cancelled"}


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
            rev=marks[scene.home.id].rev, summary=scene.summary, error=scene.thought.error,
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
        fold(tx, scene, closing_seq.get(scene.turn.id))
        report(tx, scene, house)
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


def _lock(tx: Tx, endings: Sequence[Ending], house: House) -> list[Scene]:
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
        turn.job_id
        for ending, turn, thought in decided
        if ending.opened.parent_id is not None or turn.policy.get("quiet") or not _plain(thought)
    }
    known_jobs = jobs.get_many(tx, (job_ids & odd) | jobs.last_runs(tx, job_ids)) if job_ids else {}
    return [
        Scene(
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


def _closed(scene: Scene, closing_seq: int | None) -> Closed:
    return Closed(
        turn_id=scene.turn.id, outcome=scene.thought.outcome, reason=scene.thought.reason, error=scene.thought.error,
        history=scene.thought.history, closing_seq=closing_seq, input_tokens=scene.thought.input_tokens,
        output_tokens=scene.thought.output_tokens,
    )  # fmt: skip


def _closing_message(scene: Scene, tx: Tx) -> NewMessage:
    turn, thought = scene.turn, scene.thought
    kind: Kind = "chat"
    text = thought.text or (NOTHING if thought.reason == "quiet" else EMPTY)
    meta: dict[str, object] = {}
    if turn.source in {"run", "report"}:
        kind = "scheduled" if turn.source == "run" else "report"
        meta = {key: value for key, value in scene.ending.opened.meta.items() if key != "sender_id"}
    if scene.quiet:
        kind = "status"
        text, meta = status_line(scene, status_before(tx, scene), meta, tx)
    if thought.outcome in {"failed", "cancelled"}:
        meta |= {"outcome": thought.outcome, "reason": thought.reason}
    return NewMessage(
        session_id=turn.session_id, lane_id=turn.lane_id, role="assistant", kind=kind, text=text, turn_id=turn.id,
        job_id=turn.job_id if turn.source == "run" else None, run_id=turn.run_id, model=thought.model, meta=meta,
        cards=thought.cards,
    )  # fmt: skip
