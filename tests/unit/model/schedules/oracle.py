"""A slow, simple cron daemon to compare with: it looks at the clock on the wall tick by tick, as Vixie's cron does.

It shares no code with Homing and none with cronsim. Truth for clocks is zoneinfo alone.
"""

import calendar
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

BOUNDS = ((0, 59), (0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MONTHS = dict(zip("JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split(), range(1, 13), strict=True))
DAYS = dict(zip("SUN MON TUE WED THU FRI SAT".split(), range(7), strict=True))


@dataclass(frozen=True)
class Clock:
    """The walls of a zone at every tick of a stretch of real time."""

    start: datetime
    tick: timedelta
    walls: tuple[datetime, ...]


@lru_cache(maxsize=512)
def clock(zone: str, start: datetime, ticks: int, tick_seconds: int = 60) -> Clock:
    tz, tick = ZoneInfo(zone), timedelta(seconds=tick_seconds)
    walls = tuple((start + n * tick).astimezone(tz).replace(tzinfo=None, fold=0) for n in range(ticks))
    return Clock(start, tick, walls)


def runs(expression: str, face: Clock) -> list[datetime]:
    """Let the daemon watch the clock; give the instants at which it starts the job."""
    fields = expression.upper().split()
    fields = ["0", *fields] if len(fields) == 5 else fields
    fixed = not fields[1].startswith("*") and not fields[2].startswith("*")
    matches = matcher(fields)
    started: list[datetime] = []
    newest = face.walls[0] - face.tick
    for n, wall in enumerate(face.walls):
        if fixed:
            # All minutes the clock has reached now for the first time, jumped over or not.
            due, virtual = False, newest
            while virtual < wall:
                virtual += face.tick
                due = due or matches(virtual)
            newest = max(newest, wall)
        else:
            due = matches(wall)
        if due:
            started.append(face.start + n * face.tick)
    return started


def matcher(fields: list[str]):
    seconds, minutes, hours, months = (values(n, fields[n]) for n in (0, 1, 2, 4))
    both = fields[3].startswith("*") or fields[5].startswith("*")
    seen: dict[date, bool] = {}

    def day_matches(day: date) -> bool:
        dom = any(dom_matches(term, day) for term in fields[3].split(","))
        dow = any(dow_matches(term, day) for term in fields[5].split(","))
        return (dom and dow) if both else (dom or dow)

    def matches(wall: datetime) -> bool:
        if wall.minute not in minutes or wall.hour not in hours or wall.second not in seconds:
            return False
        day = wall.date()
        if day not in seen:
            seen[day] = day.month in months and day_matches(day)
        return seen[day]

    return matches


def dom_matches(term: str, day: date) -> bool:
    length = calendar.monthrange(day.year, day.month)[1]
    if term == "L":
        return day.day == length
    if term == "LW":
        working = [n for n in range(1, length + 1) if date(day.year, day.month, n).isoweekday() <= 5]
        return day.day == working[-1]
    return day.day in values(3, term)


def dow_matches(term: str, day: date) -> bool:
    weekday = day.isoweekday() % 7
    if "#" in term:
        name, nth = term.split("#")
        return number(5, name) % 7 == weekday and (day.day - 1) // 7 + 1 == int(nth)
    if term.endswith("L"):
        return int(term[:-1]) % 7 == weekday and (day + timedelta(days=7)).month != day.month
    return weekday in {value % 7 for value in values(5, term)}


def values(field: int, text: str) -> set[int]:
    low, high = BOUNDS[field]
    found: set[int] = set()
    for term in text.split(","):
        span, _, step = term.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            left, right = span.split("-")
            first, last = number(field, left), number(field, right)
        else:
            first = number(field, span)
            last = high if step else first
        found.update(range(first, last + 1, int(step or 1)))
    return found


def number(field: int, text: str) -> int:
    names = {4: MONTHS, 5: DAYS}.get(field, {})
    return names[text] if text in names else int(text)


@lru_cache(maxsize=64)
def changes(zone: str, first_year: int = 1970, last_year: int = 2045) -> tuple[datetime, ...]:
    """The minutes at which a zone's offset changes, found by looking every day and then every minute."""
    tz, found = ZoneInfo(zone), list[datetime]()
    day, end = datetime(first_year, 1, 1, tzinfo=UTC), datetime(last_year, 1, 1, tzinfo=UTC)
    while day < end:
        after = day + timedelta(days=1)
        if day.astimezone(tz).utcoffset() != after.astimezone(tz).utcoffset():
            minutes = (day + timedelta(minutes=n) for n in range(1, 1441))
            found.append(next(m for m in minutes if m.astimezone(tz).utcoffset() != day.astimezone(tz).utcoffset()))
        day = after
    return tuple(found)
