"""What an agent did: a session's turns, and one turn with its steps and what they used."""

from homing.operations.access import see_turn
from homing.operations.context import Context
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.turn import ListTurns, TurnRef, TurnRow, TurnShape, turn_row, turn_shape
from homing.store import agents, sessions, steps, turns


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
    following = cursors.encode_in("turns", page[-1][1]) if len(found) > ask.limit else None
    return Page(items=[turn_row(turn, session.key) for turn, _ in page], next_cursor=following)


def get_turn(ctx: Context, ask: TurnRef) -> TurnShape:
    """Read one turn in full: its steps with arguments and results, what they cost, and what was tried again."""
    turn, session = see_turn(ctx, ask.turn_id)
    claimed = turn.claimed_until is not None and turn.claimed_until > ctx.now
    return turn_shape(turn, session.key, steps.kept(ctx.tx, turn.id), claimed=claimed)
