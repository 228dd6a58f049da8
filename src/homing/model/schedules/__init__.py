"""When a job fires. In: words, spellings, an instant. Out: a schedule, and the instants it means.

Promise: preview and execution ask the same function, and it is right in every IANA zone. The grammar's patterns take as
long to compile as a short command takes altogether, so it is imported when something is read.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from homing.model.hours import USUAL_HOURS, NamedHours
from homing.model.schedules.checks import check, warnings
from homing.model.schedules.counts import count_between
from homing.model.schedules.describe import words
from homing.model.schedules.instants import next_after, next_times, next_within, previous_before
from homing.model.schedules.values import At, Cron, Every, Schedule
from homing.model.schedules.zones import check_zone

if TYPE_CHECKING:
    from homing.model.schedules.phrases import Reading

__all__ = [
    "At",
    "Cron",
    "Every",
    "Schedule",
    "check",
    "check_zone",
    "count_between",
    "next_after",
    "next_times",
    "next_within",
    "previous_before",
    "read_schedule",
    "read_when",
    "warnings",
    "words",
]


def read_when(text: str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS) -> "Reading":
    """Read a phrase in a zone."""
    from homing.model.schedules import phrases  # noqa: PLC0415 - see above

    return phrases.read_when(text, now=now, zone=zone, hours=hours)


def read_schedule(
    raw: Mapping[str, object] | str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS
) -> "Reading":
    """Read a schedule object or a phrase; `zone` counts where none is named."""
    from homing.model.schedules import spellings  # noqa: PLC0415 - see above

    return spellings.read_schedule(raw, now=now, zone=zone, hours=hours)
