"""One lasting conversation, and the keys and addresses by which it is known."""

import re
from dataclasses import dataclass
from datetime import datetime

from homing.model.agents import MAIN
from homing.model.errors import Invalid

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
    title: str | None
    timezone: str | None
    parent_id: int | None
    seq: int
    rev: int
    revision: int
    summary: str | None
    summary_until: int
    sender_id: str | None
    """The person who wrote here first."""
    several: bool
    """Others wrote here, too."""
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None

    @property
    def channel(self) -> str:
        return channel_of(self.key)


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
