"""A channel that hears what a test says into it, and remembers what the platform was told."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from homing.channels import IncomingMessage, Intake, Part, Receipt
from homing.model.errors import ChannelFailed
from homing.testing.channel import RecordingChannel


class ListeningChannel(RecordingChannel):
    """A `homing.channels.Channel` over a queue, as a platform keeps one: what is not confirmed is given again.

    Its cursor is the number of messages that were taken. `confirmed` counts those of which the platform was told.
    """

    def __init__(self, name: str = "listening", *, at_once: int = 10) -> None:
        super().__init__(name)
        self.said: list[IncomingMessage] = []
        self.confirmed = 0
        self.listeners = 0
        """How many listen at this moment."""
        self._at_once = at_once
        self._spoken = asyncio.Event()
        self._failure: Exception | None = None
        self._told = asyncio.Event()

    def say(
        self,
        text: str,
        *,
        at: datetime,
        sender: str = "7",
        place: str | None = None,
        message_id: str | None = None,
        **more: object,
    ) -> IncomingMessage:
        """Let somebody say something: in a direct chat, unless a place is named."""
        place = place or sender
        where = place.partition("/")[0]
        fields: dict[str, object] = {
            "external_id": f"{where}:{message_id or len(self.said) + 1}",
            "address": f"{self.name}:{place}",
            "sender": sender,
            "sender_name": f"Person {sender}",
            "direct": place == sender,
            "addressed": place == sender,
            "text": text,
            "at": at,
        }
        message = IncomingMessage(**fields | more)  # type: ignore[arg-type]
        self.said.append(message)
        self._spoken.set()
        return message

    def break_off(self, error: Exception | None = None) -> None:
        """Let listening fail now, or as soon as it begins."""
        self._failure = error or ChannelFailed("The listening channel was told to fail.")
        self._spoken.set()

    async def send(self, part: Part) -> Receipt:
        """Take a part; the receipt names it as a reply to it would."""
        receipt = await super().send(part)
        place = part.place.partition("/")[0]
        return replace(receipt, external_id=f"{place}:out{receipt.detail['number']}")

    async def all_confirmed(self) -> None:
        """Wait until the platform was told of everything that was said; bound it with asyncio.timeout."""
        while self.confirmed < len(self.said):
            self._told.clear()
            await self._told.wait()

    async def check(self) -> str:
        return f"@{self.name}"

    async def listen(self, intake: Intake) -> None:
        """Hand over what was said since the cursor; the first time, from now on."""
        self.listeners += 1
        try:
            if intake.cursor is None:
                await intake.take((), str(len(self.said)))
            while True:
                self._spoken.clear()
                await self._hand_over(intake)
                await self._spoken.wait()
        finally:
            self.listeners -= 1

    async def _hand_over(self, intake: Intake) -> None:
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure
        self._confirm(intake)
        while heard := self._after(intake):
            await intake.take(heard, str(int(intake.cursor or 0) + len(heard)))
            await self._before_confirming()
            self._confirm(intake)

    def _after(self, intake: Intake) -> Sequence[IncomingMessage]:
        begin = int(intake.cursor or 0)
        return self.said[begin : begin + self._at_once]

    def _confirm(self, intake: Intake) -> None:
        self.confirmed = int(intake.cursor or 0)
        self._told.set()

    async def _before_confirming(self) -> None:
        """Here a process may die: it has committed, and the platform does not know."""
