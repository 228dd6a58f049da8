"""Say something in a session, read it back, stop the answer in progress."""

from typing import Literal

from homing.model.errors import Invalid, NotFound
from homing.model.sessions import Session, channel_of
from homing.model.trials import trial_inbound_id
from homing.model.turns import may_inject
from homing.operations.context import Context
from homing.operations.files import attach_files
from homing.operations.questions import answered_by_message, take_answer
from homing.operations.sessions import make_session
from homing.operations.shapes import cursors
from homing.operations.shapes.base import Page
from homing.operations.shapes.message import MessageShape
from homing.operations.shapes.session_asks import (
    CancelledShape,
    CancelTurn,
    ListMessages,
    SendMessage,
    SentShape,
)
from homing.operations.views import show_messages
from homing.store import inbounds, lanes, messages, sessions, turns
from homing.store.inbounds import NewInbound


def send_message(ctx: Context, ask: SendMessage) -> SentShape:
    """Send a person's message to a session, which is made if it is missing."""
    if not ask.text.strip() and not ask.files:
        raise Invalid("text is empty; write something, or attach a file.", field="text", code="missing")
    session = _session(ctx, ask.session_key)
    lane_id = lanes.enter(ctx.tx, session, unified=ctx.settings.unified_session)
    # Deleted between our look and our lock: then there is none.
    session = ctx.again(session)
    sender_id = ask.sender_id or ctx.caller.user_id
    waits = any(inbound.line == "people" for inbound in inbounds.waiting(ctx.tx, lane_id, 1))
    # A file is more than one of a question's options.
    answer = None if ask.files else _answer(ctx, session, lane_id, ask, sender_id)
    inbound_id = answer or say(ctx, session, lane_id, ask, sender_id)
    return SentShape(inbound_id=inbound_id, session_key=session.key, will=_will(ctx, lane_id, inbound_id, waits=waits))


def _answer(ctx: Context, session: Session, lane_id: int, ask: SendMessage, sender_id: str) -> str | None:
    """Take a message as the answer to the only open question, if it is exactly one of its options (rule 56)."""
    found = answered_by_message(ctx.tx, session, ask.text)
    if found is None:
        return None
    question, meant = found
    return take_answer(
        ctx.tx,
        question,
        session,
        lane_id,
        by=ctx.caller.user_id,
        text=meant,
        sender_id=sender_id,
        mode=ask.mode,
    )


def say(ctx: Context, session: Session, lane_id: int, ask: SendMessage, sender_id: str) -> str:
    """Put a person's message into the locked lane of a session; return its id."""
    sessions.note_sender(ctx.tx, session, sender_id)
    [inbound_id] = inbounds.take_in(
        ctx.tx,
        [
            NewInbound(
                session_id=session.id,
                lane_id=lane_id,
                user_id=session.user_id,
                source="person",
                text=ask.text,
                files=attach_files(ctx.tx, session, ask.files, user_id=ctx.caller.user_id),
                line="people",
                mode=ask.mode,
                sender_id=sender_id,
                address=session.key,
                # What a program says for the user is not what they wrote.
                meta={"door": "mcp"} if ctx.caller.door == "mcp" else None,
            )
        ],
    )
    return inbound_id


def _will(ctx: Context, lane_id: int, inbound_id: str, *, waits: bool) -> Literal["start", "inject", "queue"]:
    turn = turns.open_turn_of(ctx.tx, lane_id)
    inbound = inbounds.inbound_by_id(ctx.tx, inbound_id)
    assert inbound is not None
    if turn is None:
        return "queue" if waits else "start"
    return "inject" if may_inject(inbound, turn) else "queue"


def _session(ctx: Context, key: str) -> Session:
    if channel_of(key) == "unified":
        raise NotFound(f"There is no session {key}. List yours with list_sessions.")
    known = sessions.find(ctx.tx, key, user_id=ctx.caller.user_id)
    return known or make_session(ctx, key, field="session_key") or ctx.session(key)


def list_messages(ctx: Context, ask: ListMessages) -> Page[MessageShape]:
    """Read messages: the newest page, oldest first, or the page before a seq; `after` a seq reads forward."""
    if ask.after is not None and ask.before is not None:
        raise Invalid("Give after or before, not both.", field="before", code="out_of_range")
    session = ctx.session(ask.session_key)
    key = cursors.decode(ask.cursor, str, int)
    if key is not None and key[0] not in ("after", "before"):
        raise cursors.bad()
    forward = ask.after is not None or (key is not None and key[0] == "after")
    edge = key[1] if key is not None else ask.after if forward else ask.before
    found = messages.page(
        ctx.tx,
        session.id,
        after=edge if forward else None,
        before=None if forward else edge,
        limit=ask.limit + 1,
    )
    more = len(found) > ask.limit
    page = found[: ask.limit] if forward else found[-ask.limit :]
    following = None
    if more:
        following = cursors.encode("after", page[-1].seq) if forward else cursors.encode("before", page[0].seq)
    return Page(items=show_messages(ctx, page), next_cursor=following)


def cancel_turn(ctx: Context, ask: CancelTurn) -> CancelledShape:
    """Stop the session's open turn."""
    session = ctx.session(ask.session_key)
    lane_ids = {session.id} | sessions.unified_of(ctx.tx, [(session.user_id, session.agent_id)])
    sessions.lock(ctx.tx, lane_ids)
    mine = [turn for turn in turns.open_turns_of(ctx.tx, lane_ids).values() if turn.session_id == session.id]
    if not mine and ask.turn_id is not None:
        waited = inbounds.withdraw_trial(ctx.tx, session.id, trial_inbound_id(ask.turn_id))
        return CancelledShape(cancelled=waited, turn_id=ask.turn_id)
    if not mine or (ask.turn_id is not None and mine[0].id != ask.turn_id):
        return CancelledShape(cancelled=False, turn_id=ask.turn_id)
    turns.request_cancel(ctx.tx, mine[0].id, "asked")
    return CancelledShape(cancelled=True, turn_id=mine[0].id)
