"""Group commit: what is asked at the same time is written in one transaction.

Nobody waits for a timer: while one group commits, the next one gathers. The first group is small and the next ones
grow, so that of very many the first have not to wait for the last. A group that fails is halved down to the culprit,
so that one bad item never takes its neighbours along.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from homing.model.errors import NotReady
from homing.store import Store, Tx

Item = TypeVar("Item")
Result = TypeVar("Result")

_FIRST = 32
_MOST = 500


class GroupCommit(Generic[Item, Result]):
    """Turns a verb on many items into a call on one."""

    def __init__(self, store: Store, verb: Callable[[Tx, Sequence[Item]], Sequence[Result]]) -> None:
        self._store = store
        self._verb = verb
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None
        self._size = _FIRST

    async def __call__(self, item: Item) -> Result:
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, future))
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        # The transaction goes on when the asking task is cancelled; its result is then simply not heard.
        return await future

    async def _work(self) -> None:
        while self._waiting:
            size = self._size
            group, self._waiting = self._waiting[:size], self._waiting[size:]
            await self._write(group)
            # As many as come at once by now, and twice as many when more are waiting.
            self._size = min(_MOST, 2 * size) if len(group) == size else max(_FIRST, len(group))

    async def _write(self, group: "list[tuple[Item, asyncio.Future[Result]]]") -> None:
        try:
            results = await self._store.write(lambda tx: self._verb(tx, [item for item, _ in group]))
        except NotReady as error:
            # Nobody's fault: halving would only ask a database that is away once for every item.
            for _, future in group:
                _settle(future, error)
            return
        except Exception as error:  # noqa: BLE001 - whatever it was, exactly the items that cause it get it
            if len(group) == 1:
                _settle(group[0][1], error)
                return
            middle = len(group) // 2
            await self._write(group[:middle])
            await self._write(group[middle:])
            return
        for (_, future), result in zip(group, results, strict=True):
            if not future.done():
                future.set_result(result)


def _settle(future: "asyncio.Future[Result]", error: Exception) -> None:
    if not future.done():
        future.set_exception(error)
        # The asker may be gone: then nobody will look at the error, and that is fine.
        future.exception()
