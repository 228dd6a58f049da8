"""What may be asked about contacts, and how one is shown."""

from typing import Annotated, Literal

from pydantic import Field

from homing.operations.shapes.base import Answer, Ask
from homing.operations.shapes.job_asks import Id, Key

ChannelName = Annotated[str, Field(min_length=1, max_length=64)]


class LinkChannel(Ask):
    """Make a code that links a chat; without a session the chat gets one of its own."""

    name: ChannelName
    session_key: Key | None = None
    group: bool = False


class LinkShape(Answer):
    """How to link a chat."""

    code: str
    say: str
    """What to send from the chat, alone in a message."""
    account: str | None
    """To whom, as the platform knows it."""
    url: str | None
    """Opens the chat with the code, where the platform has such addresses."""
    qr: str | None
    """The URL as a QR code: an SVG without scripts. Null where there is no URL."""
    expires_at: str


class VerifyAddress(Ask):
    """Ask for a code to be sent to a mail address, or enter the code that came."""

    name: ChannelName
    address: Annotated[str, Field(min_length=3, max_length=254)]
    code: Annotated[str, Field(min_length=1, max_length=40)] | None = None


class ContactRef(Ask):
    contact_id: Id


class UpdateContact(ContactRef):
    """Change what is given."""

    who: Literal["linked", "everyone"] | None = None
    wakes: Literal["addressed", "all"] | None = None


class VerifiedShape(Answer):
    """A mail address: with `expires_at` a code is on its way, with an `id` it is your contact."""

    address: str
    expires_at: str | None = None
    id: str | None = None
    channel: str | None = None
    kind: Literal["person", "group"] | None = None
    name: str | None = None
    session_key: str | None = None
    who: Literal["linked", "everyone"] | None = None
    wakes: Literal["addressed", "all"] | None = None
    blocked: bool | None = None
    created_at: str | None = None
    last_at: str | None = None

    @property
    def verified(self) -> bool:
        return self.id is not None


class ContactShape(Answer):
    """A person or a group in a channel."""

    id: str
    channel: str
    kind: Literal["person", "group"]
    name: str
    address: str
    session_key: str | None
    """The conversation that hears what is said there."""
    who: Literal["linked", "everyone"]
    wakes: Literal["addressed", "all"]
    blocked: bool
    """The person has blocked this account, so nothing can be sent there."""
    created_at: str
    last_at: str | None
