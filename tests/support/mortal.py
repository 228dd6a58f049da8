"""A store that dies at its n-th write: from then on it answers nobody, as the memory of a killed process."""

import asyncio
from collections.abc import Callable
from typing import Literal, TypeVar

from homing.model.clock import Clock, SystemClock
from homing.model.errors import NotReady
from homing.store import Store, Tx

T = TypeVar("T")


class MortalStore(Store):
    """Dies `before` the transaction is made, or `after` its commit, before anybody hears of it."""

    def __init__(self, url: str, *, nth: int, place: Literal["before", "after"], clock: Clock | None = None) -> None:
        super().__init__(url, clock or SystemClock(), fsync=False)
        self.died = asyncio.Event()
        self._left = nth
        self._place = place

    async def write(self, work: Callable[[Tx], T]) -> T:
        await self._live()
        self._left -= 1
        if self._left:
            return await super().write(work)
        if self._place == "after":
            await super().write(work)
        self.died.set()
        await self._live()
        raise AssertionError("unreachable")

    async def read(self, work: Callable[[Tx], T]) -> T:
        await self._live()
        return await super().read(work)

    async def _live(self) -> None:
        if self.died.is_set():
            await asyncio.Event().wait()


class AwayStore(Store):
    """A store whose database takes no write while it is `away`."""

    def __init__(self, url: str) -> None:
        super().__init__(url, SystemClock(), fsync=False)
        self.away = False
        self.refused = asyncio.Event()

    async def write(self, work: Callable[[Tx], T]) -> T:
        if self.away:
            self.refused.set()
            raise NotReady("The database did not answer.")
        return await super().write(work)
