"""The agent's tool: what it does, what it answers, and whom it cannot reach."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from behaviour.tools.chats import Chat, MakeChat
from homing.model.agents import SCHEDULERS
from homing.model.errors import Refused
from homing.model.people import Caller
from homing.model.schedules import At, Cron, Every
from homing.operations.status import OFF
from homing.store import sessions
from homing.tools.schedule_task import DESCRIPTION, PARAMETERS, schedule_task
from support.worlds import World, stop_scheduler

on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""For exact sentences: only there is the time ours to set."""


@pytest.fixture(params=SCHEDULERS)
def called(request: pytest.FixtureRequest) -> str:
    """Every name of the tool: the whole suite holds under each, though the agent is offered the first."""
    return request.param


@pytest.fixture
def sunday(world: World) -> World:
    """The evening before the Monday on which tests begin."""
    world.clock.jump(timedelta(hours=-12))
    return world


# Replies


@on_sqlite
def test_an_add_is_answered_with_the_sentence_id_zone_and_next_three_times(sunday: World, chat: Chat) -> None:
    done = chat.call(action="add", when="every weekday at 8", message="Look for cheap fruit", name="fruit watch")
    [job] = chat.jobs()
    assert done.text == (
        f'Added "fruit watch" ({job.id}): weekdays at 08:00 Europe/Berlin. '
        "Next: Mon 16 Nov 08:00, Tue 17 Nov 08:00, Wed 18 Nov 08:00. To undo: remove."
    )
    assert done.cards == [{"kind": "job", "job_id": job.id, "change": "added", "revision": 1}]
    assert re.fullmatch(r"job_[a-z2-7]{10}", job.id)


@on_sqlite
@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("in 2 minutes", "once on Sun 15 Nov 2026 at 21:02 Europe/Berlin. Next: Sun 15 Nov 21:02. To undo"),
        (
            "every 2 hours",
            "every 2 hours on the hour (Europe/Berlin). Next: Sun 15 Nov 23:00, Mon 16 Nov 01:00, Mon 16",
        ),
        ("every monday at 9", "Mondays at 09:00 Europe/Berlin. Next: Mon 16 Nov 09:00, Mon 23 Nov 09:00, Mon 30 Nov"),
        ("2027-01-01T10:00", "once on Fri 1 Jan 2027 at 10:00 Europe/Berlin. Next: Fri 1 Jan 2027 10:00."),
        ("0 9 * * * Asia/Tokyo", "every day at 09:00 Asia/Tokyo. Next: Mon 16 Nov 09:00,"),
    ],
)
def test_times_are_told_on_the_clock_of_the_job(sunday: World, chat: Chat, when: str, words: str) -> None:
    assert f"): {words}" in chat.say(when=when, message="tea", name="tea")


def test_a_message_that_is_scheduled_already_is_pointed_out(chat: Chat) -> None:
    chat.add("tea", message="drink tea")
    again = chat.say(when="every day at 10", message="drink tea", name="tea again")
    assert again.startswith('Added "tea again"')
    assert 'Note: "tea" already says the same.' in again


def test_what_may_surprise_is_said(chat: Chat) -> None:
    assert "Note: '*/45' starts again with every hour" in chat.say(when="*/45 * * * *", message="tea")


def test_whose_and_where_are_ignored_and_the_reply_says_so(chat: Chat, open_chat: MakeChat) -> None:
    other = open_chat("web:other")
    reply = chat.say(when="10m", message="tea", session_key="web:other", user_id="stranger", deliver=True, to="C1")
    assert "\nIgnored: session_key, user_id, deliver, to. A job always belongs to this conversation" in reply
    [job] = chat.jobs()
    assert (job.session_key, job.user_id, job.sender_id) == ("web:fruit", "default", "anna")
    assert other.jobs() == []


def test_the_schema_is_the_contracts(chat: Chat) -> None:
    assert DESCRIPTION.startswith("Do something later, or again and again, in this conversation.")
    assert PARAMETERS["required"] == ["action"]
    properties = PARAMETERS["properties"]
    assert isinstance(properties, dict)
    names = "action job_id when message name tz until reminder isolated quiet script script_language"
    assert list(properties) == names.split()
    # Its advice has to be true: each of the times it shows can be scheduled.
    shown = re.findall(r"'([^']+)'", properties["when"]["description"])
    assert len(shown) == 6
    for when in shown:
        if not when.startswith("2026-"):
            assert chat.say(action="add", when=when, message="tea").startswith("Added")
    for action in properties["action"]["enum"]:
        if action not in ("add", "list"):
            assert "job_id is missing" in chat.refused(action=action, when="10m")


# Input repair


@pytest.mark.parametrize(
    ("said", "schedule"),
    [
        ({"cron": "0 9 * * 1-5", "message": "tea"}, Cron(cron="0 9 * * 1-5", tz="Europe/Berlin")),
        ({"expr": "0 9 * * *", "tz": "Asia/Tokyo", "text": "tea"}, Cron(cron="0 9 * * *", tz="Asia/Tokyo")),
        ({"recurrence": "0 9 * * *", "prompt": "tea"}, Cron(cron="0 9 * * *", tz="Europe/Berlin")),
        (
            {"cron": "0 9 * * 1", "interval": "2", "anchorMs": 0, "message": "tea"},
            Cron(cron="0 9 * * 1", tz="Europe/Berlin", interval=2, anchor=datetime(1970, 1, 1, tzinfo=UTC)),
        ),
        ({"atMs": 4102444800000, "message": "tea"}, At(at=datetime(2100, 1, 1, tzinfo=UTC), tz="Europe/Berlin")),
        (
            {"everyMs": "60000", "anchorMs": 0, "message": "tea"},
            Every(every_ms=60000, anchor=datetime(1970, 1, 1, tzinfo=UTC), tz="Europe/Berlin"),
        ),
        (
            {"job": {"schedule": {"kind": "cron", "expr": "0 9 * * *", "tz": ""}, "payload": {"message": "tea"}}},
            Cron(cron="0 9 * * *", tz="Europe/Berlin"),
        ),
        (
            {"job": '{"schedule": {"kind": "At", "at": "2100-01-01T00:00:00Z"}, "payload": {"message": "tea"}}'},
            At(at=datetime(2100, 1, 1, tzinfo=UTC), tz="Europe/Berlin"),
        ),
    ],
)
def test_flat_or_aliased_arguments_become_the_canonical_job(
    chat: Chat, said: dict[str, object], schedule: object
) -> None:
    chat.call(**said)
    [job] = chat.jobs()
    assert job.timing.schedule == schedule
    assert (job.payload.message, job.payload.kind, job.enabled) == ("tea", "agent_turn", True)


def test_two_schedule_fields_at_once_are_refused(chat: Chat) -> None:
    assert chat.refused(at="10m", cron="@daily", message="tea").startswith("at and cron are 2 schedules; give one")
    assert chat.jobs() == []


@pytest.mark.parametrize(
    ("kind", "schedule"),
    [
        ("at", At(at=datetime(2100, 1, 1, tzinfo=UTC), tz="Europe/Berlin")),
        ("every", 60000),
        ("cron", Cron(cron="0 9 * * *", tz="Europe/Berlin")),
    ],
)
@pytest.mark.parametrize("flat", [True, False])
def test_where_every_field_is_filled_in_the_kind_decides(chat: Chat, kind: str, schedule: object, flat: bool) -> None:
    whole = {"kind": kind, "at": "2100-01-01T00:00:00Z", "every_ms": 60000, "cron": "0 9 * * *"}
    chat.call(action="add", message="tea", **(whole if flat else {"schedule": whole}))
    [job] = chat.jobs()
    read = job.timing.schedule
    assert (read.every_ms if isinstance(read, Every) else read) == schedule
    del whole["kind"]
    refused = chat.refused(action="add", message="tea", **(whole if flat else {"schedule": whole}))
    assert "are 3 schedules; give one" in refused


def test_a_message_for_later_is_one_agent_turn(chat: Chat) -> None:
    chat.call(text="Look at the oven", processAfter="2100-01-01T00:00:00Z")
    [job] = chat.jobs()
    assert job.timing.schedule == At(at=datetime(2100, 1, 1, tzinfo=UTC), tz="Europe/Berlin")
    assert (job.payload.kind, job.payload.message) == ("agent_turn", "Look at the oven")


def test_process_after_with_a_recurrence_is_the_first_run(chat: Chat) -> None:
    first = (chat.world.now() + timedelta(days=3)).replace(microsecond=0)
    chat.call(prompt="tea", processAfter=first.isoformat(), recurrence="0 9 * * *")
    [job] = chat.jobs()
    assert job.next_run_at == job.timing.starts_at == first


def test_until_a_day_includes_that_day(chat: Chat) -> None:
    job = chat.add("tea", until="2100-01-01")
    assert job.timing.ends_at == datetime(2100, 1, 1, 22, 59, 59, tzinfo=UTC)


def test_a_reply_tells_the_bounds_as_they_were_understood(chat: Chat) -> None:
    said = chat.say(when="every day at 9", message="tea", until="2100-01-01", max_runs=5)
    assert ". Bounds: until Fri 1 Jan 2100 23:59:59, at most 5 runs. To undo: remove." in said


def test_flags_make_reminders_and_jobs_that_work_apart(chat: Chat) -> None:
    assert chat.add("a", reminder=True).payload.kind == "reminder"
    job = chat.add("b", isolated=True, quiet=True, delete_after_run="true", enabled=False)
    assert (job.isolated, job.quiet, job.delete_after_run, job.enabled) == (True, True, True, False)
    refused = chat.refused(when="10m", message="x", reminder=True, isolated=True)
    assert "A reminder cannot be isolated" in refused
    assert "Read: isolated = true." in refused


def test_a_second_add_with_the_same_dedupe_key_updates_that_job(chat: Chat) -> None:
    job = chat.add("tea", dedupe_key="tea")
    done = chat.call(when="every day at 10", message="more tea", dedupe_key="tea", name="tea")
    assert done.text.startswith(f'Updated "tea" ({job.id}): every day at 10:00 Europe/Berlin.')
    assert "It has the same dedupe_key." in done.text
    assert done.cards[0]["change"] == "updated"
    assert [job.payload.message for job in chat.jobs()] == ["more tea"]


def test_a_dedupe_key_belongs_to_its_session(chat: Chat, open_chat: MakeChat) -> None:
    chat.add("tea", dedupe_key="tea")
    assert open_chat("web:other").add("tea", dedupe_key="tea").id != chat.jobs()[0].id


def test_a_proposed_id_is_taken_if_free_and_a_name_in_its_place_is_a_name(chat: Chat) -> None:
    assert '"tea" (tea_time)' in chat.say(when="10m", message="tea", job_id="tea_time")
    assert "Note: The id tea_time is taken" in chat.say(when="10m", message="coffee", job_id="tea_time")
    assert 'Added "fruit watch" (job_' in chat.say(when="10m", message="fruit", job_id="fruit watch")


def test_an_update_of_one_payload_field_preserves_the_others(chat: Chat) -> None:
    job = chat.add("tea", thinking="low", timeoutSeconds=60, until="2100-01-01")
    done = chat.call(action="update", job_id=job.id, message="green tea")
    assert done.text.startswith(f'Updated "tea" ({job.id}): every day at 09:00 Europe/Berlin. Next: ')
    assert done.text.endswith("To undo: undo.")
    after = chat.job(job.id)
    assert (after.payload.message, after.payload.thinking, after.payload.timeout_seconds) == ("green tea", "low", 60)
    assert after.timing == job.timing
    assert done.cards == [{"kind": "job", "job_id": job.id, "change": "updated", "revision": 2}]


def test_explicit_nulls_on_update_clear_the_field(chat: Chat) -> None:
    job = chat.add("tea", thinking="low", until="2100-01-01", description="hot")
    chat.call(action="update", job_id=job.id, thinking=None, until=None, description=None, message=None, when=None)
    after = chat.job(job.id)
    assert (after.payload.thinking, after.timing.ends_at, after.description) == (None, None, None)
    assert (after.payload.message, after.timing.schedule) == (job.payload.message, job.timing.schedule)


def test_a_stale_revision_is_a_conflict_rather_than_an_overwrite(chat: Chat) -> None:
    job = chat.add("tea")
    chat.call(action="update", job_id=job.id, message="green tea")
    assert "it is at revision 2" in chat.refused(action="update", job_id=job.id, message="black tea", revision=1)
    assert chat.job(job.id).payload.message == "green tea"


def test_a_zone_alone_moves_the_schedule_to_another_clock(chat: Chat) -> None:
    job = chat.add("tea")
    assert "every day at 09:00 Asia/Tokyo" in chat.say(action="update", job_id=job.id, tz="Asia/Tokyo")


def test_an_update_that_changes_nothing_says_so_and_makes_no_card(chat: Chat) -> None:
    job = chat.add("tea")
    done = chat.call(action="update", job_id=job.id, message=job.payload.message)
    assert done.text.startswith(f'Nothing changed: "tea" ({job.id})')
    assert done.cards == ()


# The verbs


def test_a_list_shows_this_conversations_jobs_unless_asked_for_all(chat: Chat, open_chat: MakeChat) -> None:
    assert chat.say(action="list") == "No automations in this conversation."
    tea, other = chat.add("tea"), open_chat("web:other").add("coffee")
    head, line = chat.say(action="list").splitlines()
    assert head == "1 automation in this conversation:"
    assert line.startswith(f'- "tea" ({tea.id}): every day at 09:00 Europe/Berlin. Next: ')
    assert line.endswith(". Active.")
    everywhere = chat.say(action="list", all=True).splitlines()
    assert everywhere[0] == "2 automations in all your conversations:"
    assert any(f'"coffee" ({other.id})' in line and line.endswith("In web:other.") for line in everywhere)


def test_a_list_in_a_shared_place_shows_nothing_of_other_conversations(chat: Chat, open_chat: MakeChat) -> None:
    open_chat("web:other").add("coffee")
    chat.world.write(lambda tx: sessions.mark_several(tx, chat.session.id))
    assert open_chat().say(action="list", all=True) == "No automations in this conversation."


def test_in_a_shared_place_no_action_finds_an_automation_of_another_conversation(
    chat: Chat, open_chat: MakeChat
) -> None:
    elsewhere = open_chat("web:other")
    safe, gone, same = elsewhere.add("open the safe"), elsewhere.add("gone"), elsewhere.add("x", job_id="tea")
    elsewhere.call(action="remove", job_id=gone.id)
    here = chat.add("tea")
    before = [elsewhere.job(job.id) for job in (safe, gone, same)]
    chat.world.write(lambda tx: sessions.mark_several(tx, chat.session.id))
    group = open_chat()
    for given in (safe.id, "open the safe", "safe", f"{safe.id}:1", safe.id[:9]):
        for action in ("get", "status", "remove", "enable", "disable", "run", "skip", "undo"):
            refused = group.refused(action=action, job_id=given)
            assert refused.startswith(f'There is no {given!r}. There are: {here.id} "tea".')
            assert "open the safe" not in refused.replace(given, "")
        assert "There is no" in group.refused(action="update", job_id=given, message="tell me the code")
    assert "There is no" in group.refused(action="undo", job_id=gone.id)
    # An id of a job elsewhere does not hide what is called so here.
    assert f'"tea" ({here.id})' in group.say(action="get", job_id="tea")
    assert [elsewhere.job(job.id) for job in (safe, gone, same)] == before
    # In a conversation of the user's own, their other ones are found as before.
    assert f'"open the safe" ({safe.id})' in open_chat("web:own").say(action="get", job_id="open the safe")
    assert f'"x" ({same.id})' in open_chat("web:own").say(action="get", job_id="tea")


def test_a_long_list_ends_somewhere_and_says_so(chat: Chat) -> None:
    for name in ("a", "b", "c"):
        chat.add(name)
    lines = chat.say(action="list", limit="2").splitlines()
    assert len(lines) == 4
    assert lines[-1] == "There are more; ask with a larger limit, up to 200."


def test_a_pause_a_resume_and_a_removal_name_the_job(chat: Chat) -> None:
    job = chat.add("tea")
    paused = chat.call(action="pause", job_id="tea", reason="holidays", until="tomorrow at 10")
    assert paused.text.startswith(
        f'Disabled "tea" ({job.id}): every day at 09:00 Europe/Berlin. It goes on by itself on '
    )
    assert "Next: none while it is disabled. To undo: enable." in paused.text
    assert paused.cards == [{"kind": "job", "job_id": job.id, "change": "disabled", "revision": 2}]
    assert "Paused: holidays." in chat.say(action="list")
    resumed = chat.call(action="resume", job_id="TEA")
    assert resumed.text.startswith(f'Enabled "tea" ({job.id})')
    assert resumed.cards[0]["change"] == "enabled"
    removed = chat.call(action="cancel", job_id=job.id)
    assert removed.text == f'Removed "tea" ({job.id}): every day at 09:00 Europe/Berlin. To undo: undo.'
    assert removed.cards == [{"kind": "job", "job_id": job.id, "change": "removed", "revision": 4}]
    assert chat.jobs() == []


def test_a_change_can_be_undone_once(chat: Chat) -> None:
    job = chat.add("tea")
    chat.call(action="update", job_id="tea", when="every day at 10")
    undone = chat.call(action="undo", job_id="tea")
    assert undone.text.startswith(f'Undone: set back "tea" ({job.id}): every day at 09:00 Europe/Berlin. Next: ')
    assert undone.cards[0]["change"] == "updated"
    assert "nothing to undo" in chat.refused(action="undo", job_id="tea")


def test_an_undone_removal_brings_the_job_back_and_an_undone_add_removes_it(chat: Chat) -> None:
    job = chat.add("tea")
    chat.call(action="remove", job_id="tea")
    back = chat.call(action="undo", job_id=job.id)
    assert back.text.startswith(f'Undone: brought back "tea" ({job.id}): every day')
    assert back.cards[0]["change"] == "added"
    other = chat.add("coffee")
    gone = chat.call(action="undo", job_id="coffee")
    assert gone.text == f'Undone: removed "coffee" ({other.id}): every day at 09:00 Europe/Berlin.'
    assert gone.cards[0]["change"] == "removed"


@on_sqlite
def test_a_skip_leaves_out_the_next_time(sunday: World, chat: Chat) -> None:
    job = chat.add("tea")
    done = chat.call(action="skip", job_id="tea")
    assert done.text == (
        f'Skipped "tea" ({job.id}): every day at 09:00 Europe/Berlin. Left out: Mon 16 Nov 09:00. '
        "Next: Tue 17 Nov 09:00, Wed 18 Nov 09:00, Thu 19 Nov 09:00. To undo: undo."
    )
    assert done.cards == [{"kind": "job", "job_id": job.id, "change": "skipped", "revision": 2}]
    more = chat.say(action="skip", job_id="tea", count="5")
    assert "Left out: Tue 17 Nov 09:00, Wed 18 Nov 09:00, Thu 19 Nov 09:00 and 2 more." in more


def test_a_skip_of_the_only_time_says_that_none_is_left(chat: Chat) -> None:
    chat.add("tea", when="in 10 minutes")
    assert ". Next: none. To undo: undo." in chat.say(action="skip", job_id="tea")


def test_a_run_now_starts_when_the_conversation_is_free_and_leaves_the_schedule_alone(chat: Chat) -> None:
    job = chat.add("tea")
    done = chat.call(action="run", job_id="tea", force=True)
    assert done.text == (
        f'Running "tea" ({job.id}) now: it starts as soon as this conversation is free. '
        "Its schedule stays: every day at 09:00 Europe/Berlin."
    )
    assert done.cards == ()
    assert "already running, or waits to" in chat.refused(action="run", job_id="tea")
    chat.add("hi", reminder=True)
    assert "now: done." in chat.say(action="run", job_id="hi")


def test_get_tells_everything_and_the_last_outcome(chat: Chat) -> None:
    chat.add("tea", message="drink tea", reminder=True, until="2100-01-01")
    first = chat.say(action="get", job_id="tea").splitlines()
    assert first[0].endswith(". Active.")
    assert first[1] == "Sends, word for word: drink tea"
    assert first[2] == "Also: until Fri 1 Jan 2100 23:59:59."
    chat.call(action="run", job_id="tea")
    last = chat.say(action="status", job_id="tea").splitlines()[-1]
    assert last.startswith("It is enabled")
    assert last.endswith("went well.")


def test_status_counts_what_there_is(chat: Chat) -> None:
    chat.add("tea")
    chat.add("coffee")
    chat.call(action="pause", job_id="coffee")
    assert chat.say(action="status").endswith("Automations: 1 active, 1 paused, 0 attention, 0 done.")


@on_sqlite
def test_status_tells_the_next_wake(sunday: World, chat: Chat) -> None:
    assert chat.say(action="status").startswith("Scheduler: on. Next wake: none. Automations: 0 active,")
    chat.add("tea", when="every day at 9")
    status = chat.say(action="status")
    assert status.startswith("Scheduler: on. Next wake: Mon 16 Nov 09:00 Europe/Berlin. Automations: 1 active,")


def test_no_time_is_promised_without_a_word_while_nothing_fires(chat: Chat) -> None:
    chat.world.write(stop_scheduler)
    added = chat.say(when="in 10 minutes", message="tea", name="tea")
    assert added.endswith("Note: No server is running: nothing fires until `homing up`.")
    off = replace(chat, world=chat.world.with_settings(scheduler_enabled=False))
    assert off.say(when="in 10 minutes", message="milk").endswith(f"Note: {OFF}")
    assert off.say(action="update", job_id="tea", when="in 20 minutes").endswith(f"Note: {OFF}")
    assert OFF not in off.say(action="disable", job_id="tea")
    assert off.say(action="enable", job_id="tea").endswith(f"Note: {OFF}")
    assert off.say(action="status") == f"{OFF} Automations: 2 active, 0 paused, 0 attention, 0 done."


# Which job


def test_a_name_will_do_in_any_case_and_so_will_a_runs_id(chat: Chat) -> None:
    job = chat.add("Fruit Watch")
    assert f"({job.id})" in chat.say(action="get", job_id="fruit watch")
    assert f"({job.id})" in chat.say(action="get", taskId=f"{job.id}:1770000000000:m")
    assert f"({job.id})" in chat.say(action="get", job="Fruit Watch")


def test_a_name_that_fits_several_is_refused_with_the_candidates(chat: Chat) -> None:
    one, two = chat.add("tea"), chat.add("Tea", when="every day at 10")
    refused = chat.refused(action="remove", job_id="tea")
    assert one.id in refused
    assert two.id in refused
    assert len(chat.jobs()) == 2


def test_half_a_name_finds_a_job_but_does_not_change_it(chat: Chat) -> None:
    job = chat.add("fruit watch")
    refused = chat.refused(action="remove", job_id="fruit")
    assert refused.startswith(f'There is no automation "fruit". Did you mean "fruit watch" ({job.id})?')


def test_an_unknown_id_lists_the_candidates(chat: Chat) -> None:
    job = chat.add("tea")
    refused = chat.refused(action="remove", job_id="job_unknown")
    assert job.id in refused
    assert '"tea"' in refused


def test_a_job_of_another_conversation_is_reached_by_name_if_none_here_has_it(chat: Chat, open_chat: MakeChat) -> None:
    elsewhere = open_chat("web:other")
    there, here = elsewhere.add("tea"), chat.add("tea", when="every day at 10")
    coffee = elsewhere.add("coffee")
    chat.add("coffee break")
    assert f"({here.id})" in chat.say(action="get", job_id="tea")
    assert f"({coffee.id})" in chat.say(action="get", job_id="coffee")
    assert f"({there.id})" in chat.say(action="get", job_id=there.id)


def test_anothers_jobs_are_not_found(chat: Chat, open_chat: MakeChat) -> None:
    strangers = open_chat("web:theirs", user_id="stranger").add("secret")
    others = open_chat("web:agent", agent_id="other").add("hidden")
    for job in (strangers, others):
        for said in (job.id, job.name):
            refused = chat.refused(action="remove", job_id=said)
            assert refused.startswith("There is no")
    assert "secret" not in chat.say(action="list", all=True)
    assert "hidden" not in chat.say(action="list", all=True)


# In turns that no person opened


def test_in_a_scheduled_turn_the_job_may_be_left_out(chat: Chat, open_chat: MakeChat) -> None:
    job = chat.add("tea")
    scheduled = open_chat(source="run", job_id=job.id)
    assert f"({job.id})" in scheduled.say(action="get")
    assert scheduled.say(action="disable").startswith(f'Disabled "tea" ({job.id})')


def test_a_scheduled_turn_changes_only_its_own_job_and_adds_none(chat: Chat, open_chat: MakeChat) -> None:
    job, other = chat.add("tea"), chat.add("coffee")
    scheduled = open_chat(source="run", job_id=job.id)
    assert "may change only its own" in scheduled.refused(action="remove", job_id=other.id)
    assert "adds no automations" in scheduled.refused(when="10m", message="more")
    assert "Only a person may" in scheduled.refused(action="update", may_schedule=True)
    assert [job.name for job in chat.jobs()] == ["tea", "coffee"]
    trusted = open_chat(source="run", job_id=job.id, may_schedule=True)
    assert trusted.say(when="10m", message="more").startswith("Added")


# Refusals


@pytest.mark.parametrize(
    ("said", "reason", "read"),
    [
        ({"when": "soonish", "message": "x"}, "I don't understand 'soonish' as a time", 'when = "soonish"'),
        ({"cron": "61 * * * *", "message": "x"}, "61", 'cron = "61 * * * *"'),
        ({"when": "2020-01-01T09:00", "message": "x"}, "is in the past", 'when = "2020-01-01T09:00"'),
        ({"when": "0 9 30 2 *", "message": "x"}, "never fires", 'when = "0 9 30 2 *"'),
        ({"when": "every day at 9", "tz": "Mars/One", "message": "x"}, "Mars/One", 'tz = "Mars/One"'),
        ({"schedule": {"kind": "weekly"}, "message": "x"}, "weekly", 'schedule = {"kind": "weekly"}'),
        ({"when": "every day at 9", "until": "the end", "message": "x"}, "the end", 'until = "the end"'),
        ({"when": "10m", "message": "x", "max_runs": 0}, "max_runs must be 1 or more", "max_runs = 0"),
        ({"when": "10m"}, "message is missing", "no message"),
        ({"action": "explode"}, 'There is no action "explode"', 'action = "explode"'),
    ],
)
def test_a_refusal_names_the_field_what_was_read_and_one_correct_call(
    chat: Chat, said: dict[str, object], reason: str, read: str
) -> None:
    told = chat.refused(**said)
    first, _, rest = told.partition("\nRead: ")
    assert reason in first
    assert rest.startswith(f"{read}. A correct call: ")
    call = json.loads(rest.partition("A correct call: ")[2])
    assert chat.say(**call).startswith('Added "fruit watch"')


def test_a_change_of_an_unknown_job_is_told_to_look_first(chat: Chat) -> None:
    for action in ("update", "get", "disable", "enable", "skip", "run", "undo", "remove"):
        told = chat.refused(action=action, when="10m", job_id="nowhere")
        assert told.endswith('\nRead: job_id = "nowhere". A correct call: {"action": "list"}')


def test_a_change_without_its_job_is_told_one_that_works(chat: Chat) -> None:
    chat.add("fruit watch")
    for action in ("update", "get", "disable", "enable", "skip", "run", "undo", "remove"):
        told = chat.refused(action=action, when="10m", job_id="")
        assert "\nRead: job_id = " in told
        chat.call(**json.loads(told.partition("A correct call: ")[2]))


def test_a_turn_that_no_person_opened_is_told_what_it_may_do(chat: Chat, open_chat: MakeChat) -> None:
    own, other = chat.add("tea"), chat.add("coffee")
    scheduled = open_chat(source="run", job_id=own.id)
    for refused in (
        scheduled.refused(when="10m", message="more"),
        scheduled.refused(action="disable", job_id=other.id),
    ):
        assert f"({own.id})" in scheduled.say(**json.loads(refused.partition("A correct call: ")[2]))


# Without a turn


def test_the_mcp_door_uses_the_same_tool_for_a_session_it_names(chat: Chat, open_chat: MakeChat) -> None:
    caller = Caller(user_id="default", door="mcp")

    def call(**arguments: object) -> str:
        return chat.world.write(lambda tx: schedule_task(chat.world.ctx(tx, caller), chat.session, arguments)).text

    assert call(when="every day at 9", message="tea", session_key="web:elsewhere").startswith('Added "tea" (job_')
    assert [(job.session_key, job.origin_door) for job in chat.jobs()] == [("web:fruit", "mcp")]
    open_chat("web:other").add("coffee")
    assert call(action="list").startswith("1 automation in this conversation:")
    assert call(action="list", all=True).startswith("2 automations in all your conversations:")
    with pytest.raises(Refused, match="job_id is missing"):
        call(action="remove")
    assert call(action="remove", job_id="tea").startswith('Removed "tea"')


def test_a_list_of_what_is_no_day_is_refused_in_words_however_odd_it_is(chat: Chat) -> None:
    chat.add("tea")
    for when in ("in " + "9" * 400 + " days", "9" * 30, "on " * 5000 + "friday", "next tuesdayish"):
        assert "'friday', '2026-11-20', 'next week'" in chat.refused(action="list", when=when)
    assert "too far away" in chat.refused(action="list", when="9999-12-31")
