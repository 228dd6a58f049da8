"""When a schedule fires: one function for preview and execution. Strictly monotonic, never early.

Cron and the clock changes: a fixed-time job (neither minute nor hour begins with `*`) whose slots fall into a gap runs
once, at the first instant after it, however many slots the gap swallowed; in a fold it runs on the first pass only.
Any other job matches the clock as it really runs: nothing inside a gap, both passes of a fold.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from homing.model.schedules import zones
from homing.model.schedules.every_nth import EveryNth, rule_of
from homing.model.schedules.expression import Expression
from homing.model.schedules.values import At, Cron, Every, Schedule

SECOND = timedelta(seconds=1)
Rule = Expression | EveryNth
MOMENT = timedelta(microseconds=1)


def whole_ms(instant: datetime) -> datetime:
    """Round up to the millisecond, which is what run ids carry: never early."""
    return instant.astimezone(UTC) + timedelta(microseconds=-instant.microsecond % 1000)


def next_after(schedule: Schedule, instant: datetime) -> datetime | None:
    """Give the first instant strictly after another, or None when there is none."""
    match schedule:
        case Cron():
            return _cron_after(schedule, _aware(instant))
        case Every():
            return _step(schedule, _aware(instant), forward=True)
        case At():
            return schedule.at if schedule.at > _aware(instant) else None


def previous_before(schedule: Schedule, instant: datetime) -> datetime | None:
    """Give the last instant strictly before another, or None when there is none."""
    match schedule:
        case Cron():
            return cron_before(rule_of(schedule), zones.zone(schedule.tz), _aware(instant))
        case Every():
            return _step(schedule, _aware(instant), forward=False)
        case At():
            return schedule.at if schedule.at < _aware(instant) else None


def next_within(
    schedule: Schedule, instant: datetime, *, starts_at: datetime | None = None, ends_at: datetime | None = None
) -> datetime | None:
    """Give the next instant inside its bounds: `starts_at` is itself the first run, `ends_at` may be the last."""
    if isinstance(schedule, At) or starts_at is None or instant >= starts_at:
        found = next_after(schedule, instant)
    else:
        found = starts_at
    if found is None or (ends_at is not None and found > ends_at) or (starts_at is not None and found < starts_at):
        return None
    return found


def next_times(
    schedule: Schedule,
    after: datetime,
    count: int,
    *,
    starts_at: datetime | None = None,
    ends_at: datetime | None = None,
) -> list[datetime]:
    """Give the next instants inside the bounds, at most `count`."""
    times: list[datetime] = []
    last = after
    while len(times) < count:
        found = next_within(schedule, last, starts_at=starts_at, ends_at=ends_at)
        if found is None:
            break
        times.append(found)
        last = found
    return times


def every_nth(schedule: Cron, n: int, *, now: datetime, anchor: datetime | None = None) -> Cron:
    """Let only every n-th day or week of a schedule count, from the anchor's on; else from the first one to come."""
    return schedule if n == 1 else replace(schedule, interval=n, anchor=anchor or next_after(schedule, now) or now)


@lru_cache(maxsize=16384)
def _cron_after(schedule: Cron, instant: datetime) -> datetime | None:
    return cron_after(rule_of(schedule), zones.zone(schedule.tz), instant)


def cron_after(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    """Give the first instant of an expression strictly after another."""
    if instant.year > 9900:
        return None
    return _fixed_after(expression, tz, instant) if expression.fixed else _wild_after(expression, tz, instant)


def cron_before(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    """Give the last instant of an expression strictly before another."""
    if instant.year < 100:
        return None
    return _fixed_before(expression, tz, instant) if expression.fixed else _wild_before(expression, tz, instant)


def reached(instant: datetime, tz: ZoneInfo) -> datetime:
    """Give the wall up to which every fixed slot has had its turn."""
    wall = zones.wall_of(instant, tz)
    # In the second pass of a fold these walls have been shown: go on where the clock shows new ones.
    return _fold_end(instant, tz) - SECOND if wall.fold else wall


def _fixed_after(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    slot = expression.after(reached(instant, tz))
    return zones.instant_of(slot, tz) if slot else None


def _fixed_before(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    wall = zones.wall_of(instant, tz)
    slot = expression.before(_fold_end(instant, tz) if wall.fold else wall)
    if slot is None:
        return None
    found = zones.instant_of(slot, tz)
    if found < instant:
        return found
    # The slot lies in the gap that ends at this very instant, so it is not before it: look before the gap.
    slot = expression.before(_naive(instant) + zones.offset_at(instant - SECOND, tz))
    return zones.instant_of(slot, tz) if slot else None


def _wild_after(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    offset = zones.offset_at(instant, tz)
    slot = expression.after(_naive(instant) + offset)
    while slot is not None:
        found = _instant(slot - offset)
        change = zones.first_change(tz, instant, found, offset)
        if change is None:
            return found
        # The clocks change on the way: begin again with what they show then, that minute included.
        instant, offset = change, zones.offset_at(change, tz)
        slot = expression.after(_naive(change) + offset - SECOND)
    return None


def _wild_before(expression: Rule, tz: ZoneInfo, instant: datetime) -> datetime | None:
    while True:
        offset = zones.offset_at(instant - MOMENT, tz)
        slot = expression.before(_naive(instant) + offset)
        if slot is None:
            return None
        found = _instant(slot - offset)
        change = zones.last_change(tz, found, instant - MOMENT)
        if change is None:
            return found
        instant = change


def _fold_end(instant: datetime, tz: ZoneInfo) -> datetime:
    # The wall at which the clocks were put back: everything earlier has been shown at least once.
    local = instant.astimezone(tz)
    first, second = local.replace(fold=0).utcoffset(), local.utcoffset()
    assert first is not None
    assert second is not None
    whole = instant.replace(microsecond=0)
    return _naive(zones.change_between(tz, whole - (first - second), whole)) + first


def _step(schedule: Every, instant: datetime, *, forward: bool) -> datetime | None:
    step = timedelta(milliseconds=schedule.every_ms)
    if forward and instant < schedule.anchor:
        return schedule.anchor
    if not forward and instant <= schedule.anchor:
        return None
    steps = (instant - schedule.anchor) // step + 1 if forward else -((schedule.anchor - instant) // step) - 1
    try:
        return schedule.anchor + steps * step
    except OverflowError:
        return None


def _aware(instant: datetime) -> datetime:
    if instant.tzinfo is None:
        raise ValueError("a schedule is asked with an aware instant")
    return instant if instant.tzinfo is UTC else instant.astimezone(UTC)


def _naive(instant: datetime) -> datetime:
    return instant.replace(tzinfo=None)


def _instant(naive: datetime) -> datetime:
    return naive.replace(tzinfo=UTC)
