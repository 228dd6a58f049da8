"""How an approved action ends: its row, its cards and the inbound that tells the agent, in one transaction."""

from dataclasses import dataclass

from homing.agent.frames import unframed
from homing.agent.text import cut
from homing.model.approvals import Approval, ApprovalState, Ended
from homing.model.errors import Lost
from homing.operations.approvals import name_of, tell
from homing.operations.notes import give_note
from homing.operations.shapes.approval import ApprovalShape
from homing.store import Tx, approvals, cards, lanes, sessions

MOST_TOLD = 32 << 10
"""Bytes of a result or an error that are kept and told."""
INTERRUPTED = "It was begun, and then Homing was interrupted."


@dataclass(frozen=True, kw_only=True)
class End:
    """How an action ended, before it is written."""

    state: ApprovalState
    ended: Ended = "answered"
    text: str | None = None
    """What it gave."""
    error: str | None = None
    outside: str | None = None
    """Where its words come from, if not from us."""


def write_end(tx: Tx, taken: Approval, end: End, *, unified: bool) -> None:
    """Write how an action ended, and tell the conversation that asked; raise Lost if it is another worker's by now."""
    home = sessions.get(tx, taken.session_id)
    places = cards.places_of(tx, taken.id)
    lane_id = lanes.enter(tx, home, unified=unified, also=places)
    result = cut(unframed(end.text), MOST_TOLD) if end.text else end.text
    error = cut(end.error, MOST_TOLD) if end.error else None
    if not approvals.finish(tx, taken, state=end.state, ended=end.ended, result=result, error=error):
        raise Lost(f"{taken.id} is not mine any more")
    cards.touch_cards(tx, approval_id=taken.id)
    now = approvals.get(tx, taken.id)
    assert now is not None
    home = sessions.get(tx, home.id)
    if now.turn_id is None:
        # An admin's own change: no agent waits to be told, and words of an index are not for its conversation.
        give_note(tx, home=home, lane_id=lane_id, text=_for_people(tx, now))
        return
    tell(tx, now, home=home, lane_id=lane_id, text=_told(tx, now), outside=end.outside)
    if now.answered_by != home.user_id:
        # Rule 44: who approved for somebody else is told as well, where they saw the card.
        for place in sessions.get_many(tx, places).values():
            if place.user_id == now.answered_by:
                give_note(tx, home=place, lane_id=place.id, text=_for_people(tx, now))


def _for_people(tx: Tx, approval: Approval) -> str:
    return f"{_headline(tx, approval)} See: homing approvals get {approval.id}"


def _told(tx: Tx, approval: Approval) -> str:
    note = f" They wrote: {approval.note}" if approval.note else ""
    more = approval.result or approval.error
    return f"{_headline(tx, approval)}{note}" + (f"\n\n{more}" if more else "")


def _headline(tx: Tx, approval: Approval) -> str:
    words = ApprovalShape.show(approval).words
    by = f" by {name_of(tx, approval.answered_by)}" if approval.answered_by else ""
    words = words.replace("approved", f"approved{by}", 1) if words.startswith("approved") else words
    return f"{approval.title}: {words}."
