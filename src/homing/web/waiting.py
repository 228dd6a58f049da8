"""Say something and wait for the answer: 200 when the turn that took it closes in time, else the plain 202."""

import asyncio
import json

from starlette.requests import Request
from starlette.responses import Response

from homing.model.people import Caller
from homing.model.turns import Inbound, Outcome
from homing.operations.binding import BoundOperation
from homing.operations.context import Context
from homing.operations.shapes.base import Answer
from homing.operations.shapes.message import MessageShape
from homing.operations.views import show_messages
from homing.store import Tx, inbounds, messages, turns
from homing.web.endpoint import Made, asked, let_in, make
from homing.web.state import AppState

_LOOK_SECONDS = 1.0


class AnsweredShape(Answer):
    """What became of a message whose turn has closed."""

    inbound_id: str
    turn_id: str
    outcome: Outcome
    message: MessageShape | None


async def send(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Answer send_message."""
    caller = await let_in(state, request)
    given = await asked(operation, request)
    made = await make(state, operation, request, caller, given)
    if "wait" not in given:
        return made.response()
    answered = await closed(state, caller, json.loads(made.text)["inbound_id"], float(given["wait"]))
    if answered is None:
        return made.response()
    return Made(status=200, text=answered.model_dump_json(), replayed=made.replayed).response()


async def closed(state: AppState, caller: Caller, inbound_id: str, seconds: float) -> AnsweredShape | None:
    """Wait until the turn that took an inbound closes; None when it does not in time, or never will."""
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    inbound = await state.store.read(lambda tx: _inbound(tx, inbound_id))
    with state.streams.listening(f"session:{inbound.session_id}") as ear:
        while True:
            inbound, answered = await state.store.read(
                lambda tx: _look(Context(tx=tx, caller=caller, instance=state.instance), inbound_id)
            )
            left = ends - loop.time()
            if answered or inbound.state == "withdrawn" or left <= 0 or state.streams.leaving:
                return answered
            await ear.wait(min(left, _LOOK_SECONDS))


def _look(ctx: Context, inbound_id: str) -> tuple[Inbound, AnsweredShape | None]:
    inbound = _inbound(ctx.tx, inbound_id)
    turn = turns.get_turn(ctx.tx, inbound.turn_id) if inbound.turn_id else None
    if turn is None or turn.outcome is None:
        return inbound, None
    closing = messages.get(ctx.tx, turn.session_id, turn.closing_seq) if turn.closing_seq is not None else None
    [shown] = show_messages(ctx, [closing]) if closing is not None else [None]
    return inbound, AnsweredShape(inbound_id=inbound_id, turn_id=turn.id, outcome=turn.outcome, message=shown)


def _inbound(tx: Tx, inbound_id: str) -> Inbound:
    inbound = inbounds.inbound_by_id(tx, inbound_id)
    assert inbound is not None, "an inbound is kept as long as its session"
    return inbound
