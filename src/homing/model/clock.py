"""The clock as an argument: wall time for schedules and claims, monotonic time for cut-offs."""

import time
from datetime import UTC, datetime
from typing import Protocol

NOTHING_FIRES = "No server is running: nothing fires until `homing up`."
"""What every door says of jobs while nobody watches the clock."""


class Clock(Protocol):
    """Tells the time. Tests set it; nobody else does."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()
