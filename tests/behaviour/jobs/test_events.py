"""System events and the heartbeat: what is laid into a session, and who looks at it when."""

from typing import Any

import pytest

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.agent.frames import frame
from homing.model.errors import Conflict
from homing.model.jobs import Job
from homing.operations.job_changes import disable_job
from homing.operations.jobs import list_jobs
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import get_session
from homing.operations.shapes.job_asks import DisableJob, JobRef, ListJobs, WhyJob
from homing.operations.shapes.session_asks import DeleteSession, SessionRef
from homing.operations.why import why_job
from homing.store import jobs
from homing.testing import tool_call
from support.ledger import CHAT

DOOR = {"kind": "system_event", "message": "The door was opened."}
EVENT = frame("event.message", "The door was opened.", name="The door was opened.")
ASKS = "Tell the user what matters in it, and act on it where they asked you to."


def add_event(home: Home, **given: Any) -> str:
    return home.add(message=None, payload=DOOR, **({"when": "in 1 hour"} | given)).id


def heartbeat(home: Home) -> Job:
    session = home.ledger.session()
    [job] = [job for job in home.ledger.write(lambda tx: jobs.bound_to(tx, session.id)) if job.kind == "system"]
    return job


async def test_an_event_that_wakes_starts_a_turn_with_its_text(home: Home) -> None:
    job_id = add_event(home)
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ends(job_id) == [("ok", None)]
    opening, closing = home.shown()
    assert (opening.role, opening.kind, opening.text) == ("user", "note", "The door was opened.")
    assert opening.meta["cron_job_id"] == job_id
    assert closing.role == "assistant"
    assert home.call()[-1].text.endswith(f"inserted an event into this conversation. {ASKS}\n\n{EVENT}")


async def test_an_events_turn_has_the_sender_who_asked_for_it(home: Home) -> None:
    add_event(home, sender_id="anna")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert home.ledger.turn().sender_id == "anna"


async def test_without_a_heartbeat_next_heartbeat_behaves_as_now(home: Home) -> None:
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert len(home.model.seen) == 1
    assert home.shown()[0].text == "The door was opened."


async def test_an_event_for_the_heartbeat_wakes_nobody_until_it_beats(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=30)
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert (home.shown(), home.model.seen) == ([], [])
    beat = heartbeat(home)
    assert (beat.kind, beat.quiet, beat.status) == ("system", True, "active")
    home.pass_time(minutes=30)
    await home.settle()
    assert home.ends(beat.id) == [("ok", None)]
    assert "The door was opened." in home.call()[-1].text
    assert [message.text for message in home.shown()][:1] == ["The door was opened."]


async def test_the_next_turn_takes_an_event_along_before_the_heartbeat_does(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=30)
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    await home.say("Anything new?")
    assert home.call()[-1].text == f"{EVENT}\n\nAnything new?"
    home.pass_time(minutes=30)
    await home.settle()
    # Nothing waits any more, so nobody is asked.
    assert len(home.model.seen) == 1
    assert home.ends(heartbeat(home).id) == [("skipped", "gate")]


@pytest.mark.parametrize("model", ["scripted", "offline"])
async def test_the_heartbeats_own_prompt_never_shows_in_the_chat(make_home: MakeHome, model: str) -> None:
    home = make_home(heartbeat_minutes=30, model=model)
    home.model.otherwise("The door is open.")
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home.pass_time(minutes=30)
    await home.settle()
    note, opening, closing = home.shown()
    assert (note.text, opening.text) == ("The door was opened.", "Scheduled cron job triggered: heartbeat")
    assert "door" in closing.text
    assert not any("Look at what" in message.text for message in home.shown())
    if model == "scripted":
        assert home.call()[-1].text.startswith(f"{EVENT}\n\nThis is the heartbeat of this conversation.")
        await home.say("And now?")
        assert home.call()[1].text == f"{EVENT}\n\nScheduled cron job triggered: heartbeat"


async def test_a_heartbeat_with_nothing_laid_in_asks_no_model_and_is_one_row(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=30)
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home.pass_time(minutes=30)
    await home.settle()
    for _ in range(4):
        home.pass_time(minutes=30)
        await home.settle()
    assert len(home.model.seen) == 1
    ran, held = home.runs(heartbeat(home).id)
    assert (ran.state, held.state, held.reason, held.missed_count) == ("ok", "skipped", "gate", 4)


async def test_outside_the_active_hours_the_heartbeat_waits(make_home: MakeHome) -> None:
    hour = make_home().now().hour
    # PostgreSQL's clock does not move: the hours do.
    night = make_home(heartbeat_minutes=30, active_hours=f"{(hour + 3) % 24:02d}:00-{(hour + 6) % 24:02d}:00")
    add_event(night, wake="next_heartbeat", when="in 1 minute")
    night.pass_time(minutes=1, seconds=1)
    await night.settle()
    night.pass_time(minutes=30)
    await night.settle()
    assert (night.ends(heartbeat(night).id), night.model.seen) == ([("skipped", "gate")], [])
    home = make_home(heartbeat_minutes=30, active_hours=f"{(hour - 1) % 24:02d}:00-{(hour + 3) % 24:02d}:00")
    home.pass_time(minutes=30)
    await home.settle()
    assert home.ends(heartbeat(home).id) == [("skipped", "gate"), ("ok", None)]
    assert "The door was opened." in home.call()[-1].text


async def test_a_heartbeat_may_say_that_there_is_nothing_and_may_not_schedule(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=30)
    home.model.when(
        "Look at what was added to",
        tool_call("schedule_task", {"action": "add", "when": "in 5 minutes", "message": "again"}),
        tool_call("nothing_to_report", {"note": "only a door"}),
        "",
    )
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home.pass_time(minutes=30)
    await home.settle()
    refused = next(m.text for m in home.call() if m.role == "tool")
    assert "adds no automations" in refused
    assert len(home.ask(list_jobs, ListJobs()).items) == 1
    assert home.shown()[-1].kind == "status"


async def test_what_was_laid_in_stays_part_of_the_conversation_although_there_was_nothing_to_report(
    make_home: MakeHome,
) -> None:
    home = make_home(heartbeat_minutes=30)
    home.model.when("Look at what was added to", tool_call("nothing_to_report"), "")
    add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home.pass_time(minutes=30)
    await home.settle()
    assert [message.kind for message in home.shown()] == ["note", "status"]
    await home.say("Was the door opened?")
    event, line, question = home.call()[1:]
    assert "The door was opened." in event.text
    assert "nothing to report" in line.text
    assert question.text == "Was the door opened?"


async def test_switched_off_again_the_heartbeat_ends_and_events_wake_by_themselves(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=30)
    add_event(home, wake="next_heartbeat", when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home = make_home()
    home.pass_time(minutes=30)
    await home.settle()
    assert (heartbeat(home).enabled, heartbeat(home).next_run_at) == (False, None)
    home.pass_time(minutes=30)
    await home.settle()
    # The one laid in before is taken along.
    assert home.call()[-1].text.count(EVENT) == 2


async def test_switched_off_an_event_wakes_by_itself_although_the_heartbeat_has_not_ended_yet(
    make_home: MakeHome,
) -> None:
    home = make_home(heartbeat_minutes=120)
    add_event(home, wake="next_heartbeat", when="every 1h")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    home = make_home()
    home.pass_time(hours=1)
    await home.settle()
    assert heartbeat(home).next_run_at is not None
    assert home.call()[-1].text.count(EVENT) == 2


async def test_a_system_job_is_listed_to_nobody_blocks_nothing_and_is_not_edited_by_accident(
    make_home: MakeHome,
) -> None:
    home = make_home(heartbeat_minutes=30)
    event = add_event(home, wake="next_heartbeat")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    beat = heartbeat(home)
    assert [job.id for job in home.ask(list_jobs, ListJobs()).items] == [event]
    with pytest.raises(Conflict, match="belongs to Homing itself"):
        home.ask(remove_job, JobRef(job_id=beat.id))
    with pytest.raises(Conflict, match="belongs to Homing itself"):
        home.ask(disable_job, DisableJob(job_id=beat.id))
    home.ask(remove_job, JobRef(job_id=event))
    assert home.ask(delete_session, DeleteSession(session_key=CHAT)).deleted
    home.pass_time(days=1)
    await home.settle()
    assert home.model.seen == []


async def test_run_now_of_an_event_for_the_heartbeat_waits_for_it_as_by_the_clock(make_home: MakeHome) -> None:
    hour = make_home().now().hour
    # Outside the active hours as well.
    home = make_home(heartbeat_minutes=30, active_hours=f"{(hour + 3) % 24:02d}:00-{(hour + 6) % 24:02d}:00")
    job_id = add_event(home, wake="next_heartbeat", when="every day at 9")
    home.ask(run_job, JobRef(job_id=job_id))
    await home.settle()
    assert (home.ends(job_id), home.shown(), home.model.seen) == ([("ok", None)], [], [])
    assert heartbeat(home).enabled
    home = make_home(heartbeat_minutes=30)
    home.pass_time(minutes=30)
    await home.settle()
    assert "The door was opened." in home.call()[-1].text


async def test_why_says_that_an_event_waits_for_the_next_heartbeat_until_a_turn_has_seen_it(
    make_home: MakeHome,
) -> None:
    home = make_home(heartbeat_minutes=30)
    job_id = add_event(home, wake="next_heartbeat", when="every 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    told = home.ask(why_job, WhyJob(job_id=job_id))
    assert (
        "was inserted into the conversation and waits for the next heartbeat: no turn has seen it yet." in told.answer
    )
    assert "went well" not in told.answer
    shown = home.ask(get_session, SessionRef(session_key=CHAT))
    assert (shown.state, [(one.source, one.waiting_for) for one in shown.lane]) == ("idle", [("system", "turn")])
    home.pass_time(minutes=30)
    await home.settle()
    assert "went well." in home.ask(why_job, WhyJob(job_id=job_id)).answer
