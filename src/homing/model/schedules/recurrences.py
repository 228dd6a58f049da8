"""A rhythm in words: "every weekday at 8", "every 2 weeks on monday at 8", "every hour between 9 and 17", as cron."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import time

from homing.model.errors import Invalid
from homing.model.schedules.durations import CLOCK, EXPLICIT, NUMBERS, read_clock
from homing.model.schedules.suggestions import Unclear, nearest, unclear, unreadable
from homing.model.schedules.times import DATE, WEEKDAY, WEEKDAY_NUMBERS, WEEKDAY_PLURAL, month_and_day

MOST_INTERVAL = 52
NTH = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "fifth": 5, "5th": 5}
_AND = r"(?:, and | and |, ?)"
_TIMES = rf"{CLOCK}(?:{_AND}{CLOCK})*"
_WEEKDAY = rf"(?:{WEEKDAY_PLURAL}|{WEEKDAY})"
_WEEKDAYS = rf"{_WEEKDAY}(?:(?:{_AND}|-| to | through ){_WEEKDAY})*"
_PLURALS = rf"{WEEKDAY_PLURAL}(?:{_AND}{WEEKDAY_PLURAL})*"
_SPAN = rf"{WEEKDAY}(?:-| to | through ){WEEKDAY}"
_DAY_SET = rf"(?:day|weekdays?|weekends?|week day|{_WEEKDAYS})"
_ORDINAL = r"(?:\d{1,2}(?:st|nd|rd|th)|first)"
_DATES = rf"(?:the )?(?:last day|first day|last weekday|{_ORDINAL}(?:{_AND}(?:the )?{_ORDINAL})*)(?! day)|day \d{{1,2}}"
_NTH = rf"(?:the )?(?:{'|'.join(NTH)}|last) {WEEKDAY}"
_MONTH_EDGE = r"(?:at |on |by )?(?:the )?(end|beginning|start) of (?:(?:the|every|each) )?month"

_DAILY = re.compile(rf"(?:every|each) ({_DAY_SET})|(daily)|(?:on )?(weekdays|weekends|{_PLURALS}|{_SPAN})")
_WEEKLY = re.compile(rf"(?:every week|weekly|once a week) on ({_WEEKDAYS}|weekdays|weekends)")
_MONTHLY = re.compile(
    rf"(?:every month|monthly|once a month) on ({_DATES}|{_NTH})|(?:on )?({_DATES}|{_NTH}) of (?:every|each|the) month"
    rf"|every ({_DATES}|{_NTH}) of the month|every ((?:first|1st|last) {WEEKDAY})|{_MONTH_EDGE}"
)
_QUARTERLY = re.compile(
    rf"(?:quarterly|(?:every|each) quarter) on ({_DATES}|{_NTH})|(?:on )?the (first|last) day of (?:every|each) quarter"
)
_YEARLY = re.compile(rf"(?:every year|yearly|annually|once a year) on (?:the )?{DATE}|every (?:{DATE})")
_TWO_MEANINGS = re.compile(rf"every (second|2nd|third|3rd|fourth|4th|fifth|5th) ({WEEKDAY})|(bi-?weekly)(?: .*)?")
_HOURLY = re.compile(r"(?:every hour|hourly) at :([0-5]\d)")
_TIME_LAST = re.compile(rf"(.+?),? at ({_TIMES})|(.+?),? ({EXPLICIT})")
_TIME_FIRST = re.compile(rf"at ({_TIMES}),? (.+)|({EXPLICIT}),? (.+)")
# Only after the names of days: "every month on the 1st 9" could be anything.
_BARE_HOUR = re.compile(r"((?:every|each) (?:day|weekday|weekend)|daily|weekdays|weekends) (\d{1,2})")
_EXCEPT = re.compile(
    rf"(?P<before>.+?),? (?:except|excluding|but not)(?: on| for)? (?P<left_out>{_WEEKDAYS}|weekends?|weekdays?)"
    rf"(?P<after>,? (?:at )?{_TIMES})?"
)
_NUMBER = rf"\d{{1,3}}|{'|'.join(NUMBERS)}"
_EACH_NTH = re.compile(
    rf"every (?:(?P<other>other|second|2nd|third|3rd|fourth|4th|fifth|5th)|(?P<n>{_NUMBER})) "
    r"(?P<unit>days?|weeks?|months?)(?P<rest>.*)|(?P<fortnight>fortnightly|every fortnight)(?P<more>.*)"
    rf"|every other (?P<weekday>{WEEKDAY})(?P<at>.*)"
)
_PER = re.compile(
    rf"(?P<count>once|twice|(?:{_NUMBER}|three) times) (?:a|per|each|every) (?P<unit>hour|day|week|month|year)"
    rf"(?:,? at (?P<times>{_TIMES}))?"
)
_WINDOW = re.compile(rf",? ?\bbetween (?P<begin>{CLOCK}) and (?P<end>{CLOCK})(?![\w:]),? ?")
_STEP = rf"hourly|every (?:(?:{_NUMBER}|half(?: an)?) )?(?:hours?|minutes?|mins?)|every \d{{1,3}} ?[hm]"
_STEPPING = re.compile(rf"(?P<step>{_STEP})(?:,? (?P<back>.+))?|(?P<front>.+?),? (?P<again>{_STEP})")
_ADD_TIME = {
    "every week": "every week on monday at 9",
    "weekly": "weekly on monday at 9",
    "every month": "every month on the 1st at 9",
    "monthly": "monthly on the 1st at 9",
    "every year": "every year on 24 december at 9",
    "yearly": "yearly on 24 december at 9",
    "quarterly": "quarterly on the 1st at 9",
    "every quarter": "every quarter on the 1st at 9",
}


@dataclass(frozen=True, kw_only=True)
class Repeat:
    """A cron expression, of whose days or weeks every n-th counts."""

    cron: str
    interval: int = 1


def read_repeat(text: str) -> Repeat | None:
    """Read a rhythm; None when the text is none. One that says too little, or two things, is refused with a hint."""
    if " except" in text or " excluding " in text or " but not " in text:
        return _all_but(text)
    if " between " in f" {text}":
        return _windowed(text)
    if match := _EACH_NTH.fullmatch(text):
        return _each_nth(match)
    if match := _PER.fullmatch(text):
        return _per(match)
    if text in _ADD_TIME:
        raise unclear(
            f"'{text}' does not say on which day and at what time. Say for example '{_ADD_TIME[text]}'.", near=text
        )
    cron = _plain(text) or _on_days(text)
    return Repeat(cron=cron) if cron else None


def _plain(text: str) -> str | None:
    if match := _HOURLY.fullmatch(text):
        return f"{int(match[1])} * * * *"
    if match := _BARE_HOUR.fullmatch(text):
        return f"{_clock(match[2])} {_days(match[1])}"
    for pattern, days_at, times_at in ((_TIME_LAST, (1, 3), (2, 4)), (_TIME_FIRST, (2, 4), (1, 3))):
        match = pattern.fullmatch(text)
        days = _days(match[days_at[0]] or match[days_at[1]]) if match else None
        if match and days:
            return f"{_clock(match[times_at[0]] or match[times_at[1]])} {days}"
    if _days(text):
        raise unclear(f"'{text}' does not say at what time. Add one: '{text} at 9'.", near=f"{text} at 9")
    return None


def _all_but(text: str) -> Repeat:
    match = _EXCEPT.fullmatch(text)
    if match is None:
        raise _unknown(
            f"'{text}' leaves something out that cannot be read. After 'except' name days of the week.",
            "every day except sunday at 9",
        )
    try:
        repeat = read_repeat(match["before"] + (match["after"] or ""))
    except Unclear as refused:
        if "does not say at what time" in refused.reason:
            raise unclear(f"'{text}' does not say at what time. Add one: '{text} at 9'.", near=text) from None
        raise
    if repeat is None:
        raise _unknown(f"I don't understand '{text}' as a time.", text)
    fields = repeat.cron.split()
    if repeat.interval > 1 or fields[2:4] != ["*", "*"] or "#" in fields[4] or "L" in fields[4]:
        raise unclear(
            f"'{text}': days of the week can be left out of 'every day' or of other days of the week only.",
            near="every day except sunday at 9",
        )
    left = _numbers(fields[4]) - _numbers(_weekly(match["left_out"]).split()[2])
    if not left:
        raise unclear(f"'{text}' leaves out every day.", near="every day except sunday at 9")
    return Repeat(cron=" ".join([*fields[:4], _spelled(left)]))


def _unknown(reason: str, near: str) -> Invalid:
    # Not `unclear`: words are in it that no phrase has, and a shorter part of it may be a time.
    return unreadable(reason, field="when", examples=nearest(near))


def _numbers(field: str) -> set[int]:
    found: set[int] = set()
    for term in ("0-6" if field == "*" else field).split(","):
        first, _, last = term.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def _windowed(text: str) -> Repeat:
    match = _WINDOW.search(text)
    if match is None:
        raise _unknown(f"I don't understand '{text}' as a time.", "every hour between 9 and 17")
    rest = " ".join(f"{text[: match.start()]} {text[match.end() :]}".split())
    stepping = _STEPPING.fullmatch(rest)
    if stepping is None and _days(rest) is None:
        raise _unknown(f"I don't understand '{text}' as a time.", "every hour between 9 and 17")
    if stepping is None:
        raise unclear(
            f"'{text}' does not say how often. Say 'every hour between {match['begin']} and {match['end']}'.",
            near="every hour between 9 and 17",
        )
    days = _days_beside(stepping, text)
    begin, end = read_clock(match["begin"]), read_clock(match["end"])
    _check_window(match, begin, end)
    return Repeat(cron=f"{_slots(_minutes(stepping), begin, end, match, text)} {days}")


def _check_window(match: re.Match[str], begin: time, end: time) -> None:
    if begin < end:
        return
    given = f"'between {match['begin']} and {match['end']}'"
    if end.hour < 12 and end.hour + 12 > begin.hour and "m" not in match["end"]:
        raise unclear(
            f"{given} ends before it begins. For the afternoon say 'between {match['begin']} and {end.hour + 12}' or "
            f"'{end.hour}pm'.",
            near="every hour between 9 and 17",
        )
    raise unclear(
        f"{given} goes over midnight, which one schedule cannot say. Make two: one until 23:59, one from 0:00 on.",
        near="every hour between 9 and 17",
    )


def _on_days(text: str) -> str | None:
    # "every 2 hours on weekdays": the whole day, from midnight on.
    match = _STEPPING.fullmatch(text)
    if match is None or not (match["back"] or match["front"]):
        return None
    days = _days(match["back"] or match["front"])
    if days is None:
        return None
    step = _minutes(match)
    if 1440 % step or (step > 60 and step % 60) or (step < 60 and 60 % step):
        raise unclear(
            f"'{text}' does not fit into a day. Say for example 'every 2 hours on weekdays'.", near="every 2 hours"
        )
    minutes, hours = ("0", f"*/{step // 60}" if step > 60 else "*") if step >= 60 else (f"*/{step}", "*")
    return f"{minutes} {hours} {days}"


def _days_beside(match: re.Match[str], text: str) -> str:
    given = match["back"] or match["front"]
    days = _days(given) if given else "* * *"
    if days is None:
        raise _unknown(
            f"'{given}' in '{text}' cannot be read. Say for example 'every hour between 9 and 17 on weekdays'.",
            "every hour between 9 and 17",
        )
    return days


def _minutes(match: re.Match[str]) -> int:
    step = match["step"] or match["again"]
    if step == "hourly":
        return 60
    if "half" in step:
        return 30
    found = re.search(rf"\b({_NUMBER})\b|(\d+) ?[hm]$", step)
    number = (NUMBERS.get(found[0]) or int(re.sub(r"\D", "", found[0]))) if found else 1
    return max(1, number) * (60 if re.search(r"h(?:ours?)?$", step) else 1)


def _slots(step: int, begin: time, end: time, match: re.Match[str], text: str) -> str:
    first, last = (at.hour * 60 + at.minute for at in (begin, end))
    slots = range(first, last + 1, step)
    hours, minutes = sorted({slot // 60 for slot in slots}), sorted({slot % 60 for slot in slots})
    if len(hours) * len(minutes) == len(slots):
        return f"{','.join(map(str, minutes))} {_spelled(hours)}"
    if step < 60 and 60 % step == 0 and last - first >= 60:
        # The last hour would have to end early: offer the end that fits.
        fits = last - (last - first) % 60 - step
        nearer = f"every {step} minutes between {begin:%H:%M} and {fits // 60:02}:{fits % 60:02}"
    else:
        nearer = f"every hour between {match['begin']} and {match['end']}"
    raise unclear(f"'{text}' has times that one schedule cannot say. Nearest is '{nearer}'.", near=nearer)


def _each_nth(match: re.Match[str]) -> Repeat | None:
    if match["fortnight"]:
        count, unit, rest = 2, "week", match["more"]
    elif match["weekday"]:
        count, unit, rest = 2, "week", f" on {match['weekday']}{match['at']}"
    else:
        other = match["other"]
        count = 2 if other == "other" else NTH[other] if other else NUMBERS.get(match["n"]) or int(match["n"])
        unit, rest = match["unit"].rstrip("s"), match["rest"]
    if unit == "day":
        text = f"every day{rest}"
    else:
        if not rest.startswith(" on "):
            day = "monday" if unit == "week" else "the 1st"
            if rest and not re.fullmatch(rf",? (?:at )?{_TIMES}", rest):
                return None
            if not rest and match["n"] and unit == "week":
                # Elapsed time, as it always was: every 2 weeks from now on.
                return None
            raise unclear(
                f"'{match[0]}' does not say on which day. Say 'every {count} {unit}s on {day} at 9'.", near=match[0]
            )
        text = f"every {unit}{rest}"
    if not rest and match["n"]:
        return None
    try:
        cron = _plain(text)
    except Unclear as refused:
        if "does not say at what time" in refused.reason:
            raise unclear(
                f"'{match[0]}' does not say at what time. Add one: '{match[0]} at 9'.", near=match[0]
            ) from None
        raise
    if cron is None:
        return None
    return _checked(Repeat(cron=cron, interval=count), match[0], unit)


def _checked(repeat: Repeat, text: str, unit: str) -> Repeat:
    if not 1 <= repeat.interval <= MOST_INTERVAL:
        raise unclear(f"'{text}': every n-th goes from 1 to {MOST_INTERVAL}.", near=text)
    date = repeat.cron.split()[2]
    if unit == "month" and (re.search(r"\b(?:29|30|31)\b|,|-", date) or "#5" in repeat.cron):
        raise unclear(
            f"'{text}' names a day that not every month has, or several. Say '… on the last day at 9', or make one for "
            "each day.",
            near=text,
        )
    return replace(repeat, interval=repeat.interval)


def _per(match: re.Match[str]) -> Repeat:
    count, unit, times = match["count"], match["unit"], match["times"]
    word = count.split()[0]
    number = {"once": 1, "twice": 2}.get(word) or NUMBERS.get(word) or int(word)
    given = len(re.split(_AND, times)) if times else 0
    if unit == "day" and given == number:
        return Repeat(cron=f"{_clock(times)} * * *")
    example = {
        "hour": "every 30 minutes",
        "day": {1: "every day at 9", 2: "every day at 9 and 17"}.get(number, "every day at 9, 13 and 17"),
        "week": {1: "every monday at 9"}.get(number, "every monday and thursday at 9"),
        "month": {1: "every month on the 1st at 9"}.get(number, "every month on the 1st and 15th at 9"),
        "year": "every year on 24 december at 9",
    }[unit]
    times_said = f" and names {given} times" if given else ""
    raise unclear(f"'{match[0]}' does not say at which times{times_said}. Say for example '{example}'.", near=example)


def _days(text: str) -> str | None:
    # The last three fields of the expression: day of month, month, weekday.
    if match := _DAILY.fullmatch(text):
        return _weekly(match[1] or match[2] or match[3])
    if match := _WEEKLY.fullmatch(text):
        return _weekly(match[1])
    if match := _MONTHLY.fullmatch(text):
        return _monthly(next(given for given in match.groups() if given))
    if match := _QUARTERLY.fullmatch(text):
        day = {"first": "1 1,4,7,10 *", "last": "L 3,6,9,12 *"}
        return day[match[2]] if match[2] else _monthly(match[1]).replace(" * ", " 1,4,7,10 ", 1)
    if match := _TWO_MEANINGS.fullmatch(text):
        raise _two_meanings(match)
    if match := _YEARLY.fullmatch(text):
        return _yearly(text)
    return None


def _two_meanings(match: re.Match[str]) -> Unclear:
    if match[3]:
        return unclear(
            f"'{match[3]}' means twice a week to some and every two weeks to others. Say 'every 2 weeks on monday "
            "at 9' or 'every monday and thursday at 9'.",
            near="every 2 weeks on monday at 9",
        )
    count = NTH[match[1]]
    return unclear(
        f"'{match[0]}' could mean two things. For one {match[2]} a month say 'every {match[1]} {match[2]} of the month "
        f"at 9'; else say 'every {count} weeks on {match[2]} at 9'.",
        near=match[0],
    )


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
    given = text.removeprefix("the ")
    if given in ("last day", "last weekday", "end"):
        return f"{'LW' if given == 'last weekday' else 'L'} * *"
    if given in ("first day", "beginning", "start"):
        return "1 * *"
    if match := re.fullmatch(rf"(\w+) ({WEEKDAY})", given):
        weekday = _weekday(match[2])
        return f"* * {weekday}L" if match[1] == "last" else f"* * {weekday}#{NTH[match[1]]}"
    days = {int(number) for number in re.findall(r"\d+", given.replace("first", "1"))}
    if not days <= set(range(1, 32)):
        raise unclear(f"'{text}' is not a day of any month: they go from the 1st to the 31st.", near=text)
    return f"{_spelled(days)} * *"


def _yearly(text: str) -> str:
    match = re.search(rf"{DATE}$", text)
    assert match, text
    month, day = month_and_day(match)
    if not 1 <= day <= (29 if month == 2 else 30 if month in (4, 6, 9, 11) else 31):
        raise unclear(f"'{match[0]}' is not a date of the calendar.", near=text)
    return f"{day} {month} *"


def _clock(text: str) -> str:
    given = re.split(_AND, text)
    read = [read_clock(one) for one in given]
    for before, after, bare in zip(read, read[1:], given[1:], strict=False):
        # "at 9 and 5": nobody who means five in the morning says it last.
        if after < before and after.hour < 12 and re.fullmatch(r"\d{1,2}|[a-z]+", bare):
            later = text.replace(bare, str(after.hour + 12))
            raise unclear(
                f"'{text}' goes back in the day. For the afternoon say '{later}', for the morning '{bare}am'.",
                near=later,
            )
    times = sorted(set(read))
    minutes = {time.minute for time in times}
    if len(minutes) > 1:
        raise unclear(
            f"'{text}' needs more than one schedule, because the minutes differ. Make one job for each time.",
            near="every day at 9 and 17",
        )
    return f"{minutes.pop()} {','.join(str(time.hour) for time in times)}"


def _weekday(name: str) -> int:
    return WEEKDAY_NUMBERS[name[:3]]


def _spelled(numbers: Iterable[int]) -> str:
    ordered = sorted(numbers)
    if len(ordered) > 2 and ordered[-1] - ordered[0] == len(ordered) - 1:
        return f"{ordered[0]}-{ordered[-1]}"
    return ",".join(str(number) for number in ordered)
