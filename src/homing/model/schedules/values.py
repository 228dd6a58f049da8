"""The three kinds of schedule as plain values. Each knows its zone; none knows the time."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, kw_only=True)
class At:
    """One instant (UTC), with the zone it is told in."""

    at: datetime
    tz: str


@dataclass(frozen=True, kw_only=True)
class Every:
    """Elapsed time: anchor, anchor + step, anchor + 2 steps, …"""

    every_ms: int
    anchor: datetime
    tz: str


@dataclass(frozen=True, kw_only=True)
class Cron:
    """A cron expression as the person wrote it, single-spaced, on the wall clock of its zone.

    With an interval of 2 or more only every n-th of its days (or weeks) counts, from the anchor's on; without, the
    anchor is None.
    """

    cron: str
    tz: str
    interval: int = 1
    anchor: datetime | None = None


Schedule = At | Every | Cron
