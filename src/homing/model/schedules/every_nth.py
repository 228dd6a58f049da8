"""Every n-th of an expression's days, or of its weeks if it names weekdays, counted on the local calendar (rule 7).

It has the same slots as the expression on the days that count, and none before its first day.
"""

from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import lru_cache

from homing.model.schedules import zones
from homing.model.schedules.expression import Expression, parse
from homing.model.schedules.values import Cron

SECOND = timedelta(seconds=1)
DAY = timedelta(days=1)


@dataclass(frozen=True, kw_only=True, slots=True)
class EveryNth:
    """An expression of which only every n-th day or week counts; `first` is a day that does."""

    expression: Expression
    n: int
    first: date

    @property
    def fixed(self) -> bool:
        return self.expression.fixed

    def after(self, wall: datetime) -> datetime | None:
        """Give the first slot strictly after a naive wall time."""
        slot = self.expression.after(max(wall, _midnight(self.first) - SECOND))
        for _ in range(-self._index(slot.date()) % self.n if slot else 0):
            slot = self.expression.after(self._ends(slot)) if slot else None
        return slot

    def before(self, wall: datetime) -> datetime | None:
        """Give the last slot strictly before a naive wall time."""
        slot = self.expression.before(wall)
        if slot is None or slot.date() < self.first:
            return None
        for _ in range(self._index(slot.date()) % self.n):
            slot = self.expression.before(self._begins(slot)) if slot else None
        return slot

    def count(self, low: datetime, high: datetime) -> int:
        """Count the slots in (low, high], day by day or week by week."""
        total, slot = 0, self.after(low)
        while slot is not None and slot <= high:
            end = min(high, self._ends(slot))
            total += self.expression.count(slot - SECOND, end)
            slot = self.after(end)
        return total

    @property
    def _weekly(self) -> bool:
        return not self.expression.any_weekday

    def _index(self, day: date) -> int:
        # How many matching days, or weeks that have one, lie between the first and this one.
        expression, first = self.expression, self.first
        every_day = expression.every_day and len(expression.months) == 12
        if self._weekly and (expression.every_week or every_day):
            return (_monday(day) - _monday(first)).days // 7
        if self._weekly:
            return len({_monday(found) for found in expression.dates(first, day)}) - 1
        if every_day:
            return (day - first).days
        return expression.days_between(_midnight(first), _midnight(day))

    def _begins(self, slot: datetime) -> datetime:
        return _midnight(_monday(slot.date()) if self._weekly else slot.date())

    def _ends(self, slot: datetime) -> datetime:
        return self._begins(slot) + (7 * DAY if self._weekly else DAY) - SECOND


def rule_of(schedule: Cron) -> Expression | EveryNth:
    """Give what decides the slots of a cron schedule on the wall clock."""
    if schedule.anchor is None:
        return parse(schedule.cron)
    return _every_nth(schedule.cron, schedule.tz, schedule.interval, schedule.anchor)


@lru_cache(maxsize=4096)
def _every_nth(cron: str, tz: str, n: int, anchor: datetime) -> Expression | EveryNth:
    expression = parse(cron)
    day = zones.wall_of(anchor, zones.zone(tz)).date()
    slot = expression.after(_midnight(day) - SECOND)
    return EveryNth(expression=expression, n=n, first=slot.date()) if slot else expression


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time())


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())
