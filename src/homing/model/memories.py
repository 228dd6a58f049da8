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
    source: str | None
    """Where an unconfirmed one came from, in words: "hook deploy"."""
    confirmed: bool
    """A person said or confirmed it. Unconfirmed ones are left out of instructions (rule 24)."""
    created_at: datetime
