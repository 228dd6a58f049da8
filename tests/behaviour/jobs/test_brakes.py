"""Rule 35: what machines cause is counted, and loops end by themselves."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
import sqlalchemy as sa

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.engine.courier import Courier
from homing.model.schedules import Every
from homing.model.turns import Turn
from homing.operations.hooks import add_hook, list_hooks
from homing.operations.job_changes import disable_job, enable_job, update_job
from homing.operations.runs import run_job
from homing.operations.sessions import get_session, update_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import DisableJob, JobRef, UpdateJob, WhyJob
from homing.operations.shapes.people_asks import AddWebhook
from homing.operations.shapes.session_asks import AddHook, SessionRef, UpdateSession
from homing.operations.webhooks import add_webhook
from homing.operations.why import why_job
from homing.store import inbounds
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.testing import tool_call
from homing.web.app import make_app
from homing.web.server import make_server
from homing.wiring import Homing, make_channels
from support.ledger import CHAT
from support.site import Site, open_site

MOST_CALLS = 30


def ask_tool(**arguments: object) -> Any:
    return tool_call("schedule_task", arguments)


async def settle(home: Home) -> None:
    """Let everything settle, and not go on without an end."""
    async with asyncio.timeout(20):
        await home.settle()


def depths(home: Home, key: str | None = CHAT) -> list[int]:
    return [turn.depth for turn in home.ledger.turns(key)]


def notes(home: Home) -> list[str]:
    """Read the notes that Homing itself wrote."""
    return [message.text for message in home.shown() if (message.role, message.kind) == ("assistant", "note")]


def told(home: Home) -> str:
    """Read what the last tool call was answered."""
    return next(message.text for message in reversed(home.call()) if message.role == "tool")


# Loops that ran until somebody deleted the job.


async def test_an_event_whose_turn_runs_its_own_job_wakes_nobody_again(home: Home) -> None:
    await home.say("hello")
    job = home.add("PING", when="every 1 hour", payload={"kind": "system_event", "message": "PING"})
    home.model.when("PING", ask_tool(action="run", job_id=job.id), "Fine.")
    home.ask(run_job, JobRef(job_id=job.id))
    await settle(home)
    assert len(home.model.seen) == 3
    assert "A turn that no person opened cannot run an automation" in told(home)
    assert len(home.runs(job.id)) == 1


async def test_a_report_whose_turn_runs_its_own_isolated_job_runs_nothing_again(home: Home) -> None:
    job = home.add("DIG", when="every 1 hour", session="isolated")
    home.model.when("came due", "Found something.")
    home.model.when("worked apart and reports", ask_tool(action="run", job_id=job.id), "Fine.")
    home.ask(run_job, JobRef(job_id=job.id))
    await settle(home)
    assert len(home.model.seen) == 3
    assert "cannot run an automation" in told(home)
    assert home.ends(job.id) == [("ok", None)]


async def test_a_webhook_that_points_at_ones_own_hook_ends_by_itself(make_home: MakeHome, tmp_path: Path) -> None:
    home = make_home(home=tmp_path)
    async with served(home) as port:
        home.ledger.session()
        hook = home.ask(add_hook, AddHook(session_key=CHAT))
        secret = hook.url.rpartition("/")[2]
        webhook = home.ask(add_webhook, AddWebhook(url=f"http://127.0.0.1:{port}/api/hooks/{secret}"))
        home.ask(update_session, read(UpdateSession, {"session_key": CHAT, "addresses": [CHAT, webhook.address]}))
        homing = Homing(
            settings=home.instance.settings,
            clock=home.fake,
            store=home.store,
            instance=home.instance,
            models=home.models,
        )
        courier = Courier(home.store, home.instance, make_channels(homing))
        home.ledger.say("hello")
        await settle(home)
        for _ in range(MOST_CALLS):
            if not await courier.step():
                break
            await settle(home)
    assert depths(home) == list(range(9))
    [dead] = [one for one in rows(home, t.delivery) if one.state == "dead"]
    assert "422" in dead.error


@asynccontextmanager
async def served(home: Home) -> AsyncIterator[int]:
    """Let the front door listen, for as long as the block lasts."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        app = make_app(store=home.store, instance=home.instance, clock=home.fake)
        server = make_server(app, host="127.0.0.1", port=0)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


def rows(home: Home, table: sa.Table) -> list[Any]:
    return list(home.ledger.write(lambda tx: tx.rows(sa.select(table).order_by(table.c.n))))


# Depth.


async def test_a_persons_message_and_a_due_instant_have_no_depth_and_a_report_has_one(home: Home) -> None:
    home.model.when("came due", "Found something.")
    job = home.add("DIG", when="every 1 hour", session="isolated")
    await home.say("hello")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    assert await home.work(f"cron:{home.only_run(job.id).id}") == "more"
    [waiting] = home.ask(get_session, SessionRef(session_key=CHAT)).lane
    assert (waiting.source, waiting.depth) == ("report", 1)
    await settle(home)
    assert depths(home) == [0, 1]
    assert home.ledger.turn(f"cron:{home.only_run(job.id).id}").depth == 0


async def test_a_run_that_an_agent_asked_for_is_one_deeper_than_its_turn_and_a_persons_is_not(home: Home) -> None:
    job = home.add("look", when="every 1 hour", name="watch")
    home.model.when("please run", ask_tool(action="run", job_id=job.id), "It runs.")
    await home.say("please run it")
    home.pass_time(seconds=1)
    home.ask(run_job, JobRef(job_id=job.id))
    await settle(home)
    assert depths(home) == [0, 1, 0]


async def test_an_open_turn_shows_its_depth(home: Home) -> None:
    home.model.otherwise("Fine.", hold=True)
    call = open_hook(home)
    assert (await call(depth="3")).status_code == 202
    working = asyncio.create_task(home.work())
    await home.called(1)
    assert home.ask(get_session, SessionRef(session_key=CHAT)).turn.depth == 3
    home.model.release()
    await working


def deep_note(home: Home, depth: int) -> None:
    session = home.ledger.session()
    note = NewInbound(
        session_id=session.id, lane_id=session.id, user_id=session.user_id, source="hook", text="psst", line="note",
        depth=depth,
    )  # fmt: skip
    home.ledger.write(lambda tx: inbounds.take_in(tx, [note]))


async def test_a_turn_is_as_deep_as_the_deepest_of_what_it_takes_along(home: Home) -> None:
    call = open_hook(home)
    deep_note(home, 4)
    assert (await call()).status_code == 202
    await settle(home)
    assert depths(home) == [4]


async def test_a_deep_note_keeps_no_person_from_running_a_job(home: Home) -> None:
    job = home.add("look", when="every 1 hour", name="watch")
    home.model.when("please run", ask_tool(action="run", job_id=job.id), "It runs.")
    deep_note(home, 8)
    await home.say("please run it")
    assert told(home).startswith("Running")
    await settle(home)
    assert depths(home) == [0, 1]
    assert home.ends(job.id) == [("ok", None)]


# What a turn that no person opened may not do.


def scheduled(home: Home, *calls: Any, **given: Any) -> str:
    """Add a job whose turns make these calls."""
    home.model.when("came due", *calls, "Done.")
    return home.add("look", **({"when": "every 1 hour", "name": "watch"} | given)).id


async def come_due(home: Home) -> str:
    home.pass_time(hours=1, seconds=1)
    await settle(home)
    return told(home)


@pytest.mark.parametrize("when", ["every 1 second", "in 2 minutes", "*/4 * * * *", "58,59 8 * * *"])
async def test_it_makes_no_instant_nearer_than_five_minutes(home: Home, when: str) -> None:
    job_id = scheduled(home, ask_tool(action="update", when=when))
    refused = await come_due(home)
    assert "no person opened" in refused
    assert "5 minutes" in refused
    assert home.job(job_id).revision == 1


async def test_five_minutes_away_is_far_enough(home: Home) -> None:
    job_id = scheduled(home, ask_tool(action="update", when="every 5 minutes"))
    assert "Updated" in await come_due(home)
    assert home.job(job_id).revision == 2


@pytest.mark.parametrize(
    ("when", "taken"), [("in 30 seconds", False), ("every 20 seconds", False), ("in 1 minute", True)]
)
async def test_with_may_schedule_a_minute_is_enough(home: Home, when: str, *, taken: bool) -> None:
    scheduled(home, ask_tool(action="add", when=when, message="again"), may_schedule=True)
    answer = await come_due(home)
    assert ("Added" in answer, "at least 1 minute" in answer or "every minute" in answer) == (taken, not taken)


async def test_an_often_job_may_be_bounded_renamed_and_said_again_but_not_prolonged(home: Home) -> None:
    job_id = scheduled(
        home, ask_tool(action="update", name="other"), ask_tool(action="update", when="every 1 minute"),
        ask_tool(action="update", until="tomorrow"), ask_tool(action="update", job={"ends_at": None}),
        when="every 1 minute",
    )  # fmt: skip
    refused = await come_due(home)
    assert "no person opened" in refused
    job = home.job(job_id)
    assert (job.name, job.timing.ends_at is not None) == ("other", True)


async def test_it_enables_no_job_that_would_come_at_once(home: Home) -> None:
    job_id = scheduled(home, ask_tool(action="disable"), ask_tool(action="enable"), when="every 1 minute")
    assert "at least 5 minutes away" in await come_due(home)
    assert home.job(job_id).disabled_by == "person"


@pytest.mark.parametrize(
    "calls",
    [
        [{"action": "disable", "until": "in 10 seconds"}, {"action": "update", "when": "every 1 second"}],
        [{"action": "update", "enabled": False, "when": "every 1 second"}],
    ],
)
async def test_it_makes_no_disabled_job_faster_either(home: Home, calls: list[dict[str, Any]]) -> None:
    job_id = scheduled(home, *(ask_tool(**arguments) for arguments in calls))
    assert "no person opened" in await come_due(home)
    schedule = home.job(job_id).timing.schedule
    assert isinstance(schedule, Every)
    assert schedule.every_ms == 3_600_000


async def test_a_disabled_job_may_still_be_bounded(home: Home) -> None:
    job_id = scheduled(
        home, ask_tool(action="disable"), ask_tool(action="update", until="tomorrow"), when="every 1 minute"
    )
    assert "Updated" in await come_due(home)
    assert home.job(job_id).timing.ends_at is not None


@pytest.mark.parametrize(
    "calls",
    [
        [{"action": "enable"}],
        [{"action": "update", "enabled": True}],
        [{"action": "update", "enabled": True, "when": "every 2 hours"}],
        [{"action": "disable", "until": "in 10 minutes"}, {"action": "enable"}],
        [{"action": "undo"}],
    ],
)
async def test_it_enables_no_job_that_the_engine_disabled(home: Home, calls: list[dict[str, Any]]) -> None:
    job_id = scheduled(home, *(ask_tool(**arguments) for arguments in calls))
    home.ask(update_job, read(UpdateJob, {"job_id": job_id, "schedule": "every 3 hours"}))
    home.ask(run_job, JobRef(job_id=job_id))
    home.change(job_id, enabled=False, disabled_by="engine", disabled_reason="loop", next_run_at=None)
    await settle(home)
    assert "a person has to enable it" in told(home)
    found = home.job(job_id)
    assert (found.enabled, found.disabled_by, found.disabled_reason) == (False, "engine", "loop")
    home.ask(enable_job, JobRef(job_id=job_id))
    assert home.job(job_id).enabled


async def test_it_takes_back_no_change_that_made_its_job_slower(home: Home) -> None:
    job_id = scheduled(
        home, ask_tool(action="update", when="every 2 hours"), ask_tool(action="undo"), when="every 1 minute"
    )
    assert "no person opened" in await come_due(home)
    assert home.job(job_id).revision == 2


async def test_a_person_may_do_all_of_it_by_their_agent(home: Home) -> None:
    job = home.add("look", when="every 1 hour", name="watch")
    home.model.when("faster", ask_tool(action="update", job_id=job.id, when="every 1 second"), "Done.")
    await home.say("faster, please")
    assert "Updated" in told(home)


# Too many turns that other turns caused.


async def test_more_than_thirty_reports_in_ten_minutes_disable_their_job_with_one_note(home: Home) -> None:
    home.model.when("came due", "Found something.")
    job = home.add("DIG", when="every 11 seconds", session="isolated", name="digger")
    for _ in range(30):
        home.pass_time(seconds=11.1)
        await settle(home)
    assert home.job(job.id).enabled
    assert depths(home) == [1] * 30
    home.pass_time(seconds=11.1)
    await settle(home)
    found = home.job(job.id)
    assert (found.enabled, found.disabled_by, found.disabled_reason) == (False, "engine", "loop")
    [note] = notes(home)
    assert note.startswith('I paused the automation "digger". It asked for more than 30 turns')
    assert depths(home) == [1] * 30
    # What the last one found is there all the same.
    assert [m.text for m in home.shown() if m.kind == "report" and m.role == "user"] == ["Found something."] * 31
    assert "more than 30 turns within 10 minutes" in home.ask(why_job, WhyJob(job_id=job.id)).answer
    home.pass_time(minutes=11)
    home.ask(enable_job, JobRef(job_id=job.id))
    home.pass_time(seconds=11.1)
    await settle(home)
    assert len(depths(home)) == 31


async def test_several_jobs_that_report_once_a_minute_are_never_stopped(home: Home) -> None:
    home.model.when("came due", "Found something.")
    jobs = [home.add(f"DIG {n}", when="every 1 minute", session="isolated") for n in range(4)]
    for _ in range(9):
        home.pass_time(minutes=1)
        await settle(home)
    assert len(depths(home)) > 30
    assert all(home.job(job.id).enabled for job in jobs)
    assert notes(home) == []


async def test_calls_of_a_hook_stop_neither_a_job_nor_another_hook(home: Home) -> None:
    home.model.when("came due", "Found something.")
    job = home.add("DIG", when="every 3 minutes", session="isolated")
    call, other = open_hook(home), open_hook(home)
    for _ in range(2):
        for _ in range(15):
            assert (await call(depth="1")).status_code == 202
        await settle(home)
        home.pass_time(minutes=1, seconds=1)
    home.pass_time(minutes=1)
    await settle(home)
    assert (await other(depth="1")).status_code == 202
    await settle(home)
    assert depths(home) == [1] * 32
    assert (home.job(job.id).enabled, notes(home)) == (True, [])


async def test_a_run_beyond_the_brake_is_skipped_and_why_says_so(home: Home) -> None:
    job = home.add("look", when="every 1 hour", name="watch")
    home.model.when("please run", ask_tool(action="run", job_id=job.id), "It runs.")
    caused(home, 30, job.id)
    await home.say("please run it")
    assert told(home).startswith("Not run: It asked for more than 30 turns")
    assert home.ends(job.id) == [("skipped", "brake")]
    assert (home.job(job.id).disabled_reason, len(notes(home))) == ("loop", 1)
    assert "was stopped by a brake" in home.ask(why_job, WhyJob(job_id=job.id)).answer
    home.pass_time(seconds=1)
    await home.say("please run it again")
    assert home.ends(job.id) == [("skipped", "brake")] * 2
    assert len(notes(home)) == 1
    # A person who acts is not a machine.
    home.pass_time(seconds=1)
    home.ask(run_job, JobRef(job_id=job.id))
    assert home.runs(job.id)[-1].state == "queued"


async def test_reminders_and_runs_apart_are_stopped_too(home: Home) -> None:
    jobs = [
        home.add("tea", when="every 1 hour", payload={"kind": "reminder"}),
        home.add("DIG", when="every 1 hour", session="isolated"),
        home.add("PING", when="every 1 hour", payload={"kind": "system_event"}),
    ]
    home.model.when("please run", [ask_tool(action="run", job_id=job.id) for job in jobs], "They run.")
    caused(home, 30, *(job.id for job in jobs))
    await home.say("please run them")
    assert [home.ends(job.id) for job in jobs] == [[("skipped", "brake")]] * 3
    assert not [m for m in home.shown() if m.kind == "reminder"]


def caused(home: Home, count: int, *job_ids: str) -> None:
    """Let so many turns of depth 1 wait in a session for each of these jobs."""
    home.ledger.say("hello")
    session = home.ledger.session()

    def work(tx: Any) -> None:
        inbounds.withdraw_all(tx, session.id)
        waiting = [
            NewInbound(
                session_id=session.id, lane_id=session.id, user_id=session.user_id, source="system",
                text=str(n), line="machines", depth=1, job_id=job_id,
            )
            for job_id in job_ids
            for n in range(count)
        ]  # fmt: skip
        inbounds.take_in(tx, waiting)

    home.ledger.write(work)


# Hooks.


def open_hook(home: Home, key: str = CHAT) -> Any:
    """Make a hook; give a way to call it."""
    home.ledger.session(key)
    url = home.ask(add_hook, AddHook(session_key=key, name="feed")).url
    site: Site = open_site(home.world)

    async def call(text: str = "Apples!", *, depth: str | None = None) -> httpx2.Response:
        headers = {} if depth is None else {"homing-depth": depth}
        return await site.nobody.post(f"/api/hooks/{url.rpartition('/')[2]}", json={"text": text}, headers=headers)

    return call


async def test_a_hook_call_has_the_depth_its_header_says_and_none_without(home: Home) -> None:
    call = open_hook(home)
    for depth in (None, "0", "1", "8"):
        assert (await call(depth=depth)).status_code == 202
    await settle(home)
    assert depths(home) == [0, 0, 1, 8]


@pytest.mark.parametrize("depth", ["9", "10", "999999999"])
async def test_a_call_beyond_the_deepest_is_refused_for_good(home: Home, depth: str) -> None:
    answer = await open_hook(home)(depth=depth)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["errors"][0] == {
        "field": "homing-depth", "code": "out_of_range", "detail": answer.json()["detail"],
    }  # fmt: skip
    assert "this is a loop" in answer.json()["detail"]


@pytest.mark.parametrize("depth", ["", "-1", "1.5", "one", "1" * 30])
async def test_a_depth_that_is_not_a_number_is_refused(home: Home, depth: str) -> None:
    answer = await open_hook(home)(depth=depth)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "homing-depth")


async def test_of_many_calls_in_a_minute_twenty_wake_and_the_rest_are_notes(home: Home) -> None:
    call = open_hook(home)
    for number in range(25):
        assert (await call(f"call {number}")).status_code == 202
    lane = home.ask(get_session, SessionRef(session_key=CHAT)).lane_size
    assert lane == 25
    await settle(home)
    turns: list[Turn] = home.ledger.turns()
    assert len(turns) == 20
    assert "call 24" in home.heard(0)
    home.pass_time(minutes=1, seconds=1)
    assert (await call("later")).status_code == 202
    await settle(home)
    assert len(home.ledger.turns()) == 21


async def test_notes_of_a_hook_that_nobody_sees_do_not_pile_up_without_end(home: Home) -> None:
    call = open_hook(home)
    answers = [await call(str(number)) for number in range(121)]
    assert {answer.status_code for answer in answers[:120]} == {202}
    assert (answers[120].status_code, answers[120].json()["code"]) == (429, "slow_down")
    assert answers[120].headers["Retry-After"] == "60"


async def test_a_hook_that_goes_on_causing_turns_is_paused_for_an_hour_with_one_note(home: Home) -> None:
    call, quiet = open_hook(home), open_hook(home)
    for _ in range(2):
        for _ in range(15):
            assert (await call(depth="1")).status_code == 202
        await settle(home)
        home.pass_time(minutes=1, seconds=1)
    # The one too many is kept, but wakes nobody.
    assert (await call("the last", depth="1")).status_code == 202
    await settle(home)
    assert len(home.ledger.turns()) == 30
    answer = await call(depth="1")
    assert (answer.status_code, answer.json()["code"]) == (429, "slow_down")
    assert 3500 < int(answer.headers["Retry-After"]) <= 3600
    assert "is paused until" in answer.json()["detail"]
    # Also for calls that say nothing of their depth; another hook is another matter.
    assert (await call()).status_code == 429
    assert (await quiet()).status_code == 202
    [note] = notes(home)
    assert note.startswith('I paused the hook "feed" for an hour.')
    paused = [hook.paused_until for hook in home.ask(list_hooks, SessionRef(session_key=CHAT)).items]
    assert [one is not None for one in paused] == [True, False]
    home.pass_time(hours=1)
    assert (await call(depth="1")).status_code == 202
    assert {hook.paused_until for hook in home.ask(list_hooks, SessionRef(session_key=CHAT)).items} == {None}


async def test_a_disabled_job_stays_as_its_person_left_it(home: Home) -> None:
    job = home.add("look", when="every 1 hour", name="watch")
    home.ask(disable_job, DisableJob(job_id=job.id, reason="holidays"))
    home.model.when("please run", ask_tool(action="run", job_id=job.id), "It runs.")
    caused(home, 30, job.id)
    await home.say("please run it")
    assert (home.job(job.id).disabled_reason, notes(home)) == ("holidays", [])


# A plain run pays nothing for it.


async def test_a_due_instant_is_not_counted(home: Home) -> None:
    home.add("look", when="every 1 hour")
    home.pass_time(hours=1, seconds=1)
    with home.statements() as made:
        await settle(home)
    assert not [one for one in made if "depth >" in one]
