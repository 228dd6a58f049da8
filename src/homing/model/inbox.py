"""The inbox: what a person should look at. Plain data."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

InboxKind = Literal["unread", "failure", "approval", "question"]


@dataclass(frozen=True, kw_only=True)
class InboxItem:
    """One thing that a person should look at."""

    kind: InboxKind
    id: str
    session_key: str
    session_title: str | None
    title: str
    at: datetime
    job_id: str | None = None
    reason: str | None = None
    """Of a failed run; of a dead delivery, the words of the channel."""
    seen: bool = False
    count: int = 1
    """Of messages that arrived in the conversation and are unread."""
    seq: int | None = None
    """The first of them."""
    last_seq: int | None = None
