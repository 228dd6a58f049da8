"""A cron expression as sets, and its slots on a plain wall clock. cronsim reads the fields; no zone is known here.

Day rule (Vixie): if day-of-month or weekday begins with `*`, both must match; otherwise either will do.
"""

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import cast

from cronsim import CronSimError
from cronsim.cronsim import RANGES as FIELD_RANGES
from cronsim.cronsim import CronSim, Field, SpecItem

from homing.model.errors import Invalid
from homing.model.schedules.suggestions import shortened, unreadable

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
LAST, LAST_WEEKDAY = CronSim.LAST, CronSim.LAST_WEEKDAY
NAMES = {
    Field.SECOND: "second (0–59)",
    Field.MINUTE: "minute (0–59)",
    Field.HOUR: "hour (0–23)",
    Field.DAY: "day of month (1–31, L, LW)",
    Field.MONTH: "month (1–12 or JAN–DEC)",
    Field.DOW: "weekday (0–7 or SUN–SAT, 5L, MON#2; Sunday is 0 and 7)",
}
EXAMPLES = ("0 9 * * 1-5", "*/15 * * * *", "0 18 L * *")
SECOND = timedelta(seconds=1)
ONE_VALUE_RANGE = re.compile(r"\b(\w+)-\1/0*[1-9][0-9]*\b")
ALL_DAYS = frozenset(range(1, 32))
STARS = {field: list(values) for field, values in zip(Field, FIELD_RANGES, strict=True)}
# A 29 February that must be a given weekday can be 40 years away (2100 is not a leap year).
SEARCH_YEARS = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class Expression:
    """What an expression matches; `fixed` means that neither minute nor hour begins with `*`."""

    seconds: list[int]
    minutes: list[int]
    hours: list[int]
    days: set[int]
    months: list[int]
    weekdays: set[int]
    nth_weekdays: list[tuple[int, int]]
    any_date: bool
    any_weekday: bool
    both_days: bool
    fixed: bool

    def after(self, wall: datetime) -> datetime | None:
        """Give the first slot strictly after a naive wall time."""
        wall = wall.replace(microsecond=0) + SECOND
        year, month = wall.year, wall.month
        if month in self.months:
            days = self.days_of(year, month)
            clock = self._clock_from(wall.hour, wall.minute, wall.second)
            if clock and wall.day in days:
                return datetime(year, month, wall.day, *clock)  # noqa: DTZ001 - wall time
            if later := [day for day in days if day > wall.day]:
                return self._first_of(year, month, min(later))
        for later_year, later_month in self._months_after(year, month):
            if days := self.days_of(later_year, later_month):
                return self._first_of(later_year, later_month, min(days))
        return None

    def before(self, wall: datetime) -> datetime | None:
        """Give the last slot strictly before a naive wall time."""
        wall = wall.replace(microsecond=0) if wall.microsecond else wall - SECOND
        year, month = wall.year, wall.month
        if month in self.months:
            days = self.days_of(year, month)
            clock = self._clock_to(wall.hour, wall.minute, wall.second)
            if clock and wall.day in days:
                return datetime(year, month, wall.day, *clock)  # noqa: DTZ001 - wall time
            if earlier := [day for day in days if day < wall.day]:
                return self._last_of(year, month, max(earlier))
        for earlier_year, earlier_month in self._months_before(year, month):
            if days := self.days_of(earlier_year, earlier_month):
                return self._last_of(earlier_year, earlier_month, max(days))
        return None

    def count(self, low: datetime, high: datetime) -> int:
        """Count the slots in (low, high] without walking through them."""
        if high <= low:
            return 0
        per_day = len(self.hours) * len(self.minutes) * len(self.seconds)
        return self.days_between(low, high) * per_day + self._until_clock(high) - self._until_clock(low)

    @property
    def every_day(self) -> bool:
        """Say whether the day fields let every day through."""
        either = not self.both_days and (self.any_date or self.any_weekday)
        return either or (self.any_date and self.any_weekday)

    @property
    def every_week(self) -> bool:
        """Say whether the day fields let at least one day of every week through."""
        return bool(self.weekdays) and len(self.months) == 12 and (self.any_date or not self.both_days)

    def days_of(self, year: int, month: int) -> Collection[int]:
        """Give the matching days of one month."""
        first, length = monthrange(year, month)
        if self.every_day:
            return range(1, length + 1)
        if self.any_date:
            return self._by_weekday(first, length)
        if self.any_weekday:
            return self._by_date(first, length)
        if self.both_days:
            return self._by_date(first, length) & self._by_weekday(first, length)
        return self._by_date(first, length) | self._by_weekday(first, length)

    def _by_date(self, first: int, length: int) -> set[int]:
        days = {day for day in self.days if 0 < day <= length}
        if LAST in self.days:
            days.add(length)
        if LAST_WEEKDAY in self.days:
            days.add(length - max(0, (first + length - 1) % 7 - 4))
        return days

    def _by_weekday(self, first: int, length: int) -> set[int]:
        # Here Sunday is 0; the month's first day comes as Monday = 0.
        days: set[int] = set()
        for weekday in self.weekdays:
            days.update(range((weekday - 1 - first) % 7 + 1, length + 1, 7))
        for weekday, nth in self.nth_weekdays:
            all_of_them = range((weekday - 1 - first) % 7 + 1, length + 1, 7)
            if nth == LAST:
                days.add(all_of_them[-1])
            elif nth <= len(all_of_them):
                days.add(all_of_them[nth - 1])
        return days

    def _clock_from(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        h = bisect_left(self.hours, hour)
        if h < len(self.hours) and self.hours[h] == hour:
            m = bisect_left(self.minutes, minute)
            if m < len(self.minutes) and self.minutes[m] == minute:
                s = bisect_left(self.seconds, second)
                if s < len(self.seconds):
                    return hour, minute, self.seconds[s]
                m += 1
            if m < len(self.minutes):
                return hour, self.minutes[m], self.seconds[0]
            h += 1
        return (self.hours[h], self.minutes[0], self.seconds[0]) if h < len(self.hours) else None

    def _clock_to(self, hour: int, minute: int, second: int) -> tuple[int, int, int] | None:
        h = bisect_right(self.hours, hour) - 1
        if h >= 0 and self.hours[h] == hour:
            m = bisect_right(self.minutes, minute) - 1
            if m >= 0 and self.minutes[m] == minute:
                s = bisect_right(self.seconds, second) - 1
                if s >= 0:
                    return hour, minute, self.seconds[s]
                m -= 1
            if m >= 0:
                return hour, self.minutes[m], self.seconds[-1]
            h -= 1
        return (self.hours[h], self.minutes[-1], self.seconds[-1]) if h >= 0 else None

    def dates(self, low: date, high: date) -> list[date]:
        """Give the matching days from one to another, both included."""
        months = [(year, month) for year in range(low.year, high.year + 1) for month in self.months]
        inside = [pair for pair in months if (low.year, low.month) <= pair <= (high.year, high.month)]
        days = (date(year, month, day) for year, month in inside for day in sorted(self.days_of(year, month)))
        return [day for day in days if low <= day <= high]

    def days_between(self, low: datetime, high: datetime) -> int:
        """Count the matching days from low's day up to, not including, high's."""
        first, last = (low.year, low.month), (high.year, high.month)
        total = 0
        for year in range(low.year, high.year + 1):
            for month in self.months:
                if first <= (year, month) <= last:
                    begin = low.day if (year, month) == first else 1
                    end = high.day if (year, month) == last else 32
                    total += sum(begin <= day < end for day in self.days_of(year, month))
        return total

    def _until_clock(self, wall: datetime) -> int:
        # Slots of this day at or before this time of day.
        if wall.month not in self.months or wall.day not in self.days_of(wall.year, wall.month):
            return 0
        hours, minutes = bisect_left(self.hours, wall.hour), bisect_left(self.minutes, wall.minute)
        count = hours * len(self.minutes) * len(self.seconds)
        if wall.hour in self.hours:
            count += minutes * len(self.seconds)
            count += bisect_right(self.seconds, wall.second) if wall.minute in self.minutes else 0
        return count

    def _months_after(self, year: int, month: int) -> list[tuple[int, int]]:
        later = [(year, m) for m in self.months if m > month]
        return later + [(y, m) for y in range(year + 1, min(year + SEARCH_YEARS, 9998) + 1) for m in self.months]

    def _months_before(self, year: int, month: int) -> list[tuple[int, int]]:
        earlier = [(year, m) for m in reversed(self.months) if m < month]
        years = range(year - 1, max(year - SEARCH_YEARS, 2) - 1, -1)
        return earlier + [(y, m) for y in years for m in reversed(self.months)]

    def _first_of(self, year: int, month: int, day: int) -> datetime:
        return datetime(year, month, day, self.hours[0], self.minutes[0], self.seconds[0])  # noqa: DTZ001 - wall time

    def _last_of(self, year: int, month: int, day: int) -> datetime:
        return datetime(year, month, day, self.hours[-1], self.minutes[-1], self.seconds[-1])  # noqa: DTZ001 - wall time


def normalised(cron: str) -> str:
    """Single-space an expression and refuse what cannot be read; an alias stays an alias."""
    text = " ".join(cron.split())
    parse(text)
    return text


@lru_cache(maxsize=4096)
def parse(cron: str) -> Expression:
    """Read an expression of five fields, six with seconds first, or an alias such as @daily."""
    return parse_afresh(cron)


def parse_afresh(cron: str) -> Expression:
    """Read an expression without looking it up among those read before."""
    second, minute, hour, day, month, weekday = fields_of(cron)
    weekdays = _items(Field.DOW, weekday)
    days = set(_numbers(Field.DAY, day))
    plain_weekdays = {item % 7 for item in weekdays if isinstance(item, int)}
    return Expression(
        seconds=_numbers(Field.SECOND, second),
        minutes=_numbers(Field.MINUTE, minute),
        hours=_numbers(Field.HOUR, hour),
        days=days,
        months=_numbers(Field.MONTH, month),
        weekdays=plain_weekdays,
        nth_weekdays=sorted({(item[0] % 7, item[1]) for item in weekdays if isinstance(item, tuple)}),
        any_date=len(days) >= 31 and days >= ALL_DAYS,
        any_weekday=len(plain_weekdays) == 7,
        both_days=day[0] == "*" or weekday[0] == "*",
        fixed=minute[0] != "*" and hour[0] != "*",
    )


def fields_of(cron: str) -> list[str]:
    """Give the six fields, seconds first, in capitals."""
    if len(cron) > 256:
        raise _refused(f"A cron expression of {len(cron)} characters is too long.")
    text = cron.strip()
    if text.startswith("@"):
        if text.lower() not in ALIASES:
            raise _refused(f"'{shortened(text)}' is none of {', '.join(ALIASES)}.")
        text = ALIASES[text.lower()]
    fields = text.upper().split()
    if len(fields) == 5:
        return ["0", *fields]
    if len(fields) != 6:
        raise _refused(
            f"'{shortened(text)}' has {len(fields)} field{'s' * (len(fields) != 1)}; cron has 5 (minute hour day month"
            " weekday), or 6 with seconds first."
        )
    return fields


def _numbers(field: Field, text: str) -> list[int]:
    # Most fields are a star or a number; reading those here is what makes reading cheap.
    if text == "*":
        return STARS[field]
    low, high = STARS[field][0], STARS[field][-1]
    if text.isdecimal() and text.isascii() and low <= int(text) <= high:
        return [int(text)]
    # Only weekdays have pairs such as (1, 2) for the second Monday.
    return sorted(cast("set[int]", _items(field, text)))


def _items(field: Field, text: str) -> Collection[SpecItem]:
    if text == "*":
        return STARS[field]
    if field is Field.DOW:
        # A week that ends on Sunday: FRI-SUN.
        text = text.replace("-SUN", "-7")
    if "/" in text and "-" in text:
        # cronsim takes 5-5/2 for 5/2, which runs on to the field's end.
        text = ONE_VALUE_RANGE.sub(r"\1", text)
    if "L" in text and field is Field.DAY and any("L" in term and "/" in term for term in text.split(",")):
        raise _bad_field(field, text)
    try:
        return field.parse(text)
    except CronSimError:
        raise _bad_field(field, text) from None


def _bad_field(field: Field, text: str) -> Invalid:
    return _refused(f"'{shortened(text)}' is not a cron {NAMES[field]}.")


def _refused(reason: str) -> Invalid:
    return unreadable(reason, field="schedule.cron", examples=EXAMPLES)
