"""How times and states read."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from rich.console import Console

from homing.cli.format import away, moment, outcome, took
from homing.cli.jobs.tables import jobs_table
from homing.model.contract import Json

NOW = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("ahead", "said"),
    [
        (timedelta(), "now"),
        (timedelta(seconds=40), "in 40 s"),
        (timedelta(minutes=10), "in 10 min"),
        (timedelta(hours=13), "in 13 h"),
        (timedelta(hours=44), "in 1 d 20 h"),
        (timedelta(days=3), "in 3 d"),
        (timedelta(days=100), "in 3 months"),
        (timedelta(days=1000), "in 2 years"),
        (timedelta(minutes=-5), "5 min ago"),
    ],
)
def test_a_distance_is_told_in_the_unit_that_fits(ahead: timedelta, said: str) -> None:
    assert away(NOW + ahead, NOW) == said


def test_a_moment_tells_no_more_than_is_needed() -> None:
    shanghai = timezone(timedelta(hours=8))
    assert moment(datetime(2026, 11, 16, 9, 0, tzinfo=shanghai), NOW) == "Mon 16 Nov 09:00"
    assert moment(datetime(2026, 11, 16, 9, 0, 5, tzinfo=shanghai), NOW) == "Mon 16 Nov 09:00:05"
    assert moment(datetime(2027, 1, 1, 9, 0, tzinfo=shanghai), NOW) == "Fri 1 Jan 2027 09:00"


def test_a_length_is_told_shortly() -> None:
    assert (took(12), took(1234), took(90_000), took(None)) == ("12 ms", "1.2 s", "2 min", "")


def test_an_outcome_is_told_in_words() -> None:
    assert outcome({"state_words": "OK", "reason_words": None}) == "OK"
    assert outcome({"state_words": "failed", "reason_words": "a tool did not work"}) == "failed: a tool did not work"
    queued = {"state_words": "waiting", "reason_words": None, "waiting_for": "session"}
    assert outcome(queued) == "waiting for its session"


def test_an_outcome_tells_where_its_message_did_not_arrive() -> None:
    carried = [{"address": "web:abc", "state": "sent"}, {"address": "webhook:wh_1", "state": "dead"}]
    run = {"state_words": "OK", "reason_words": None, "deliveries": carried}
    assert outcome(run) == "OK, not delivered to webhook:wh_1"


def a_job(name: str) -> Json:
    return {
        "id": "job_4qwskqcbyw", "name": name, "status": "active", "session": "main", "session_key": "cli:main",
        "schedule": {"tz": "Europe/Berlin"}, "words": "Weekdays at 08:15 Europe/Berlin",
        "payload": {"kind": "agent_turn"}, "next": ["2026-11-17T08:15:00+01:00"], "recent": [],
        "state": {"last_run_at": None},
    }  # fmt: skip


def drawn(width: int) -> list[str]:
    console = Console(width=width, record=True)
    with console.capture() as captured:
        console.print(jobs_table([a_job("Look at the fruit prices"), a_job("Say good morning")]))
    return captured.get().splitlines()


def test_a_wide_screen_has_a_line_per_automation_and_a_narrow_one_loses_no_time() -> None:
    heading, first, second = drawn(160)
    assert heading.split() == ["NAME", "WHEN", "IN", "NEXT", "LAST"]
    assert "Look at the fruit prices" in first
    assert "Say good morning" in second
    for width in (80, 60, 50):
        lines = drawn(width)
        assert all(len(line) <= width for line in lines)
        said = "\n".join(lines)
        assert said.count("08:15") == 4, said
