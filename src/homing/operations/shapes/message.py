"""A message as it is shown."""

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from homing.model.approvals import Approval, Question
from homing.model.files import attached
from homing.model.messages import Delivery, Kind, Message
from homing.operations.shapes.approval import ApprovalOnMessage, QuestionOnMessage
from homing.operations.shapes.base import Answer
from homing.operations.shapes.delivery import CarriedShape
from homing.operations.shapes.file import FileShape


class CardShape(Answer):
    """A change of a job that a turn made."""

    kind: Literal["job"] = "job"
    job_id: str
    change: Literal["added", "updated", "removed", "enabled", "disabled", "skipped"]
    revision: int


class PromiseShape(Answer):
    """A promise of an answer to come back, for which nothing was scheduled in its turn."""

    text: str
    when: str | None
    """The time in it, where it can be read as `when`."""
    message: str
    reminder: bool
    """`message` is for the person, word for word; else it is what the agent would do."""
    job_id: str | None
    """The automation that was made for it since, with `dedupe_key` `promise:SEQ`."""


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
    unasked: bool
    """It arrived without a person's message that it answers; until read, it counts as unread."""
    files: list[FileShape] = Field(default_factory=list[FileShape])
    approval: ApprovalOnMessage | None = None
    question: QuestionOnMessage | None = None
    promise: PromiseShape | None = None


def message_shape(
    message: Message,
    deliveries: Sequence[Delivery] = (),
    *,
    approval: Approval | None = None,
    question: Question | None = None,
    kept_by: str | None = None,
) -> MessageShape:
    """Show a message with how far it got, what it asks, and what it promises."""
    promise: Any = message.meta.get("promise")
    return MessageShape.of(
        message,
        meta={name: value for name, value in message.meta.items() if name != "promise"},
        promise=PromiseShape(**promise, job_id=kept_by) if promise else None,
        approval=ApprovalOnMessage.of(approval) if approval else None,
        question=QuestionOnMessage.of(question) if question else None,
        files=[FileShape.of(file) for file in attached(message.files)],
        cards=[CardShape.model_validate(dict(card)) for card in message.cards],
        deliveries=[CarriedShape.of(delivery) for delivery in deliveries],
    )
