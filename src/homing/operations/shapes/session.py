"""A session as it is shown: who is in, who waits, where it answers."""

from collections.abc import Sequence
from typing import Literal

from homing.model.messages import Kind, Message
from homing.model.people import Source
from homing.model.sessions import Session
from homing.model.turns import Inbound, Turn
from homing.operations.shapes.base import Answer, utc
from homing.operations.shapes.run import WaitingFor

_SHOWN = 500


class OpenTurnShape(Answer):
    id: str
    source: Source
    run_id: str | None
    depth: int
    guest: bool
    """Somebody who is not this conversation's user opened it."""
    started_at: str


class WaitingShape(Answer):
    inbound_id: str
    source: Source
    text: str
    run_id: str | None
    depth: int
    guest: bool
    waiting_for: WaitingFor | Literal["turn"]
    """`turn`: a note wakes nobody, and the next turn includes it."""
    queued_at: str


class AutomationCounts(Answer):
    enabled: int
    total: int


class LastMessageShape(Answer):
    seq: int
    role: Literal["user", "assistant"]
    kind: Kind
    text: str
    created_at: str


class BranchShape(Answer):
    """Where a conversation branched off."""

    session_key: str
    seq: int
    """The last message that both conversations have."""


class SessionShape(Answer):
    """One lasting conversation with one agent."""

    key: str
    title: str | None
    agent_id: str
    model: str | None
    """Its own; null: the agent's, else the server's."""
    user_id: str
    timezone: str
    state: Literal["idle", "running"]
    turn: OpenTurnShape | None
    lane: list[WaitingShape]
    lane_size: int
    addresses: list[str]
    home: bool
    """Where what belongs to no conversation appears."""
    automations: AutomationCounts
    last_message: LastMessageShape | None
    unread: int
    """How much arrived unasked behind `read_seq`."""
    read_seq: int
    pinned: bool
    archived: bool
    """Hidden from the list until a message arrives."""
    branch_of: BranchShape | None
    """Where it branched off; null for others, and once that conversation is deleted."""
    revision: int
    created_at: str
    updated_at: str
    deleted_at: str | None


def session_shape(
    session: Session,
    *,
    timezone: str,
    turn: Turn | None,
    busy: bool,
    waiting: Sequence[Inbound],
    waiting_size: int,
    addresses: Sequence[str],
    home: bool,
    automations: tuple[int, int],
    last_message: Message | None,
    unread: int,
    branch_of: str | None,
) -> SessionShape:
    """Show a session. `waiting` is in the order of the line; `busy` says whether its lane has an open turn."""
    return SessionShape.of(
        session,
        timezone=timezone,
        state="idle" if turn is None else "running",
        turn=None if turn is None else OpenTurnShape.of(turn, guest=turn.policy.guest, started_at=utc(turn.opened_at)),
        lane=[_waiting(inbound, first=n == 0 and not busy) for n, inbound in enumerate(waiting)],
        lane_size=waiting_size,
        addresses=list(addresses),
        home=home,
        unread=unread,
        branch_of=None if branch_of is None else BranchShape(session_key=branch_of, seq=session.branch_seq or 0),
        automations=AutomationCounts(enabled=automations[0], total=automations[1]),
        last_message=None
        if last_message is None
        else LastMessageShape.of(last_message, text=last_message.text[:_SHOWN]),
    )


def _waiting(inbound: Inbound, *, first: bool) -> WaitingShape:
    return WaitingShape.of(
        inbound,
        inbound_id=inbound.id,
        text=inbound.text[:_SHOWN],
        guest=inbound.meta.get("guest") is True,
        waiting_for="turn" if inbound.line == "note" else "slot" if first else "session",
    )
