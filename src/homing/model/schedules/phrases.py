"""The strict grammar of `when`: English phrases, ISO 8601 and cron. Each phrase means one thing; others are refused.

A duration is elapsed time ("in 1 day" is 24 hours); "next monday" is the first Monday after today; "until" a day
includes that day, and an instant that is exactly the end may still fire.
"""

import re
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from difflib import get_close_matches

from homing.model.errors import Invalid
from homing.model.hours import USUAL_HOURS, NamedHours
from homing.model.schedules import zones
from homing.model.schedules.dayparts import on_the_clock
from homing.model.schedules.describe import MONTHS, WEEKDAYS, moment
from homing.model.schedules.durations import MS, NUMBERS, checked_length, read_length
from homing.model.schedules.expression import normalised
from homing.model.schedules.instants import every_nth, next_after, previous_before, whole_ms
from homing.model.schedules.recurrences import read_repeat
from homing.model.schedules.suggestions import EXAMPLES, Unclear, nearest, renamed, shortened, unclear, unreadable
from homing.model.schedules.times import Point, read_point
from homing.model.schedules.values import At, Cron, Every, Schedule

LONGEST = 200
SECOND = timedelta(seconds=1)
_CRON_FIELD = re.compile(r"[\d*][\d*,/-]*")
_ZONE = re.compile(r"(?P<rest>.*?)(?:,? in)? \(?(?P<zone>[A-Za-z][\w+-]*(?:/[\w+-]+)*)\)?(?: time)?")
_NO_ZONE = re.compile(r".* (?:in )?([A-Za-z_]{3,}(?:/[A-Za-z_+-]{3,})+)")
_ABBREVIATION = re.compile(r"(.*) (?!AM|PM)([A-Z]{2,5})")
_CITY = re.compile(r"(?P<rest>.+?)(?:,? in)? (?P<city>[a-z][a-z_.'-]*(?: [a-z][a-z_.'-]*){0,2}) time", re.IGNORECASE)
# Letters that mean several zones, or one without its summer time; what most people who write them mean.
_AMBIGUOUS = {
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "HST": "Pacific/Honolulu",
    "BST": "Europe/London",
    "IST": "Asia/Kolkata",
    "CEST": "Europe/Berlin",
    "JST": "Asia/Tokyo",
    "AEST": "Australia/Sydney",
    "AEDT": "Australia/Sydney",
    "EASTERN": "America/New_York",
    "CENTRAL": "America/Chicago",
    "MOUNTAIN": "America/Denver",
    "PACIFIC": "America/Los_Angeles",
}
_CLAUSE = re.compile(r",? \b(until|till|starting|beginning|from(?! now))\b(?: from| on)? ")
# What people type for lack of time; each can mean one thing only.
_SHORTHAND = {
    **dict.fromkeys(("tmrw", "tmrow", "tmr", "2moro", "2morrow"), "tomorrow"),
    **dict.fromkeys(("tonite", "2nite"), "tonight"),
    "nxt": "next",
}
_SHORT = re.compile(rf"(?<!\S)(?:{'|'.join(_SHORTHAND)})(?![\w'/])|(?<!\S)@ ?(?=\d)", re.IGNORECASE)
_UNITS = {"every second": "s", "every minute": "m", "every hour": "h", "hourly": "h"}
_FULL_HOURS = re.compile(rf"every hour|hourly|every (?:\d{{1,4}}|{'|'.join(NUMBERS)}) hours?")
_RELATIVE = re.compile(r"\b(before|after|unless)\b")
_VOCABULARY = sorted(
    {word for example in EXAMPLES for word in example.lower().split() if word.isalpha()}
    | {name.lower() for name in (*WEEKDAYS, *MONTHS, *NUMBERS)}
    | set(
        "second seconds minute hours day days week weeks weekdays weekend month months year daily hourly weekly monthly"
        " yearly evening afternoon night noon midnight today tonight until starting other last from".split()
    )
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was read: a schedule, its bounds, and what the person should know about it."""

    schedule: Schedule
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    warnings: list[str] = field(default_factory=list[str])


def read_when(text: str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS) -> Reading:
    """Read a phrase in a zone. What it means is fixed here; whether it may be is asked of `check`."""
    reading = recognise(text, now=now, zone=zone, hours=hours)
    if reading is None:
        raise _refused(" ".join(text.split()).rstrip(".!"), now=now, zone=zone)
    return reading


def recognise(text: str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS) -> Reading | None:
    """Read a phrase; None when it is none, without looking for what may have been meant."""
    given = _SHORT.sub(
        lambda short: _SHORTHAND.get(short[0].lower(), "at "), " ".join(text.split()).strip().rstrip(".!")
    )
    if not given:
        raise Invalid("Say when, for example 'in 10 minutes' or 'every weekday at 8'.", field="when", code="missing")
    if len(given) > LONGEST:
        raise unreadable(f"A time of {len(given)} characters is too long.", field="when")
    if not given.isascii():
        raise unreadable(f"'{shortened(given)}' is not in plain English letters and digits.", field="when")
    rest, tz = _split_zone(given, zones.check_zone(zone))
    if _looks_like_cron(rest):
        return Reading(schedule=Cron(cron=_cron(re.sub(r"(?i)^cron:? ", "", rest)), tz=tz))
    return _read(on_the_clock(rest.lower(), hours), now=now, tz=tz)


def _cron(text: str) -> str:
    try:
        return normalised(text)
    except Invalid as refused:
        raise renamed(refused, "when") from None


def _split_zone(given: str, default: str) -> tuple[str, str]:
    if given.lower().endswith((" local time", " my time")):
        return given.rsplit(" ", 2)[0], default
    if city := _CITY.fullmatch(given):
        return _in_city(city)
    match = _ZONE.fullmatch(given)
    if match is None:
        return _inner_zone(given, default)
    name = match["zone"]
    if name.upper() in _AMBIGUOUS:
        raise _ambiguous(name)
    if zones.is_zone(name) or ("/" in name and name.partition("/")[0].capitalize() in {*zones.AREAS, "Etc"}):
        return match["rest"], zones.check_zone(name, field="when")
    return _inner_zone(given, default)


def _in_city(match: re.Match[str]) -> tuple[str, str]:
    # "at 9 new york time": the longest name at the end that is a city's; words before it belong to the rest.
    words = match["city"].split()
    for start in range(len(words)):
        name = " ".join(words[start:])
        if name.upper() in _AMBIGUOUS:
            raise _ambiguous(name)
        if tz := zones.zone_of_city(name):
            return " ".join([match["rest"], *words[:start]]).removesuffix(" in"), tz
    return match["rest"], zones.check_zone(words[-1], field="when")


def _ambiguous(name: str) -> Invalid:
    return Invalid(
        f"'{name}' is not the name of a time zone here, because such names have several meanings. "
        f"Use an IANA name such as {_AMBIGUOUS[name.upper()]}.",
        field="when",
        code="unknown_timezone",
    )


def _inner_zone(given: str, default: str) -> tuple[str, str]:
    # The zone may also stand before a clause: every day at 9 Europe/Berlin until 2026-12-31.
    clause = _CLAUSE.search(given)
    if clause is None or not (_ZONE.fullmatch(given[: clause.start()]) or _CITY.fullmatch(given[: clause.start()])):
        return given, default
    rest, tz = _split_zone(given[: clause.start()], default)
    return rest + given[clause.start() :], tz


def _looks_like_cron(given: str) -> bool:
    if given.startswith("@") or given.lower().startswith(("cron ", "cron: ")):
        return True
    words = given.split()
    numeric = len(words) > 3 and all(_CRON_FIELD.fullmatch(word) for word in words[:2])
    return numeric and (len(words) in (5, 6) or "*" in words)


def _read(given: str, *, now: datetime, tz: str) -> Reading | None:
    main, *clauses = _CLAUSE.split(given)
    if not clauses:
        point = read_point(given, now=now, tz=tz)
        if point is not None:
            return _once(point, given, tz)
    reading = _repeating(main, now=now, tz=tz)
    if reading is None:
        return None
    for name, text in zip(clauses[::2], clauses[1::2], strict=True):
        point = read_point(text, now=now, tz=tz)
        if point is None:
            reason = f"'{shortened(text)}' after '{name}' is not a date or time."
            raise unreadable(reason, field="when", examples=nearest(given))
        reading = _ending(reading, point, tz) if name in ("until", "till") else _starting(reading, point, text, now)
    return reading


def _once(point: Point, given: str, tz: str) -> Reading:
    if point.instant is None:
        raise unclear(f"'{shortened(given)}' does not say at what time. Add one: '{given} at 9'.", near=f"{given} at 9")
    return Reading(schedule=At(at=point.instant, tz=tz), warnings=[point.warning] if point.warning else [])


def _repeating(given: str, *, now: datetime, tz: str) -> Reading | None:
    ms = MS[_UNITS[given]] if given in _UNITS else None
    if given.startswith("every ") and ms is None:
        ms = read_length(given.removeprefix("every "))
    if ms is not None:
        every_ms = checked_length(ms, field="when", shown=f"'{given}'")
        return _full_hours(every_ms, now=now, tz=tz) if _FULL_HOURS.fullmatch(given) else _elapsed(every_ms, now, tz)
    repeat = read_repeat(given)
    return Reading(schedule=every_nth(Cron(cron=repeat.cron, tz=tz), repeat.interval, now=now)) if repeat else None


def _elapsed(every_ms: int, now: datetime, tz: str) -> Reading:
    return Reading(schedule=Every(every_ms=every_ms, anchor=whole_ms(now), tz=tz))


def _full_hours(every_ms: int, *, now: datetime, tz: str) -> Reading:
    # People who write "hours" mean the clock's hours; "2h" counts from this moment.
    wall = zones.wall_of(now, zones.zone(tz))
    since = wall - wall.replace(minute=0, second=0, microsecond=0)
    if not since:
        return _elapsed(every_ms, now, tz)
    hours = every_ms // MS["h"]
    note = f"It runs on the full hour. To count from this minute on, say 'every {hours}h'."
    return Reading(schedule=Every(every_ms=every_ms, anchor=now.astimezone(UTC) - since, tz=tz), warnings=[note])


def _starting(reading: Reading, point: Point, text: str, now: datetime) -> Reading:
    schedule = reading.schedule
    starts_at, warnings = point.instant, [*reading.warnings]
    if starts_at is None and isinstance(schedule, Cron) and point.day:
        # A day alone: its first slot, not its midnight, because the start is itself a run.
        midnight = zones.instant_of(datetime.combine(point.day, time()), zones.zone(schedule.tz))
        starts_at = next_after(replace(schedule, interval=1, anchor=None), max(midnight - SECOND, now))
    if starts_at is None:
        raise unclear(f"'starting {text}' does not say at what time. Add one: 'starting {text} at 9'.", near=text)
    if starts_at <= now:
        raise Invalid(
            f"'starting {text}' is in the past: it is now {moment(now, schedule.tz)}.",
            field="when",
            code="schedule_in_past",
        )
    plain = replace(schedule, interval=1, anchor=None) if isinstance(schedule, Cron) else schedule
    if isinstance(schedule, Cron) and previous_before(plain, starts_at + SECOND) != starts_at:
        warnings.append(f"The first run is on {moment(starts_at, schedule.tz)}, which is not one of its usual times.")
    if isinstance(schedule, Every):
        schedule, warnings = Every(every_ms=schedule.every_ms, anchor=starts_at, tz=schedule.tz), []
    elif isinstance(schedule, Cron):
        schedule = every_nth(schedule, schedule.interval, now=now, anchor=starts_at)
    return Reading(schedule=schedule, starts_at=starts_at, ends_at=reading.ends_at, warnings=warnings)


def _ending(reading: Reading, point: Point, tz: str) -> Reading:
    ends_at = point.instant or _last_second(point, tz)
    return Reading(schedule=reading.schedule, starts_at=reading.starts_at, ends_at=ends_at, warnings=reading.warnings)


def _last_second(point: Point, tz: str) -> datetime:
    assert point.day
    after = datetime.combine(point.day + timedelta(days=1), time())
    return zones.instant_of(after, zones.zone(tz)).astimezone(UTC) - SECOND


def _refused(given: str, *, now: datetime, zone: str) -> Invalid:
    if match := _NO_ZONE.fullmatch(given):
        zones.check_zone(match[1], field="when")
    if (match := _ABBREVIATION.fullmatch(given)) and _reads(match[1], now=now, zone=zone):
        return Invalid(
            f"'{match[2]}' is not the name of a time zone here, because such letters have several meanings. "
            "Use an IANA name such as Europe/Berlin or America/New_York.",
            field="when",
            code="unknown_timezone",
        )
    if match := _RELATIVE.search(given.lower()):
        return unclear(
            f"'{shortened(given)}': a time with '{match[1]}' cannot be computed here. Give the time itself, such as "
            "'tomorrow at 15:30'.",
            near=given,
        )
    reason = f"I don't understand '{shortened(given)}' as a time."
    corrected = _corrected(given)
    if corrected and _reads(corrected, now=now, zone=zone):
        return unclear(f"{reason} Did you mean '{shortened(corrected)}'?", near=corrected)
    return unreadable(reason, field="when", examples=nearest(corrected or given))


def _corrected(given: str) -> str | None:
    """Put the nearest known words in place of unknown ones; None when there is nothing to put."""
    words = given.split()[:20]
    near = [_near_word(word) for word in words]
    return " ".join(near) if near != words else None


def _near_word(word: str) -> str:
    plain = word.lower()
    if not plain.isalpha() or len(plain) < 4 or plain in _VOCABULARY:
        return word
    return next(iter(get_close_matches(plain, _VOCABULARY, n=1, cutoff=0.75)), word)


def _reads(text: str, *, now: datetime, zone: str) -> bool:
    try:
        return recognise(text, now=now, zone=zone) is not None
    except Unclear:
        return True
    except Invalid:
        return False
