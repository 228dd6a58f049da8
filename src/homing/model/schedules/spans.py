"""Days in words: "friday", "tomorrow", "20 november", "this weekend", "next week"; read as first and last day."""

import re
from datetime import date, datetime

from homing.model.errors import Invalid
from homing.model.schedules.times import DAY, read_point
from homing.model.schedules.zones import zone

_WEEK = re.compile(r"(?:in |for )?(?:(?P<next>next|the coming)|this|the) week")
_WEEKEND = re.compile(r"(?:on |at |over |for )?(?:(?P<next>next)|this|the) weekend")
# A part of a day is asked about as its day: what was planned for "the evening" is not known by the hour.
_PART = re.compile(r"(?:this (?:morning|afternoon|evening)|tonight)|(?<=tomorrow) (?:morning|afternoon|evening|night)")
_PLURAL = re.compile(r"day(?:s|'s)\Z")


def read_days(text: str, *, now: datetime, tz: str) -> tuple[date, date] | None:
    """Read a day, a week or a weekend; None when the text is none."""
    given = _PART.sub(lambda part: "" if part[0].startswith(" ") else "today", " ".join(text.lower().split()))
    given = _PLURAL.sub("day", given)
    today = now.astimezone(zone(tz)).date()
    sunday = today + (6 - today.weekday()) * DAY
    if week := _WEEK.fullmatch(given):
        return (sunday + DAY, sunday + 7 * DAY) if week["next"] else (today, sunday)
    if weekend := _WEEKEND.fullmatch(given):
        last = sunday + 7 * DAY if weekend["next"] else sunday
        return last - DAY, last
    try:
        point = read_point(given, now=now, tz=tz)
    except Invalid:
        return None
    return (point.day, point.day) if point and point.day else None
