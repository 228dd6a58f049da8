"""A worker's right to a turn, and the only way to stop one."""

import asyncio
from dataclasses import dataclass, field

from homing.model.clock import Clock
from homing.model.turns import Stop

# How long a stopped turn may take to end if its claim has no expiry.
_STOP_SECONDS = 10.0
SETTING_UP = "before the model was called"


@dataclass(kw_only=True, eq=False)
class Claim:
    """Held from before a turn opens until it has closed.

    `cutoff` is this worker's own, monotonic end of its right, counted from before the renewal was sent: the database's
    may lie later, never earlier. Without `seconds` the claim has no end: an outside engine vouches for it.
    """

    worker_id: str
    clock: Clock
    seconds: float | None
    cutoff: float = 0.0
    turn_id: str | None = None
    fence: int = 0
    reason: Stop | None = None
    doing: str = SETTING_UP
    """What the turn is at, for the record of one that did not come back."""
    shown: str = ""
    """What people have seen of an answer that is not finished; a turn that is stopped keeps it."""
    _task: "asyncio.Task[object] | None" = field(default=None, repr=False)
    _news: "asyncio.Future[None] | None" = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.prolong(self.clock.monotonic())

    def prolong(self, asked_at: float) -> None:
        """Move the cut-off after a renewal that was sent at `asked_at`."""
        self.cutoff = float("inf") if self.seconds is None else asked_at + self.seconds

    def alive(self) -> bool:
        return self.reason is None and self.clock.monotonic() < self.cutoff

    def stop(self, reason: Stop) -> None:
        """Stop the turn; the first reason stays, but `lost` beats all."""
        if self.reason is None or reason == "lost":
            self.reason = reason
        if self._task is not None:
            self._task.cancel()
        self._tell()

    async def run(self, task: "asyncio.Task[object]") -> None:
        """Wait for the turn's thinking to end, by itself or because it was stopped.

        A stopped task has until the cut-off to end. One that does not hear is left alone then, and the turn is lost.
        """
        self._task = task
        self._news = asyncio.get_running_loop().create_future()
        task.add_done_callback(self._tell)
        if self.reason is not None:
            self.stop(self.reason)
        try:
            await self._news
            await self._end(task)
        except asyncio.CancelledError:
            # A cancellation without a reason means that we lost the turn: nothing is written.
            self.stop("lost")
            await self._end(task)
            raise
        finally:
            self._task = None

    def _tell(self, _: object = None) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _end(self, task: "asyncio.Task[object]") -> None:
        if task.done():
            return
        left = _STOP_SECONDS if self.seconds is None else max(0.0, self.cutoff - self.clock.monotonic())
        await asyncio.wait([task], timeout=left)
        if not task.done():
            self.reason = "lost"
            task.add_done_callback(_forget)


def _forget(task: "asyncio.Task[object]") -> None:
    """Look at what nobody waits for any more, so that it is not reported as overlooked."""
    if not task.cancelled():
        task.exception()
