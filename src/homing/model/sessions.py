"""One lasting conversation, and the keys and addresses by which it is known."""

import re
from dataclasses import dataclass
from datetime import datetime

from homing.model.agents import MAIN
from homing.model.errors import Invalid
from homing.model.people import AGENT_GRANT

_KEY = re.compile(r"[^\s:/?#%\x00-\x1f\x7f]+:[^\s/?#%\x00-\x1f\x7f]+")
HTTP_CHANNELS = ("web", "cli", "api")
# For these the stored message is itself the delivery: a page or terminal reads it from the session.
SCREENS = ("web", "cli", "api")
MAX_KEY = 200
UNIFIED = "unified:"


@dataclass(frozen=True, kw_only=True)
class Session:
    """A conversation with one agent; owns its history, jobs and addresses."""

    id: int
    key: str
    user_id: str
    agent_id: str
    model: str | None = None
    """None: the agent's, else the server's."""
    title: str | None
    timezone: str | None
    parent_id: int | None
    seq: int
    rev: int
    revision: int
    read_seq: int
    """Its user has read up to here."""
    summary: str | None
    summary_until: int
    sender_id: str | None
    """The person who wrote here first."""
    named: bool
    """Under other names somebody wrote here, too: the model is told the name with each message."""
    several: bool
    """A shared place: others than its user write here (rule 60)."""
    pinned: bool = False
    archived: bool = False
    """Out of the list until something arrives."""
    branch_of: int | None = None
    """The conversation that it branches off from, after the message of this number."""
    branch_seq: int | None = None
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None

    @property
    def channel(self) -> str:
        return channel_of(self.key)

    @property
    def asks_agent(self) -> bool:
        """Whether other agents ask this one's agent here. A key alone says nothing: imported ones may look alike."""
        own = asked_key(self.agent_id)
        return self.key == own or (self.several and self.key.startswith(f"{own}:"))


def asked_key(agent_id: str) -> str:
    """Give the key of the conversation where other agents ask an agent; from a shared place, `:` and its id follow."""
    return f"{AGENT_GRANT}{agent_id}"


def channel_of(key: str) -> str:
    """Name the channel of a session key or an address: what stands before the first colon."""
    return key.partition(":")[0]


def check_key(key: str) -> str:
    """Return a session key that can stand in a path, or say what is wrong with it."""
    if len(key) > MAX_KEY:
        raise Invalid(f"A session key has at most {MAX_KEY} characters.", field="key", code="out_of_range")
    if not _KEY.fullmatch(key):
        raise Invalid(
            f"{key!r} is not a session key. Write channel:chat_id, such as web:fruit,"
            " without spaces and without / ? # %.",
            field="key",
            code="wrong_type",
        )
    return key


def unified_key(user_id: str, agent_id: str) -> str:
    """Name the lane in which a user's chats with one agent share one history."""
    return f"{UNIFIED}{user_id}" if agent_id == MAIN else f"{UNIFIED}{user_id}:{agent_id}"
