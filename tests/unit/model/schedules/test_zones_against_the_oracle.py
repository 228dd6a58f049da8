"""Every chain of instants near a clock change is the one a plain, tick-by-tick cron daemon would give."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homing.model.schedules import Cron, count_between, next_after, previous_before
from unit.model.schedules import oracle

ZONES = (
    "America/New_York",
    "Europe/Berlin",
    "Australia/Lord_Howe",
    "America/Havana",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Antarctica/Troll",
    "Africa/Casablanca",
    "Pacific/Chatham",
)
CHAINS_PER_ZONE = 220
DAYS_BEFORE, DAYS_AFTER = 2, 2


def forward(schedule: Cron, low: datetime, high: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = next_after(schedule, low)
    while at is not None and at < high:
        found.append(at)
        at = next_after(schedule, at)
    return found


def backward(schedule: Cron, low: datetime, high: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = previous_before(schedule, high)
    while at is not None and at > low:
        found.append(at)
        at = previous_before(schedule, at)
    return found[::-1]


def compare(expression: str, zone: str, face: oracle.Clock, low: datetime) -> int:
    high = face.start + len(face.walls) * face.tick
    expected = [at for at in oracle.runs(expression, face) if low < at < high]
    schedule = Cron(cron=expression, tz=zone)
    assert forward(schedule, low, high) == expected
    assert backward(schedule, low, high) == expected
    assert count_between(schedule, low, high - face.tick) == len(expected)
    return len(expected)


def numbers(low: int, high: int, likely: list[int]) -> st.SearchStrategy[str]:
    number = st.one_of(st.sampled_from(likely), st.integers(low, high))
    span = st.tuples(number, number).map(sorted).map(lambda pair: f"{pair[0]}-{pair[1]}")
    step = st.integers(1, 12).map(lambda n: f"/{n}") | st.just("")
    return st.one_of(
        st.just("*"),
        st.sampled_from([2, 3, 5, 7, 10, 15, 20, 30, 45]).map(lambda n: f"*/{n}"),
        number.map(str),
        number.map(str),
        st.tuples(span, step).map("".join),
        st.lists(number, min_size=2, max_size=4).map(lambda found: ",".join(map(str, found))),
    )


MINUTES = numbers(0, 59, [0, 1, 15, 29, 30, 45, 59])
HOURS = numbers(0, 23, [0, 1, 2, 3, 4, 22, 23])
DATES = st.sampled_from(["*"] * 8 + ["*/2", "1", "L", "LW", "29,30,31", "1-7", "15,L"])
MONTHS = st.sampled_from(["*"] * 8 + ["3,10,11", "*/2", "JAN-APR", "9-12"])
WEEKDAYS = st.sampled_from(["*"] * 8 + ["0", "7", "SUN", "1-5", "5-7", "5L", "0L", "MON#2", "7#1", "*/2", "SAT,MON#1"])
EXPRESSIONS = st.tuples(MINUTES, HOURS, DATES, MONTHS, WEEKDAYS).map(" ".join)


@pytest.mark.slow
@pytest.mark.parametrize("zone", ZONES)
def test_no_chain_near_a_clock_change_differs_from_the_oracle(zone: str):
    changes = oracle.changes(zone)
    compared = 0

    @settings(max_examples=CHAINS_PER_ZONE, deadline=None, database=None)
    @given(EXPRESSIONS, st.sampled_from(changes), st.integers(-1500, 1500))
    def chains_agree(expression: str, change: datetime, minutes: int) -> None:
        nonlocal compared
        face = oracle.clock(zone, change - timedelta(days=DAYS_BEFORE), (DAYS_BEFORE + DAYS_AFTER) * 1440)
        compare(expression, zone, face, change + timedelta(minutes=minutes))
        compared += 1

    chains_agree()
    assert compared >= CHAINS_PER_ZONE


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["Europe/Berlin", "Australia/Lord_Howe", "America/Havana"])
def test_no_chain_of_seconds_near_a_clock_change_differs_from_the_oracle(zone: str):
    seconds = numbers(0, 59, [0, 30, 59])

    @settings(max_examples=25, deadline=None, database=None)
    @given(st.tuples(seconds, EXPRESSIONS).map(" ".join), st.sampled_from(oracle.changes(zone, 2020, 2030)))
    def chains_agree(expression: str, change: datetime) -> None:
        face = oracle.clock(zone, change - timedelta(hours=2), 4 * 3600, 1)
        compare(expression, zone, face, change - timedelta(minutes=4))

    chains_agree()


@pytest.mark.parametrize(
    ("zone", "day", "expression"),
    [
        ("America/New_York", "2027-03-14", "30 2 * * *"),
        ("America/New_York", "2027-03-14", "*/20 2 * * *"),
        ("America/New_York", "2027-03-14", "0,30 2-3 * * *"),
        ("America/New_York", "2026-11-01", "30 1 * * *"),
        ("America/New_York", "2026-11-01", "*/20 1 * * *"),
        ("Europe/Berlin", "2026-10-25", "0 * * * *"),
        ("Australia/Lord_Howe", "2026-10-04", "15 2 * * *"),
        ("Australia/Lord_Howe", "2027-04-04", "45 1 * * *"),
        ("Australia/Lord_Howe", "2027-04-04", "*/15 * * * *"),
        ("America/Havana", "2027-03-14", "0 0 * * *"),
        ("America/Havana", "2026-11-01", "30 0 * * *"),
        ("America/Sao_Paulo", "2018-11-04", "0 0 * * *"),
        ("America/Sao_Paulo", "2018-02-18", "59 23 * * *"),
        ("Pacific/Apia", "2011-12-30", "0 9 * * *"),
        ("Pacific/Apia", "2011-12-30", "0 9 30 * *"),
        ("Pacific/Apia", "2011-12-30", "0 */6 * * *"),
        ("Asia/Kathmandu", "1986-01-01", "5 0 * * *"),
        ("Antarctica/Troll", "2027-03-28", "30 1,2 * * *"),
        ("Antarctica/Troll", "2026-10-25", "0,30 1-3 * * *"),
        ("Africa/Casablanca", "2027-03-14", "30 2 * * *"),
        ("Pacific/Chatham", "2026-09-27", "0 3 * * *"),
        ("Pacific/Chatham", "2027-04-04", "0 3 * * *"),
    ],
)
def test_a_named_change_of_clocks_agrees_with_the_oracle(zone: str, day: str, expression: str):
    start = datetime.fromisoformat(day).replace(tzinfo=UTC) - timedelta(days=3)
    face = oracle.clock(zone, start, 6 * 1440)
    assert compare(expression, zone, face, start) > 0


@pytest.mark.parametrize("expression", ["16-16/1 2 * * *", "*/5 3-3/2 * * *"])
def test_a_range_of_one_value_with_a_step_stays_one_value(expression: str):
    start = datetime(2026, 11, 1, tzinfo=UTC)
    assert compare(expression, "Europe/Berlin", oracle.clock("Europe/Berlin", start, 2880), start) > 0


@settings(max_examples=300, deadline=None, database=None)
@given(st.tuples(DATES, MONTHS, WEEKDAYS).map(" ".join), st.integers(2000, 2090))
def test_the_days_of_a_year_are_those_of_the_oracle(days: str, year: int):
    first, last = datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)
    matches = oracle.matcher(["0", "0", "12", *days.split()])
    noons = (datetime(year, 1, 1, 12) + timedelta(days=n) for n in range((last - first).days))  # noqa: DTZ001
    expected = [noon.replace(tzinfo=UTC) for noon in noons if matches(noon)]
    schedule = Cron(cron=f"0 12 {days}", tz="UTC")
    assert forward(schedule, first, last) == expected
    assert backward(schedule, first, last) == expected
