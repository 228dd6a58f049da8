"""Close: a turn's result becomes its closing, its run's outcome, an outbound and its deliveries, in one transaction.

Locks in the order of the house: jobs, sessions, turns. A turn that is another's by now is left alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal, cast

from homing.agent.history import withdrawn
from homing.engine import turn_result
from homing.engine.answers import answer
from homing.engine.closing_turn import ClosingRequest, ClosingTurn
from homing.engine.job_outcomes import after_runs
from homing.engine.reports import fold, report, status_before, status_line
from homing.engine.turn_result import TurnResult
from homing.model.agents import SEND_MESSAGE
from homing.model.messages import SENT_TO, Kind, NewMessage
from homing.model.promises import is_kept
from homing.model.runs import RunState
from homing.model.sessions import Session
from homing.model.turns import Turn
from homing.operations.agent_messages import asking_session
from homing.operations.context import Instance
from homing.store import LookAgain, Tx, deliveries, jobs, runs, sessions, turns
from homing.store.lanes import unified_lanes
from homing.store.runs import Finished
from homing.store.turns import Closed, Held

Ended = Literal["closed", "lost"]
_RUN_STATES: Mapping[str, RunState] = {"answered": "ok", "empty": "ok", "failed": "error", "cancelled": "cancelled"}


_MOST_LINES = 50
"""Of tool calls on a closing message; the turn has them all."""


def close_turns(tx: Tx, requests: Sequence[ClosingRequest], instance: Instance) -> list[Ended]:
    """Close held turns; say for each whether it was still ours."""
    closings = _lock(tx, requests, instance)
    written = [closing for closing in closings if not closing.silent]
    seqs, _ = deliveries.post(
        tx,
        [_closing_message(closing, tx) for closing in written],
        cause="closing",
        also={i for closing in closings for i in (closing.session.id, closing.home.id)},
        without={n: closing.sent_to for n, closing in enumerate(written) if closing.sent_to},
    )
    closing_seq = {closing.turn.id: seq for closing, seq in zip(written, seqs, strict=True)}
    turns.close_turns(tx, [_closed(closing, closing_seq.get(closing.turn.id)) for closing in closings])
    runs_finished = [
        Finished(
            run_id=closing.turn.run_id,
            state=_RUN_STATES[closing.result.outcome],
            reason=closing.result.reason,
            rev=closing.rev,
            summary=closing.summary,
            error=closing.result.error,
            closing_seq=closing_seq.get(closing.turn.id),
            **vars(closing.result.usage),
        )
        for closing in closings
        if closing.turn.run_id is not None
    ]
    if runs_finished:
        runs.finish_runs(tx, runs_finished)
    for closing in closings:
        fold(tx, closing, closing_seq.get(closing.turn.id))
        report(tx, closing)
        answer(tx, closing)
    after_runs(tx, closings)
    tx.ring(*{f"user:{closing.turn.user_id}" for closing in closings})
    ours = {id(closing.request) for closing in closings}
    return ["closed" if id(request) in ours else "lost" for request in requests]


def _lock(tx: Tx, requests: Sequence[ClosingRequest], instance: Instance) -> list[ClosingTurn]:
    # A zombie of this very process may ask beside the turn's owner: only the newest fence can be the right one.
    newest = {request.opened.turn.id: request for request in sorted(requests, key=lambda request: request.fence)}
    job_ids = {e.opened.turn.job_id for e in requests if e.opened.turn.job_id and e.opened.turn.run_id}
    jobs.lock(tx, job_ids)
    # A session never changes its parent, and a job never its session: both are known before the lock.
    touched = {i for e in requests for i in (e.opened.turn.lane_id, e.opened.turn.session_id, e.opened.parent_id)}
    session_ids = {session_id for session_id in touched if session_id is not None}
    homes = {e.opened.turn.id: e.opened.parent_id or e.opened.turn.session_id for e in requests}
    askers = {
        e.opened.turn.id: asker.id
        for e in requests
        if e.opened.turn.source == "agent" and (asker := asking_session(tx, e.opened.meta)) is not None
    }
    session_ids |= set(askers.values())
    places = {*homes.values(), *askers.values()}
    shared: dict[tuple[str, str], int] = {}
    if instance.settings.unified_session:
        # Made before any lock if it is missing: others wait for its maker, and must not wait for us meanwhile.
        seen = sessions.get_many(tx, places)
        shared = unified_lanes(tx, ((chat.user_id, chat.agent_id) for chat in seen.values()))
    sessions.lock(tx, session_ids | set(shared.values()))
    known = sessions.get_many(tx, session_ids)
    if shared and any((known[place].user_id, known[place].agent_id) not in shared for place in places):
        # One of them got another agent, and with it another lane, between our look and our lock.
        raise LookAgain
    held = turns.hold_many(tx, {turn_id: request.fence for turn_id, request in newest.items()})
    now_held = [(newest[turn_id], _as_found(newest[turn_id].opened.turn, found)) for turn_id, found in held.items()]
    decided = [(request, turn, _decide(turn, request.result)) for request, turn in now_held]
    odd = {
        turn.job_id
        for request, turn, result in decided
        if request.opened.parent_id is not None or turn.policy.quiet or not _plain(result)
    }
    known_jobs = jobs.get_many(tx, (job_ids & odd) | jobs.last_runs(tx, job_ids)) if job_ids else {}
    return [
        ClosingTurn(
            request=request,
            turn=turn,
            result=result,
            session=known[turn.session_id],
            parent=known[request.opened.parent_id] if request.opened.parent_id is not None else None,
            job=known_jobs.get(turn.job_id) if turn.job_id else None,
            home_lane=_home_lane(known[homes[turn.id]], shared),
            sent_to=_sent_to(tx, request, turn, result, homes[turn.id]),
            asker=known[askers[turn.id]] if turn.id in askers else None,
            asker_lane=_home_lane(known[askers[turn.id]], shared) if turn.id in askers else 0,
        )
        for request, turn, result in decided
    ]


def _sent_to(tx: Tx, request: ClosingRequest, turn: Turn, result: TurnResult, home_id: int) -> Sequence[str]:
    """Case 62: name where a turn's tool sent what it has to say, or the run whose report opened it. That it failed is
    news everywhere.
    """
    if result.outcome not in ("answered", "empty"):
        return ()
    before = request.opened.meta.get(SENT_TO) if turn.source == "report" else None
    if not any(call.name == SEND_MESSAGE for call in result.called.values()):
        return cast("Sequence[str]", before or ())
    return [*cast("Sequence[str]", before or ()), *deliveries.sent_by_turn(tx, home_id, turn)]


def _home_lane(home: Session, shared: Mapping[tuple[str, str], int]) -> int:
    return home.id if home.several else shared.get((home.user_id, home.agent_id), home.id)


def _plain(result: TurnResult) -> bool:
    """Most runs answer and that is it: of their job nothing but counters changes."""
    return result.outcome == "answered" and result.reason is None


def _as_found(turn: Turn, found: Held) -> Turn:
    if found.cancel_requested_at is None:
        return turn
    return replace(turn, cancel_requested_at=found.cancel_requested_at, cancel_reason=found.cancel_reason)


def _decide(turn: Turn, result: TurnResult) -> TurnResult:
    """A requested cancel wins over an answer, but not over the model's words it was paid for in tokens."""
    if turn.cancel_requested_at is None or result.outcome == "cancelled":
        return result
    # The stop came when all of the answer was there.
    shown = result.text if _plain(result) else result.shown
    stopped = replace(turn_result.cancelled(turn), shown=shown, usage=result.usage, called=result.called)
    return replace(stopped, history=withdrawn(result.history, stopped.closing) if result.history else None)


def _closed(closing: ClosingTurn, closing_seq: int | None) -> Closed:
    return Closed(
        turn_id=closing.turn.id,
        outcome=closing.result.outcome,
        reason=closing.result.reason,
        error=closing.result.error,
        history=closing.result.history,
        closing_seq=closing_seq,
        **vars(closing.result.usage),
    )


def _closing_message(closing: ClosingTurn, tx: Tx) -> NewMessage:
    turn, result = closing.turn, closing.result
    kind: Kind = "chat"
    text = result.closing
    meta: dict[str, object] = {}
    if turn.source in {"run", "report"}:
        kind = "scheduled" if turn.source == "run" else "report"
        meta = {key: value for key, value in closing.request.opened.meta.items() if key != "sender_id"}
    if closing.quiet:
        kind = "status"
        text, meta = status_line(closing, status_before(tx, closing), meta, tx)
    if result.outcome in {"failed", "cancelled"}:
        meta |= {"outcome": result.outcome, "reason": result.reason}
    if result.shown:
        meta |= {"partial": True}
    if kind == "chat" and result.promise and not is_kept(result.promise, jobs.bound_to(tx, turn.session_id)):
        meta |= {"promise": result.promise.shown()}
    if result.called and not closing.quiet:
        lines = sorted(result.called.values(), key=lambda line: line.n)
        meta |= {"tools": [vars(line) for line in lines[:_MOST_LINES]]}
    return NewMessage(
        session_id=turn.session_id,
        lane_id=turn.lane_id,
        role="assistant",
        kind=kind,
        text=text,
        turn_id=turn.id,
        job_id=turn.job_id if turn.source == "run" else None,
        run_id=turn.run_id,
        model=result.model,
        meta=meta,
        cards=result.cards,
        # What an isolated run has to say arrives as its report, in the conversation it belongs to.
        # What another agent is told, it is told in its own conversation.
        unasked=turn.source != "person" and kind != "status" and closing.parent is None and closing.asker is None,
    )
