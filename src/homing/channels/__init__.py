"""The ways in and out: one file per kind of channel.

Comes in: a part, which is one platform message of a delivery with all that is needed to send it. Goes out: the
platform's receipt, or `ChannelFailed`, which says whether another attempt could help and whether this one may have
arrived. What people write elsewhere is handed to an `Intake`. Promises: a part that was not taken never looks taken; a
channel reads no row, keeps no state and retries nothing, so the same part may be sent again under the same id.
"""

from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeAlias

from homing.model.cutting import LengthUnit
from homing.model.messages import Message

__all__ = [
    "Capabilities",
    "Channel",
    "Channels",
    "File",
    "IncomingMessage",
    "Intake",
    "Part",
    "PartQuestion",
    "Receipt",
    "Sign",
    "listens",
    "shows",
]

Sign: TypeAlias = Literal["typing"]
"""What a channel may show for a moment."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a channel can carry. `homing.testing` has a test for each claim."""

    max_length: int | None
    """Of one part, in the smallest form that the channel may fall back to; None: any length. The courier cuts."""
    length_unit: LengthUnit = "characters"
    markdown: bool = False
    buttons: int = 0
    """How many options a question may have as buttons; one with more is written as numbered lines."""
    max_file_bytes: int = 0
    """Of one file; 0: it carries none. A file that is larger is a line of the text."""
    resend: Literal["deduplicated", "lookup", "duplicates"] = "duplicates"
    """A part sent again under its id: known there, looked for first, or shown twice."""
    threads: bool = False
    """An answer names the message that it answers (`Part.replies_to`), as mail does."""


@dataclass(frozen=True, kw_only=True)
class File:
    """A file on its way; `read` gives its bytes again each time it is called.

    Going out it is one of a message's. Coming in, `id` is the platform's, `name` may be anything, `media_type` is not
    believed, and `size` is what the platform says, or 0. Then `read` fetches it, or raises ChannelFailed: a permanent
    failure becomes a line of the message, any other one is tried again.
    """

    id: str
    name: str
    media_type: str
    size: int
    read: Callable[[], AsyncIterator[bytes]]


@dataclass(frozen=True, kw_only=True)
class PartQuestion:
    """A question that is answered by a button: its id and the number of the option (1 is the first)."""

    id: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Part:
    """One platform message of a delivery: a piece of its text, the last one with its question, or a file.

    Files come last, each as a part of its own without text.
    """

    id: str
    """`dlv_….0`: never changes, also when it is sent again."""
    address: str
    text: str
    question: PartQuestion | None = None
    file: File | None = None
    replies_to: str | None = None
    """The external id of the message that this one answers."""
    unsure: bool = False
    """An earlier attempt of this part ended without an answer: it may have arrived."""
    readers: Collection[str] = ()
    """The only people who may read it, by the platform's ids: those linked in this direct chat. Empty: a shared place,
    or one that was granted.
    """
    others: Sequence[Mapping[str, object]] = ()
    """Of a file that is unsure: the receipts of files that went to the same address not long before."""
    session_key: str
    message: Message
    """The whole message, of which `text` may be a piece."""
    job_id: str | None
    depth: int = 1
    """How many turns, each caused by the one before, lead to whatever this part causes (rule 35)."""
    created_at: datetime

    @property
    def place(self) -> str:
        """The address without its channel."""
        return self.address.partition(":")[2]

    @property
    def delivery_id(self) -> str:
        """The id of the whole delivery, which a channel that sends one part for each may use instead."""
        return self.id.rpartition(".")[0]


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What the platform answered to a part that it took."""

    detail: Mapping[str, object]
    external_id: str | None = None
    """The platform's id of the new message, written as `IncomingMessage.external_id` is."""


@dataclass(frozen=True, kw_only=True)
class IncomingMessage:
    """One message that was written, or one button that was pressed, outside."""

    external_id: str
    """Of the message, not of the event: `<place>:<message id>`, the same each time the platform gives it. Where another
    account may stand behind the same channel name and count again, it begins with the account.
    """
    address: str
    """Where it was written, and where an answer goes: `telegram:7`, `telegram:-100/4`."""
    sender: str
    """The platform's unchanging id of the person, never a name."""
    sender_name: str
    direct: bool
    """Nobody else reads there."""
    addressed: bool
    """Direct, or we are named, or it answers one of our messages."""
    text: str
    at: datetime
    files: Sequence[File] = ()
    answer: tuple[str, int] | None = None
    """A question's id and the number of the option (1 is the first) whose button was pressed."""
    replies_to: str | None = None
    """The external id of the message that it answers, or whose button was pressed."""
    edited: bool = False
    """The text replaces the one that came under this id before."""


class Intake(Protocol):
    """Where a listening channel hands over what it heard."""

    @property
    def cursor(self) -> str | None:
        """How far this account was read, as last committed; None before the first time."""
        ...

    async def knows(self, address: str, sender: str) -> bool:
        """Say whether this person may talk there: a channel need not fetch what others write. `take` decides it."""
        ...

    async def awaits_link(self) -> bool:
        """Say whether a code that links somebody here is open: a channel may then enter a room that a stranger made."""
        ...

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        """Write messages and cursor in one transaction; only after this may the platform be told that we have them.

        `unread` counts what the channel could not read and left out, `strangers` what came from people who did not
        prove who they are.
        """
        ...


class Channel(Protocol):
    """One account of one platform. Its `name` stands before the colon of each of its addresses.

    Subclass it, and a channel that only sends needs no `listen`, no `show` and no `edit`.
    """

    name: str
    capabilities: Capabilities

    async def check(self) -> str:
        """Sign in and name the account, for doctor and page; raise ChannelFailed with the platform's own sentence."""
        ...

    async def send(self, part: Part) -> Receipt:
        """Carry one part out; raise ChannelFailed if it was not taken, with `unsure` if nobody can tell."""
        ...

    async def listen(self, intake: Intake) -> None:
        """Hand over what comes in, until cancelled; a channel that only sends returns at once."""

    async def show(self, address: str, sign: Sign) -> None:
        """Show that an answer is being written. It may fail, and nobody waits for it."""

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Put plain text in the place of a message that was sent, without its buttons; `external_id` is its receipt's.

        It may fail, and nobody waits for it.
        """


def listens(channel: object) -> bool:
    """Say whether a channel hears: one that only sends has no `listen` of its own."""
    return getattr(type(channel), "listen", None) is not Channel.listen


def shows(channel: object) -> bool:
    """Say whether a channel shows typing or edits what it sent."""
    kind = type(channel)
    return (getattr(kind, "show", None), getattr(kind, "edit", None)) != (Channel.show, Channel.edit)


Channels: TypeAlias = Mapping[str, Channel]
"""What can be sent with here, by name. Screens (web, cli, api) need none: there the stored message is the delivery."""
