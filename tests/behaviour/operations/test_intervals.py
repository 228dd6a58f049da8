"""A cron schedule with an interval, through the operations: every other day, every 2 weeks on Monday."""

from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from homing.model.errors import Invalid
from homing.operations.importing import import_record
from homing.operations.job_changes import skip_job, update_job
from homing.operations.jobs import get_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import GetJob, ListUpcoming, SkipJob, UndoJob, UpdateJob, WhyJob
from homing.operations.undo import undo_job
from homing.operations.upcoming import list_upcoming, tell_upcoming
from homing.operations.why import why_job
from support.asking import add, field_codes, refused
from support.worlds import World

OTHER_DAY = {"kind": "cron", "cron": "0 9 * * *", "interval": 2}


def days(times: list[str]) -> list[date]:
    return [datetime.fromisoformat(at).date() for at in times]


def steps(job: JobShape) -> list[int]:
    found = days(job.next)
    return [(after - before).days for before, after in pairwise(found)]


def test_every_other_day_is_kept_shown_and_said(world: World) -> None:
    plain, job = add(world, when="every day at 9", message="tea"), add(world, schedule=OTHER_DAY, message="other")
    assert job.words == "Every other day at 09:00 Europe/Berlin"
    assert job.schedule.plain() == {**OTHER_DAY, "tz": "Europe/Berlin", "anchor": job.next[0]}
    assert (job.next[0], steps(job)) == (plain.next[0], [2, 2])
    assert world.ask(get_job, GetJob(job_id=job.id)).schedule == job.schedule


def test_an_interval_of_one_is_none(world: World) -> None:
    job = add(world, schedule={**OTHER_DAY, "interval": 1, "anchor": "2026-11-20T09:00"})
    assert job.schedule.plain() == {"kind": "cron", "cron": "0 9 * * *", "tz": "Europe/Berlin"}


def test_two_weeks_are_counted_from_the_first_of_its_days_on_or_after_the_anchor(world: World) -> None:
    job = add(world, schedule={"cron": "0 8 * * MON", "interval": 2, "anchor": "2024-01-03T12:00"})
    assert job.words == "Every 2 weeks on Monday at 08:00 Europe/Berlin"
    assert steps(job) == [14, 14]
    assert (days(job.next)[0] - date(2024, 1, 8)).days % 14 == 0


def test_starts_at_is_the_first_run_and_the_days_are_counted_from_it(world: World) -> None:
    for start in ("2040-03-01T09:00", "2040-03-02T09:00"):
        job = add(world, schedule=OTHER_DAY, starts_at=start)
        assert job.next[0].startswith(start)
        assert steps(job) == [2, 2]


def test_upcoming_and_skip_go_by_its_days(world: World) -> None:
    job = add(world, schedule=OTHER_DAY, name="other")
    found = tell_upcoming(world.ask(list_upcoming, read(ListUpcoming, {}))).items
    assert len(found) in (3, 4)
    assert [item.at for item in found[:3]] == job.next
    skipped = world.ask(skip_job, SkipJob(job_id=job.id))
    assert skipped.next[:2] == job.next[1:]


def test_why_knows_the_days_that_do_not_count(world: World) -> None:
    anchor = datetime.now().astimezone() - timedelta(days=9)
    job = add(world, schedule={**OTHER_DAY, "anchor": anchor.isoformat()})
    between = datetime.fromisoformat(job.next[0]) + timedelta(days=1)
    assert world.ask(why_job, WhyJob(job_id=job.id, at=between.isoformat())).runs == []


def test_the_same_interval_given_again_keeps_its_days_and_undo_brings_the_old_ones_back(world: World) -> None:
    anchor = "2040-01-01T09:00:00+01:00"
    job = add(world, schedule={**OTHER_DAY, "anchor": anchor}, dedupe_key="fruit")
    again = add(world, schedule=OTHER_DAY, dedupe_key="fruit")
    assert (again.id, again.revision, again.schedule) == (job.id, 1, job.schedule)
    changed = world.ask(update_job, read(UpdateJob, {"job_id": job.id, "when": "every day at 9"}))
    assert changed.schedule.plain() == {"kind": "cron", "cron": "0 9 * * *", "tz": "Europe/Berlin"}
    back = world.ask(undo_job, UndoJob(job_id=job.id, revision=changed.revision))
    assert back.schedule == job.schedule


def test_on_another_clock_the_days_stay_those_of_the_calendar(world: World) -> None:
    job = add(world, schedule={**OTHER_DAY, "anchor": "2040-01-01T00:30"})
    moved = world.ask(update_job, read(UpdateJob, {"job_id": job.id, "timezone": "America/New_York"}))
    assert days(moved.next) == days(job.next)
    assert moved.schedule.plain()["anchor"] == "2040-01-01T00:30:00-05:00"


def test_an_exported_interval_comes_in_again_as_it_was(world: World) -> None:
    job = add(world, schedule={**OTHER_DAY, "anchor": "2040-01-01T09:00"})
    record: dict[str, Any] = {**job.plain(), "id": "again"}
    taken = world.write(lambda tx: import_record(world.ctx(tx), record, n=1, source=None, apply=True))
    assert taken.taken, taken.detail
    assert world.ask(get_job, GetJob(job_id="again")).schedule == job.schedule


@pytest.mark.parametrize(
    ("schedule", "codes"),
    [
        ({**OTHER_DAY, "interval": 0}, {"schedule.interval": "out_of_range"}),
        ({**OTHER_DAY, "interval": 53}, {"schedule.interval": "out_of_range"}),
        ({**OTHER_DAY, "interval": 1.5}, {"schedule.interval": "out_of_range"}),
        ({**OTHER_DAY, "interval": "often"}, {"schedule.interval": "out_of_range"}),
        ({**OTHER_DAY, "interval": True}, {"schedule.interval": "out_of_range"}),
        ({"every_ms": 60_000, "interval": 2}, {"schedule.interval": "unknown_field"}),
        ({**OTHER_DAY, "anchor": "whenever"}, {"schedule.anchor": "schedule_unreadable"}),
    ],
)
def test_an_interval_that_cannot_be_is_refused(
    world: World, schedule: dict[str, object], codes: dict[str, str]
) -> None:
    assert field_codes(refused(lambda: add(world, schedule=schedule), Invalid)) == codes
