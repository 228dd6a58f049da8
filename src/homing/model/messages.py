"""Entries of a session's visible history, and the carrying of those that people are owed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Literal

Kind = Literal["chat", "scheduled", "reminder", "report", "note", "status"]

# Seconds between attempts, after the first, second, … failure (rule 32).
BACKOFF_SECONDS = (1, 5, 30, 300)


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
    folded: bool = False


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


def retry_at(attempts: int, now: datetime, most: int, retry_after: float | None = None) -> datetime | None:
    """Say when a failed delivery is tried again after so many attempts; None when it is dead."""
    if attempts >= most:
        return None
    wait = BACKOFF_SECONDS[min(attempts, len(BACKOFF_SECONDS)) - 1]
    return now + timedelta(seconds=max(wait, retry_after or 0))
