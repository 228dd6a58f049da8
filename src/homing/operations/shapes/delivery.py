"""A delivery as it is shown: by itself, and in short beside its message or run."""

from typing import Any, Literal

from homing.operations.shapes.base import Answer

DeliveryState = Literal["pending", "sent", "dead"]


class CarriedShape(Answer):
    """A short form of a delivery, shown with its message."""

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
