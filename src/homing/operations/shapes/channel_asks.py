"""What may be asked about channels, and how one is shown."""

from typing import Annotated, Any, Literal

from pydantic import Field

from homing.operations.shapes.base import Answer, Ask
from homing.operations.shapes.contact_asks import ChannelName

ChannelState = Literal["off", "listening", "sending", "failing"]


class TestChannel(Ask):
    """Try a channel; with an address a test message goes there."""

    name: ChannelName
    address: Annotated[str, Field(min_length=1, max_length=400)] | None = None


FieldName = Annotated[str, Field(min_length=1, max_length=64)]
FieldValue = Annotated[str, Field(max_length=4000)]


class AddChannel(Ask):
    """Add a channel. `kind` defaults to the name; `fields` are those of its kind (list_channel_kinds)."""

    name: ChannelName
    kind: ChannelName | None = None
    fields: dict[FieldName, FieldValue]


class UpdateChannel(Ask):
    """Change fields of a channel that was added; fields not named stay, an empty one is removed."""

    name: ChannelName
    fields: dict[FieldName, FieldValue]


class ChannelRef(Ask):
    """Name a channel."""

    name: ChannelName


class KindFieldShape(Answer):
    """A field of a channel's settings."""

    name: str
    required: bool
    secret: bool
    """It may hold a secret: a form hides what is typed."""


class ChannelKindShape(Answer):
    """A kind of channel that can be added here."""

    kind: str
    fields: list[KindFieldShape]


class StrangersShape(Answer):
    """Who wrote without being linked; nothing of it is kept."""

    count: int
    last_at: str | None


class ChannelShape(Answer):
    """One account of a platform."""

    name: str
    kind: str
    state: ChannelState
    """off: nobody listens at the moment; sending: it only sends; failing: `error` says why."""
    account: str | None
    error: str | None
    strangers: StrangersShape
    capabilities: dict[str, Any] | None
    linking: Literal["code", "mail"] | None
    """How people are linked here: a code sent from the chat (link_channel), or a code sent to their mail address
    (verify_address). Null where nobody can be linked."""
    added: bool
    """An admin added it on the page or by command, and may change or remove it there. False: it comes from the
    server's settings, which are read at a restart."""


class TriedChannelShape(Answer):
    """What one try has shown."""

    name: str
    ok: bool
    account: str | None
    receipt: dict[str, Any] | None
    error: str | None
