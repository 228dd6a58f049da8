"""Rule 22: an isolated run works apart and comes home with its result."""

import asyncio
from typing import Any

from behaviour.jobs.homes import Home
from homing.agent.frames import frame
from homing.operations.memories import add_memory
from homing.operations.removal import remove_job
from homing.operations.runs import run_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import update_session
from homing.operations.shapes.base import read
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.people_asks import AddMemory
from homing.operations.shapes.session_asks import DeleteSession, UpdateSession
from homing.store import inbounds
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.ledger import CHAT

FOUND = "Apples are ripe."
PROVIDER = "Incorrect API key provided: sk-secret"


def add_isolated(home: Home, **given: Any) -> str:
    return home.add(**({"when": "every 1h", "session": "isolated", "name": "fruit watch"} | given)).id


async def come_due(home: Home) -> None:
    home.pass_time(hours=1, seconds=1)
    await home.settle()


async def test_an_isolated_run_has_a_session_of_its_own_with_memory_and_without_the_conversation(home: Home) -> None:
    home.ask(add_memory, AddMemory(text="The user looks for fruit on Mondays."))
    await home.say("I like pears")
    job_id = add_isolated(home, write_back="none")
    await come_due(home)
    run = home.only_run(job_id)
    own = f"cron:{run.id}"
    assert home.ledger.turn(own).run_id == run.id
    assert (run.state, run.session_key) == ("ok", CHAT)
    assert "I like pears" not in home.heard()
    assert "The user looks for fruit on Mondays." in home.heard()
    assert [message.kind for message in home.shown(own)] == ["scheduled", "scheduled"]
    home.ledger.check_whole(own)


async def test_its_result_comes_back_whole_marked_and_continues_the_conversation_by_one_turn(home: Home) -> None:
    home.model.when("came due", FOUND)
    home.model.when("worked apart and reports", "Apples are ripe: shall I buy some?")
    await home.say("I like apples")
    job_id = add_isolated(home)
    await come_due(home)
    run = home.only_run(job_id)
    report, closing = home.shown()[2:]
    assert (report.role, report.kind, report.text) == ("user", "report", FOUND)
    assert (report.meta["report"], report.meta["cron_run_id"], report.meta["cron_job_id"]) == (True, run.id, job_id)
    assert (closing.role, closing.kind, closing.text) == (
        "assistant", "report", "Apples are ripe: shall I buy some?",
    )  # fmt: skip
    assert closing.meta["cron_run_id"] == run.id
    # The turn that goes on sees the conversation; its internal prompt is not part of it.
    assert [m.text for m in home.call()[1:3]] == ["I like apples", "You said: I like apples"]
    assert "reports its result" in home.call()[-1].text
    assert len(home.runs(job_id)) == 1
    assert home.ledger.turns()[-1].source == "report"
    home.ledger.check_whole()


async def test_the_report_is_never_written_back_again_and_may_not_schedule(home: Home) -> None:
    home.model.when("came due", FOUND)
    home.model.when(
        "worked apart and reports",
        tool_call("schedule_task", {"action": "add", "when": "in 5 minutes", "message": "again"}),
        "Fine.",
    )
    add_isolated(home, may_schedule=True)
    await come_due(home)
    refused = next(m.text for m in home.call() if m.role == "tool")
    assert "adds no automations" in refused
    assert len(home.ledger.turns(None)) == 2


async def test_a_summary_is_short_and_none_is_silent(home: Home) -> None:
    home.model.when("came due", "apple " * 100)
    brief = add_isolated(home, write_back="summary", dedupe_key="a")
    silent = add_isolated(home, write_back="none", dedupe_key="b")
    await come_due(home)
    assert [home.ends(job_id) for job_id in (brief, silent)] == [[("ok", None)]] * 2
    [report] = [message for message in home.shown() if message.kind == "report" and message.role == "user"]
    assert len(report.text) == 200
    assert report.text.endswith("…")
    assert report.meta["cron_job_id"] == brief


async def test_without_continuing_the_report_is_laid_in_and_the_next_turn_sees_it(home: Home) -> None:
    home.model.when("came due", FOUND)
    add_isolated(home, **{"continue": False})
    await come_due(home)
    [report] = home.shown()
    assert (report.role, report.kind, report.text, report.turn_id) == ("user", "report", FOUND, None)
    assert home.ledger.count(t.outbound, t.outbound.c.session_id == home.ledger.session().id) == 1
    assert len(home.model.seen) == 1
    await home.say("Anything?")
    report = frame("report.message", FOUND, name="fruit watch")
    assert [m.text for m in wire_messages(home.model.seen[-1])] == [report, "Anything?"]


async def test_a_report_waits_for_idle_holds_no_slot_and_is_replaced_by_the_newer_with_a_count(home: Home) -> None:
    home.model.when("a long story", "Once upon a time.", hold=True)
    home.model.when("came due", "first", times=1)
    home.model.when("came due", "second", times=1)
    home.model.when("came due", "third")
    job_id = add_isolated(home)
    home.ledger.say("Tell me a long story")
    story = asyncio.create_task(home.work(claim=home.claim(seconds=None)))
    await home.called(1)
    for _ in range(3):
        home.pass_time(hours=1, seconds=1)
        await home.tick()
        run = home.runs(job_id)[-1]
        assert await home.work(f"cron:{run.id}") == "more"
    session = home.ledger.session()
    [waiting] = home.ledger.write(lambda tx: inbounds.waiting(tx, session.id, 9))
    assert (waiting.source, waiting.text, waiting.meta["count"]) == ("report", "third", 3)
    assert home.ends(job_id) == [("ok", None)] * 3
    home.model.release()
    await story
    await home.settle()
    assert "This is the newest of 3 reports" in home.call()[-1].text
    assert next(message.text for message in home.shown() if message.kind == "report") == "third"


async def test_removing_the_job_does_not_withdraw_its_waiting_report(home: Home) -> None:
    home.model.when("came due", FOUND)
    job_id = add_isolated(home)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    assert await home.work(f"cron:{home.only_run(job_id).id}") == "more"
    home.ask(remove_job, JobRef(job_id=job_id))
    await home.settle()
    assert home.shown()[0].text == FOUND
    assert home.ends(job_id) == [("ok", None)]


async def test_a_failed_isolated_run_comes_back_as_a_short_note_without_the_providers_words(home: Home) -> None:
    home.model.fail(401, message=PROVIDER)
    job_id = add_isolated(home)
    await come_due(home)
    run = home.only_run(job_id)
    assert (run.state, run.reason) == ("error", "model")
    assert "Incorrect API key provided: sk-*** (401 from" in (run.error or "")
    [note] = home.shown()
    assert (note.kind, note.role, note.meta["cron_run_id"]) == ("note", "assistant", run.id)
    assert note.text.startswith('The automation "fruit watch" failed in its own session: I could not answer')
    assert "Incorrect API key" not in note.text
    assert home.job(job_id).last_status == "error"
    # A note wakes nobody.
    assert len(home.model.seen) == 1


async def test_an_isolated_run_without_news_leaves_one_status_line_at_home_and_no_turn(home: Home) -> None:
    home.model.when("came due", tool_call("nothing_to_report", {"note": "No fruit."}), "")
    job_id = add_isolated(home, quiet=True)
    await come_due(home)
    await come_due(home)
    assert home.ends(job_id) == [("ok", "quiet")] * 2
    [line] = home.shown()
    assert (line.kind, line.role, line.meta["checked"]) == ("status", "assistant", 2)
    assert line.text.startswith("Checked 2 times, last ")
    assert line.text.endswith(": nothing to report. No fruit.")
    assert home.ledger.turns() == []
    await home.say("Anything?")
    seen, question = home.call()[1:]
    assert "Checked 2 times" in seen.text
    assert question.text == "Anything?"


async def test_an_isolated_run_with_an_empty_result_leaves_a_status_line_and_no_turn(home: Home) -> None:
    home.model.when("came due", "")
    job_id = add_isolated(home)
    await come_due(home)
    assert home.ends(job_id) == [("ok", "empty")]
    assert [(m.kind, m.meta["checked"]) for m in home.shown()] == [("status", 1)]
    assert home.ledger.turns() == []


async def test_run_now_of_an_isolated_job_takes_the_same_way(home: Home) -> None:
    home.model.when("came due", FOUND)
    job_id = add_isolated(home)
    home.ask(run_job, JobRef(job_id=job_id))
    await home.settle()
    run = home.only_run(job_id)
    assert (run.trigger, run.state, run.id[-2:]) == ("manual", "ok", ":m")
    assert home.shown()[0].text == FOUND


async def test_isolated_runs_of_one_session_do_not_wait_for_each_other_or_for_the_chat(home: Home) -> None:
    home.model.when("came due", FOUND, hold="work")
    home.model.when("hello", "Hello.")
    first, second = add_isolated(home, dedupe_key="a"), add_isolated(home, dedupe_key="b")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(2)
        home.ledger.say("hello")
        home.ring()
        await home.until_closed(1)
        assert [home.only_run(job_id).state for job_id in (first, second)] == ["running"] * 2
        home.model.release("work")
        await home.until_closed(3)


async def test_an_isolated_run_is_withdrawn_with_the_session_it_waits_in_and_its_job_goes_on(home: Home) -> None:
    job_id = add_isolated(home, write_back="none")
    last = add_isolated(home, write_back="none", when="in 1 hour")
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    for run in (home.only_run(job_id), home.only_run(last)):
        home.ask(delete_session, DeleteSession(session_key=f"cron:{run.id}"))
    assert [home.ends(job) for job in (job_id, last)] == [[("skipped", "session_deleted")]] * 2
    assert (home.job(last).status, home.job(last).enabled) == ("done", False)
    await come_due(home)
    assert home.ends(job_id) == [("skipped", "session_deleted"), ("ok", None)]


async def test_an_isolated_run_is_cancelled_with_the_session_it_works_in(home: Home) -> None:
    job_id = add_isolated(home)
    home.model.reply(FOUND, hold=True)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    async with home.running():
        home.ring()
        await home.called(1)
        home.ask(delete_session, DeleteSession(session_key=f"cron:{home.only_run(job_id).id}"))
        home.ring()
        await home.until_closed(1, None)
    assert home.ends(job_id) == [("cancelled", "session_deleted")]
    assert home.shown() == []


async def test_an_isolated_run_goes_by_the_clock_of_its_bound_session(home: Home) -> None:
    home.ledger.session()
    home.ask(update_session, read(UpdateSession, {"session_key": CHAT, "timezone": "Asia/Tokyo"}))
    add_isolated(home, write_back="none")
    await come_due(home)
    assert " Asia/Tokyo for the user." in home.heard()
