"""A message as it is shown."""

from collections.abc import Sequence
from typing import Any, Literal

from homing.model.messages import Delivery, Kind, Message
from homing.operations.shapes.base import Answer, utc
from homing.operations.shapes.delivery import CarriedShape, carried_shape


class CardShape(Answer):
    """A change of a job that a turn made."""

    kind: Literal["job"] = "job"
    job_id: str
    change: Literal["added", "updated", "removed", "enabled", "disabled", "skipped"]
    revision: int


class MessageShape(Answer):
    """One entry of a session's visible history; text is Markdown."""

    session_key: str
    seq: int
    role: Literal["user", "assistant"]
    kind: Kind
    text: str
    turn_id: str | None
    inbound_id: str | None
    model: str | None
    meta: dict[str, Any]
    created_at: str
    cards: list[CardShape]
    deliveries: list[CarriedShape]


def message_shape(message: Message, deliveries: Sequence[Delivery] = ()) -> MessageShape:
    """Show a message with how far it got."""
    return MessageShape(
        session_key=message.session_key,
        seq=message.seq,
        role=message.role,
        kind=message.kind,
        text=message.text,
        turn_id=message.turn_id,
        inbound_id=message.inbound_id,
        model=message.model,
        meta=dict(message.meta),
        created_at=str(utc(message.created_at)),
        cards=[CardShape.model_validate(dict(card)) for card in message.cards],
        deliveries=[carried_shape(delivery) for delivery in deliveries],
    )
