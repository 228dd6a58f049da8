"""A delivery as it is shown: by itself, and in short beside its message or run."""

from typing import Any, Literal

from homing.model.messages import Delivery
from homing.operations.shapes.base import Answer, utc

DeliveryState = Literal["pending", "sent", "dead"]


class CarriedShape(Answer):
    """A delivery in short, beside what it carries."""

    id: str
    address: str
    state: DeliveryState
    attempts: int
    error: str | None


class DeliveryShape(Answer):
    """The carrying of one message to one address."""

    id: str
    session_key: str
    seq: int
    address: str
    state: DeliveryState
    attempts: int
    next_attempt_at: str | None
    sent_at: str | None
    receipt: dict[str, Any] | None
    error: str | None


def carried_shape(delivery: Delivery) -> CarriedShape:
    return CarriedShape(
        id=delivery.id,
        address=delivery.address,
        state=delivery.state,
        attempts=delivery.attempts,
        error=delivery.error,
    )


def delivery_shape(delivery: Delivery) -> DeliveryShape:
    return DeliveryShape(
        id=delivery.id,
        session_key=delivery.session_key,
        seq=delivery.seq,
        address=delivery.address,
        state=delivery.state,
        attempts=delivery.attempts,
        next_attempt_at=utc(delivery.next_attempt_at),
        sent_at=utc(delivery.sent_at),
        receipt=dict(delivery.receipt) if delivery.receipt is not None else None,
        error=delivery.error,
    )
