"""A schedule in plain English, the same text at every door. Said from what it matches, not from how it was spelled."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

from homing.model.schedules import zones
from homing.model.schedules.expression import LAST, LAST_WEEKDAY, Expression, parse
from homing.model.schedules.values import At, Cron, Every, Schedule

WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
NTH = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth", LAST: "last"}
UNITS = (("week", 604_800_000), ("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))
MOST_TIMES = 6


def words(schedule: Schedule) -> str:
    """Say a schedule in words, with its zone."""
    match schedule:
        case At():
            return f"Once on {moment(schedule.at, schedule.tz)}"
        case Every():
            return f"Every {interval(schedule.every_ms)}{_on_the_hour(schedule)} ({schedule.tz})"
        case Cron():
            text = _cron(parse(schedule.cron), schedule.interval)
            # A zone belongs to a time of day; behind anything else it stands in brackets.
            return f"{text} {schedule.tz}" if ":" in text.rpartition(" ")[2] else f"{text} ({schedule.tz})"


def _on_the_hour(schedule: Every) -> str:
    local = schedule.anchor.astimezone(zones.zone(schedule.tz))
    hours = schedule.every_ms % 3_600_000 == 0 and schedule.every_ms < 86_400_000
    return " on the hour" if hours and (local.minute, local.second, local.microsecond) == (0, 0, 0) else ""


def moment(instant: datetime, tz: str) -> str:
    """Say an instant on the clock of a zone: Mon 16 Nov 2026 at 09:00 Europe/Berlin."""
    local = instant.astimezone(zones.zone(tz))
    # The host's locale must not change our words, so no strftime.
    weekday, month = WEEKDAYS[local.isoweekday() % 7][:3], MONTHS[local.month - 1][:3]
    return f"{weekday} {local.day} {month} {local.year} at {clock(local.hour, local.minute, local.second)} {tz}"


def clock(hour: int, minute: int, second: int = 0) -> str:
    """Say a time of day, with seconds only where there are any."""
    return f"{hour:02}:{minute:02}:{second:02}" if second else f"{hour:02}:{minute:02}"


def interval(ms: int) -> str:
    """Say a duration in its largest whole unit: 90 minutes, 2 hours. A single day is 24 hours, which it is."""
    for unit, size in UNITS:
        if ms % size == 0 and not (ms == size and unit in ("day", "week")):
            return unit if ms == size else f"{ms // size} {unit}s"
    return f"{timedelta(milliseconds=ms).total_seconds():g} seconds" if ms > 1000 else f"{ms} ms"


def _cron(expression: Expression, interval: int) -> str:
    days = _days(expression) if interval == 1 else _nth_days(expression, interval)
    times = _times(expression)
    if times.startswith("at "):
        return f"{days} {times}"
    return f"{times[0].upper()}{times[1:]}" if days == "Every day" else f"{days}, {times}"


def _nth_days(e: Expression, n: int) -> str:
    if len(e.months) == 12:
        if e.every_day and e.any_weekday:
            return "Every other day" if n == 2 else f"Every {n} days"
        if e.any_date and not e.nth_weekdays:
            return f"Every {n} weeks on {_weekday_list(e, one=True)}"
        if _once_a_month(e):
            which = _date_list(e) if e.any_weekday else _nth_list(e)
            return f"Every {n} months on {which}"
    days = _days(e)
    days = days if days.partition(" ")[0].rstrip("s") in WEEKDAYS else f"{days[0].lower()}{days[1:]}"
    return f"Every {ordinal(n)} {'day' if e.any_weekday else 'week'} only: {days}"


def _once_a_month(e: Expression) -> bool:
    if e.any_weekday:
        return len(e.days) == 1 and max(e.days) <= 28
    return e.any_date and not e.weekdays and len(e.nth_weekdays) == 1 and e.nth_weekdays[0][1] != 5


def _times(e: Expression) -> str:
    if len(e.seconds) > 1:
        return f"{_steps(e.seconds, 60, 'second')}{_of_minutes(e)}"
    second, every_hour = e.seconds[0], len(e.hours) == 24
    if len(e.hours) * len(e.minutes) <= MOST_TIMES:
        return f"at {listed(clock(hour, minute, second) for hour in e.hours for minute in e.minutes)}"
    if second:
        return f"at second {second}{_of_minutes(e)}"
    step = _step(e.minutes, 60)
    span = _span(e)
    if step and (every_hour or span):
        return f"every {_count(step, 'minute')}{span}"
    if len(e.minutes) == 1 and every_hour:
        return f"every hour at minute {e.minutes[0]}" if e.minutes[0] else "every hour on the hour"
    hours = _step(e.hours, 24)
    if len(e.minutes) == 1 and hours:
        return f"every {_count(hours, 'hour')} from {clock(0, e.minutes[0])}"
    if len(e.minutes) == 1 and span:
        return f"every hour{span}"
    return f"{_steps(e.minutes, 60, 'minute')}{_of_hours(e)}"


def _of_minutes(e: Expression) -> str:
    if len(e.minutes) == 60:
        return _of_hours(e) if len(e.hours) < 24 else (" of every minute" if len(e.seconds) < 60 and _odd(e) else "")
    return f" of {_named('minute', e.minutes)}{_of_hours(e)}"


def _odd(e: Expression) -> bool:
    return _step(e.seconds, 60) is None


def _of_hours(e: Expression) -> str:
    return " of every hour" if len(e.hours) == 24 else f" of {_named('hour', e.hours)}"


def _span(e: Expression) -> str:
    first, last = e.hours[0], e.hours[-1]
    if len(e.hours) == 24 or last - first + 1 != len(e.hours):
        return ""
    return f" from {clock(first, e.minutes[0])} to {clock(last, e.minutes[-1])}"


def _step(values: Sequence[int], size: int) -> int | None:
    # A step that does not divide its field, such as */45, is not a steady rhythm and must not be called one.
    step = size // len(values)
    return step if list(values) == list(range(0, size, step)) and size % step == 0 and step < size else None


def _steps(values: Sequence[int], size: int, unit: str) -> str:
    step = _step(values, size)
    return f"every {_count(step, unit)}" if step else f"at {_named(unit, values)}"


def _count(step: int, unit: str) -> str:
    return unit if step == 1 else f"{step} {unit}s"


def _named(unit: str, values: Sequence[int]) -> str:
    return f"{unit} {values[0]}" if len(values) == 1 else f"{unit}s {_ranges(values, str)}"


def _days(e: Expression) -> str:
    if e.every_day:
        return f"Every day{_in_months(e)}"
    if e.any_weekday:
        return _dates(e)
    if e.any_date:
        return _weekdays(e)
    if e.both_days:
        return f"On {_weekday_list(e)} that fall on {_date_list(e)}{_in_months(e)}"
    return f"On {_date_list(e)}{_of_months(e)} and also on {_weekday_list(e)}{_in_months(e)}"


def _dates(e: Expression) -> str:
    if len(e.months) == 1 and min(e.days) > 0:
        return f"Every year on {listed(str(day) for day in sorted(e.days))} {MONTHS[e.months[0] - 1]}"
    return f"On {_date_list(e)}{_of_months(e)}"


def _weekdays(e: Expression) -> str:
    if e.nth_weekdays and not e.weekdays:
        return f"On {_nth_list(e)}{_of_months(e)}"
    if e.nth_weekdays:
        return f"On {_weekday_list(e)}{_in_months(e)}"
    plain = _weekday_list(e)
    return f"{plain[0].upper()}{plain[1:]}{_in_months(e)}"


def _date_list(e: Expression) -> str:
    plain = sorted(day for day in e.days if day > 0)
    named = [f"the {_ranges(plain, ordinal)}"] if plain else []
    named += ["the last weekday"] if LAST_WEEKDAY in e.days else []
    named += ["the last day"] if LAST in e.days else []
    return listed(named)


def _weekday_list(e: Expression, *, one: bool = False) -> str:
    if e.nth_weekdays:
        nth = [f"{_nth_list(e)} of the month"]
        return listed([f"{WEEKDAYS[day]}s" for day in _monday_first(e.weekdays)] + nth)
    if e.weekdays == {1, 2, 3, 4, 5}:
        return "weekdays"
    if e.weekdays == {0, 6}:
        return "weekends"
    return listed(f"{WEEKDAYS[day]}{'' if one else 's'}" for day in _monday_first(e.weekdays))


def _nth_list(e: Expression) -> str:
    pairs = sorted(e.nth_weekdays, key=lambda pair: (pair[1] == LAST, pair[1], (pair[0] - 1) % 7))
    return listed(f"the {NTH[nth]} {WEEKDAYS[day]}" for day, nth in pairs)


def _monday_first(days: Iterable[int]) -> list[int]:
    return sorted(days, key=lambda day: (day - 1) % 7)


def _of_months(e: Expression) -> str:
    return " of every month" if len(e.months) == 12 else f" of {_ranges(e.months, lambda m: MONTHS[m - 1])}"


def _in_months(e: Expression) -> str:
    return "" if len(e.months) == 12 else f" in {_ranges(e.months, lambda m: MONTHS[m - 1])}"


def _ranges(values: Sequence[int], name: Callable[[int], str]) -> str:
    runs: list[list[int]] = []
    for value in values:
        if runs and runs[-1][-1] + 1 == value:
            runs[-1].append(value)
        else:
            runs.append([value])
    parts: list[str] = []
    for run in runs:
        parts += [f"{name(run[0])} to {name(run[-1])}"] if len(run) > 2 else [name(value) for value in run]
    return listed(parts)


def ordinal(number: int) -> str:
    """Say a day of the month: 1st, 2nd, 11th, 23rd."""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def listed(items: Iterable[str]) -> str:
    """Join with commas and a last "and"."""
    *head, last = items
    return f"{', '.join(head)} and {last}" if head else last
