"""A cron schedule with an interval: of its days, or of its weeks if it names weekdays, every n-th counts (rule 7)."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homing.model.schedules import Cron, count_between, next_after, next_times, previous_before, words
from unit.model.schedules import oracle

BERLIN = "Europe/Berlin"


def every_nth(cron: str, n: int, anchor: str, tz: str = BERLIN) -> Cron:
    return Cron(cron=cron, tz=tz, interval=n, anchor=datetime.fromisoformat(anchor).replace(tzinfo=ZoneInfo(tz)))


def local(schedule: Cron, after: str, count: int) -> list[str]:
    tz = ZoneInfo(schedule.tz)
    start = datetime.fromisoformat(after).replace(tzinfo=tz)
    return [f"{at.astimezone(tz):%a %d %b %H:%M}" for at in next_times(schedule, start, count)]


def test_every_other_day_counts_days_of_the_calendar_over_the_end_of_a_month():
    schedule = every_nth("0 9 * * *", 2, "2026-11-29T09:00")
    assert local(schedule, "2026-11-29T08:00", 3) == ["Sun 29 Nov 09:00", "Tue 01 Dec 09:00", "Thu 03 Dec 09:00"]


def test_every_other_day_keeps_its_hour_when_the_clocks_change():
    schedule = every_nth("0 9 * * *", 2, "2026-10-24T09:00")
    assert local(schedule, "2026-10-24T08:00", 2) == ["Sat 24 Oct 09:00", "Mon 26 Oct 09:00"]


def test_every_two_weeks_counts_weeks_and_fires_on_each_of_their_days():
    schedule = every_nth("0 8 * * 1,5", 2, "2026-11-20T08:00")
    assert local(schedule, "2026-11-18T00:00", 4) == [
        "Fri 20 Nov 08:00", "Mon 30 Nov 08:00", "Fri 04 Dec 08:00", "Mon 14 Dec 08:00",
    ]  # fmt: skip


def test_two_weeks_over_the_end_of_a_year_of_53_weeks_are_fourteen_days():
    schedule = every_nth("0 8 * * 1", 2, "2026-12-21T08:00")
    assert local(schedule, "2026-12-21T00:00", 3) == ["Mon 21 Dec 08:00", "Mon 04 Jan 08:00", "Mon 18 Jan 08:00"]


def test_of_a_monthly_date_every_third_is_every_third_month():
    schedule = every_nth("0 9 1 * *", 3, "2026-12-01T09:00")
    assert local(schedule, "2026-11-16T00:00", 3) == ["Tue 01 Dec 09:00", "Mon 01 Mar 09:00", "Tue 01 Jun 09:00"]


def test_of_a_first_monday_every_second_is_every_second_month():
    schedule = every_nth("0 9 * * 1#1", 2, "2026-12-07T09:00")
    assert local(schedule, "2026-11-16T00:00", 2) == ["Mon 07 Dec 09:00", "Mon 01 Feb 09:00"]


def test_nothing_fires_before_the_day_of_its_anchor():
    schedule = every_nth("0 9 * * *", 2, "2026-11-20T09:00")
    assert local(schedule, "2026-11-01T00:00", 1) == ["Fri 20 Nov 09:00"]
    assert previous_before(schedule, datetime(2026, 11, 20, 8, tzinfo=UTC)) is None


def test_several_times_a_day_all_count_on_a_day_that_does():
    schedule = every_nth("0 9,17 * * *", 3, "2026-11-16T00:00")
    assert local(schedule, "2026-11-16T10:00", 3) == ["Mon 16 Nov 17:00", "Thu 19 Nov 09:00", "Thu 19 Nov 17:00"]


@pytest.mark.parametrize(
    ("cron", "n", "expected"),
    [
        ("0 9 * * *", 2, "Every other day at 09:00 Europe/Berlin"),
        ("0 9 * * *", 3, "Every 3 days at 09:00 Europe/Berlin"),
        ("0 9,17 * * *", 2, "Every other day at 09:00 and 17:00 Europe/Berlin"),
        ("0 * * * *", 2, "Every other day, every hour on the hour (Europe/Berlin)"),
        ("0 8 * * 1", 2, "Every 2 weeks on Monday at 08:00 Europe/Berlin"),
        ("0 8 * * 1,5", 3, "Every 3 weeks on Monday and Friday at 08:00 Europe/Berlin"),
        ("0 8 * * 1-5", 2, "Every 2 weeks on weekdays at 08:00 Europe/Berlin"),
        ("0 8 * * 0,6", 2, "Every 2 weeks on weekends at 08:00 Europe/Berlin"),
        ("0 8 1 * *", 3, "Every 3 months on the 1st at 08:00 Europe/Berlin"),
        ("0 8 L * *", 2, "Every 2 months on the last day at 08:00 Europe/Berlin"),
        ("0 8 * * 1#1", 2, "Every 2 months on the first Monday at 08:00 Europe/Berlin"),
        ("0 8 1,15 * *", 2, "Every 2nd day only: on the 1st and 15th of every month at 08:00 Europe/Berlin"),
        ("0 8 31 * *", 2, "Every 2nd day only: on the 31st of every month at 08:00 Europe/Berlin"),
        ("0 8 * 6 1", 2, "Every 2nd week only: Mondays in June at 08:00 Europe/Berlin"),
        ("0 8 * 6 *", 2, "Every 2nd day only: every day in June at 08:00 Europe/Berlin"),
    ],
)
def test_an_interval_is_said_in_words(cron: str, n: int, expected: str):
    assert words(every_nth(cron, n, "2026-12-01T00:00")) == expected


DAYS = st.sampled_from(["* *", "1 *", "1,15 *", "31 *", "L *", "*/3 *", "* 2,6", "29 2"])
WEEKDAYS = st.sampled_from(["*", "*", "1", "1-5", "0,6", "MON#1", "5L", "*/2"])
TIMES = st.sampled_from(["0 9", "30 2", "15,45 1-3", "*/30 *", "0 */6"])
ZONES = st.sampled_from(["UTC", "Europe/Berlin", "America/Havana", "Australia/Lord_Howe", "Pacific/Apia"])


def test_days_of_some_months_are_counted_across_the_months_between():
    """28 days of February, then June: every third of them is 1 February and 3 June, not 1 June."""
    nth = Cron(cron="0 9 * 2,6 *", tz="UTC", interval=3, anchor=datetime(2026, 1, 1, tzinfo=UTC))
    assert forward(nth, datetime(2026, 2, 27, tzinfo=UTC), datetime(2026, 6, 5, tzinfo=UTC)) == [
        datetime(2026, 2, 28, 9, tzinfo=UTC),
        datetime(2026, 6, 3, 9, tzinfo=UTC),
    ]


@settings(max_examples=250, deadline=None, database=None)
@given(TIMES, DAYS, WEEKDAYS, st.integers(2, 8), ZONES, st.integers(0, 900), st.data())
def test_every_nth_day_or_week_is_that_of_a_naive_count(
    times: str, days: str, weekday: str, n: int, zone: str, offset: int, data: st.DataObject
):
    cron = f"{times} {days} {weekday}"
    anchor = datetime(2026, 1, 1, 12, tzinfo=ZoneInfo(zone)) + timedelta(days=offset)
    nth = Cron(cron=cron, tz=zone, interval=n, anchor=anchor.astimezone(UTC))
    counted = naive_days(cron, n, anchor.date())
    begin = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(days=data.draw(st.integers(0, 1500)))
    end = begin + timedelta(days=data.draw(st.integers(1, 40)))
    expected = [at for at in plain(cron, zone, begin, end) if at.astimezone(ZoneInfo(zone)).date() in counted]
    assert forward(nth, begin, end) == expected
    assert backward(nth, begin, end) == expected
    assert count_between(nth, begin, end) == len(expected)


def naive_days(cron: str, n: int, anchor: date) -> set[date]:
    """Walk the calendar from the anchor and keep every n-th matching day, or the days of every n-th matching week."""
    fields = ["0", "0", "0", *cron.split()[2:]]
    matches = oracle.matcher(fields)
    weekly = cron.split()[4] != "*"
    kept: set[date] = set()
    groups: list[object] = []
    for k in range(366 * 7):
        day = anchor + timedelta(days=k)
        if not matches(datetime(day.year, day.month, day.day)):  # noqa: DTZ001
            continue
        group: object = day.isocalendar()[:2] if weekly else day
        if not groups or groups[-1] != group:
            groups.append(group)
        if (len(groups) - 1) % n == 0:
            kept.add(day)
    return kept


def plain(cron: str, zone: str, begin: datetime, end: datetime) -> list[datetime]:
    return forward(Cron(cron=cron, tz=zone), begin, end)


def forward(schedule: Cron, low: datetime, high: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = next_after(schedule, low)
    while at is not None and at <= high:
        found.append(at)
        at = next_after(schedule, at)
    return found


def backward(schedule: Cron, low: datetime, high: datetime) -> list[datetime]:
    found: list[datetime] = []
    at = previous_before(schedule, high + timedelta(microseconds=1))
    while at is not None and at > low:
        found.append(at)
        at = previous_before(schedule, at)
    return found[::-1]
