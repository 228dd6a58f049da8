"""What may not be is refused at creation; what may surprise is said."""

from datetime import UTC, datetime, timedelta

import pytest

from homing.model.errors import Invalid
from homing.model.schedules import At, Cron, Every, Schedule, check, read_schedule, warnings

NOW = datetime(2026, 11, 15, 19, 40, tzinfo=UTC)


def cron(expression: str, tz: str = "Europe/Berlin") -> Cron:
    return Cron(cron=expression, tz=tz)


def every(seconds: float) -> Every:
    return Every(every_ms=int(seconds * 1000), anchor=NOW, tz="Europe/Berlin")


def refusal(
    schedule: Schedule, *, least: float = 1, starts_at: datetime | None = None, ends_at: datetime | None = None
) -> Invalid:
    with pytest.raises(Invalid) as caught:
        check(schedule, now=NOW, min_interval_seconds=least, starts_at=starts_at, ends_at=ends_at)
    return caught.value


@pytest.mark.parametrize(
    "schedule", [cron("* * * * * *"), cron("0 0 29 2 *"), every(1), At(at=NOW + timedelta(seconds=1), tz="UTC")]
)
def test_an_ordinary_schedule_passes(schedule: Schedule):
    check(schedule, now=NOW, min_interval_seconds=1)


@pytest.mark.parametrize("ago", [timedelta(0), timedelta(seconds=1), timedelta(days=400)])
def test_a_passed_instant_is_refused_and_the_time_now_is_told(ago: timedelta):
    refused = refusal(At(at=NOW - ago, tz="Asia/Tokyo"))
    assert refused.field_code == "schedule_in_past"
    assert "it is now Mon 16 Nov 2026 at 04:40 Asia/Tokyo" in refused.detail


@pytest.mark.parametrize("expression", ["0 0 31 2 *", "0 0 30 2 *", "0 0 31 4,6,9,11 *"])
def test_a_cron_that_never_fires_is_refused(expression: str):
    refused = refusal(cron(expression))
    assert [(error.code, error.field) for error in refused.errors] == [("schedule_never_fires", "schedule.cron")]


def test_a_schedule_without_a_run_inside_its_bounds_is_refused():
    assert refusal(cron("0 9 1 1 *"), ends_at=NOW + timedelta(days=3)).field_code == "schedule_never_fires"
    assert "over" in refusal(cron("0 9 * * *"), ends_at=NOW - timedelta(days=3)).detail
    backwards = refusal(every(60), starts_at=NOW + timedelta(days=5), ends_at=NOW + timedelta(days=3))
    assert "ends before it starts" in backwards.detail
    late = At(at=NOW + timedelta(days=9), tz="UTC")
    assert refusal(late, ends_at=NOW + timedelta(days=3)).field_code == "schedule_never_fires"


@pytest.mark.parametrize(
    ("schedule", "least"),
    [
        (every(0.5), 1),
        (every(59), 60),
        (cron("* * * * * *"), 2),
        (cron("*/5 * * * * *"), 10),
        (cron("* * * * *"), 300),
        (cron("0,59 * * * *"), 300),
        (cron("0 9,10 * * *"), 7200),
        (cron("0 0,23 * * *"), 7200),
        (cron("0 0 * * *"), 100_000),
        (cron("0 0,23 1,L * *"), 7200),
    ],
)
def test_a_rhythm_quicker_than_allowed_is_refused(schedule: Schedule, least: float):
    assert refusal(schedule, least=least).field_code == "schedule_too_often"


@pytest.mark.parametrize(
    ("schedule", "least"),
    [
        (every(60), 60),
        (cron("* * * * *"), 60),
        (cron("*/5 * * * *"), 300),
        (cron("0 9,12 * * *"), 7200),
        (cron("0 0,23 * * 1"), 7200),
        (cron("0 0,23 1,15 * *"), 7200),
    ],
)
def test_a_rhythm_as_slow_as_asked_passes(schedule: Schedule, least: float):
    check(schedule, now=NOW, min_interval_seconds=least)


def test_an_unknown_zone_is_refused():
    assert refusal(cron("0 9 * * *", "Mars/Olympus")).field_code == "unknown_timezone"


def test_exactly_as_many_days_as_the_lookahead_are_not_more():
    now = datetime(2026, 11, 16, 8, 0, 0, 123_456, tzinfo=UTC)
    schedule = read_schedule("in 14 days", now=now, zone="UTC").schedule
    assert warnings(schedule, now, 14) == []


def test_a_first_run_beyond_the_lookahead_is_a_warning_with_its_date():
    assert warnings(cron("0 9 24 12 *"), NOW, 14) == [
        "The first run is more than 14 days away: Thu 24 Dec 2026 at 09:00 Europe/Berlin."
    ]
    assert warnings(cron("0 9 * * *"), NOW, 14) == []


def test_a_time_the_clocks_will_jump_over_is_a_warning_with_the_date_and_the_run():
    (told,) = warnings(cron("30 2 * * *", "America/New_York"), NOW, 14)
    assert "On 2027-03-14 the clocks in America/New_York jump over 02:30" in told
    assert "Sun 14 Mar 2027 at 03:00 America/New_York" in told
    assert warnings(cron("30 2 * * *", "Asia/Shanghai"), NOW, 14) == []
    assert warnings(cron("30 2 * * 1", "America/New_York"), NOW, 14) == []


@pytest.mark.parametrize(
    ("expression", "says"),
    [("*/45 * * * *", "every 45 minutes"), ("*/90 * * * *", "90 minutes"), ("0 */5 * * *", "5 hours")],
)
def test_a_step_that_begins_anew_is_a_warning_with_the_steady_phrase(expression: str, says: str):
    assert says in warnings(cron(expression), NOW, 14)[0]


def test_days_that_some_months_lack_are_a_warning():
    assert "31st" in warnings(cron("0 9 31 * *"), NOW, 60)[0]
    assert warnings(cron("0 9 L * *"), NOW, 60) == []
