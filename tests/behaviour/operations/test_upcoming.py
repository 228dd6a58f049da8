"""What is to come, and what a schedule means before it is kept."""

from datetime import datetime, timedelta
from typing import Any

from homing.model.errors import Invalid
from homing.operations.job_changes import disable_job, skip_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, ListUpcoming, PreviewSchedule, SkipJob
from homing.operations.upcoming import list_upcoming, preview_schedule, tell_upcoming
from support.asking import add, field_codes, refused
from support.worlds import STRANGER, World, write_job


def upcoming(world: World, **given: Any) -> list[tuple[str, str, int]]:
    found = tell_upcoming(world.ask(list_upcoming, read(ListUpcoming, given))).items
    return [(item.job_name, item.at, item.count) for item in found]


def test_the_times_of_all_jobs_come_in_order(world: World) -> None:
    far, near = add(world, name="far", when="in 3 hours"), add(world, name="near", when="in 2 hours")
    daily = add(world, name="daily", when="every day at 9")
    found = upcoming(world)
    assert [at for _, at, _ in found] == sorted((at for _, at, _ in found), key=datetime.fromisoformat)
    assert ("near", near.next[0], 1) in found
    assert ("far", far.next[0], 1) in found
    assert len([name for name, _, _ in found if name == "daily"]) == 7
    assert daily.next[0] in [at for _, at, _ in found]


def test_more_than_24_a_day_fold_into_one_item_with_a_count(world: World) -> None:
    add(world, name="often", when="every 10 minutes")
    found = upcoming(world)
    counts = [count for _, _, count in found]
    assert counts.count(144) >= 6
    assert sum(counts) == 7 * 144
    assert all(count == 1 or count > 24 for count in counts)
    assert upcoming(world, to="in 30 minutes") != []


def test_disabled_and_skipped_times_are_not_to_come(world: World) -> None:
    job = add(world, when="every day at 9", name="daily")
    world.ask(skip_job, SkipJob(job_id=job.id, count=2))
    assert len(upcoming(world)) == 5
    world.ask(disable_job, DisableJob(job_id=job.id))
    assert upcoming(world) == []


def test_a_further_try_at_a_one_shot_is_told_in_its_own_window_only(world: World) -> None:
    job = add(world, name="again", when="in 2 hours")
    retry = {"retry": 1, "retry_of": datetime.fromisoformat(job.next[0])}
    world.write(lambda tx: write_job(tx, job.id, retry))
    assert [at for _, at, _ in upcoming(world)] == job.next
    assert upcoming(world, **{"from": "in 3 hours"}) == []


def test_nothing_is_told_from_before_the_window(world: World) -> None:
    job = add(world, when="every 10 seconds")
    begin = datetime.fromisoformat(job.next[1])
    for moved in (timedelta(), timedelta(milliseconds=1)):
        [first, *_] = upcoming(world, **{"from": (begin + moved).isoformat()})
        assert first[1] == job.next[1 if not moved else 2]


def test_bounds_and_windows_are_kept(world: World) -> None:
    add(world, when="every 10 minutes", max_runs=3, name="three")
    # In whole days of 24 hours: what fits must not depend on the hour at which this runs.
    add(world, when="every day at 9:30", timezone="UTC", ends_at="in 72 hours", name="days", session_key="web:other")
    assert sum(count for name, _, count in upcoming(world) if name == "three") == 3
    assert sum(count for name, _, count in upcoming(world) if name == "days") == 3
    assert {name for name, _, _ in upcoming(world, session_key="web:other")} == {"days"}
    later = upcoming(world, **{"from": "in 25 hours", "to": "in 49 hours"})
    assert [name for name, _, _ in later] == ["days"]
    assert tell_upcoming(world.ask(list_upcoming, ListUpcoming(), caller=STRANGER)).items == []
    error = refused(lambda: upcoming(world, to="in 90 days"), Invalid)
    assert field_codes(error) == {"to": "out_of_range"}


def preview(world: World, **given: Any):
    return world.ask(preview_schedule, read(PreviewSchedule, given))


def test_a_preview_says_the_schedule_in_words_and_its_next_times(world: World) -> None:
    told = preview(world, when="every weekday at 8", timezone="Asia/Shanghai", after="2026-11-14T00:00")
    assert told.plain() == {
        "schedule": {"kind": "cron", "cron": "0 8 * * 1-5", "tz": "Asia/Shanghai"},
        "words": "Weekdays at 08:00 Asia/Shanghai",
        "timezone": "Asia/Shanghai",
        "next": ["2026-11-16T08:00:00+08:00", "2026-11-17T08:00:00+08:00", "2026-11-18T08:00:00+08:00"],
        "warnings": [],
    }
    assert len(preview(world, schedule={"every_ms": 60000}, count=100).next) == 100
    assert preview(world, text="in 10 minutes").schedule.kind == "at"


def test_a_preview_is_what_add_would_do(world: World) -> None:
    told = preview(world, when="every day at 9")
    assert add(world, when="every day at 9").next == told.next


def test_a_preview_warns_of_what_may_surprise_and_refuses_what_cannot_be(world: World) -> None:
    assert any(
        "more than 14 days away" in warning for warning in preview(world, when="every year on march 3 at 9").warnings
    )
    assert field_codes(refused(lambda: preview(world), Invalid)) == {"when": "missing"}
    assert field_codes(refused(lambda: preview(world, when="in 1h", text="in 2h"), Invalid)) == {
        "when": "schedule_twice"
    }
    assert field_codes(refused(lambda: preview(world, when="0 0 30 2 *"), Invalid)) == {
        "schedule.cron": "schedule_never_fires"
    }
    error = refused(lambda: preview(world, when="whenever"), Invalid)
    assert error.detail.count("'") >= 6
    assert field_codes(refused(lambda: preview(world, schedule=[1]), Invalid)) == {"schedule": "wrong_type"}


def test_a_time_before_the_one_to_start_from_is_not_next(world: World) -> None:
    told = preview(world, when="in 2 hours", after="in 3 days")
    assert (told.next, told.schedule.plain()["kind"]) == ([], "at")


def test_times_at_the_ends_of_the_calendar_are_answered_too(world: World) -> None:
    for after in ("9000-12-31T23:00+00:00", "1970-01-01T00:00"):
        preview(world, when="every day at 9", after=after, timezone="Pacific/Kiritimati", count=100)
