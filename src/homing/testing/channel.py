"""A channel that carries nothing and remembers everything. It can be told to fail, and then to go well again."""

import asyncio
from dataclasses import dataclass

from homing.channels import Letter, Receipt
from homing.model.errors import ChannelFailed


@dataclass(kw_only=True)
class _Trouble:
    error: Exception | None
    left: int


class RecordingChannel:
    """A `homing.channels.Channel`: `attempts` holds every letter it was given, `sent` those it took."""

    def __init__(self, name: str = "recording") -> None:
        self.name = name
        self.attempts: list[Letter] = []
        self.sent: list[Letter] = []
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

    async def send(self, letter: Letter) -> Receipt:
        """Take a letter, or do what was scripted instead. The receipt counts the letters taken."""
        trouble = self._next_trouble()
        await self._note(self.attempts, letter)
        if trouble and trouble.error:
            raise trouble.error
        if trouble:
            await self._released.wait()
        await self._note(self.sent, letter)
        return Receipt(detail={"number": len(self.sent)})

    async def wait_for_attempts(self, count: int) -> None:
        """Wait until that many sends have begun; bound it with asyncio.timeout."""
        await self._wait_for(self.attempts, count)

    async def wait_for_sent(self, count: int) -> None:
        """Wait until that many letters have been taken; bound it with asyncio.timeout."""
        await self._wait_for(self.sent, count)

    def _next_trouble(self) -> _Trouble | None:
        trouble = next((trouble for trouble in self._troubles if trouble.left), None)
        if trouble:
            trouble.left -= 1
        return trouble

    async def _note(self, letters: list[Letter], letter: Letter) -> None:
        async with self._changed:
            letters.append(letter)
            self._changed.notify_all()

    async def _wait_for(self, letters: list[Letter], count: int) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: len(letters) >= count)
