"""What listeners see of an answer while it is made: at most twenty pieces a second, nothing of it kept."""

import asyncio
from typing import Self

from homing.agent.journal import Journal, LiveText

SPACING_SECONDS = 0.05


class Live:
    """Tells one model response's text as it comes; after its block it tells nothing any more."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._waiting = ""
        self._told_at = 0.0
        self._told = False
        self._later: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._later is not None:
            self._later.cancel()

    async def add(self, text: str) -> None:
        """Tell some more text, or keep it for the next moment."""
        self._waiting += text
        left = self._told_at + SPACING_SECONDS - asyncio.get_running_loop().time()
        if left <= 0:
            await self.flush()
        elif self._later is None or self._later.done():
            # A model may pause here for long: what it said so far is shown all the same.
            self._later = asyncio.create_task(self._flush_after(left))

    async def _flush_after(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self.flush()

    async def flush(self) -> None:
        """Tell what was held back. The first piece replaces whatever an earlier response or attempt had shown."""
        if not self._waiting:
            return
        text, self._waiting = self._waiting, ""
        await self._journal.tell(LiveText(text=text, whole=not self._told))
        self._told = True
        self._told_at = asyncio.get_running_loop().time()

    async def take_back(self) -> None:
        """Show nothing: what was told came from a call that failed."""
        self._waiting = ""
        if self._told:
            await self._journal.tell(LiveText(text="", whole=True))
