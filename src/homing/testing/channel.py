"""A channel that carries nothing and remembers everything. It can be told to fail, and then to go well again."""

import asyncio
from dataclasses import dataclass

from homing.channels import Capabilities, Channel, Part, Receipt, Sign
from homing.model.errors import ChannelFailed


@dataclass(kw_only=True)
class _Trouble:
    error: Exception | None
    left: int


_ANY_LENGTH = Capabilities(max_length=None, resend="deduplicated")


class RecordingChannel(Channel):
    """A `homing.channels.Channel`: `attempts` holds every part it was given, `sent` those it took."""

    def __init__(self, name: str = "recording", capabilities: Capabilities = _ANY_LENGTH) -> None:
        self.name = name
        self.capabilities = capabilities
        self.attempts: list[Part] = []
        self.sent: list[Part] = []
        self.carried: dict[str, bytes] = {}
        """The bytes of the files it took, by the ids of their parts."""
        self.shown: list[str] = []
        """The addresses at which it was shown that an answer is being written, each time."""
        self.edits: list[tuple[str, str, str]] = []
        """Address, external id and the new text of each edit."""
        self._troubles: list[_Trouble] = []
        self._changed = asyncio.Condition()
        self._released = asyncio.Event()

    def fail(self, *, times: int = 1, retry_after: float | None = None) -> None:
        """Let the next sends fail in a way that is worth another attempt."""
        self.fail_with(ChannelFailed("The recording channel was told to fail.", retry_after=retry_after), times=times)

    def refuse(self, *, times: int = 1) -> None:
        """Let the next sends be refused for good."""
        self.fail_with(ChannelFailed("The recording channel was told to refuse.", permanent=True), times=times)

    def fail_with(self, error: Exception, *, times: int = 1) -> None:
        """Let the next sends raise this error."""
        self._troubles.append(_Trouble(error=error, left=times))

    def hang(self, *, times: int = 1) -> None:
        """Let the next sends wait until `release` is called; they are taken then."""
        self._released.clear()
        self._troubles.append(_Trouble(error=None, left=times))

    def release(self) -> None:
        """Let go what hangs."""
        self._released.set()

    async def check(self) -> str:
        """Name the account."""
        return f"the {self.name}"

    async def send(self, part: Part) -> Receipt:
        """Take a part, or do what was scripted instead. The receipt counts the parts taken."""
        trouble = self._next_trouble()
        await self._note(self.attempts, part)
        if trouble and trouble.error:
            raise trouble.error
        if trouble:
            await self._released.wait()
        if part.file is not None:
            self.carried[part.id] = b"".join([piece async for piece in part.file.read()])
        await self._note(self.sent, part)
        return Receipt(detail={"number": len(self.sent)}, external_id=f"{part.place}:{len(self.sent)}")

    async def show(self, address: str, sign: Sign) -> None:
        """Note where it was shown that an answer is being written."""
        self.shown.append(address)

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Note what was put in the place of a message."""
        self.edits.append((address, external_id, text))

    async def wait_for_attempts(self, count: int) -> None:
        """Wait until that many sends have begun; bound it with asyncio.timeout."""
        await self._wait_for(self.attempts, count)

    async def wait_for_sent(self, count: int) -> None:
        """Wait until that many parts have been taken; bound it with asyncio.timeout."""
        await self._wait_for(self.sent, count)

    def _next_trouble(self) -> _Trouble | None:
        trouble = next((trouble for trouble in self._troubles if trouble.left), None)
        if trouble:
            trouble.left -= 1
        return trouble

    async def _note(self, parts: list[Part], part: Part) -> None:
        async with self._changed:
            parts.append(part)
            self._changed.notify_all()

    async def _wait_for(self, parts: list[Part], count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(parts) >= count)
