"""How many instants a schedule has between two others: by arithmetic, since a year of seconds is not to be walked."""

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from homing.model.schedules import zones
from homing.model.schedules.every_nth import rule_of
from homing.model.schedules.instants import Rule, reached
from homing.model.schedules.values import At, Cron, Every, Schedule

SECOND = timedelta(seconds=1)


def count_between(schedule: Schedule, after: datetime, until: datetime) -> int:
    """Count the instants in (after, until]."""
    if until <= after:
        return 0
    match schedule:
        case At():
            return int(after < schedule.at <= until)
        case Every():
            return _steps(schedule, until) - _steps(schedule, after)
        case Cron():
            expression, tz = rule_of(schedule), zones.zone(schedule.tz)
            return (_fixed if expression.fixed else _wild)(expression, tz, after, until)


def _steps(schedule: Every, instant: datetime) -> int:
    # Instants at or before this one, the anchor being the first.
    return max(0, (instant - schedule.anchor) // timedelta(milliseconds=schedule.every_ms) + 1)


def _fixed(expression: Rule, tz: ZoneInfo, after: datetime, until: datetime) -> int:
    total = expression.count(reached(after, tz), reached(until, tz))
    for change in _changes(tz, after, until):
        opens, closes = (_wall(change, zones.offset_at(at, tz)) for at in (change - SECOND, change))
        # All slots of a gap, and the one at its end, are one run.
        total -= max(0, expression.count(opens - SECOND, closes) - 1)
    return total


def _wild(expression: Rule, tz: ZoneInfo, after: datetime, until: datetime) -> int:
    total, low, offset = 0, after, zones.offset_at(after, tz)
    for change in _changes(tz, after, until):
        total += expression.count(_wall(low, offset), _wall(change, offset) - SECOND)
        low, offset = change - SECOND, zones.offset_at(change, tz)
    return total + expression.count(_wall(low, offset), _wall(until, offset))


def _changes(tz: ZoneInfo, after: datetime, until: datetime) -> list[datetime]:
    found: list[datetime] = []
    low = after
    while change := zones.first_change(tz, low, until, zones.offset_at(low, tz)):
        found.append(change)
        low = change
    return found


def _wall(instant: datetime, offset: timedelta) -> datetime:
    return instant.replace(tzinfo=None, microsecond=0) + offset
