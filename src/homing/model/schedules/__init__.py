"""When a job fires. In: words, spellings, an instant. Out: a schedule, and the instants it means.

Promise: preview and execution ask the same function, and it is right in every IANA zone.
"""

from homing.model.schedules.checks import check, warnings
from homing.model.schedules.counts import count_between
from homing.model.schedules.describe import words
from homing.model.schedules.instants import next_after, next_times, next_within, previous_before
from homing.model.schedules.phrases import Reading, read_when
from homing.model.schedules.spellings import read_schedule
from homing.model.schedules.values import At, Cron, Every, Schedule
from homing.model.schedules.zones import check_zone

__all__ = [
    "At",
    "Cron",
    "Every",
    "Reading",
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
