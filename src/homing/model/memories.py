"""One lasting fact about a user."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class Memory:
    """A fact, found again by search."""

    id: str
    user_id: str
    session_key: str | None
    text: str
    created_at: datetime
