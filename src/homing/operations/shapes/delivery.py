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
    parts: int
    parts_sent: int
    unsure: bool


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
    skipped: str | None
    """Why nothing was sent and need not be, in words; the state is then `sent`."""
    error: str | None
    parts: int
    """How many messages the text was cut into; 0 until the first attempt, and on a screen."""
    parts_sent: int
    unsure: bool
    """A part may have come twice: an attempt had no answer, and the platform cannot tell a repeat."""
    first_words: str | None = None
    """How the message begins."""
    session_title: str | None = None
