"""Time zones: names checked, walls turned into instants, changes of offset found.

A wall time in a gap stands for the first instant after the gap; one in a fold for its first pass.
"""

from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import lru_cache
from zoneinfo import ZoneInfo, available_timezones

from homing.model.clock import one_name
from homing.model.errors import Invalid
from homing.model.schedules.suggestions import shortened

# No zone has changed its offset twice within six days since 1970.
SCAN_STEP = timedelta(days=3)
SECOND = timedelta(seconds=1)
NO_TIME = timedelta(0)
AREAS = frozenset("Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific".split())


def check_zone(name: str, *, field: str = "timezone") -> str:
    """Give the IANA spelling of a zone's name, or refuse it with the nearest names."""
    wanted = name.strip().replace(" ", "_").lower()
    if known := _names().get(wanted):
        return known
    near = _near(wanted)
    hint = f"Did you mean {' or '.join(near)}?" if near else "Use an IANA name such as Europe/Berlin or Asia/Shanghai."
    raise Invalid(f"There is no time zone '{shortened(name, 40)}'. {hint}", field=field, code="unknown_timezone")


def is_zone(name: str) -> bool:
    """Say whether a word is the name of a zone, in any case."""
    return name.lower() in _names()


def zone_of_city(name: str) -> str | None:
    """Find the zone that bears a city's name: Berlin, New York. Zones of one city are spellings of one zone."""
    return _cities().get(name.strip().replace(" ", "_").lower())


@lru_cache(maxsize=1024)
def zone(name: str) -> ZoneInfo:
    """Load a zone; an unknown one is refused, never taken for UTC."""
    return ZoneInfo(check_zone(name))


def wall_of(instant: datetime, tz: ZoneInfo) -> datetime:
    """Give the naive wall time of an instant; `fold` is kept."""
    return instant.astimezone(tz).replace(tzinfo=None)


def instant_of(wall: datetime, tz: ZoneInfo) -> datetime:
    """Give the instant (UTC) a naive wall time stands for."""
    local = wall.replace(tzinfo=tz, fold=0)
    before, after = local.utcoffset(), local.replace(fold=1).utcoffset()
    assert before is not None
    assert after is not None
    if before >= after:
        return _utc(wall - before)
    return change_between(tz, _utc(wall - after), _utc(wall - before))


def is_skipped(wall: datetime, tz: ZoneInfo) -> bool:
    """Say whether the clocks jump over a naive wall time."""
    return wall_of(instant_of(wall, tz), tz) != wall


def is_repeated(wall: datetime, tz: ZoneInfo) -> bool:
    """Say whether the clocks show a naive wall time twice."""
    local = wall.replace(tzinfo=tz, fold=0)
    return local.utcoffset() != local.replace(fold=1).utcoffset() and not is_skipped(wall, tz)


def offset_at(instant: datetime, tz: ZoneInfo) -> timedelta:
    """Give the offset from UTC at an instant."""
    return instant.astimezone(tz).utcoffset() or NO_TIME


def change_between(tz: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """Find the first instant, in whole seconds, that no longer has the offset of `low`; `high` has another."""
    old = offset_at(low, tz)
    reach = int((high - low).total_seconds())
    base = 0
    while reach - base > 1:
        middle = (base + reach) // 2
        if offset_at(low + timedelta(seconds=middle), tz) == old:
            base = middle
        else:
            reach = middle
    return low + timedelta(seconds=reach)


def first_change(tz: ZoneInfo, low: datetime, high: datetime, offset: timedelta) -> datetime | None:
    """Find the first change of offset in (low, high]; `offset` is that of `low`."""
    if high - low <= SCAN_STEP:
        same = offset_at(high, tz) == offset
        return None if same else change_between(tz, low.replace(microsecond=0), high)
    years = range(low.year, high.year + 1)
    return next((at for year in years for at in _changes(tz.key, year) if low < at <= high), None)


def last_change(tz: ZoneInfo, low: datetime, high: datetime) -> datetime | None:
    """Find the last change of offset in (low, high]."""
    years = range(high.year, low.year - 1, -1)
    return next((at for year in years for at in reversed(_changes(tz.key, year)) if low < at <= high), None)


@lru_cache(maxsize=8192)
def _changes(name: str, year: int) -> tuple[datetime, ...]:
    tz, found = zone(name), list[datetime]()
    low, end = datetime(year, 1, 1, tzinfo=UTC) - SECOND, datetime(year, 12, 31, 23, 59, 59, tzinfo=UTC)
    while low < end:
        high = min(low + SCAN_STEP, end)
        if offset_at(low, tz) != offset_at(high, tz):
            found.append(change_between(tz, low, high))
        low = high
    return tuple(found)


def _utc(naive: datetime) -> datetime:
    return naive.replace(tzinfo=UTC, fold=0)


@lru_cache(maxsize=1)
def _names() -> dict[str, str]:
    return {name.lower(): one_name(name) for name in available_timezones() if name not in ("Factory", "localtime")}


@lru_cache(maxsize=1)
def _cities() -> dict[str, str]:
    placed = sorted(name for name in _names().values() if name.partition("/")[0] in AREAS)
    return {name.rpartition("/")[2].lower(): name for name in placed}


def _near(wanted: str) -> list[str]:
    names = _names()
    cities = [name for lower, name in names.items() if lower.rpartition("/")[2] == wanted]
    if cities:
        return sorted(cities)[:3]
    return [names[lower] for lower in get_close_matches(wanted[:64], names, n=3, cutoff=0.7)]
