"""Users, and the caller: who asks for an operation, from where, and what they may reach."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "admin"]
Door = Literal["tool", "api", "cli", "page", "mcp", "import"]
Source = Literal["person", "run", "report", "hook", "agent", "system"]

OWNER = "default"

HOST_GRANT = "host:"
"""How the address of a grant begins that is about a host."""
AGENT_GRANT = "agent:"
"""Prefix of a grant for another agent, and of the key of the conversation where that agent is asked."""
SESSION_GRANT = "session:"
"""Prefix of a grant for another conversation of the same user."""


def is_place(address: str) -> bool:
    """Say whether a grant's address is one that messages are delivered to."""
    return not address.startswith((HOST_GRANT, AGENT_GRANT, SESSION_GRANT))


@dataclass(frozen=True, kw_only=True)
class User:
    """Someone who owns sessions and jobs."""

    id: str
    name: str
    role: Role
    timezone: str | None
    home_id: int | None = None
    """The session for what belongs to no conversation, where one was chosen."""
    quiet_hours: str | None = None
    """Such as 22:00-07:00, on the clock of their zone: nothing is pushed then."""
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class ActingTurn:
    """The turn from which an agent calls: session, user and job come from here, never from what a model wrote."""

    id: str
    session_id: int
    session_key: str
    agent_id: str
    source: Source
    job_id: str | None
    sender_id: str | None
    depth: int
    may_schedule: bool
    """Rule 27: a turn no person opened adds no jobs, unless its job says so."""
    outside: str | None = None
    """The source, in words, of content in this turn that no person wrote there; what it remembers is unconfirmed."""
    shown_outside: str | None = None
    """The source, in words, of what the model was shown from outside when it made this call (rule 41)."""
    call_key: str = ""
    """turn:tool call: names the call once and for all, so that what it asks for is asked once."""


@dataclass(frozen=True, kw_only=True)
class Caller:
    """Who asks: a person, a token, or an agent in a session."""

    user_id: str
    role: Role = "user"
    door: Door = "api"
    turn: ActingTurn | None = None
    token_id: str | None = None
    """The token, cookie or code that proved it: what is made with it ends with it."""
    approve: bool = False
    """Whether this proof may answer approvals, and so make tokens that may."""

    @property
    def admin(self) -> bool:
        return self.role == "admin" and self.turn is None
