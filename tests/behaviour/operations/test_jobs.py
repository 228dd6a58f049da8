"""Jobs: added, read, listed, changed, paused, left out, removed, and all of it taken back."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest

from homing.model.errors import Conflict, Forbidden, Invalid, Malformed, NotFound
from homing.model.schedules.describe import moment
from homing.operations.access import find_job
from homing.operations.job_changes import disable_job, enable_job, skip_job, update_job
from homing.operations.jobs import add_job, get_job, list_jobs
from homing.operations.removal import remove_job
from homing.operations.runs import list_runs, run_job
from homing.operations.shapes.base import read
from homing.operations.shapes.job import JobShape
from homing.operations.shapes.job_asks import (
    AddJob,
    DisableJob,
    GetJob,
    JobRef,
    ListJobs,
    SkipJob,
    UndoJob,
    UpdateJob,
)
from homing.operations.shapes.run_asks import ListRuns
from homing.operations.undo import undo_job
from homing.store import job_lists
from support.asking import PERSON_TURN, RUN_TURN, add, agent, field_codes, refused
from support.worlds import STRANGER, World, write_job


def at(text: str | None) -> datetime:
    assert text is not None
    return datetime.fromisoformat(text)


def runs_of(world: World, job: JobShape) -> list[Any]:
    return world.ask(list_runs, ListRuns(job_id=job.id)).items


def test_a_job_has_every_field_of_the_contract(world: World) -> None:
    job = add(world, name="daily monitor", when="every weekday at 9", timezone="Asia/Shanghai")
    assert list(job.plain())[:2] == ["id", "name"]
    assert set(job.plain()) == set(
        (
            "id name description enabled kind status status_words session_key user_id agent_id sender_id"
            " schedule words next session write_back continue payload wake catch_up catch_up_window_seconds quiet"
            " delete_after_run dedupe_key starts_at ends_at max_runs may_schedule origin revision script"
            " script_language script_hosts script_seconds script_state max_cost_usd_per_day alert_after alert_to usage"
            " session_title created_at updated_at removed_at state"
        ).split()
    )
    assert (
        list(job.plain()["state"])
        == (
            "next_run_at running_at active_run_id last_run_id last_run_at last_status last_status_words"
            " last_error last_duration_ms consecutive_failures disabled_reason disabled_words disabled_until last_note"
        ).split()
    )
    assert job.schedule.plain() == {"kind": "cron", "cron": "0 9 * * 1-5", "tz": "Asia/Shanghai"}
    assert job.words == "Weekdays at 09:00 Asia/Shanghai"
    assert job.payload.plain() == {
        "kind": "agent_turn", "message": "look for fruit", "model": None, "thinking": None, "timeout_seconds": 300,
        "context": "session",
    }  # fmt: skip
    assert (job.status, job.kind, job.user_id, job.agent_id, job.origin.door) == (
        "active",
        "user",
        "default",
        "main",
        "api",
    )
    assert len(job.next) == 3
    assert all(instant.endswith("+08:00") for instant in job.next)
    assert job.next[0] == job.state.next_run_at


def test_the_name_is_the_beginning_of_the_message_when_none_is_given(world: World) -> None:
    job = add(world, message="Look for new fruit at the market and tell me")
    assert job.name == "Look for new fruit at th"


def test_a_message_alone_is_an_agent_turn_and_a_payload_says_the_rest(world: World) -> None:
    assert add(world).payload.kind == "agent_turn"
    reminder = add(world, message=None, payload={"kind": "reminder", "message": "Stretch!"})
    assert (reminder.payload.kind, reminder.payload.message) == ("reminder", "Stretch!")


def test_no_timeout_is_zero_and_nothing_said_is_the_default(world: World) -> None:
    assert add(world, payload={"timeout_seconds": 0}).payload.timeout_seconds == 0
    assert add(world, payload={"timeout_seconds": None}).payload.timeout_seconds == 300


def test_the_zone_is_the_one_named_else_the_sessions_else_the_users_else_the_settings(world: World) -> None:
    assert add(world, when="every day at 9").schedule.tz == "Europe/Berlin"
    assert add(world, when="every day at 9", timezone="asia/shanghai").schedule.tz == "Asia/Shanghai"
    assert add(world, schedule={"cron": "0 9 * * *", "tz": "America/New_York"}).schedule.tz == "America/New_York"


REFUSED: list[tuple[dict[str, Any], dict[str, str]]] = [
    ({"when": None}, {"when": "missing"}),
    ({"message": None}, {"message": "missing"}),
    ({"message": "  "}, {"message": "missing"}),
    ({"schedule": {"every_ms": 60000}}, {"when": "schedule_twice"}),
    ({"when": "sometime"}, {"when": "schedule_unreadable"}),
    ({"when": "2001-01-01T10:00"}, {"schedule.at": "schedule_in_past"}),
    ({"when": "0 0 30 2 *"}, {"schedule.cron": "schedule_never_fires"}),
    ({"timezone": "Mars/Olympus"}, {"timezone": "unknown_timezone"}),
    ({"session": "isolated", "payload": {"kind": "reminder"}}, {"session": "out_of_range"}),
    ({"enabled": "perhaps"}, {"enabled": "wrong_type"}),
    ({"max_runs": 0}, {"max_runs": "out_of_range"}),
    ({"max_runs": 10**30}, {"max_runs": "out_of_range"}),
    ({"massage": "x"}, {"massage": "unknown_field"}),
    ({"payload": {"massage": "x"}}, {"payload.massage": "unknown_field"}),
    ({"status": "active"}, {"status": "read_only"}),
    ({"name": "n" * 129}, {"name": "out_of_range"}),
    ({"message": "m" * 16385}, {"message": "out_of_range"}),
    ({"id": "../etc"}, {"id": "out_of_range"}),
    ({"session_key": None}, {"session_key": "missing"}),
    ({"schedule": 5, "when": None}, {"schedule": "wrong_type"}),
    ({"starts_at": "2001-01-01T10:00"}, {"starts_at": "schedule_in_past"}),
    ({"catch_up": "all"}, {"catch_up": "out_of_range"}),
    ({"payload": {"thinking": "wildly"}}, {"payload.thinking": "out_of_range"}),
]


def test_what_cannot_be_taken_is_refused_by_field_and_changes_nothing(world: World) -> None:
    for given, codes in REFUSED:
        error = refused(lambda given=given: add(world, **given), Invalid)
        assert field_codes(error) == codes, given
    assert world.ask(list_jobs, ListJobs()).items == []


def test_an_unknown_field_is_told_the_nearest_known_one(world: World) -> None:
    error = refused(lambda: add(world, massage="x"), Invalid)
    assert error.detail == "There is no field massage. Did you mean message?"


def test_a_job_more_often_than_allowed_is_refused(world: World) -> None:
    slow = world.with_settings(min_interval_seconds=60)
    error = refused(lambda: add(slow, when="every 10 seconds"), Invalid)
    assert field_codes(error) == {"schedule.every_ms": "schedule_too_often"}


def test_the_most_jobs_a_user_may_have_is_a_clear_refusal(world: World) -> None:
    small = world.with_settings(max_jobs=2)
    first = add(small)
    add(small)
    assert refused(lambda: add(small), Conflict).code == "quota_reached"
    small.ask(remove_job, JobRef(job_id=first.id))
    add(small)


def test_text_is_cleaned_of_what_no_database_keeps(world: World) -> None:
    job = add(world, message="ap\x00ples\ud83d", name="n\x00ame")
    assert (job.payload.message, job.name) == ("apples", "name")


def test_a_proposed_id_is_taken_if_it_is_free(world: World) -> None:
    assert add(world, id="my-job").id == "my-job"
    other = add(world, id="my-job")
    assert other.id.startswith("job_")
    assert other.warnings is not None
    assert "The id my-job is taken, so this job has another." in other.warnings


def test_a_proposed_id_does_not_tell_which_ids_other_users_have(world: World) -> None:
    add(world, id="payroll")
    for proposed in ("payroll", "unknown"):
        job = add(world, id=proposed, session_key="web:theirs", caller=STRANGER)
        assert re.fullmatch(rf"{proposed}_[a-z2-7]{{10}}", job.id)
        assert job.warnings is not None
        assert job.id in job.warnings[0]


def test_adding_with_a_known_dedupe_key_changes_that_job_instead(world: World) -> None:
    first = add(world, dedupe_key="fruit", when="every 2h", description="kept")
    again = add(world, dedupe_key="fruit", when="every 3h", message="look for pears")
    assert (again.id, again.deduped, first.deduped) == (first.id, True, False)
    assert again.plain()["deduped"] is True
    assert (again.payload.message, again.description, again.revision) == ("look for pears", "kept", 2)
    elsewhere = add(world, dedupe_key="fruit", session_key="web:other")
    assert elsewhere.id != first.id


def test_the_same_interval_said_again_keeps_its_phase(world: World) -> None:
    first = add(world, dedupe_key="fruit", when="every 2h")
    again = add(world, dedupe_key="fruit", when="every 2h")
    assert (again.revision, again.state.next_run_at) == (1, first.state.next_run_at)


def test_the_same_message_twice_in_a_session_is_a_warning(world: World) -> None:
    add(world, name="first")
    assert add(world).warnings == ['"first" already says the same.']


def test_a_job_is_found_by_its_owner_only(world: World) -> None:
    job = add(world)
    assert world.ask(get_job, GetJob(job_id=job.id)).id == job.id
    with pytest.raises(NotFound):
        world.ask(get_job, GetJob(job_id=job.id), caller=STRANGER)


def test_a_session_that_is_not_there_or_not_yours_takes_no_job(world: World) -> None:
    with pytest.raises(NotFound):
        world.ask(add_job, read(AddJob, {"session_key": "web:none", "when": "in 1h", "message": "x"}))
    add(world)
    with pytest.raises(NotFound):
        world.ask(add_job, read(AddJob, {"session_key": "web:abc", "when": "in 1h", "message": "x"}), caller=STRANGER)


def test_a_page_of_jobs_goes_on_where_the_last_ended_in_every_order(world: World) -> None:
    made = [add(world, name=f"n{n}", when=f"in {9 - n} hours").id for n in range(4)]
    sleeping = add(world, name="a sleeper", enabled=False).id
    orders = {
        "next": [*reversed(made), sleeping],
        "name": [sleeping, *made],
        "updated": None,
        "last": [*made, sleeping],
    }
    for sort, expected in orders.items():
        seen: list[str] = []
        cursor = None
        while True:
            page = world.ask(list_jobs, read(ListJobs, {"sort": sort, "limit": 2, "cursor": cursor}))
            seen += [job.id for job in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert sorted(seen) == sorted([*made, sleeping])
        assert expected is None or seen == expected


def test_a_cursor_that_is_not_ours_is_refused(world: World) -> None:
    for cursor in ("", "x", "W10", "bm9wZQ", "WyJuYW1lIiwxLDFd"):
        ask = read(ListJobs, {"cursor": cursor})
        assert refused(lambda ask=ask: world.ask(list_jobs, ask), Malformed).code == "bad_cursor"


def test_jobs_are_filtered_by_session_state_and_words(world: World) -> None:
    apples = add(world, name="apples")
    pears = add(world, name="pears", session_key="web:other", enabled=False)

    def ids(**given: Any) -> list[str]:
        return [job.id for job in world.ask(list_jobs, read(ListJobs, given)).items]

    assert ids(session_key="web:abc") == [apples.id]
    assert ids(enabled=False) == [pears.id]
    assert ids(status="paused") == [pears.id]
    assert ids(status="active") == [apples.id]
    assert ids(q="APP") == [apples.id]
    assert ids(q=apples.id[:8]) == [apples.id]
    assert ids(q="100%") == []
    world.ask(remove_job, JobRef(job_id=pears.id))
    assert (ids(), ids(removed=True), ids(removed=True, q="apples")) == ([apples.id], [pears.id], [])


def test_recent_runs_are_shown_only_when_asked_for(world: World) -> None:
    job = add(world, payload={"kind": "reminder"})
    run = world.ask(run_job, JobRef(job_id=job.id))
    assert "recent" not in world.ask(get_job, GetJob(job_id=job.id)).plain()
    [shown] = world.ask(list_jobs, ListJobs(recent=5)).items
    state = {"state": "ok", "state_words": "OK", "reason": None, "reason_words": None}
    assert shown.plain()["recent"] == [{"id": run.id, "scheduled_for": run.scheduled_for, **state}]


def test_recent_runs_come_newest_first_as_every_list_of_runs(world: World) -> None:
    job = add(world, payload={"kind": "reminder"})
    runs: list[str] = []
    for _ in range(3):
        runs.insert(0, world.ask(run_job, JobRef(job_id=job.id)).id)
        world.clock.advance(timedelta(minutes=1))
    [shown] = world.ask(list_jobs, ListJobs(recent=2)).items
    assert [run.id for run in shown.recent or []] == runs[:2]


def test_an_interval_fires_first_when_it_is_over_never_at_once(world: World) -> None:
    job = add(world, when="every 2h")
    assert at(job.next[0]) - world.now() > timedelta(hours=1, minutes=59)


def test_a_status_is_the_same_in_the_job_in_filters_and_in_counts(world: World) -> None:
    states: list[dict[str, Any]] = [
        {},
        {"last_status": "ok"},
        {"last_status": "error"},
        {"enabled": False, "disabled_by": "person", "next_run_at": None, "last_status": "error"},
        {"enabled": False, "disabled_by": "engine", "next_run_at": None},
        {"enabled": False, "disabled_by": "done", "next_run_at": None, "last_status": "error"},
    ]
    for state in states:
        job = add(world)
        if state:
            world.write(lambda tx, job=job, state=state: write_job(tx, job.id, state))
    shown = world.ask(list_jobs, ListJobs()).items
    counted = world.write(lambda tx: job_lists.count_by_status(tx, "default", listed_since=tx.now()))
    assert counted == {"active": 2, "paused": 1, "attention": 2, "done": 1}
    for status, count in counted.items():
        filtered = {job.id for job in world.ask(list_jobs, read(ListJobs, {"status": status})).items}
        assert filtered == {job.id for job in shown if job.status == status}
        assert len(filtered) == count


def test_a_job_is_found_by_id_run_name_or_a_beginning_that_fits_only_one(world: World) -> None:
    fruit = add(world, name="fruit watch", id="job_fruit1")
    other = add(world, name="Fruit list", id="job_fruit2")
    run = world.ask(run_job, JobRef(job_id=fruit.id))

    def found(said: str) -> str:
        return world.write(lambda tx: find_job(world.ctx(tx), said).id)

    assert found("job_fruit1") == fruit.id
    assert found(run.id) == fruit.id
    assert found("FRUIT WATCH") == fruit.id
    assert found("list") == other.id
    error = refused(lambda: found("fruit"), NotFound)
    assert error.extra == {"candidates": [fruit.id, other.id]}
    assert "fits several" in error.detail
    assert 'job_fruit1 "fruit watch"' in refused(lambda: found("pears"), NotFound).detail
    with pytest.raises(NotFound):
        world.write(lambda tx: find_job(world.ctx(tx, STRANGER), "job_fruit1"))


# updates


def patch(world: World, job: JobShape, **given: Any) -> JobShape:
    return world.ask(update_job, read(UpdateJob, {"job_id": job.id, **given}))


def test_one_field_of_the_payload_changes_and_the_others_stay(world: World) -> None:
    job = add(world, payload={"model": "gpt", "timeout_seconds": 60})
    changed = patch(world, job, payload={"thinking": "high"})
    assert (changed.payload.model, changed.payload.thinking, changed.payload.timeout_seconds) == ("gpt", "high", 60)
    assert (changed.payload.message, changed.revision) == ("look for fruit", 2)
    assert patch(world, job, payload={"model": None}).payload.model is None


def test_null_means_the_default(world: World) -> None:
    job = add(world, name="mine", quiet=True, max_runs=5, catch_up="skip", description="d")
    changed = patch(world, job, name=None, quiet=None, max_runs=None, catch_up=None, description=None)
    assert (changed.name, changed.quiet, changed.max_runs) == ("look for fruit", False, None)
    assert (changed.catch_up, changed.description) == ("latest", None)


def test_null_for_the_zone_means_the_sessions(world: World) -> None:
    job = add(world, when="every day at 9", timezone="Asia/Tokyo")
    assert patch(world, job, timezone=None).schedule.plain()["tz"] == "Europe/Berlin"


@pytest.mark.parametrize("given", [{"message": None}, {"payload": None}, {"payload": {"message": None}}])
def test_what_is_to_be_done_has_no_default(world: World, given: dict[str, Any]) -> None:
    job = add(world)
    assert field_codes(refused(lambda: patch(world, job, **given), Invalid)) == {"message": "missing"}
    assert patch(world, job, payload=None, message="other").payload.message == "other"


def test_kinds_may_be_spelled_as_other_programs_do(world: World) -> None:
    job = add(world, payload={"kind": "system-event"}, wake="next-heartbeat")
    assert (job.payload.kind, job.wake) == ("system_event", "next_heartbeat")
    assert patch(world, job, payload={"kind": "agentTurn"}).payload.kind == "agent_turn"


@pytest.mark.parametrize("name", ["max_runs", "catch_up_window_seconds"])
def test_true_is_no_number(world: World, name: str) -> None:
    job = add(world)
    given: dict[str, Any] = {name: True}
    assert field_codes(refused(lambda: patch(world, job, **given), Invalid)) == {name: "wrong_type"}


def test_a_limit_is_told_as_people_write_it(world: World) -> None:
    error = refused(lambda: add(world, payload={"timeout_seconds": 1e9}), Invalid)
    assert "604,800 or less" in error.detail


def test_an_update_of_a_message_keeps_the_kind(world: World) -> None:
    job = add(world, payload={"kind": "reminder"})
    assert patch(world, job, message="Drink!").payload.kind == "reminder"


def test_a_stale_revision_is_refused_with_the_current_job(world: World) -> None:
    job = add(world)
    patch(world, job, name="one", revision=1)
    error = refused(lambda: patch(world, job, name="two", revision=1), Conflict)
    assert error.code == "stale_revision"
    current: Any = error.extra["current"]
    assert (current["name"], current["revision"]) == ("one", 2)


def test_an_update_that_changes_nothing_makes_no_revision(world: World) -> None:
    job = add(world, name="same")
    assert patch(world, job, name="same").revision == 1
    assert patch(world, job).revision == 1


def test_what_is_given_at_add_only_is_read_only_later(world: World) -> None:
    job = add(world)
    error = refused(lambda: patch(world, job, session_key="web:other", words="x"), Invalid)
    assert field_codes(error) == {"session_key": "read_only", "words": "read_only"}


def test_an_edit_of_the_schedule_counts_from_now(world: World) -> None:
    job = add(world, when="every 2h")
    changed = patch(world, job, when="every 30 minutes")
    assert at(changed.state.next_run_at) - world.now() <= timedelta(minutes=30)
    assert changed.words == "Every 30 minutes (Europe/Berlin)"


def test_naming_only_a_zone_moves_the_same_schedule_to_another_clock(world: World) -> None:
    job = add(world, when="every day at 9")
    changed = patch(world, job, timezone="Asia/Tokyo")
    assert changed.schedule.plain() == {"kind": "cron", "cron": "0 9 * * *", "tz": "Asia/Tokyo"}
    assert changed.next[0].endswith("T09:00:00+09:00")


def test_a_job_is_paused_and_goes_on_by_update_as_well(world: World) -> None:
    job = add(world)
    paused = patch(world, job, enabled=False)
    assert (paused.enabled, paused.status, paused.next, paused.state.next_run_at) == (False, "paused", [], None)
    assert patch(world, job, enabled=None).status == "active"


def test_a_change_that_leaves_no_run_before_the_end_names_the_end(world: World) -> None:
    job = add(world, when="every 10 minutes", ends_at="in 25 minutes")
    error = refused(lambda: patch(world, job, when="every 3 days"), Invalid)
    assert job.ends_at is not None
    assert moment(at(job.ends_at), "Europe/Berlin") in error.detail


def test_what_is_to_come_obeys_the_bounds(world: World) -> None:
    job = add(world, when="every 10 minutes", max_runs=2)
    assert len(job.next) == 2
    ends = patch(world, job, max_runs=None, ends_at="in 25 minutes")
    assert len(ends.next) == 2
    starts = add(world, when="every day at 9", starts_at="in 3 days")
    assert at(starts.next[0]) - world.now() > timedelta(days=2, hours=23)


# pausing


def test_disabling_clears_the_next_time_and_tells_why_and_until_when(world: World) -> None:
    job = add(world)
    paused = world.ask(disable_job, DisableJob(job_id=job.id, reason="holidays", until="in 2 days"))
    assert (paused.status, paused.state.disabled_reason, paused.next) == ("paused", "holidays", [])
    assert at(paused.state.disabled_until) - world.now() > timedelta(days=1, hours=23)
    assert (
        refused(lambda: world.ask(disable_job, DisableJob(job_id=job.id, until="2001-01-01T00:00")), Invalid).field_code
        == "schedule_in_past"
    )


def test_disabling_withdraws_the_queued_run(world: World) -> None:
    job = add(world)
    run = world.ask(run_job, JobRef(job_id=job.id))
    assert run.state == "queued"
    world.ask(disable_job, DisableJob(job_id=job.id))
    [run] = runs_of(world, job)
    assert (run.state, run.reason) == ("skipped", "disabled")


def test_enabling_goes_on_at_the_next_time_from_now(world: World) -> None:
    job = add(world, when="every 2h")
    world.ask(disable_job, DisableJob(job_id=job.id))
    again = world.ask(enable_job, JobRef(job_id=job.id))
    assert again.status == "active"
    assert at(again.state.next_run_at) > world.now()
    assert world.ask(enable_job, JobRef(job_id=job.id)).revision == again.revision


def test_a_one_shot_whose_time_has_passed_cannot_be_enabled(world: World) -> None:
    job = add(world, when="in 1 hour")
    world.ask(disable_job, DisableJob(job_id=job.id))
    world.make_past(job.id)
    error = refused(lambda: world.ask(enable_job, JobRef(job_id=job.id)), Invalid)
    assert field_codes(error) == {"schedule.at": "schedule_in_past"}
    assert patch(world, job, when="in 2 hours").enabled is False
    assert world.ask(enable_job, JobRef(job_id=job.id)).enabled


# leaving out


def test_a_skipped_time_is_a_run_on_record_and_the_one_after_is_next(world: World) -> None:
    job = add(world, when="every 2h")
    skipped = world.ask(skip_job, SkipJob(job_id=job.id))
    assert skipped.next[:2] == job.next[1:]
    [run] = runs_of(world, job)
    assert (run.state, run.reason, run.missed_count, run.scheduled_for) == ("skipped", "asked", 1, job.next[0])


def test_consecutive_skips_are_one_row(world: World) -> None:
    job = add(world, when="every 2h")
    world.ask(skip_job, SkipJob(job_id=job.id, count=2))
    world.ask(skip_job, SkipJob(job_id=job.id))
    [run] = runs_of(world, job)
    assert (run.missed_count, run.scheduled_for, run.missed_until) == (3, job.next[0], job.next[2])


def test_a_one_shot_that_is_skipped_is_done_and_undo_brings_it_back(world: World) -> None:
    job = add(world, when="in 2 hours")
    skipped = world.ask(skip_job, SkipJob(job_id=job.id))
    assert (skipped.status, skipped.next) == ("done", [])
    assert refused(lambda: world.ask(skip_job, SkipJob(job_id=job.id)), Conflict).code == "wrong_state"
    back = world.ask(undo_job, UndoJob(job_id=job.id, revision=skipped.revision))
    assert (back.status, back.next) == ("active", job.next)
    assert runs_of(world, job) == []


def test_what_was_left_out_stays_so_over_a_pause(world: World) -> None:
    job = add(world, when="every 2h")
    skipped = world.ask(skip_job, SkipJob(job_id=job.id, count=2))
    world.ask(disable_job, DisableJob(job_id=job.id))
    assert world.ask(enable_job, JobRef(job_id=job.id)).next == skipped.next
    patch(world, job, enabled=False)
    assert patch(world, job, enabled=True, max_runs=9).next == skipped.next
    [run] = runs_of(world, job)
    assert (run.reason, run.missed_count) == ("asked", 2)


def test_a_new_schedule_forgets_what_was_left_out_of_the_old_one(world: World) -> None:
    job = add(world, when="every day at 9")
    world.ask(skip_job, SkipJob(job_id=job.id, count=2))
    changed = patch(world, job, when="every 1h")
    assert at(changed.next[0]) - world.now() <= timedelta(hours=1)
    assert runs_of(world, job) == []


def test_going_on_with_a_one_shot_that_was_left_out_lets_it_fire_after_all(world: World) -> None:
    job = add(world, when="in 2 hours")
    world.ask(skip_job, SkipJob(job_id=job.id))
    assert world.ask(enable_job, JobRef(job_id=job.id)).next == job.next
    assert runs_of(world, job) == []


def test_undoing_the_second_skip_leaves_the_first(world: World) -> None:
    job = add(world, when="every 2h")
    world.ask(skip_job, SkipJob(job_id=job.id))
    second = world.ask(skip_job, SkipJob(job_id=job.id, count=2))
    back = world.ask(undo_job, UndoJob(job_id=job.id, revision=second.revision))
    assert back.next[0] == job.next[1]
    [run] = runs_of(world, job)
    assert (run.missed_count, run.missed_until) == (1, job.next[0])
    world.ask(skip_job, SkipJob(job_id=job.id))
    [run] = runs_of(world, job)
    assert (run.missed_count, run.missed_until) == (2, job.next[1])


# removing, and taking back


def test_a_removed_job_is_gone_except_for_undo(world: World) -> None:
    job = add(world)
    removed = world.ask(remove_job, JobRef(job_id=job.id))
    assert removed.removed_at is not None
    assert removed.next == []
    with pytest.raises(NotFound):
        world.ask(get_job, GetJob(job_id=job.id))
    assert world.ask(list_jobs, ListJobs()).items == []
    back = world.ask(undo_job, UndoJob(job_id=job.id, revision=removed.revision))
    assert (back.removed_at, back.status, back.next) == (None, "active", job.next)


def test_removing_withdraws_the_queued_run_and_undo_does_not_bring_that_back(world: World) -> None:
    job = add(world)
    world.ask(run_job, JobRef(job_id=job.id))
    removed = world.ask(remove_job, JobRef(job_id=job.id))
    world.ask(undo_job, UndoJob(job_id=job.id, revision=removed.revision))
    [run] = runs_of(world, job)
    assert (run.state, run.reason) == ("skipped", "removed")


def test_undo_of_an_add_removes_and_is_itself_not_undone(world: World) -> None:
    job = add(world)
    gone = world.ask(undo_job, UndoJob(job_id=job.id, revision=job.revision))
    assert gone.removed_at is not None
    error = refused(lambda: world.ask(undo_job, UndoJob(job_id=job.id, revision=gone.revision)), Conflict)
    assert error.code == "nothing_to_undo"


def test_undo_of_an_update_gives_all_of_it_back(world: World) -> None:
    job = add(world, when="every 2h", description="old", payload={"model": "gpt"}, ends_at="in 3 days", max_runs=9)
    others: dict[str, Any] = {"when": "every day at 9", "description": "new", "ends_at": None, "max_runs": 8}
    changed = patch(world, job, **others, payload={"model": "other"})
    back = world.ask(undo_job, UndoJob(job_id=job.id, revision=changed.revision))
    same = set(job.plain()) - {"revision", "updated_at"}
    assert {k: back.plain()[k] for k in same} == {k: job.plain()[k] for k in same}
    assert back.revision == 3


def test_undo_needs_the_revision_that_the_change_made(world: World) -> None:
    job = add(world)
    patch(world, job, name="one")
    error = refused(lambda: world.ask(undo_job, UndoJob(job_id=job.id, revision=1)), Conflict)
    assert error.code == "stale_revision"


def test_undo_of_a_pause_lets_it_go_on(world: World) -> None:
    job = add(world)
    paused = world.ask(disable_job, DisableJob(job_id=job.id))
    assert world.ask(undo_job, UndoJob(job_id=job.id, revision=paused.revision)).next == job.next


def test_a_removed_job_does_not_come_back_over_another_with_its_dedupe_key(world: World) -> None:
    job = add(world, dedupe_key="k")
    removed = world.ask(remove_job, JobRef(job_id=job.id))
    add(world, dedupe_key="k")
    error = refused(lambda: world.ask(undo_job, UndoJob(job_id=job.id, revision=removed.revision)), Conflict)
    assert error.code == "wrong_state"


def test_a_dedupe_key_that_another_job_has_is_refused_by_an_update_and_by_an_undo(world: World) -> None:
    job = add(world, dedupe_key="k")
    freed = patch(world, job, dedupe_key=None)
    other = add(world, dedupe_key="k")
    for change in (
        lambda: patch(world, job, dedupe_key="k"),
        lambda: world.ask(undo_job, UndoJob(job_id=job.id, revision=freed.revision)),
    ):
        error = refused(change, Conflict)
        assert (error.code, error.extra) == ("wrong_state", {"job_id": other.id})
    assert patch(world, other, dedupe_key="k").revision == other.revision


# agents


def test_an_agent_adds_to_the_session_of_its_turn_whatever_it_names(world: World) -> None:
    caller = agent(world, PERSON_TURN)
    job = world.ask(add_job, read(AddJob, {"session_key": "web:other", "when": "in 1h", "message": "x"}), caller=caller)
    assert (job.session_key, job.origin.plain()) == ("web:abc", {"door": "tool", "turn_id": "turn_test"})


def test_a_turn_that_no_person_opened_adds_no_jobs_unless_its_own_says_so(world: World) -> None:
    ask = read(AddJob, {"when": "in 1h", "message": "x"})
    with pytest.raises(Forbidden):
        world.ask(add_job, ask, caller=agent(world, RUN_TURN))
    assert world.ask(add_job, ask, caller=agent(world, RUN_TURN, may_schedule=True)).session_key == "web:abc"


def test_a_turn_that_no_person_opened_changes_only_its_own_job(world: World) -> None:
    own, other = add(world), add(world)
    caller = agent(world, RUN_TURN, job_id=own.id)
    world.ask(disable_job, DisableJob(job_id=own.id), caller=caller)
    with pytest.raises(Forbidden):
        world.ask(disable_job, DisableJob(job_id=other.id), caller=caller)
    with pytest.raises(Forbidden):
        world.ask(update_job, UpdateJob(job_id=own.id, may_schedule=True), caller=caller)


def test_an_agent_reaches_only_jobs_of_its_own_agent_and_lists_its_own_sessions(world: World) -> None:
    mine = add(world)
    add(world, session_key="web:elsewhere")
    caller = agent(world, PERSON_TURN)
    assert [job.id for job in world.ask(list_jobs, ListJobs(), caller=caller).items] == [mine.id]
    assert len(world.ask(list_jobs, ListJobs(all=True), caller=caller).items) == 2
    foreign = agent(world, PERSON_TURN, agent_id="other")
    with pytest.raises(NotFound):
        world.ask(get_job, GetJob(job_id=mine.id), caller=foreign)
    assert world.ask(list_jobs, ListJobs(all=True), caller=foreign).items == []
