"""One point in time in words: "tomorrow at 9", "on friday 18:00", "Nov 20 2026 at 6pm", "2026-11-20T18:00", "in 2h"."""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from homing.model.errors import Invalid
from homing.model.schedules import zones
from homing.model.schedules.describe import MONTHS, WEEKDAYS, clock, moment
from homing.model.schedules.durations import CLOCK, EXPLICIT, NUMBERS, checked_length, read_clock, read_length
from homing.model.schedules.instants import whole_ms
from homing.model.schedules.suggestions import Unclear, unclear, unreadable

DAY = timedelta(days=1)
LATEST_MS = 221_845_392_000_000  # the year 9000
WEEKDAY_NUMBERS = {name.lower()[:3]: number for number, name in enumerate(WEEKDAYS)}
MONTH_NUMBERS = {name.lower()[:3]: number for number, name in enumerate(MONTHS, start=1)}
WEEKDAY = r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
WEEKDAY_PLURAL = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days"
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DATE = rf"(?:(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({MONTH})|({MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?)"

_ISO = re.compile(
    r"(\d{4}-\d{2}-\d{2})[t ](\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(z|utc|[+-]\d{2}(?::?\d{2})?)?", re.IGNORECASE
)
_AHEAD = rf"in (?:\d{{1,3}}|an?|{'|'.join(NUMBERS)}) (?:days?|weeks?)"
_NEXT_WEEK = rf"(?:on )?{WEEKDAY},? next week|next week,?(?: on)? {WEEKDAY}"
_MONTH_END = r"(?:at |on |by )?(?:the )?(?:end|last day) of this month"
_WORD_DAY = rf"today|tomorrow|(?:the )?day after tomorrow|{_NEXT_WEEK}|(?:on |this |next )?{WEEKDAY}|{_MONTH_END}"
_DATED = rf"(?:on )?(?:the )?{DATE}(?:,? (\d{{4}}))?|(?:on )?(\d{{4}}-\d{{2}}-\d{{2}})"
_SPLITS = (
    re.compile(rf"(?P<day>{_WORD_DAY}),? (?:at )?(?P<clock>{CLOCK})"),
    re.compile(rf"(?P<day>{_DATED}),? at (?P<clock>{CLOCK})"),
    re.compile(rf"(?P<day>{_DATED}),? (?P<clock>{EXPLICIT})"),
    re.compile(rf"(?:at (?P<clock>{CLOCK})|(?P<explicit>{EXPLICIT})),? (?P<day>{_WORD_DAY}|{_DATED})"),
    re.compile(rf"(?P<day>(?:on )?{WEEKDAY}),? at (?P<clock>{CLOCK}),? (?P<week>next week)"),
    re.compile(rf"(?P<day>{_AHEAD}),? at (?P<clock>{CLOCK})"),
)
_ONLY_DAY = re.compile(rf"{_WORD_DAY}|{_DATED}")
_ONLY_CLOCK = re.compile(rf"at ({CLOCK})|({EXPLICIT})")
_VAGUE = re.compile(
    rf"(?:(?P<week>(?:this|next) week)|(?P<weekend>(?:this|next|(?:on|at|over) the) weekend)"
    rf"|(?P<later>next (?:month|year)))"
    rf"(?:,? at {CLOCK})?|(?P<last>(?:on )?last {WEEKDAY}(?:,? (?:at )?{CLOCK})?)"
    rf"|(?P<ordinal>(?:on )?the \d{{1,2}}(?:st|nd|rd|th))(?:,? at {CLOCK})?"
)
_NO_YEAR = re.compile(rf"(?:on )?(?:the )?{DATE}")
_YEAR = re.compile(rf"(?:on )?(?:the )?{DATE},? (\d{{4}})")
_EPOCH_MS = re.compile(r"\d{12,14}")


@dataclass(frozen=True, kw_only=True)
class Point:
    """What was read: an instant, or a whole day when no time was said."""

    instant: datetime | None = None
    day: date | None = None
    warning: str | None = None


def read_point(text: str, *, now: datetime, tz: str) -> Point | None:
    """Read one point in time; None when the text is none. A passed one is given as it is: refusing it is `check`'s."""
    if _EPOCH_MS.fullmatch(text):
        return Point(instant=from_epoch_ms(int(text), field="when"))
    if match := _ISO.fullmatch(text):
        return _iso(match, tz)
    if (ms := read_length(text.removeprefix("in ").removesuffix(" from now"))) is not None:
        return Point(instant=whole_ms(now) + timedelta(milliseconds=checked_length(ms, field="when", shown=text)))
    if match := _ONLY_CLOCK.fullmatch(text):
        return _coming([_today(now, tz), _today(now, tz) + DAY], read_clock(match[1] or match[2]), now, tz)
    if _ONLY_DAY.fullmatch(text):
        return Point(day=_days(text, now, tz)[0])
    for split in _SPLITS:
        if match := split.fullmatch(text):
            given = match.groupdict()
            day = f"{given['day']} next week" if given.get("week") else given["day"]
            return _coming(_days(day, now, tz), read_clock(given["clock"] or given["explicit"]), now, tz)
    if match := _VAGUE.fullmatch(text):
        raise _vague(match)
    return None


def _vague(match: re.Match[str]) -> Unclear:
    text = match[0]
    if match["week"]:
        week = "next week on" if "next" in text else "on"
        return unclear(f"'{text}' does not say on which day. Say for example '{week} monday at 9'.", near=text)
    if match["weekend"]:
        return unclear(f"'{text}' is two days. Say which, for example 'on saturday at 10'.", near="on saturday at 10")
    if match["later"]:
        return unclear(f"'{text}' does not say on which day. Say for example 'on 1 december at 9'.", near=text)
    if match["last"]:
        day = text.removeprefix("on ")
        return unclear(f"'{text}' is over. For one a month say 'every {day.split(' at ')[0]} at 9'.", near=text)
    day = match["ordinal"].removeprefix("on ")
    return unclear(
        f"'{text}' could mean once or every month. Say 'every month on {day} at 9', or name the month: "
        f"'on {day} of december at 9'.",
        near=text,
    )


def from_epoch_ms(ms: float, *, field: str) -> datetime:
    """Give the instant of an epoch time in milliseconds."""
    if not 0 <= ms < LATEST_MS:
        raise Invalid(f"{ms} is not an instant in milliseconds since 1970.", field=field, code="out_of_range")
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)


def placed(wall: datetime, tz: str) -> tuple[datetime, str | None]:
    """Turn a naive local time into an instant, with a warning when the clocks show it twice; refuse one they skip."""
    info = zones.zone(tz)
    _check_year(wall)
    instant = zones.instant_of(wall, info)
    shown = f"{wall.date().isoformat()} {clock(wall.hour, wall.minute, wall.second)}"
    if zones.is_skipped(wall, info):
        raise Invalid(
            f"{shown} does not exist in {tz}: the clocks go forward over it. "
            f"The next time that exists is {moment(instant, tz)}.",
            field="when",
            code="time_does_not_exist",
        )
    if zones.is_repeated(wall, info):
        return instant, f"{shown} comes twice in {tz} because the clocks go back; the first one is meant."
    return instant, None


def _placed(day: date, at: time, tz: str) -> Point:
    instant, warning = placed(datetime.combine(day, at), tz)
    return Point(instant=instant, warning=warning)


def _coming(days: list[date], at: time, now: datetime, tz: str) -> Point:
    # The first day that is still to come; a day that was named exactly may have passed, and stays what it is.
    for day in days[:-1]:
        point = _placed(day, at, tz)
        if point.instant and point.instant > now:
            return point
    return _placed(days[-1], at, tz)


def _days(text: str, now: datetime, tz: str) -> list[date]:
    today = _today(now, tz)
    if text in ("today", "tomorrow"):
        return [today if text == "today" else today + DAY]
    if text.endswith("day after tomorrow"):
        return [today + 2 * DAY]
    if text.endswith("of this month"):
        return [today.replace(day=monthrange(today.year, today.month)[1])]
    if re.fullmatch(_AHEAD, text):
        _, count, unit = text.split()
        number = 1 if count in ("a", "an") else NUMBERS.get(count) or int(count)
        return [today + number * (7 * DAY if unit.startswith("week") else DAY)]
    if re.fullmatch(_WORD_DAY, text):
        return _weekday(text, today)
    if match := re.fullmatch(r"(?:on )?(\d{4}-\d{2}-\d{2})", text):
        return [_iso_date(match[1])]
    if match := _YEAR.fullmatch(text):
        month, day = month_and_day(match)
        return [_date(int(match[5]), month, day, text)]
    match = _NO_YEAR.fullmatch(text)
    assert match, text
    return _without_year(*month_and_day(match), today, text)


def _weekday(text: str, today: date) -> list[date]:
    named = re.search(rf"\b{WEEKDAY}\b", text)
    assert named, text
    number = WEEKDAY_NUMBERS[named[0][:3]]
    if "next week" in text:
        return [today + timedelta(days=7 - today.weekday() + (number - 1) % 7)]
    ahead = (number - today.isoweekday()) % 7
    if text.startswith("next "):
        # The first one after today: on a Monday, next Monday is a week away.
        return [today + timedelta(days=ahead or 7)]
    return [today + timedelta(days=ahead), today + timedelta(days=ahead + 7)]


def _without_year(month: int, day: int, today: date, text: str) -> list[date]:
    _date(2000, month, day, text)
    years = [year for year in range(today.year, today.year + 9) if day <= 28 or _exists(year, month, day)]
    days = [date(year, month, day) for year in years]
    return [day for day in days if day >= today][:2]


def month_and_day(match: re.Match[str]) -> tuple[int, int]:
    """Read the groups of DATE: "24 december" or "december 24"."""
    return MONTH_NUMBERS[(match[2] or match[3])[:3]], int(match[1] or match[4])


def _date(year: int, month: int, day: int, text: str) -> date:
    if not _exists(year, month, day):
        raise unreadable(f"'{text}' is not a date of the calendar.", field="when")
    return date(year, month, day)


def _exists(year: int, month: int, day: int) -> bool:
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True


def _iso(match: re.Match[str], tz: str) -> Point:
    offset = (match[3] or "").lower().replace("utc", "z")
    try:
        read = datetime.fromisoformat(f"{match[1]}T{match[2]}{offset.upper()}")
    except ValueError:
        raise unreadable(f"'{match[0]}' is not a date and time of the calendar.", field="when") from None
    _check_year(read)
    if read.tzinfo is not None:
        return Point(instant=read.astimezone(UTC))
    instant, warning = placed(read, tz)
    return Point(instant=instant, warning=warning)


def _check_year(read: datetime) -> None:
    if not 1900 <= read.year <= 9000:
        raise Invalid(
            f"The year {read.year} is out of range: give one from 1900 to 9000.", field="when", code="out_of_range"
        )


def _iso_date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise unreadable(f"'{text}' is not a date of the calendar.", field="when") from None


def _today(now: datetime, tz: str) -> date:
    return zones.wall_of(now, zones.zone(tz)).date()
