"""Whether a schedule may be: not past, not empty, not too often. And what its owner should know about it."""

from datetime import date, datetime, timedelta

from homing.model.errors import Invalid
from homing.model.schedules import zones
from homing.model.schedules.describe import interval, moment, ordinal
from homing.model.schedules.every_nth import rule_of
from homing.model.schedules.expression import Expression, fields_of, parse
from homing.model.schedules.instants import next_after, next_within
from homing.model.schedules.values import At, Cron, Every, Schedule

SECOND = timedelta(seconds=1)
DAY_SECONDS = 86_400
YEAR = timedelta(days=366)
FIELD = {At: "schedule.at", Every: "schedule.every_ms", Cron: "schedule.cron"}


def check(
    schedule: Schedule,
    *,
    now: datetime,
    min_interval_seconds: float,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> None:
    """Refuse a schedule that is past, never fires inside its bounds, or fires too often."""
    zones.check_zone(schedule.tz, field="schedule.tz")
    if isinstance(schedule, At) and schedule.at <= now:
        raise Invalid(
            f"{moment(schedule.at, schedule.tz)} is in the past: it is now {moment(now, schedule.tz)}. "
            "Give a later time, for example 'tomorrow at 9' or 'in 10 minutes'.",
            field="schedule.at",
            code="schedule_in_past",
        )
    _check_rhythm(schedule, min_interval_seconds)
    if next_within(schedule, now, starts_at=starts_at, ends_at=ends_at) is None:
        raise Invalid(
            _never(schedule, now, starts_at, ends_at), field=FIELD[type(schedule)], code="schedule_never_fires"
        )


def warnings(schedule: Schedule, now: datetime, lookahead_days: int) -> list[str]:
    """Say what may surprise: a far first run, a step that wraps, missing days, clocks that jump over its time."""
    found: list[str] = []
    first = next_after(schedule, now)
    # Instants are rounded up to whole milliseconds: exactly so many days are not more.
    if first and first > now + timedelta(days=lookahead_days) + SECOND:
        found.append(f"The first run is more than {lookahead_days} days away: {moment(first, schedule.tz)}.")
    if isinstance(schedule, Cron):
        found += _wrapping_steps(schedule.cron)
        found += _missing_days(parse(schedule.cron))
        found += _gap(schedule, now)
    return found


def _check_rhythm(schedule: Schedule, least: float) -> None:
    match schedule:
        case Every():
            too_often = schedule.every_ms < least * 1000
        case Cron():
            too_often = _closer_than(parse(schedule.cron), least)
        case At():
            return
    if too_often:
        raise Invalid(
            f"That is more often than every {interval(round(least * 1000))}, the shortest allowed. "
            "Choose a longer interval.",
            field=FIELD[type(schedule)],
            code="schedule_too_often",
        )


def _closer_than(expression: Expression, least: float) -> bool:
    if least <= 1:
        return False
    slots = (h * 3600 + m * 60 + s for h in expression.hours for m in expression.minutes for s in expression.seconds)
    first = last = next(slots)
    for slot in slots:
        if slot - last < least:
            return True
        last = slot
    return first + DAY_SECONDS - last < least and _has_neighbours(expression)


def _has_neighbours(expression: Expression) -> bool:
    # Four years hold every neighbourhood of days that matters, leap day included.
    start = date(2024, 1, 1).toordinal()
    matching = [
        date(year, month, day).toordinal() - start
        for year in range(2024, 2028)
        for month in expression.months
        for day in expression.days_of(year, month)
    ]
    days = set(matching)
    return any(day + 1 in days for day in days)


def _never(schedule: Schedule, now: datetime, starts_at: datetime | None, ends_at: datetime | None) -> str:
    if next_after(schedule, now) is None:
        return "There is no such day: this schedule never fires. Check the day and the month."
    if ends_at is not None and ends_at <= now:
        return f"It ends on {moment(ends_at, schedule.tz)}, which is over: it is now {moment(now, schedule.tz)}."
    if ends_at is not None and starts_at is not None and ends_at < starts_at:
        return "It ends before it starts, so it never fires."
    end = f", {moment(ends_at, schedule.tz)}" if ends_at is not None else ""
    return f"It has no run between its start and its end{end}, so it never fires. Give a later end."


def _wrapping_steps(cron: str) -> list[str]:
    found: list[str] = []
    _, *larger = rhythms = (("second", 60), ("minute", 60), ("hour", 24))
    for text, (unit, size), (whole, _) in zip(fields_of(cron), rhythms, (*larger, ("day", 0)), strict=False):
        step = text.removeprefix("*/")
        if text.startswith("*/") and size % int(step):
            found.append(f"'{text}' starts again with every {whole}; for a steady rhythm say 'every {step} {unit}s'.")
    return found


def _missing_days(expression: Expression) -> list[str]:
    dates = sorted(expression.days)
    if dates[0] < 29 or not expression.both_days or expression.months == [2]:
        return []
    return [f"Months without a {ordinal(dates[0])} are left out; for the last day of every month use L."]


def _gap(schedule: Cron, now: datetime) -> list[str]:
    expression, tz = rule_of(schedule), zones.zone(schedule.tz)
    low, end = now, now + YEAR
    while expression.fixed and (change := zones.first_change(tz, low, end, zones.offset_at(low, tz))):
        before, after = zones.offset_at(change - SECOND, tz), zones.offset_at(change, tz)
        opens, closes = (change.replace(tzinfo=None) + offset for offset in (before, after))
        slot = expression.after(opens - SECOND)
        if slot and opens <= slot < closes:
            text = (
                f"On {slot.date().isoformat()} the clocks in {schedule.tz} jump over {slot:%H:%M}; "
                f"it runs right after that, on {moment(change, schedule.tz)}."
            )
            return [text]
        low = change
    return []
