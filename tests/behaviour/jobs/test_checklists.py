"""The checklist of an agent's heartbeat: one for each user and agent, in their home, silent if there is nothing."""

from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.engine.sweeper import Sweeper
from homing.model.errors import Conflict
from homing.model.jobs import Job
from homing.model.model_setting import new_setting
from homing.operations.agents import add_agent, update_agent
from homing.operations.job_changes import disable_job, enable_job, update_job
from homing.operations.jobs import list_jobs
from homing.operations.people import update_me
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import update_session
from homing.operations.shapes.agent import AddAgent, UpdateAgent
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, JobRef, ListJobs, UpdateJob, WhyJob
from homing.operations.shapes.people_asks import UpdateMe
from homing.operations.shapes.session_asks import DeleteSession, UpdateSession
from homing.operations.why import why_job
from homing.store import maintenance
from homing.store import tables as t
from homing.testing import tool_call
from support.ledger import CHAT
from support.rooms import MODEL

LIST = "- Is the greenhouse warmer than 30 degrees?"


def beats(home: Home, **given: Any) -> list[str]:
    """Change main's heartbeat at the front desk; give the warnings."""
    ask = read(UpdateAgent, {"agent_id": "main", "heartbeat": {"minutes": 30, "checklist": LIST} | given})
    return home.ask(update_agent, ask).warnings or []


async def plan(home: Home) -> None:
    await Sweeper(home.store, home.instance, home.fake, "worker_1", "here:1", home.scheduler()).plan()


async def half_an_hour(home: Home, times: int = 1) -> None:
    for _ in range(times):
        home.pass_time(minutes=30)
        await home.settle()


def system_jobs(home: Home) -> list[Job]:
    ids = home.ledger.write(
        lambda tx: tx.rows(sa.select(t.job.c.id).where(t.job.c.kind == "system").order_by(t.job.c.n))
    )
    return [home.job(job_id) for (job_id,) in ids]


def checklist(home: Home) -> Job:
    [job] = system_jobs(home)
    return job


@pytest.fixture
def beating(home: Home) -> Home:
    """A home with one chat, whose agent has a checklist."""
    home.ledger.session()
    assert beats(home) == []
    return home


async def test_the_checklist_beats_in_home_and_its_prompt_never_shows_in_the_chat(beating: Home) -> None:
    home = beating
    home.model.otherwise("The greenhouse is at 34 degrees.")
    await plan(home)
    await half_an_hour(home)
    job = checklist(home)
    assert home.ends(job.id) == [("ok", None)]
    asked = home.call()[-1].text
    assert asked.startswith("This is the heartbeat of this conversation: you look around by yourself.")
    assert asked.endswith(f"The checklist:\n{LIST}")
    opening, closing = home.shown()
    assert opening.text == "Scheduled cron job triggered: heartbeat"
    assert closing.text == "The greenhouse is at 34 degrees."
    await home.say("Thanks.")
    assert not any(LIST in message.text for message in home.call())


@pytest.mark.parametrize("answer", ["HEARTBEAT_OK", " NO_REPLY\n", None])
async def test_a_beat_without_news_leaves_one_quiet_line(beating: Home, answer: str | None) -> None:
    home = beating
    await plan(home)
    if answer is not None:
        home.model.otherwise(answer)
    for _ in range(3):
        if answer is None:
            home.model.when("The checklist:", tool_call("nothing_to_report", {"note": "22 degrees"}), "")
        await half_an_hour(home)
    [line] = home.shown()
    assert line.kind == "status"
    assert line.text.startswith("Checked 3 times")
    assert home.ends(checklist(home).id) == [("ok", "quiet")] * 3
    if answer is None:
        assert "What you noted last" in home.heard(), "what it noted is shown to the next"


async def test_without_checklist_or_minutes_there_is_no_system_job_and_no_call(home: Home) -> None:
    home.ledger.session()
    await plan(home)
    assert system_jobs(home) == []
    assert beats(home, minutes=None) == [
        "Nothing goes through the checklist yet: set heartbeat.minutes, or HOMING_HEARTBEAT_MINUTES for every agent."
    ]
    await plan(home)
    beats(home, checklist=" \n ")
    await plan(home)
    assert system_jobs(home) == []
    await half_an_hour(home, 2)
    assert home.model.seen == []


async def test_the_settings_are_the_default_and_an_agents_zero_switches_it_off(make_home: MakeHome) -> None:
    home = make_home(heartbeat_minutes=60)
    home.ledger.session()
    beats(home, minutes=None)
    await plan(home)
    await half_an_hour(home)
    assert home.model.seen == []
    await half_an_hour(home)
    assert len(home.model.seen) == 1
    beats(home, minutes=0)
    await half_an_hour(home, 4)
    assert len(home.model.seen) == 1
    job = checklist(home)
    assert (job.enabled, job.disabled_by) == (False, "done")
    beats(home, minutes=30)
    await plan(home)
    await half_an_hour(home)
    assert len(home.model.seen) == 2
    assert checklist(home).id == job.id


async def test_an_edit_counts_from_the_next_beat(beating: Home) -> None:
    home = beating
    await plan(home)
    beats(home, checklist="- Are the pears ripe?")
    await half_an_hour(home)
    assert "Are the pears ripe?" in home.call()[-1].text
    assert LIST not in home.heard()
    beats(home, minutes=120)
    await half_an_hour(home)
    assert len(home.model.seen) == 2, "the beat that was planned comes, and the next ones by the new interval"
    await half_an_hour(home, 3)
    assert len(home.model.seen) == 2
    await half_an_hour(home)
    assert len(home.model.seen) == 3
    beats(home, minutes=5)
    await plan(home)
    home.pass_time(minutes=5)
    await home.settle()
    assert len(home.model.seen) == 4, "a shorter interval does not wait for the long one"


async def test_outside_its_active_hours_no_model_is_called(beating: Home) -> None:
    home = beating
    hour = home.now().hour
    beats(home, active_hours=f"{(hour + 3) % 24:02d}:00-{(hour + 6) % 24:02d}:00")
    await plan(home)
    await half_an_hour(home, 2)
    assert home.model.seen == []
    assert home.ends(checklist(home).id) == [("skipped", "gate")]
    beats(home, active_hours=f"{(hour - 1) % 24:02d}:00-{(hour + 4) % 24:02d}:00")
    await half_an_hour(home)
    assert len(home.model.seen) == 1


async def test_each_user_has_one_of_their_own_and_another_agent_works_apart_and_reports_home(beating: Home) -> None:
    home = beating
    home.ledger.session("web:second")
    home.ledger.session("web:ben", user_id="ben")
    home.ask(
        add_agent,
        read(AddAgent, {"id": "scout", "name": "Scout", "heartbeat": {"minutes": 30, "checklist": "- Scout."}}),
    )
    await plan(home)
    await plan(home)
    assert sorted((job.user_id, job.session_key) for job in system_jobs(home)) == [
        ("ben", "web:ben"),
        ("default", CHAT),
    ]
    home.ask(update_session, UpdateSession(session_key="web:second", agent_id="scout"))
    await plan(home)
    [_, _, apart] = system_jobs(home)
    assert (apart.agent_id, apart.session_key, apart.isolated, apart.name) == (
        "scout",
        CHAT,
        True,
        "heartbeat of Scout",
    )
    home.model.when("- Scout.", "There is a storm coming.")
    home.model.otherwise("HEARTBEAT_OK")
    await half_an_hour(home)
    assert len(home.model.seen) == 3, "the report opens no further turn"
    assert "There is a storm coming." in [message.text for message in home.shown() if message.kind == "report"]
    assert not any("storm" in message.text for message in home.shown("web:second"))


async def test_home_moves_and_the_beat_with_it_and_so_does_the_agent_of_home(beating: Home) -> None:
    home = beating
    await plan(home)
    home.ledger.session("web:new")
    home.ask(update_me, UpdateMe(home="web:new"))
    await half_an_hour(home)
    assert home.model.seen == [], "the old home has no beat any more"
    await plan(home)
    await half_an_hour(home)
    assert (len(home.model.seen), home.shown(), len(home.shown("web:new"))) == (1, [], 2)
    home.ask(add_agent, read(AddAgent, {"id": "scout", "name": "Scout"}))
    home.ask(update_session, UpdateSession(session_key="web:new", agent_id="scout"))
    await half_an_hour(home)
    moved = next(job for job in system_jobs(home) if job.enabled)
    assert (moved.agent_id, moved.isolated) == ("main", True), "main still has the chat, and works apart for home"
    home.ask(delete_session, DeleteSession(session_key="web:new"))
    await plan(home)
    await half_an_hour(home)
    assert len(home.shown()) >= 1


async def test_a_session_with_a_waiting_event_still_gets_its_own_beat(beating: Home) -> None:
    home = beating
    home.ledger.session("web:other")
    await plan(home)
    event = {"kind": "system_event", "message": "The door was opened."}
    home.add(message=None, payload=event, session_key="web:other", wake="next_heartbeat", when="in 10 minutes")
    home.pass_time(minutes=10, seconds=1)
    await home.settle()
    assert home.model.seen == []
    home.model.otherwise("NO_REPLY")
    for minutes in (20, 10):
        home.pass_time(minutes=minutes, seconds=1)
        await home.settle()
    asked = [home.heard(n) for n in range(len(home.model.seen))]
    assert sum("The door was opened." in text for text in asked) == 1
    assert sum(LIST in text for text in asked) == 1


async def test_nobody_edits_removes_or_runs_it_by_accident_and_why_explains_it(beating: Home) -> None:
    home = beating
    await plan(home)
    job = checklist(home)
    assert home.ask(list_jobs, ListJobs()).items == []
    for operation, ask in (
        (remove_job, JobRef(job_id=job.id)),
        (disable_job, DisableJob(job_id=job.id)),
        (enable_job, JobRef(job_id=job.id)),
        (run_job, JobRef(job_id=job.id)),
        (update_job, read(UpdateJob, {"job_id": job.id, "name": "mine"})),
    ):
        with pytest.raises(Conflict, match="belongs to Homing itself"):
            home.ask(operation, ask)
    assert "Every 30 minutes" in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_one_that_failed_ten_times_rests_until_its_agent_is_edited(beating: Home) -> None:
    home = beating
    await plan(home)
    home.change(checklist(home).id, consecutive_failures=10, enabled=False, disabled_by="engine", next_run_at=None)
    await plan(home)
    assert not checklist(home).enabled
    assert "Save its agent again to go on." in home.ask(why_job, WhyJob(job_id=checklist(home).id)).answer
    home.pass_time(seconds=1)
    beats(home, checklist="- Better.")
    await plan(home)
    assert (checklist(home).enabled, checklist(home).consecutive_failures) == (True, 0)


async def test_the_offline_model_goes_through_no_list_and_the_answer_says_so(make_home: MakeHome) -> None:
    home = make_home(model="offline")
    home.instance = replace(home.instance, model_offline=True)
    home.world = replace(home.world, instance=home.instance)
    home.ledger.session()
    assert beats(home) == ["The checklist waits for a model: the offline model does not go through it."]
    await plan(home)
    await half_an_hour(home)
    assert (home.shown(), home.ends(checklist(home).id)) == ([], [("skipped", "gate")])


async def test_a_model_chosen_after_the_start_goes_through_the_list(make_home: MakeHome) -> None:
    home = make_home()
    home.instance = replace(
        home.instance, model_offline=True, model="offline", settings=replace(home.instance.settings, model=None)
    )
    home.world = replace(home.world, instance=home.instance)
    home.ledger.session()
    chosen = new_setting(MODEL, base_url=None, secret=None, set_by="owner", set_at=home.now())
    home.ledger.write(lambda tx: maintenance.keep_model_setting(tx, chosen))
    assert beats(home) == []
    await plan(home)
    home.model.reply("It is 31 degrees.")
    await half_an_hour(home)
    assert [message.text for message in home.shown()][-1:] == ["It is 31 degrees."]


async def test_a_budget_stops_it_as_every_automation(make_home: MakeHome) -> None:
    home = make_home(budget_usd_per_day=0)
    home.ledger.session()
    beats(home)
    await plan(home)
    await half_an_hour(home, 3)
    assert (home.model.seen, home.ends(checklist(home).id)) == ([], [("skipped", "budget")])
    assert len(home.notes()) == 1


async def test_with_a_unified_session_it_beats_in_the_shared_lane_once(make_home: MakeHome) -> None:
    home = make_home(unified_session="on")
    home.ledger.session()
    home.ledger.session("web:second")
    beats(home)
    await plan(home)
    await half_an_hour(home)
    assert len(home.model.seen) == 1
    assert len(home.shown()) == 2


async def test_a_deleted_home_takes_its_beat_along(beating: Home) -> None:
    home = beating
    await plan(home)
    home.ask(delete_session, DeleteSession(session_key=CHAT))
    await plan(home)
    await half_an_hour(home, 2)
    assert home.model.seen == []
    assert checklist(home).removed_at is not None


async def test_homings_own_jobs_are_listed_when_asked_for_and_explained_by_their_id(beating: Home) -> None:
    home = beating
    mine = home.add(name="fruit watch", when="every 8h")
    await plan(home)
    assert [job.id for job in home.ask(list_jobs, ListJobs()).items] == [mine.id]
    [own] = home.ask(list_jobs, ListJobs(system=True)).items
    assert (own.id, own.kind, own.name) == (checklist(home).id, "system", "heartbeat")
    assert "It is enabled (Every 30 minutes (UTC)) and runs next on" in home.ask(why_job, WhyJob(job_id=own.id)).answer
