"""A message as it is shown."""

from collections.abc import Sequence
from typing import Any, Literal

from homing.model.messages import Delivery, Kind, Message
from homing.operations.shapes.base import Answer
from homing.operations.shapes.delivery import CarriedShape


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
    return MessageShape.of(
        message,
        cards=[CardShape.model_validate(dict(card)) for card in message.cards],
        deliveries=[CarriedShape.of(delivery) for delivery in deliveries],
    )
