"""The clock as an argument: wall time for schedules and claims, monotonic time for cut-offs."""

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol

NOTHING_FIRES = "No server is running: nothing fires until `homing up`."
"""What every door reports about jobs while no scheduler runs."""

_UTC = frozenset(("Etc/UTC", "Etc/UCT", "Etc/Universal", "Etc/Zulu", "UCT", "Universal", "Zulu"))


def one_name(zone: str) -> str:
    """Call UTC by one of its names; many machines say Etc/UTC."""
    return "UTC" if zone in _UTC else zone


class Clock(Protocol):
    """Tells the time. Tests set it; nobody else does."""

    def now(self) -> datetime: ...

    def monotonic(self) -> float: ...


LEAP = timedelta(hours=1)
"""Set ahead by more than this, a clock may be wrong: it is believed after a while."""
BACK = timedelta(seconds=30)
"""Set back by more than this, what was planned by the clock before is planned once more."""


class ClockWatch:
    """Compares wall time with the seconds that really passed."""

    def __init__(self) -> None:
        self._last: tuple[datetime, float] | None = None

    def leapt(self, now: datetime, monotonic: float) -> timedelta:
        """Say by how much the clock was set since the last look; nothing at the first."""
        last, self._last = self._last, (now, monotonic)
        return now - last[0] - timedelta(seconds=monotonic - last[1]) if last else timedelta(0)


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Count the seconds that pass, those of a sleeping machine too where it knows them."""
        return time.clock_gettime(_COUNTS_SLEEP) if _COUNTS_SLEEP is not None else time.monotonic()


_COUNTS_SLEEP: int | None = getattr(time, "CLOCK_BOOTTIME", None)
