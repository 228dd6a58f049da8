"""What a channel heard, the contacts who may talk through it, and the codes that make somebody a contact. Pure."""

import re
import secrets
from base64 import b32encode
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

ContactKind = Literal["person", "group"]
Who = Literal["linked", "everyone"]
Wakes = Literal["addressed", "all"]

# How a contact's id begins.
CONTACT = "con_"
# In the meta of a note: the id under which the message was taken that somebody edited.
EDITS = "edits"
CODE_FOR = timedelta(minutes=10)
# Of one guest in one conversation: what waits for a turn, and what is taken within a time. The rest is left out.
MAX_GUEST_WAITING = 5
MAX_GUEST_MESSAGES = 20
GUEST_WITHIN = timedelta(minutes=10)
_CODE_BYTES = 10
# No word looks like it, so a message that contains one is never taken for anything else.
_SHAPE = r"hm-[a-z2-7]{16}"
_CODE = re.compile(rf"(?:@\w+[\s,:]+)?(?:/start|/?link)(?:@\w+)?[\s:]+({_SHAPE})", re.IGNORECASE)
_ANYWHERE = re.compile(rf"(?<![\w-]){_SHAPE}(?![\w-])", re.IGNORECASE)


def place_of(address: str) -> str:
    """Name the place of an address in a channel: the address without its thread."""
    return address.partition("/")[0]


@dataclass(frozen=True, kw_only=True)
class Incoming:
    """One message that was written, or one button that was pressed, in a channel."""

    taken_id: str
    """Account, place and message: it is taken once over all sessions (rule 52)."""
    edits: str | None
    """The id under which the message was taken that this one replaces."""
    address: str
    """Where it was said, and where an answer goes: `telegram:7`, with a thread `slack:C1/1712.3`."""
    sender: str
    """The platform's unchanging id, never a name."""
    sender_name: str
    direct: bool
    """Nobody else reads there."""
    addressed: bool
    text: str
    answer: tuple[str, int] | None = None
    """Question or approval and option of a pressed button; the first option is 1."""
    files: tuple[str, ...] = ()
    """Files that were kept for it before it is taken."""
    lines: tuple[str, ...] = ()
    """What is said of files that were not kept."""
    whole: bool = False
    """The last of its files is its text, which is longer than a message may be."""
    mail: bool = False
    """It came by a mail account, where an address that was granted is its user's own (rule 53)."""
    replies_to: str | None = None
    """The platform's id of the message that it answers, or whose button was pressed."""

    @property
    def place(self) -> str:
        return place_of(self.address)


GRANTED = "grant"
"""Marks a contact that a grant made: it ends with the grant."""


@dataclass(frozen=True, kw_only=True)
class Contact:
    """A person or a group in a channel, linked to a user."""

    id: str
    channel: str
    kind: ContactKind
    place: str
    """The platform's id of the person, or the address of the group, compared letter by letter."""
    name: str
    user_id: str
    address: str
    who: Who
    wakes: Wakes
    blocked: bool
    linked_by: str | None
    """The message that carried the code, so that it counts once; or `GRANTED`."""
    session_key: str | None
    """Of the session that hears its address."""
    created_at: datetime
    last_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class LinkCode:
    """What a code allows the one who sends it."""

    user_id: str
    channel: str
    session_id: int | None
    for_group: bool
    made_from: str | None
    expires_at: datetime


def new_link_code() -> str:
    """Make a code of 80 bits, in letters and digits that nobody confuses."""
    return f"hm-{b32encode(secrets.token_bytes(_CODE_BYTES)).decode().lower()}"


def new_address_code() -> str:
    """Make a code of 40 bits that somebody types: it has five tries and ten minutes."""
    return b32encode(secrets.token_bytes(5)).decode().lower()


def link_code_in(text: str) -> str | None:
    """Read the code of a message such as `link hm-…`, `/start hm-…`, `/link@bot hm-…` or `@bot link hm-…`."""
    found = _CODE.fullmatch(text.strip())
    return found[1].lower() if found else None


def code_shown_in(text: str) -> str | None:
    """Find a code among other words too: it links nobody there, but must not be shown to a model."""
    found = _ANYWHERE.search(text)
    return found[0].lower() if found else None
