"""A worker's right to a turn, and the only way to stop one."""

import asyncio
from dataclasses import dataclass, field

from homing.model.clock import Clock
from homing.model.turns import Stop


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
    _task: "asyncio.Task[object] | None" = field(default=None, repr=False)

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

    async def run(self, task: "asyncio.Task[object]") -> None:
        """Wait for the turn's thinking to end, by itself or because it was stopped."""
        self._task = task
        if self.reason is not None:
            task.cancel()
        ended = asyncio.get_running_loop().create_future()
        task.add_done_callback(lambda _: ended.done() or ended.set_result(None))
        try:
            await ended
        except asyncio.CancelledError:
            # Whoever cancels us without a reason has lost the turn: nothing is written.
            self.stop("lost")
            await asyncio.wait([task])
            raise
        finally:
            self._task = None
