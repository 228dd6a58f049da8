"""Words say what a schedule matches, in its zone."""

from datetime import UTC, datetime

import pytest

from homing.model.schedules import At, Cron, Every, words


@pytest.mark.parametrize(
    ("cron", "expected"),
    [
        ("0 9 * * 1-5", "Weekdays at 09:00 Asia/Shanghai"),
        ("0 9 * * MON-FRI", "Weekdays at 09:00 Asia/Shanghai"),
        ("0 9 * * *", "Every day at 09:00 Asia/Shanghai"),
        ("0 9,17 * * *", "Every day at 09:00 and 17:00 Asia/Shanghai"),
        ("0 10 * * 6,7", "Weekends at 10:00 Asia/Shanghai"),
        ("30 9 * * 1", "Mondays at 09:30 Asia/Shanghai"),
        ("15 7 * * 1,3,5", "Mondays, Wednesdays and Fridays at 07:15 Asia/Shanghai"),
        ("0 9 * * 0", "Sundays at 09:00 Asia/Shanghai"),
        ("0 9 * * 7", "Sundays at 09:00 Asia/Shanghai"),
        ("0 9 * * 5-7", "Fridays, Saturdays and Sundays at 09:00 Asia/Shanghai"),
        ("* * * * *", "Every minute (Asia/Shanghai)"),
        ("*/15 * * * *", "Every 15 minutes (Asia/Shanghai)"),
        ("*/15 9-17 * * 1-5", "Weekdays, every 15 minutes from 09:00 to 17:45 Asia/Shanghai"),
        ("0 * * * *", "Every hour on the hour (Asia/Shanghai)"),
        ("15 * * * *", "Every hour at minute 15 (Asia/Shanghai)"),
        ("0 9-17 * * *", "Every hour from 09:00 to 17:00 Asia/Shanghai"),
        ("0 */2 * * *", "Every 2 hours from 00:00 Asia/Shanghai"),
        ("*/45 * * * *", "Every day at minutes 0 and 45 of every hour (Asia/Shanghai)"),
        ("5,20 4-8 * * *", "Every day at minutes 5 and 20 of hours 4 to 8 (Asia/Shanghai)"),
        ("0 9 1 * *", "On the 1st of every month at 09:00 Asia/Shanghai"),
        ("0 9 2,3,22 * *", "On the 2nd, 3rd and 22nd of every month at 09:00 Asia/Shanghai"),
        ("0 9 1-7 * *", "On the 1st to 7th of every month at 09:00 Asia/Shanghai"),
        ("0 18 L * *", "On the last day of every month at 18:00 Asia/Shanghai"),
        ("0 18 LW * *", "On the last weekday of every month at 18:00 Asia/Shanghai"),
        ("0 18 15,L * *", "On the 15th and the last day of every month at 18:00 Asia/Shanghai"),
        ("0 18 L 3 *", "On the last day of March at 18:00 Asia/Shanghai"),
        ("0 9 * * MON#2", "On the second Monday of every month at 09:00 Asia/Shanghai"),
        ("0 9 * * 7#1", "On the first Sunday of every month at 09:00 Asia/Shanghai"),
        ("0 9 * * 5L", "On the last Friday of every month at 09:00 Asia/Shanghai"),
        ("0 9 * * MON,WED#2", "On Mondays and the second Wednesday of the month at 09:00 Asia/Shanghai"),
        ("0 9 13 * 5", "On the 13th of every month and also on Fridays at 09:00 Asia/Shanghai"),
        ("0 9 */10 * 1", "On Mondays that fall on the 1st, 11th, 21st and 31st at 09:00 Asia/Shanghai"),
        ("0 9 1-31 * 1", "Every day at 09:00 Asia/Shanghai"),
        ("0 18 24 12 *", "Every year on 24 December at 18:00 Asia/Shanghai"),
        ("0 8 * 6-8 1", "Mondays in June to August at 08:00 Asia/Shanghai"),
        ("30 0 9 * * 1-5", "Weekdays at 09:00:30 Asia/Shanghai"),
        ("0 0 9 * * 1-5", "Weekdays at 09:00 Asia/Shanghai"),
        ("* * * * * *", "Every second (Asia/Shanghai)"),
        ("*/10 * * * * *", "Every 10 seconds (Asia/Shanghai)"),
        ("5,10 * * * * *", "Every day at seconds 5 and 10 of every minute (Asia/Shanghai)"),
        ("10 5 * * * *", "Every day at second 10 of minute 5 of every hour (Asia/Shanghai)"),
        ("* 30 2 * * *", "Every second of minute 30 of hour 2 (Asia/Shanghai)"),
        ("@daily", "Every day at 00:00 Asia/Shanghai"),
        ("@weekly", "Sundays at 00:00 Asia/Shanghai"),
        ("@monthly", "On the 1st of every month at 00:00 Asia/Shanghai"),
        ("@yearly", "Every year on 1 January at 00:00 Asia/Shanghai"),
    ],
)
def test_a_cron_expression_in_words(cron: str, expected: str):
    assert words(Cron(cron=cron, tz="Asia/Shanghai")) == expected


@pytest.mark.parametrize(
    ("every_ms", "expected"),
    [
        (5_400_000, "Every 90 minutes (Europe/Berlin)"),
        (7_200_000, "Every 2 hours on the hour (Europe/Berlin)"),
        (3_600_000, "Every hour on the hour (Europe/Berlin)"),
        (86_400_000, "Every 24 hours (Europe/Berlin)"),
        (1_209_600_000, "Every 2 weeks (Europe/Berlin)"),
        (1000, "Every second (Europe/Berlin)"),
        (1500, "Every 1.5 seconds (Europe/Berlin)"),
        (250, "Every 250 ms (Europe/Berlin)"),
    ],
)
def test_an_interval_in_words(every_ms: int, expected: str):
    assert words(Every(every_ms=every_ms, anchor=datetime(2026, 1, 1, tzinfo=UTC), tz="Europe/Berlin")) == expected


def test_an_instant_in_words_is_told_on_the_clock_of_its_zone():
    at = At(at=datetime(2026, 11, 16, 8, 0, tzinfo=UTC), tz="Europe/Berlin")
    assert words(at) == "Once on Mon 16 Nov 2026 at 09:00 Europe/Berlin"


def test_an_interval_of_hours_is_only_on_the_hour_if_it_began_there():
    anchor = datetime(2026, 1, 1, 12, 52, 15, tzinfo=UTC)
    assert words(Every(every_ms=7_200_000, anchor=anchor, tz="Europe/Berlin")) == "Every 2 hours (Europe/Berlin)"
