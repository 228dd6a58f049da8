"""What an agent did: a session's turns, and one turn with its steps and what they used."""

from homing.model.trials import is_trial, trial_inbound_id
from homing.operations.access import see_turn
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.turn import (
    MOST_SHOWN,
    ListTurns,
    TurnRef,
    TurnRow,
    TurnShape,
    turn_row,
    turn_shape,
    unbegun_trial,
)
from homing.store import agents, inbounds, messages, sessions, steps, turns


def list_turns(ctx: Context, ask: ListTurns) -> Page[TurnRow]:
    """List a session's turns, newest first."""
    session = ctx.session(ask.session_key)
    # Its agent may have been another one then.
    pairs = ((session.user_id, name) for name in agents.ids_like(ctx.tx, ""))
    found = turns.listed(
        ctx.tx,
        session.id,
        lane_ids={session.id} | sessions.unified_of(ctx.tx, pairs),
        before_n=cursors.decode_in("turns", ask.cursor),
        limit=ask.limit + 1,
    )
    page = found[: ask.limit]
    # A turn that runs has its sum in its steps; there is at most one in a lane.
    used = steps.used_by(ctx.tx, [turn.id for turn, _ in page if turn.state == "running"])
    following = cursors.encode_in("turns", page[-1][1]) if len(found) > ask.limit else None
    return Page(items=[turn_row(turn, session.key, used.get(turn.id)) for turn, _ in page], next_cursor=following)


def get_turn(ctx: Context, ask: TurnRef) -> TurnShape:
    """Read one turn in full: its steps with arguments and results, what they cost, and what was tried again."""
    if unbegun := _unbegun_trial(ctx, ask.turn_id):
        return unbegun
    turn, session = see_turn(ctx, ask.turn_id)
    # A running turn whose claim has no expiry is an outside engine's.
    claimed = turn.claimed_until > ctx.now if turn.claimed_until is not None else turn.state == "running"
    answer = None
    if turn.policy.trial and turn.closing_seq is not None:
        [closing] = messages.page(ctx.tx, session.id, after=turn.closing_seq - 1, before=None, limit=1)
        answer = closing.text
    found = steps.shown(ctx.tx, turn.id, most=MOST_SHOWN + 1)
    return turn_shape(turn, session.key, found, claimed=claimed, answer=answer)


def _unbegun_trial(ctx: Context, turn_id: str) -> TurnShape | None:
    inbound = inbounds.inbound_by_id(ctx.tx, trial_inbound_id(turn_id))
    if inbound is None or inbound.state == "taken" or inbound.user_id != ctx.caller.user_id:
        return None
    session = sessions.get(ctx.tx, inbound.session_id)
    return unbegun_trial(turn_id, inbound, session) if is_trial(inbound.meta) and session.deleted_at is None else None
