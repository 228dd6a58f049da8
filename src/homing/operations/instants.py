"""Instants as people write them: RFC 3339, a local time, a phrase; read in the zone of rule 8."""

from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING

from homing.model.errors import Invalid
from homing.model.hours import NamedHours
from homing.model.schedules import At, read_when
from homing.model.schedules.suggestions import shortened, unreadable
from homing.model.schedules.zones import instant_of, zone

if TYPE_CHECKING:
    from homing.model.schedules.times import Point

_EXAMPLES = ("in 10 minutes", "tomorrow at 9:30", "2026-11-20T18:00")


def read_instant(
    text: str, *, field: str, now: datetime, tz: str, hours: NamedHours, day_ends: bool = False
) -> datetime:
    """Read one instant. A day alone is its beginning, or with `day_ends` its last second."""
    from homing.model.schedules.times import read_point  # noqa: PLC0415 - the grammar is imported when it is needed

    given = " ".join(text.split())
    try:
        point = read_point(given.lower(), now=now, tz=tz) or _phrase(given, now, tz, hours, field)
    except Invalid as error:
        if error.field_code == "schedule_unreadable":
            # What repeats is not an example for one time.
            error = unreadable(f"{field} cannot be read: {shortened(given)!r}.", field=field, examples=_EXAMPLES)
        raise Invalid(error.detail, field=field, code=error.field_code) from None
    if point.instant is not None:
        return point.instant
    assert point.day is not None
    try:
        midnight = datetime.combine(point.day + timedelta(days=day_ends), time())
        return instant_of(midnight, zone(tz)) - timedelta(seconds=day_ends)
    except OverflowError:
        # The calendar of computers ends with the year 9999, and begins with 1.
        raise Invalid(f"{field} is too far away: {shortened(given)!r}.", field=field, code="out_of_range") from None


def read_future(
    text: str, *, field: str, now: datetime, tz: str, hours: NamedHours, day_ends: bool = False
) -> datetime:
    """Read an instant that has to be still to come."""
    instant = read_instant(text, field=field, now=now, tz=tz, hours=hours, day_ends=day_ends)
    if instant <= now:
        raise Invalid(f"{field} is in the past. Give a later time.", field=field, code="schedule_in_past")
    return instant


def _phrase(given: str, now: datetime, tz: str, hours: NamedHours, field: str) -> "Point":
    from homing.model.schedules.times import Point  # noqa: PLC0415 - see above

    schedule = read_when(given, now=now, zone=tz, hours=hours).schedule
    if not isinstance(schedule, At):
        raise Invalid(f"{field} is one time, and {given!r} repeats.", field=field, code="wrong_type")
    return Point(instant=schedule.at)
