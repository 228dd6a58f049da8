"""The grammar of `when`: each phrase means one thing, and what it does not know is refused with help."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from homing.model.errors import Invalid
from homing.model.schedules import At, Cron, Every, next_after, next_times, read_when, words

BERLIN = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 11, 15, 20, 40, 12, tzinfo=BERLIN).astimezone(UTC)  # a Sunday


def read(text: str, now: datetime = NOW):
    return read_when(text, now=now, zone="Europe/Berlin")


def refusal(text: str, now: datetime = NOW) -> Invalid:
    with pytest.raises(Invalid) as caught:
        read(text, now)
    return caught.value


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("in 10 minutes", 600),
        ("in 2h", 7200),
        ("10m", 600),
        ("90s", 90),
        ("2 hours", 7200),
        ("1d", 86_400),
        ("in 1 week", 604_800),
        ("1h30m", 5400),
        ("in 1 hour and 30 minutes", 5400),
        ("in 1.5 hours", 5400),
        ("in an hour", 3600),
        ("in half an hour", 1800),
        ("PT10M", 600),
        ("in P1DT12H", 129_600),
        ("in two hours", 7200),
        ("15 minutes from now", 900),
        ("IN  10   MINUTES.", 600),
    ],
)
def test_a_duration_alone_is_one_run_after_that_time(text: str, seconds: int):
    assert read(text).schedule == At(at=NOW + timedelta(seconds=seconds), tz="Europe/Berlin")


def test_a_relative_time_is_never_early_by_a_part_of_a_millisecond():
    now = NOW + timedelta(microseconds=345_678)
    schedule = read("10s", now).schedule
    assert isinstance(schedule, At)
    assert now + timedelta(seconds=10) <= schedule.at < now + timedelta(seconds=10, milliseconds=1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tomorrow 9:30", "2026-11-16T09:30"),
        ("tomorrow at 9", "2026-11-16T09:00"),
        ("tomorrow 9", "2026-11-16T09:00"),
        ("tomorrow at nine", "2026-11-16T09:00"),
        ("tomorrow at noon", "2026-11-16T12:00"),
        ("tomorrow at midnight", "2026-11-16T00:00"),
        ("tomorrow at 12am", "2026-11-16T00:00"),
        ("tomorrow at 12 pm", "2026-11-16T12:00"),
        ("at 9 tomorrow", "2026-11-16T09:00"),
        ("the day after tomorrow at 9", "2026-11-17T09:00"),
        ("today at 22:00", "2026-11-15T22:00"),
        ("tonight at 9", "2026-11-15T21:00"),
        ("tonight at 11pm", "2026-11-15T23:00"),
        ("at 9:30", "2026-11-16T09:30"),
        ("at 21", "2026-11-15T21:00"),
        ("9:30", "2026-11-16T09:30"),
        ("9pm", "2026-11-15T21:00"),
        ("on friday at 9", "2026-11-20T09:00"),
        ("friday 18:00", "2026-11-20T18:00"),
        ("this fri at 6:15 p.m.", "2026-11-20T18:15"),
        ("9am on friday", "2026-11-20T09:00"),
        ("on sunday at 21:00", "2026-11-15T21:00"),
        ("on sunday at 20:00", "2026-11-22T20:00"),
        ("next monday at 9", "2026-11-16T09:00"),
        ("next sunday at 21:00", "2026-11-22T21:00"),
        ("tues at 9", "2026-11-17T09:00"),
        ("on 20 november at 9", "2026-11-20T09:00"),
        ("on the 20th of november at 9", "2026-11-20T09:00"),
        ("14 november at 9", "2027-11-14T09:00"),
        ("on 29 february at 9", "2028-02-29T09:00"),
        ("Nov 20 2026 18:00", "2026-11-20T18:00"),
        ("November 20th, 2026 at 6pm", "2026-11-20T18:00"),
        ("20 nov 2026 at 9", "2026-11-20T09:00"),
        ("2026-11-20 at 9", "2026-11-20T09:00"),
        ("2026-11-20T18:00", "2026-11-20T18:00"),
        ("2026-11-20 18:00", "2026-11-20T18:00"),
        ("2026-11-20t18:00:30", "2026-11-20T18:00:30"),
    ],
)
def test_a_point_in_time_is_read_on_the_local_clock(text: str, expected: str):
    assert read(text).schedule == At(at=datetime.fromisoformat(expected).replace(tzinfo=BERLIN), tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-20T18:00Z", "2026-11-20T18:00+00:00"),
        ("2026-11-20T18:00:00.123456789Z", "2026-11-20T18:00:00.123456+00:00"),
        ("2026-11-20 18:00+09:00", "2026-11-20T09:00+00:00"),
        ("2026-11-20T18:00-0500", "2026-11-20T23:00+00:00"),
        ("2026-11-20 18:00 UTC", "2026-11-20T18:00+00:00"),
        ("1795000000000", "2026-11-18T11:06:40+00:00"),
    ],
)
def test_an_offset_or_an_epoch_time_is_honoured(text: str, expected: str):
    schedule = read(text).schedule
    assert isinstance(schedule, At)
    assert schedule.at == datetime.fromisoformat(expected)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("every 90 minutes", 5400),
        ("every 2h", 7200),
        ("every 10m", 600),
        ("every 1h30m", 5400),
        ("every 1h", 3600),
        ("every minute", 60),
        ("every second", 1),
        ("every 1d", 86_400),
        ("every 2 weeks", 1_209_600),
        ("every half an hour", 1800),
        ("every PT30M", 1800),
    ],
)
def test_every_with_a_duration_is_elapsed_time_from_now_and_not_now(text: str, seconds: int):
    schedule = read(text).schedule
    assert schedule == Every(every_ms=seconds * 1000, anchor=NOW, tz="Europe/Berlin")
    assert next_after(schedule, NOW) == NOW + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("every day at 9", "0 9 * * *"),
        ("every day 9:30", "30 9 * * *"),
        ("each day at 9", "0 9 * * *"),
        ("daily at 9am", "0 9 * * *"),
        ("at 9 every day", "0 9 * * *"),
        ("every day at 9 and 17", "0 9,17 * * *"),
        ("every day at 8:15, 12:15 and 6:15pm", "15 8,12,18 * * *"),
        ("every day at noon", "0 12 * * *"),
        ("every weekday at 8", "0 8 * * 1-5"),
        ("weekdays at 6pm", "0 18 * * 1-5"),
        ("9am on weekdays", "0 9 * * 1-5"),
        ("every weekend at 10", "0 10 * * 0,6"),
        ("every monday at 9:30", "30 9 * * 1"),
        ("mondays at 9", "0 9 * * 1"),
        ("mondays and fridays at 9", "0 9 * * 1,5"),
        ("every mon, wed and fri at 7:15", "15 7 * * 1,3,5"),
        ("every mon-fri at 9", "0 9 * * 1-5"),
        ("monday to friday at 9", "0 9 * * 1-5"),
        ("every fri to sun at 20:00", "0 20 * * 0,5,6"),
        ("every sunday at 20:00", "0 20 * * 0"),
        ("weekly on monday at 9", "0 9 * * 1"),
        ("hourly at :15", "15 * * * *"),
        ("every month on the 1st at 9", "0 9 1 * *"),
        ("monthly on day 15 at 9", "0 9 15 * *"),
        ("monthly on the 1st and 15th at 9", "0 9 1,15 * *"),
        ("on the 1st of every month at 9", "0 9 1 * *"),
        ("monthly on the last day at 18:00", "0 18 L * *"),
        ("monthly on the last weekday at 18:00", "0 18 LW * *"),
        ("every first monday at 9", "0 9 * * 1#1"),
        ("every last friday at 17:00", "0 17 * * 5L"),
        ("every 2nd tuesday of the month at 9", "0 9 * * 2#2"),
        ("the first monday of every month at 9", "0 9 * * 1#1"),
        ("every year on 24 december at 18:00", "0 18 24 12 *"),
        ("yearly on feb 29 at 12", "0 12 29 2 *"),
        ("every december 24 at 18:00", "0 18 24 12 *"),
        ("0 9 * * 1-5", "0 9 * * 1-5"),
        ("  0  9 * *   MON-FRI ", "0 9 * * MON-FRI"),
        ("*/10 * * * * *", "*/10 * * * * *"),
        ("cron 0 9 * * 1-5", "0 9 * * 1-5"),
        ("cron: @daily", "@daily"),
        ("@hourly", "@hourly"),
    ],
)
def test_a_rhythm_of_the_calendar_is_a_cron_expression(text: str, cron: str):
    assert read(text).schedule == Cron(cron=cron, tz="Europe/Berlin")


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("every day at 9 Asia/Shanghai", "Asia/Shanghai"),
        ("every day at 9 in america/new_york", "America/New_York"),
        ("every day at 9 (Asia/Tokyo)", "Asia/Tokyo"),
        ("every day at 9 UTC", "UTC"),
        ("0 9 * * 1-5 Asia/Shanghai", "Asia/Shanghai"),
        ("@daily Asia/Shanghai", "Asia/Shanghai"),
        ("every day at 9 Asia/Tokyo until 2026-12-31", "Asia/Tokyo"),
        ("every day at 9 until 2026-12-31 Asia/Tokyo", "Asia/Tokyo"),
        ("tomorrow at 9 America/Argentina/Buenos_Aires", "America/Argentina/Buenos_Aires"),
        ("0 9 * * */2", "Europe/Berlin"),
        ("0 9 * * MON/2", "Europe/Berlin"),
    ],
)
def test_a_zone_name_may_follow(text: str, zone: str):
    assert read(text).schedule.tz == zone


def test_a_zone_that_follows_decides_what_the_time_means():
    schedule = read("2026-11-20T18:00 Asia/Tokyo").schedule
    assert schedule == At(at=datetime(2026, 11, 20, 9, tzinfo=UTC), tz="Asia/Tokyo")


@pytest.mark.parametrize("text", ["every day at 9 Europe/Belin", "every day at 9 Mars/Olympus", "every day at 9 PST"])
def test_an_unknown_zone_is_refused_and_never_utc_in_silence(text: str):
    assert refusal(text).field_code == "unknown_timezone"


def test_a_zone_misspelled_is_answered_with_the_near_one():
    assert "Europe/Berlin" in refusal("every day at 9 Europe/Belin").detail


def test_a_start_is_the_first_run_and_the_anchor_of_an_interval():
    reading = read("every 2 hours starting tomorrow at 9")
    starts_at = datetime(2026, 11, 16, 9, tzinfo=BERLIN)
    assert reading.starts_at == starts_at
    assert reading.schedule == Every(every_ms=7_200_000, anchor=starts_at, tz="Europe/Berlin")


def test_a_start_on_a_day_alone_is_the_first_slot_of_that_day():
    reading = read("every day at 9 starting on friday")
    assert reading.starts_at == datetime(2026, 11, 20, 9, tzinfo=BERLIN)
    assert reading.warnings == []


def test_a_start_outside_the_rhythm_is_the_first_run_and_said_so():
    reading = read("every day at 9 starting tomorrow at 10")
    assert reading.starts_at == datetime(2026, 11, 16, 10, tzinfo=BERLIN)
    assert "not one of its usual times" in reading.warnings[0]


def test_a_start_in_the_past_is_refused():
    assert refusal("every day at 9 starting 2026-11-01 at 9").field_code == "schedule_in_past"


def test_an_interval_that_starts_on_a_day_alone_needs_a_time():
    assert "starting tomorrow at 9" in refusal("every 2h starting tomorrow").detail


def test_an_end_on_a_day_alone_includes_that_day():
    reading = read("every day at 23:30 until 2026-11-17")
    times = next_times(reading.schedule, NOW, 9, ends_at=reading.ends_at)
    assert [time.astimezone(BERLIN).day for time in times] == [15, 16, 17]


def test_an_end_with_a_time_includes_a_run_at_that_instant():
    reading = read("every hour starting tomorrow at 9 until tomorrow at 11")
    times = next_times(reading.schedule, NOW, 9, starts_at=reading.starts_at, ends_at=reading.ends_at)
    assert [time.astimezone(BERLIN).hour for time in times] == [9, 10, 11]


def test_a_time_the_clocks_skip_is_refused_with_the_next_one_that_exists():
    refused = refusal("2027-03-28T02:30")
    assert refused.field_code == "time_does_not_exist"
    assert "03:00 Europe/Berlin" in refused.detail


def test_a_time_the_clocks_show_twice_is_the_first_one_and_said_so():
    reading = read("2027-10-31T02:30")
    assert reading.schedule == At(at=datetime(2027, 10, 31, 0, 30, tzinfo=UTC), tz="Europe/Berlin")
    assert "twice" in reading.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "every blursday",
        "remind me",
        "soon",
        "in a while",
        "in 3 months",
        "every day",
        "daily",
        "tomorrow",
        "next friday",
        "2026-11-20",
        "every day at 25:00",
        "every day at 9:60",
        "at 13pm",
        "at 0am",
        "tonight at 3",
        "every second monday at 9",
        "every other weekday at 9",
        "every other day",
        "every day at 9 and 17:30",
        "every 15 minutes between 9 and 17",
        "every month on the 32nd at 9",
        "31 november at 9",
        "2026-02-30T09:00",
        "2026-11-20T25:00",
        "11/20/2026 9:00",
        "30m 1h",
        "10 m m",
        "10",
        "0 9 * *",
        "0 9 * * * * 2026",
        "61 * * * *",
        "* 24 * * *",
        "0 9 0 * *",
        "0 9 * 13 *",
        "0 9 * * 8",
        "0 9 L/2 * *",
        "0 9 ? * 1",
        "*/0 * * * *",
        "0 9 * * MON#6",
        "cron every day",
        "@reboot",
        "every day at 9 until whenever",
        "tomorrow at 9 until friday",
        "every day at 9; drop table job",
        "x" * 10_000,
        "٣ ٩ * * *",
        "in ١٠ minutes",
    ],
)
def test_what_the_grammar_does_not_know_is_refused_with_three_examples(text: str):
    refused = refusal(text)
    assert refused.field_code == "schedule_unreadable"
    assert refused.detail.count("'") >= 6
    assert "Write it like one of these" in refused.detail
    assert len(refused.detail) < 600


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("every day at 25:00", "hours go from 0 to 23"),
        ("tomorrow", "tomorrow at 9"),
        ("every monday", "every monday at 9"),
        ("every second monday at 9", "two things"),
        ("0 9 * *", "4 fields"),
        ("0 9 * * * * 2026", "7 fields"),
        ("61 * * * *", "minute (0–59)"),
    ],
)
def test_a_refusal_says_what_is_wrong(text: str, says: str):
    assert says in refusal(text).detail


@pytest.mark.parametrize(
    "text", ["in 0 minutes", "every 0s", "every 5000 weeks and 6 days and 900000 hours", "in 99999d"]
)
def test_a_duration_of_nothing_or_of_a_century_is_out_of_range(text: str):
    assert refusal(text).field_code == "out_of_range"


@pytest.mark.parametrize("text", ["", "   ", "."])
def test_an_empty_text_is_missing(text: str):
    assert refusal(text).field_code == "missing"


WORDS = (
    "every in at on 9 10:30 day days monday 2 h hours until starting tomorrow * 0 1-5 @daily noon am and , the 1st "
    "of month Europe/Berlin 2026-11-20 from now next"
).split()
CODES = {
    "schedule_unreadable",
    "unknown_timezone",
    "schedule_in_past",
    "time_does_not_exist",
    "out_of_range",
    "missing",
}


@settings(max_examples=600, deadline=None, database=None)
@given(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join) | st.text(max_size=40))
def test_any_text_is_read_or_refused_and_nothing_else_happens(text: str):
    try:
        reading = read(text)
    except Invalid as refused:
        code = refused.field_code
    else:
        code = None
        words(reading.schedule)
        next_times(reading.schedule, NOW, 2, starts_at=reading.starts_at, ends_at=reading.ends_at)
    assert code is None or code in CODES
