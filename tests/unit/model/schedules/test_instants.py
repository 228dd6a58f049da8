"""Schedule maths: what fires when."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from homing.model.errors import Invalid
from homing.model.schedules import At, Cron, Every, count_between, next_after, next_times, previous_before


def local(text: str, zone: str, fold: int = 0) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).astimezone(UTC)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_weekly_job_in_los_angeles_asked_in_mid_december_fires_on_wednesday_at_17_utc():
    weekly = Cron(cron="0 9 * * WED", tz="America/Los_Angeles")
    assert next_after(weekly, utc("2026-12-13T12:00")) == utc("2026-12-16T17:00")


def test_a_daily_job_asked_exactly_at_its_time_fires_tomorrow():
    daily = Cron(cron="0 8 * * *", tz="Asia/Shanghai")
    now = local("2026-11-15T08:00", "Asia/Shanghai")
    assert next_after(daily, now) == now + timedelta(days=1)


@pytest.mark.parametrize("microsecond", [0, 1, 1000, 500_000, 999_000, 999_999])
def test_anywhere_inside_the_second_of_a_slot_the_next_one_is_the_following_slot(microsecond: int):
    daily = Cron(cron="0 9 * * *", tz="Europe/Berlin")
    slot = local("2026-11-16T09:00", "Europe/Berlin")
    assert next_after(daily, slot + timedelta(microseconds=microsecond)) == slot + timedelta(days=1)


def test_a_job_that_fires_and_finishes_within_one_second_is_next_due_the_following_day():
    daily = Cron(cron="0 9 * * *", tz="UTC")
    fired = next_after(daily, utc("2026-11-15T08:59:59.900"))
    assert fired is not None
    finished = fired + timedelta(milliseconds=300)
    assert next_after(daily, finished) == utc("2026-11-16T09:00")


def test_a_per_second_expression_fires_once_every_second():
    times = next_times(Cron(cron="* * * * * *", tz="UTC"), utc("2026-11-15T23:59:57.250"), 4)
    assert times == [utc("2026-11-15T23:59:58") + timedelta(seconds=n) for n in range(4)]


def test_an_interval_asked_at_its_anchor_fires_one_step_later_and_before_its_anchor_at_the_anchor():
    anchor = utc("2026-11-15T12:00")
    every = Every(every_ms=90_000, anchor=anchor, tz="UTC")
    assert next_after(every, anchor) == anchor + timedelta(seconds=90)
    assert next_after(every, anchor - timedelta(days=3)) == anchor


def test_an_interval_never_drifts_from_its_anchor():
    anchor = utc("2026-11-15T12:00")
    every = Every(every_ms=7 * 60_000, anchor=anchor, tz="America/New_York")
    late = anchor + timedelta(days=200, seconds=13)
    found = next_after(every, late)
    assert found is not None
    assert (found - anchor) % timedelta(minutes=7) == timedelta(0)
    assert timedelta(0) < found - late <= timedelta(minutes=7)


def test_an_interval_is_elapsed_time_when_the_clocks_change():
    every = Every(every_ms=86_400_000, anchor=local("2026-10-24T09:00", "Europe/Berlin"), tz="Europe/Berlin")
    found = next_after(every, every.anchor)
    assert found == local("2026-10-25T08:00", "Europe/Berlin")


def test_the_previous_slot_is_strictly_before_now():
    slot = utc("2026-11-15T09:00")
    daily, every = Cron(cron="0 9 * * *", tz="UTC"), Every(every_ms=3_600_000, anchor=slot, tz="UTC")
    assert previous_before(daily, slot) == slot - timedelta(days=1)
    assert previous_before(daily, slot + timedelta(microseconds=1)) == slot
    assert previous_before(every, slot) is None
    assert previous_before(every, slot + timedelta(hours=2)) == slot + timedelta(hours=1)
    assert previous_before(every, slot + timedelta(hours=2, microseconds=1)) == slot + timedelta(hours=2)
    assert previous_before(At(at=slot, tz="UTC"), slot) is None
    assert previous_before(At(at=slot, tz="UTC"), slot + timedelta(seconds=1)) == slot


def test_an_at_fires_once():
    at = At(at=utc("2026-11-16T09:00"), tz="UTC")
    assert next_times(at, utc("2026-11-15T09:00"), 3) == [at.at]
    assert next_after(at, at.at) is None


@pytest.mark.parametrize(
    "broken",
    [Cron(cron="61 * * * *", tz="UTC"), Cron(cron="nonsense", tz="UTC"), Cron(cron="0 9 * * *", tz="Mars/Olympus")],
)
def test_an_invalid_expression_or_zone_is_an_error_of_that_job_and_others_still_compute(broken: Cron):
    with pytest.raises(Invalid):
        next_after(broken, utc("2026-11-15T09:00"))
    assert next_after(Cron(cron="0 10 * * *", tz="UTC"), utc("2026-11-15T09:00")) == utc("2026-11-15T10:00")


def test_top_of_hour_jobs_fire_at_the_top_of_the_hour():
    times = next_times(Cron(cron="@hourly", tz="Asia/Kathmandu"), utc("2026-11-15T09:00:01"), 48)
    assert {time.astimezone(ZoneInfo("Asia/Kathmandu")).strftime("%M:%S.%f") for time in times} == {"00:00.000000"}


def test_a_fixed_time_job_runs_once_right_after_the_gap_of_new_york():
    night = Cron(cron="30 2 * * *", tz="America/New_York")
    times = next_times(night, local("2027-03-13T03:00", "America/New_York"), 3)
    assert times == [
        local("2027-03-14T03:00", "America/New_York"),
        local("2027-03-15T02:30", "America/New_York"),
        local("2027-03-16T02:30", "America/New_York"),
    ]


def test_several_fixed_slots_in_one_gap_become_one_run():
    night = Cron(cron="0,15,30,45 2 * * *", tz="America/New_York")
    times = next_times(night, local("2027-03-14T01:00", "America/New_York"), 2)
    assert times == [local("2027-03-14T03:00", "America/New_York"), local("2027-03-15T02:00", "America/New_York")]


def test_a_fixed_time_job_runs_once_on_the_first_pass_of_a_fold():
    night = Cron(cron="30 1 * * *", tz="America/New_York")
    times = next_times(night, local("2026-11-01T00:00", "America/New_York"), 2)
    assert times == [local("2026-11-01T01:30", "America/New_York"), local("2026-11-02T01:30", "America/New_York")]
    second_pass = local("2026-11-01T01:10", "America/New_York", fold=1)
    assert next_after(night, second_pass) == times[1]
    assert previous_before(night, second_pass) == times[0]


def test_a_wildcard_job_keeps_its_real_spacing_through_gap_and_fold():
    quarter = Cron(cron="*/15 * * * *", tz="Europe/Berlin")
    for start in ("2026-10-24T22:00", "2027-03-27T22:00"):
        times = next_times(quarter, utc(start), 40)
        assert {later - time for time, later in pairwise(times)} == {timedelta(minutes=15)}


def test_on_the_day_samoa_left_out_a_daily_job_runs_right_after_midnight_and_again_at_its_time():
    daily = Cron(cron="0 9 * * *", tz="Pacific/Apia")
    times = next_times(daily, local("2011-12-29T09:00", "Pacific/Apia"), 2)
    assert times == [local("2011-12-31T00:00", "Pacific/Apia"), local("2011-12-31T09:00", "Pacific/Apia")]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("0 9 * * 0", ["2026-11-22T09:00", "2026-11-29T09:00"]),
        ("0 9 * * 7", ["2026-11-22T09:00", "2026-11-29T09:00"]),
        ("0 9 * * FRI-SUN", ["2026-11-20T09:00", "2026-11-21T09:00"]),
        ("0 18 L * *", ["2026-11-30T18:00", "2026-12-31T18:00"]),
        ("0 18 LW * *", ["2026-11-30T18:00", "2026-12-31T18:00"]),
        ("0 18 LW 1,2 *", ["2027-01-29T18:00", "2027-02-26T18:00"]),
        ("0 9 * * MON#2", ["2026-12-14T09:00", "2027-01-11T09:00"]),
        ("0 9 * * 5L", ["2026-11-27T09:00", "2026-12-25T09:00"]),
        ("0 9 13 * 5", ["2026-11-20T09:00", "2026-11-27T09:00"]),
        ("0 9 */2 * 1", ["2026-11-23T09:00", "2026-12-07T09:00"]),
        ("0 0 29 2 *", ["2028-02-29T00:00", "2032-02-29T00:00"]),
        ("30 0 9 * * mon-fri", ["2026-11-16T09:00:30", "2026-11-17T09:00:30"]),
        ("@weekly", ["2026-11-22T00:00", "2026-11-29T00:00"]),
        ("@yearly", ["2027-01-01T00:00", "2028-01-01T00:00"]),
        ("5 4 1-30,L 2 *", ["2027-02-01T04:05", "2027-02-02T04:05"]),
    ],
)
def test_cron_means_what_vixie_and_his_extensions_say(expression: str, expected: list[str]):
    assert next_times(Cron(cron=expression, tz="UTC"), utc("2026-11-15T20:00"), 2) == [utc(text) for text in expected]


def test_leap_days_around_2100_are_found():
    leap = Cron(cron="0 0 29 2 *", tz="Europe/Berlin")
    assert next_after(leap, utc("2096-03-01T00:00")) == local("2104-02-29T00:00", "Europe/Berlin")
    sunday = Cron(cron="0 * 29 2 */8", tz="Europe/Berlin")
    assert next_after(sunday, utc("2088-03-01T00:00")) == local("2128-02-29T00:00", "Europe/Berlin")


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30,31 2 *", "0 0 31 4,6,9,11 *", "* * 31 2 *"])
def test_a_day_that_no_calendar_has_never_fires_in_either_direction(expression: str):
    never = Cron(cron=expression, tz="America/New_York")
    assert next_after(never, utc("2026-11-15T00:00")) is None
    assert previous_before(never, utc("2026-11-15T00:00")) is None


def test_the_end_of_all_calendars_is_none_and_no_crash():
    far = datetime(9999, 12, 31, tzinfo=UTC)
    assert next_after(Cron(cron="* * * * *", tz="Asia/Tokyo"), far) is None
    assert next_after(Every(every_ms=86_400_000 * 365, anchor=utc("2026-01-01T00:00"), tz="UTC"), far) is None


def test_a_naive_instant_is_a_bug_of_the_caller():
    with pytest.raises(ValueError, match="aware"):
        next_after(Cron(cron="* * * * *", tz="UTC"), datetime(2026, 11, 15))  # noqa: DTZ001


def test_instants_come_back_in_utc_whatever_zone_they_were_asked_in():
    asked = datetime(2026, 11, 15, 9, tzinfo=ZoneInfo("Asia/Tokyo"))
    found = next_after(Cron(cron="0 9 * * *", tz="Asia/Tokyo"), asked)
    assert found is not None
    assert found == asked + timedelta(days=1)
    assert found.tzinfo is UTC


def test_the_start_is_itself_the_first_run_and_the_end_may_be_the_last():
    daily, now = Cron(cron="0 9 * * *", tz="UTC"), utc("2026-11-15T12:00")
    starts_at, ends_at = utc("2026-11-20T15:30"), utc("2026-11-22T09:00")
    times = next_times(daily, now, 10, starts_at=starts_at, ends_at=ends_at)
    assert times == [starts_at, utc("2026-11-21T09:00"), utc("2026-11-22T09:00")]
    assert next_times(daily, starts_at, 1, starts_at=starts_at) == [utc("2026-11-21T09:00")]


def test_an_at_outside_its_bounds_does_not_fire():
    at, now = At(at=utc("2026-11-16T09:00"), tz="UTC"), utc("2026-11-15T12:00")
    assert next_times(at, now, 1, starts_at=at.at, ends_at=at.at) == [at.at]
    assert next_times(at, now, 1, starts_at=at.at + timedelta(seconds=1)) == []
    assert next_times(at, now, 1, ends_at=at.at - timedelta(seconds=1)) == []


def test_instants_between_two_others_are_counted_with_the_last_and_without_the_first():
    noon = utc("2026-11-15T12:00")
    every, at = Every(every_ms=3_600_000, anchor=noon, tz="UTC"), At(at=noon, tz="UTC")
    assert count_between(every, noon, noon + timedelta(hours=3)) == 3
    assert count_between(every, noon - timedelta(hours=3), noon + timedelta(minutes=59)) == 1
    assert count_between(every, noon - timedelta(hours=3), noon - timedelta(hours=1)) == 0
    assert count_between(at, noon - timedelta(hours=1), noon) == 1
    assert count_between(at, noon, noon + timedelta(hours=1)) == 0
    daily = Cron(cron="0 12 * * *", tz="UTC")
    assert count_between(daily, noon, noon + timedelta(days=3)) == 3
    assert count_between(daily, noon + timedelta(days=3), noon) == 0


def test_ten_years_of_seconds_are_counted_and_not_walked():
    start = utc("2016-01-01T00:00")
    seconds = Cron(cron="* * * * * *", tz="America/New_York")
    assert count_between(seconds, start, utc("2026-01-01T00:00")) == (utc("2026-01-01T00:00") - start).total_seconds()
