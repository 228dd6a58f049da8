"""Entries of a session's visible history, and the carrying of those that people are owed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

Kind = Literal["chat", "scheduled", "reminder", "report", "note", "status", "question", "approval"]

# Seconds between attempts, after the first, second, … failure (rule 32).
BACKOFF_SECONDS = (1, 5, 30, 300)

SKIPPED = "skipped"
"""In the receipt of a delivery that nobody needs any more: why nothing was sent."""
SKIPPED_WORDS = {
    "read": "already read",
    "quiet_hours": "in your quiet hours",
    "removed": "that browser was removed",
    "gone": "that browser gave up its notifications",
}


@dataclass(frozen=True, kw_only=True)
class NewMessage:
    """A message about to be written; its seq and rev are given under the session's lock."""

    session_id: int
    lane_id: int
    role: Literal["user", "assistant"]
    kind: Kind
    text: str
    turn_id: str | None = None
    inbound_id: str | None = None
    job_id: str | None = None
    run_id: str | None = None
    model: str | None = None
    meta: Mapping[str, object] = field(default_factory=dict[str, object])
    cards: Sequence[Mapping[str, object]] = ()
    files: Sequence[Mapping[str, object]] = ()
    """What is known of each of its files (`model/files.py::attached`); never their bytes."""
    folded: bool = False
    unasked: bool = False
    """It arrived without a person's message that it answers: what is due, a note, a question."""

    @property
    def own(self) -> bool:
        """The conversation's user wrote it: no program for them, and no guest of theirs (rule 60)."""
        theirs = self.meta.get("door") != "mcp" and "guest" not in self.meta and "sender_name" not in self.meta
        return self.role == "user" and self.kind == "chat" and theirs


@dataclass(frozen=True, kw_only=True)
class Message(NewMessage):
    """One entry of a session's visible history, as it was written."""

    n: int
    session_key: str
    seq: int
    rev: int
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """The carrying of one outbound to one address, until sent or dead."""

    id: str
    session_id: int
    session_key: str
    user_id: str
    seq: int
    address: str
    state: Literal["pending", "sent", "dead"]
    attempts: int
    next_attempt_at: datetime | None
    sent_at: datetime | None
    receipt: Mapping[str, object] | None
    error: str | None
    rev: int
    parts: int
    """How many platform messages the text was cut into; 0 until the first attempt, and on a screen."""
    parts_sent: int
    unsure: bool
    """A part of it may have come twice."""

    @property
    def skipped(self) -> str | None:
        """Why nothing was sent and need not be, in words."""
        return SKIPPED_WORDS.get(str((self.receipt or {}).get(SKIPPED)))


SENDING_TURN = "sending_turn_id"
"""In the meta of a message that a tool sent: by which turn."""
# In the meta of what another agent wrote: which agent, and its name then.
FROM_AGENT = "from_agent"
FROM_NAME = "from_agent_name"
ASKING_TURN = "asking_turn_id"
"""Of a message from another agent: the turn that sent it, to whose conversation the answer goes."""
ANSWERS = "answers_turn_id"
"""Of an answer from another agent: the turn that asked."""
SENT_TO = "to"
"""In the meta of a message that a tool sent to one address: which. In that of a report: those that have it already."""
ALERT = "alert"
"""In the meta of a message: it goes to its user's own addresses, whichever conversation it stands in."""


@dataclass(frozen=True, kw_only=True)
class DeliveryPart:
    """One platform message of a delivery, as it was cut."""

    delivery_id: str
    n: int
    text: str
    question_id: str | None = None
    file_id: str | None = None
    """The file of the message that it is; it has no text then."""
    approval_id: str | None = None
    """Of the request that its buttons answer."""
    digest: str | None = None
    """Of what it showed: a press answers exactly that (rule 48)."""
    unsure: bool = False
    """An attempt ended without an answer: it may have arrived."""

    @property
    def id(self) -> str:
        return f"{self.delivery_id}.{self.n}"


def retry_at(attempts: int, now: datetime, most: int, retry_after: float | None = None) -> datetime | None:
    """Say when a failed delivery is tried again after so many attempts; None when it is dead."""
    if attempts >= most:
        return None
    wait = BACKOFF_SECONDS[min(attempts, len(BACKOFF_SECONDS)) - 1]
    return now + timedelta(seconds=max(wait, retry_after or 0))
