"""A schedule as an object, in every spelling people and programs use; phrases go to the grammar.

Known: at/atMs, every/everyMs/every_seconds with anchor/anchorMs, cron/expr/cron_expr with interval and anchor,
tz/timezone, when/text.
"""

import math
import re
from collections.abc import Mapping
from datetime import datetime

from homing.model.bounds import nearest
from homing.model.errors import Invalid
from homing.model.hours import USUAL_HOURS, NamedHours
from homing.model.schedules import zones
from homing.model.schedules.durations import checked_length, read_length
from homing.model.schedules.expression import normalised
from homing.model.schedules.instants import every_nth, whole_ms
from homing.model.schedules.phrases import Reading, read_when
from homing.model.schedules.suggestions import renamed, unreadable
from homing.model.schedules.times import from_epoch_ms
from homing.model.schedules.values import At, Cron, Every

# Keys are compared without case, dashes and underscores: everyMs, every_ms and every-ms are one.
KINDS = {
    "at": "at",
    "atms": "at",
    "every": "every",
    "everyms": "every",
    "everyseconds": "every",
    "cron": "cron",
    "expr": "cron",
    "cronexpr": "cron",
    "when": "when",
    "text": "when",
}
OTHERS = {
    "anchor": "anchor",
    "anchorms": "anchor",
    "interval": "interval",
    "tz": "tz",
    "timezone": "tz",
    "kind": "kind",
}
SHOWN = (
    "at, at_ms, every, every_ms, every_seconds, anchor, anchor_ms, cron, expr, cron_expr, interval, when, tz, kind"
).split(", ")
MOST_INTERVAL = 52
_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?")


def read_schedule(
    raw: Mapping[str, object] | str, *, now: datetime, zone: str, hours: NamedHours = USUAL_HOURS
) -> Reading:
    """Read a schedule object or a phrase; `zone` counts where none is named."""
    if isinstance(raw, str):
        return read_when(raw, now=now, zone=zone, hours=hours)
    given = _given(raw)
    tz = zones.check_zone(_text(given["tz"], "schedule.tz"), field="schedule.tz") if "tz" in given else zone
    kind, key, value = _the_one(given)
    if "interval" in given and kind != "cron":
        raise Invalid(
            f"An interval belongs to 'cron', not to '{kind}'.", field="schedule.interval", code="unknown_field"
        )
    if "anchor" in given and kind != "every" and "interval" not in given:
        raise Invalid(
            f"An anchor belongs to 'every', or to 'cron' with an interval, not to '{kind}'.",
            field="schedule.anchor",
            code="unknown_field",
        )
    match kind:
        case "at":
            return _at(key, value, now=now, zone=tz, hours=hours)
        case "every":
            return _every(key, value, given.get("anchor"), now=now, zone=tz)
        case "cron":
            return Reading(schedule=_cron(value, given.get("interval"), given.get("anchor"), now=now, zone=tz))
        case _:
            return read_when(_text(value, "schedule.when"), now=now, zone=tz, hours=hours)


def _given(raw: Mapping[str, object]) -> dict[str, object]:
    given: dict[str, object] = {}
    for key, value in raw.items():
        plain = re.sub(r"[_-]", "", key).lower()
        if plain not in KINDS and plain not in OTHERS:
            near = nearest(key, list(SHOWN))
            hint = f"Did you mean '{near}'?" if near else f"Known are: {', '.join(SHOWN)}."
            raise Invalid(f"A schedule has no field '{key}'. {hint}", field=f"schedule.{key}", code="unknown_field")
        if value is None or value == "":
            continue
        name = OTHERS.get(plain, plain)
        if name in given and given[name] != value:
            raise Invalid(
                f"'{key}' is given twice with different values.", field=f"schedule.{key}", code="schedule_twice"
            )
        given[name] = value
    return given


def _the_one(given: Mapping[str, object]) -> tuple[str, str, object]:
    kind = _kind(given)
    found = [(KINDS[key], key, value) for key, value in given.items() if key in KINDS]
    # Some fill in every field that they see; then the kind says which one counts.
    found = [one for one in found if one[0] == kind] or found
    if len(found) > 1:
        named = " and ".join(f"'{_shown(key)}'" for _, key, _ in found)
        raise Invalid(
            f"{named} are {len(found)} schedules; give one of them, or say with 'kind' which one counts.",
            field="schedule",
            code="schedule_twice",
        )
    if not found:
        wanted = {"at": "at", "every": "every_ms", "cron": "cron"}.get(kind or "", "at, every_ms or cron")
        raise Invalid(
            f"The schedule has no {wanted}.", field=f"schedule.{wanted}" if kind else "schedule", code="missing"
        )
    if kind not in (None, found[0][0]):
        raise Invalid(
            f"The kind is '{kind}', but '{_shown(found[0][1])}' is given; make them agree.",
            field="schedule.kind",
            code="schedule_twice",
        )
    return found[0]


def _shown(plain: str) -> str:
    return next((name for name in SHOWN if name.replace("_", "") == plain), plain)


def _kind(given: Mapping[str, object]) -> str | None:
    if "kind" not in given:
        return None
    kind = _text(given["kind"], "schedule.kind").lower()
    if kind not in ("at", "every", "cron"):
        raise Invalid(
            f"'{kind}' is not a kind of schedule: use at, every or cron.", field="schedule.kind", code="out_of_range"
        )
    return kind


def _at(key: str, value: object, *, now: datetime, zone: str, hours: NamedHours) -> Reading:
    number = _number(value)
    if number is not None:
        return Reading(schedule=At(at=from_epoch_ms(number, field="schedule.at"), tz=zones.check_zone(zone)))
    if key == "atms":
        raise _wrong(value, "schedule.at_ms", "milliseconds since 1970, such as 1795000000000")
    reading = _phrase(value, "schedule.at", now=now, zone=zone, hours=hours)
    if not isinstance(reading.schedule, At):
        raise Invalid(f"'{value}' repeats, but 'at' is one time; use 'when'.", field="schedule.at", code="wrong_type")
    return reading


def _every(key: str, value: object, anchor: object, *, now: datetime, zone: str) -> Reading:
    number = _number(value)
    field = {"every": "schedule.every", "everyms": "schedule.every_ms"}.get(key, "schedule.every_seconds")
    if number is not None:
        ms: float | None = number * 1000 if key == "everyseconds" else number
    elif key == "every":
        ms = read_length(" ".join(_text(value, field).lower().split()).removeprefix("every "))
    else:
        raise _wrong(value, field, "a number")
    if ms is None:
        raise unreadable(f"'{value}' is not a duration.", field=field, examples=("30m", "2 hours", "1d"))
    every_ms = checked_length(ms, field=field, shown=f"'{value}'")
    tz = zones.check_zone(zone)
    return Reading(schedule=Every(every_ms=every_ms, anchor=_anchor(anchor, now=now, zone=tz), tz=tz))


def _cron(value: object, interval: object, anchor: object, *, now: datetime, zone: str) -> Cron:
    schedule = Cron(cron=normalised(_text(value, "schedule.cron")), tz=zones.check_zone(zone))
    number = 1 if interval is None else _number(interval)
    if number is None or number != int(number) or not 1 <= number <= MOST_INTERVAL:
        raise Invalid(
            f"schedule.interval is {interval!r:.60}, but must be a whole number from 1 to {MOST_INTERVAL}: 2 means"
            " every other day, or every other week if the expression names weekdays.",
            field="schedule.interval",
            code="out_of_range",
        )
    starts = None if anchor is None else _anchor(anchor, now=now, zone=schedule.tz)
    return every_nth(schedule, int(number), now=now, anchor=starts)


def _anchor(value: object, *, now: datetime, zone: str) -> datetime:
    if value is None:
        return whole_ms(now)
    number = _number(value)
    if number is not None:
        return from_epoch_ms(number, field="schedule.anchor")
    read = _phrase(value, "schedule.anchor", now=now, zone=zone, hours=USUAL_HOURS).schedule
    if not isinstance(read, At):
        raise _wrong(value, "schedule.anchor", "one time, such as 2026-11-20T18:00")
    return read.at


def _phrase(value: object, field: str, *, now: datetime, zone: str, hours: NamedHours) -> Reading:
    try:
        return read_when(_text(value, field), now=now, zone=zone, hours=hours)
    except Invalid as refused:
        raise renamed(refused, field) from None


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) and len(value) < 40 else None
    if isinstance(value, int | float) and math.isfinite(value):
        return value
    return None


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise _wrong(value, field, "text")
    return value


def _wrong(value: object, field: str, wanted: str) -> Invalid:
    return Invalid(f"{field} is {value!r:.60}, but must be {wanted}.", field=field, code="wrong_type")
