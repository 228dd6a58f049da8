"""The mouths: one file a channel.

Comes in: a letter, which is one delivery with all that is needed to send it. Goes out: the receiver's receipt, or
`ChannelFailed`, which says whether another attempt could help. Promises: a letter that was not taken never looks taken;
a channel reads no row and keeps no letter, so the same letter may be sent again under the same id.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

from homing.model.messages import Message


@dataclass(frozen=True, kw_only=True)
class Letter:
    """One message on its way to one address."""

    delivery_id: str
    address: str
    session_key: str
    text: str
    message: Message
    job_id: str | None
    depth: int = 1
    """How many turns, each caused by the one before, lead to whatever this letter causes (rule 35)."""
    created_at: datetime

    @property
    def place(self) -> str:
        """The address without its channel."""
        return self.address.partition(":")[2]


@dataclass(frozen=True, kw_only=True)
class Receipt:
    """What the channel answered to a letter it took."""

    detail: Mapping[str, object]


class Channel(Protocol):
    """One method carries a letter out; it raises ChannelFailed when the letter was not taken."""

    @property
    def name(self) -> str: ...

    async def send(self, letter: Letter) -> Receipt: ...


Channels: TypeAlias = Mapping[str, Channel]
"""What can be sent with here, by name. Screens (web, cli, api) need none: there the stored message is the delivery."""
