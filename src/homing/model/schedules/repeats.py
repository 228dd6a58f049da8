"""A rhythm in words: "every weekday at 8", "mondays at 9", "monthly on the last day at 18:00", as a cron expression."""

import re
from collections.abc import Iterable

from homing.model.schedules.lengths import CLOCK, EXPLICIT, read_clock
from homing.model.schedules.points import DATE, WEEKDAY, WEEKDAY_NUMBERS, WEEKDAY_PLURAL, month_and_day
from homing.model.schedules.refusals import unreadable

NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5}
_AND = r"(?:, and | and |, ?)"
_TIMES = rf"{CLOCK}(?:{_AND}{CLOCK})*"
_WEEKDAY = rf"(?:{WEEKDAY_PLURAL}|{WEEKDAY})"
_WEEKDAYS = rf"{_WEEKDAY}(?:(?:{_AND}|-| to | through ){_WEEKDAY})*"
_PLURALS = rf"{WEEKDAY_PLURAL}(?:{_AND}{WEEKDAY_PLURAL})*"
_SPAN = rf"{WEEKDAY}(?:-| to | through ){WEEKDAY}"
_DAY_SET = rf"(?:day|weekdays?|weekends?|week day|{_WEEKDAYS})"
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th)"
_DATES = rf"(?:the )?(?:last day|last weekday|{_ORDINAL}(?:{_AND}(?:the )?{_ORDINAL})*)|day \d{{1,2}}"
_NTH = rf"(?:the )?(?:{'|'.join(NTH)}|last) {WEEKDAY}"
_OF_MONTH = r"of (?:every|each|the) month"

_DAILY = re.compile(rf"(?:every|each) ({_DAY_SET})|(daily)|(?:on )?(weekdays|weekends|{_PLURALS}|{_SPAN})")
_WEEKLY = re.compile(rf"(?:every week|weekly) on ({_WEEKDAYS}|weekdays|weekends)")
_MONTHLY = re.compile(
    rf"(?:every month|monthly) on ({_DATES}|{_NTH})|(?:on )?({_DATES}|{_NTH}) of (?:every|each) month"
    rf"|every ({_DATES}|{_NTH}) of the month|every ((?:first|1st|last) {WEEKDAY})"
)
_YEARLY = re.compile(rf"(?:every year|yearly|annually) on (?:the )?{DATE}|every (?:{DATE})")
_TWO_MEANINGS = re.compile(rf"every (other|second|2nd|third|3rd|fourth|4th|fifth|5th) ({WEEKDAY})")
_HOURLY = re.compile(r"(?:every hour|hourly) at :([0-5]\d)")
_TIME_LAST = re.compile(rf"(.+?),? at ({_TIMES})|(.+?),? ({EXPLICIT})")
_TIME_FIRST = re.compile(rf"at ({_TIMES}),? (.+)|({EXPLICIT}),? (.+)")


def read_repeat(text: str) -> str | None:
    """Read a rhythm as a cron expression; None when the text is none."""
    if match := _HOURLY.fullmatch(text):
        return f"{int(match[1])} * * * *"
    for pattern, days_at, times_at in ((_TIME_LAST, (1, 3), (2, 4)), (_TIME_FIRST, (2, 4), (1, 3))):
        match = pattern.fullmatch(text)
        days = _days(match[days_at[0]] or match[days_at[1]]) if match else None
        if match and days:
            return f"{_clock(match[times_at[0]] or match[times_at[1]])} {days}"
    if _days(text):
        raise unreadable(f"'{text}' does not say at what time. Add one: '{text} at 9'.", field="when")
    return None


def _days(text: str) -> str | None:
    # The last three fields of the expression: day of month, month, weekday.
    if match := _DAILY.fullmatch(text):
        return _weekly(match[1] or match[2] or match[3])
    if match := _WEEKLY.fullmatch(text):
        return _weekly(match[1])
    if match := _MONTHLY.fullmatch(text):
        return _monthly(next(said for said in match.groups() if said))
    if match := _TWO_MEANINGS.fullmatch(text):
        which = "2nd" if match[1] == "other" else match[1]
        raise unreadable(
            f"'{text}' could mean two things. For one {match[2]} a month say 'every {which} {match[2]} of the month'; "
            "for every other week say 'every 2 weeks starting' and a date with a time.",
            field="when",
        )
    if match := _YEARLY.fullmatch(text):
        return _yearly(text)
    return None


def _weekly(text: str) -> str:
    if text in ("day", "daily"):
        return "* * *"
    if text.startswith("weekend"):
        return "* * 0,6"
    if text.startswith(("weekday", "week day")):
        return "* * 1-5"
    numbers: set[int] = set()
    for term in re.split(_AND, text):
        first, *last = (_weekday(name) for name in re.split(r"-| to | through ", term))
        numbers.update((first + n) % 7 for n in range((last[-1] - first) % 7 + 1 if last else 1))
    return f"* * {_spelled(numbers)}" if len(numbers) < 7 else "* * *"


def _monthly(text: str) -> str:
    said = text.removeprefix("the ")
    if said in ("last day", "last weekday"):
        return f"{'L' if said == 'last day' else 'LW'} * *"
    if match := re.fullmatch(rf"(\w+) ({WEEKDAY})", said):
        weekday = _weekday(match[2])
        return f"* * {weekday}L" if match[1] == "last" else f"* * {weekday}#{NTH[match[1]]}"
    days = {int(number) for number in re.findall(r"\d+", said)}
    if not days <= set(range(1, 32)):
        raise unreadable(f"'{text}' is not a day of any month: they go from the 1st to the 31st.", field="when")
    return f"{_spelled(days)} * *"


def _yearly(text: str) -> str:
    match = re.search(rf"{DATE}$", text)
    assert match, text
    month, day = month_and_day(match)
    if not 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31):
        raise unreadable(f"'{match[0]}' is not a date of the calendar.", field="when")
    return f"{day} {month} *"


def _clock(text: str) -> str:
    times = sorted({read_clock(one) for one in re.split(_AND, text)})
    minutes = {time.minute for time in times}
    if len(minutes) > 1:
        raise unreadable(
            f"'{text}' needs more than one schedule, because the minutes differ. Make one job for each time.",
            field="when",
        )
    return f"{minutes.pop()} {','.join(str(time.hour) for time in times)}"


def _weekday(name: str) -> int:
    return WEEKDAY_NUMBERS[name[:3]]


def _spelled(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(str(number) for number in ordered)
