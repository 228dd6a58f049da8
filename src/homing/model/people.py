"""Users, and the caller: who asks for an operation, from where, and what they may reach."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Role = Literal["user", "admin"]
Door = Literal["tool", "api", "cli", "page", "mcp", "import"]
Source = Literal["person", "run", "report", "hook", "agent", "system"]

OWNER = "default"


@dataclass(frozen=True, kw_only=True)
class User:
    """Someone who owns sessions and jobs."""

    id: str
    name: str
    role: Role
    timezone: str | None
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
