"""The strict grammar of `when`: English phrases, ISO 8601 and cron. Each phrase means one thing; others are refused.

A duration is elapsed time ("in 1 day" is 24 hours); "next monday" is the first Monday after today; "until" a day
includes that day, and an instant that is exactly the end may still fire.
"""

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta

from homing.model.errors import Invalid
from homing.model.schedules import zones
from homing.model.schedules.expression import normalised
from homing.model.schedules.instants import next_after, previous_before
from homing.model.schedules.lengths import MS, checked_length, read_length
from homing.model.schedules.points import Point, read_point, whole_ms
from homing.model.schedules.refusals import renamed, shortened, unreadable
from homing.model.schedules.repeats import read_repeat
from homing.model.schedules.values import At, Cron, Every, Schedule
from homing.model.schedules.words import moment

LONGEST = 200
SECOND = timedelta(seconds=1)
_CRON_FIELD = re.compile(r"[\d*][\d*,/-]*")
_ZONE = re.compile(r"(?P<rest>.*?)(?:,? in)? \(?(?P<zone>[A-Za-z][\w+-]*(?:/[\w+-]+)*)\)?(?: time)?")
_AREAS = (
    "africa",
    "america",
    "antarctica",
    "arctic",
    "asia",
    "atlantic",
    "australia",
    "etc",
    "europe",
    "indian",
    "pacific",
)
_NO_ZONE = re.compile(r".* (?:in )?([A-Za-z_]{3,}(?:/[A-Za-z_+-]{3,})+)")
_ABBREVIATION = re.compile(r".* (?!AM|PM)([A-Z]{2,5})")
_CLAUSE = re.compile(r",? \b(until|till|starting|beginning|from(?! now))\b(?: from| on)? ")
_UNITS = {"every second": "s", "every minute": "m", "every hour": "h", "hourly": "h"}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What was read: a schedule, its bounds, and what the person should know about it."""

    schedule: Schedule
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    warnings: list[str] = field(default_factory=list[str])


def read_when(text: str, *, now: datetime, zone: str) -> Reading:
    """Read a phrase in a zone. What it means is fixed here; whether it may be is asked of `check`."""
    said = " ".join(text.split()).strip().rstrip(".!")
    if not said:
        raise Invalid("Say when, for example 'in 10 minutes' or 'every weekday at 8'.", field="when", code="missing")
    if len(said) > LONGEST:
        raise unreadable(f"A time of {len(said)} characters is too long.", field="when")
    if not said.isascii():
        raise unreadable(f"'{shortened(said)}' is not in plain English letters and digits.", field="when")
    rest, tz = _split_zone(said, zones.check_zone(zone))
    if _looks_like_cron(rest):
        return Reading(schedule=Cron(cron=_cron(re.sub(r"(?i)^cron:? ", "", rest)), tz=tz))
    reading = _read(rest.lower(), now=now, tz=tz)
    if reading is None:
        raise _refused(said)
    return reading


def _cron(text: str) -> str:
    try:
        return normalised(text)
    except Invalid as refused:
        raise renamed(refused, "when") from None


def _split_zone(said: str, default: str) -> tuple[str, str]:
    match = _ZONE.fullmatch(said)
    if match is None:
        return _inner_zone(said, default)
    name = match["zone"]
    if zones.is_zone(name) or ("/" in name and name.lower().partition("/")[0] in _AREAS):
        return match["rest"], zones.check_zone(name, field="when")
    return _inner_zone(said, default)


def _inner_zone(said: str, default: str) -> tuple[str, str]:
    # The zone may also stand before a clause: every day at 9 Europe/Berlin until 2026-12-31.
    clause = _CLAUSE.search(said)
    if clause is None or not _ZONE.fullmatch(said[: clause.start()]):
        return said, default
    rest, tz = _split_zone(said[: clause.start()], default)
    return rest + said[clause.start() :], tz


def _looks_like_cron(said: str) -> bool:
    if said.startswith("@") or said.lower().startswith(("cron ", "cron: ")):
        return True
    words = said.split()
    numeric = len(words) > 3 and all(_CRON_FIELD.fullmatch(word) for word in words[:2])
    return numeric and (len(words) in (5, 6) or "*" in words)


def _read(said: str, *, now: datetime, tz: str) -> Reading | None:
    main, *clauses = _CLAUSE.split(said)
    if not clauses:
        point = read_point(said, now=now, tz=tz)
        if point is not None:
            return _once(point, said, tz)
    schedule = _repeating(main, now=now, tz=tz)
    if schedule is None:
        return None
    reading = Reading(schedule=schedule)
    for name, text in zip(clauses[::2], clauses[1::2], strict=True):
        point = read_point(text, now=now, tz=tz)
        if point is None:
            raise unreadable(f"'{shortened(text)}' after '{name}' is not a date or time.", field="when")
        reading = _ending(reading, point, tz) if name in ("until", "till") else _starting(reading, point, text, now)
    return reading


def _once(point: Point, said: str, tz: str) -> Reading:
    if point.instant is None:
        raise unreadable(f"'{shortened(said)}' does not say at what time. Add one: '{said} at 9'.", field="when")
    return Reading(schedule=At(at=point.instant, tz=tz), warnings=[point.warning] if point.warning else [])


def _repeating(said: str, *, now: datetime, tz: str) -> Schedule | None:
    ms = MS[_UNITS[said]] if said in _UNITS else None
    if said.startswith("every ") and ms is None:
        ms = read_length(said.removeprefix("every "))
    if ms is not None:
        return Every(every_ms=checked_length(ms, field="when", shown=f"'{said}'"), anchor=whole_ms(now), tz=tz)
    cron = read_repeat(said)
    return Cron(cron=cron, tz=tz) if cron else None


def _starting(reading: Reading, point: Point, text: str, now: datetime) -> Reading:
    schedule = reading.schedule
    starts_at, warnings = point.instant, [*reading.warnings]
    if starts_at is None and isinstance(schedule, Cron) and point.day:
        # A day alone: its first slot, not its midnight, because the start is itself a run.
        midnight = zones.instant_of(datetime.combine(point.day, time()), zones.zone(schedule.tz))
        starts_at = next_after(schedule, max(midnight - SECOND, now))
    if starts_at is None:
        raise unreadable(f"'starting {text}' does not say at what time. Add one: 'starting {text} at 9'.", field="when")
    if starts_at <= now:
        raise Invalid(
            f"'starting {text}' is in the past: it is now {moment(now, schedule.tz)}.",
            field="when",
            code="schedule_in_past",
        )
    if isinstance(schedule, Cron) and previous_before(schedule, starts_at + SECOND) != starts_at:
        warnings.append(f"The first run is on {moment(starts_at, schedule.tz)}, which is not one of its usual times.")
    if isinstance(schedule, Every):
        schedule = Every(every_ms=schedule.every_ms, anchor=starts_at, tz=schedule.tz)
    return Reading(schedule=schedule, starts_at=starts_at, ends_at=reading.ends_at, warnings=warnings)


def _ending(reading: Reading, point: Point, tz: str) -> Reading:
    ends_at = point.instant or _last_second(point, tz)
    return Reading(schedule=reading.schedule, starts_at=reading.starts_at, ends_at=ends_at, warnings=reading.warnings)


def _last_second(point: Point, tz: str) -> datetime:
    assert point.day
    after = datetime.combine(point.day + timedelta(days=1), time())
    return zones.instant_of(after, zones.zone(tz)).astimezone(UTC) - SECOND


def _refused(said: str) -> Invalid:
    if match := _NO_ZONE.fullmatch(said):
        zones.check_zone(match[1], field="when")
    if match := _ABBREVIATION.fullmatch(said):
        return Invalid(
            f"'{match[1]}' is not the name of a time zone here, because such letters have several meanings. "
            "Use an IANA name such as Europe/Berlin or America/New_York.",
            field="when",
            code="unknown_timezone",
        )
    if said.lower() in ("every day", "daily", "every week", "weekly", "every month", "monthly", "every year"):
        return unreadable(f"'{said}' does not say on which day and at what time.", field="when")
    return unreadable(f"'{shortened(said)}' is not a time that can be read here.", field="when")
