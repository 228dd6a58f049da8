"""Rule 23: a reminder goes straight to the person. No model, no lane, no history, no memory; it waits for nobody."""

import asyncio
import re
from datetime import timedelta

from behaviour.jobs.homes import Home
from homing.agent.frames import frame
from homing.operations.memories import add_memory
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.people_asks import AddMemory
from homing.store import tables as t
from homing.testing.scripted import wire_messages

WATER = {"kind": "reminder", "message": "Drink some water."}


def add_reminder(home: Home, **given: object) -> str:
    return home.add(message=None, payload=WATER, **({"when": "in 1 hour"} | given)).id


async def test_a_reminder_reads_neither_history_nor_memory_and_calls_no_model(home: Home) -> None:
    home.ask(add_memory, AddMemory(text="The user drinks water."))
    await home.say("I like water")
    job_id = add_reminder(home)
    home.pass_time(hours=1, seconds=1)
    calls = len(home.model.seen)
    with home.statements() as made:
        await home.settle()
    read = [statement for statement in made if statement.upper().startswith("SELECT")]
    assert not [s for s in made if re.search(r"\bmemory\b|memory_fts", s)]
    assert not [s for s in read if re.search(r"\bFROM message\b|\bJOIN message\b|\bhistory\b", s)]
    assert not [s for s in made if re.search(r"\bINTO (inbound|turn|step)\b", s)]
    assert len(home.model.seen) == calls
    run = home.only_run(job_id)
    assert (run.state, run.turn_id, run.prompt) == ("ok", None, None)
    shown = home.shown()[-1]
    assert (shown.kind, shown.role, shown.text, shown.seq) == (
        "reminder", "assistant", "Drink some water.", run.closing_seq,
    )  # fmt: skip
    assert shown.meta == {"cron_job_id": job_id, "cron_job_name": "Drink some water.", "cron_run_id": run.id}
    assert home.ledger.count(t.outbound, t.outbound.c.run_id == run.id) == 1


async def test_a_reminder_comes_on_time_while_a_long_answer_runs_and_neither_stops_nor_enters_it(home: Home) -> None:
    home.model.when("a long story", "Once upon a time.", hold=True)
    job_id = add_reminder(home)
    home.ledger.say("Tell me a long story")
    story = asyncio.create_task(home.work(claim=home.claim(seconds=None)))
    await home.called(1)
    home.pass_time(hours=1, seconds=1)
    await home.tick()
    run = home.only_run(job_id)
    assert (run.state, run.trigger) == ("ok", "timer")
    assert run.finished_at is not None
    assert run.finished_at - run.scheduled_for < timedelta(seconds=30)
    assert [message.text for message in home.shown()] == ["Tell me a long story", "Drink some water."]
    assert not story.done()
    home.model.release()
    assert await story == "more"
    assert [message.text for message in home.shown()][2:] == ["Once upon a time."]
    assert len(home.model.seen) == 1


async def test_the_next_turn_sees_a_reminder_in_its_history(home: Home) -> None:
    add_reminder(home)
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    await home.say("I did")
    said = [(m.role, m.text) for m in wire_messages(home.model.seen[-1])]
    reminder = frame("reminder.message", "Drink some water.", name="Drink some water.")
    assert said == [("user", reminder), ("user", "I did")]


async def test_a_one_shot_reminder_is_done_and_a_repeating_one_goes_on(home: Home) -> None:
    once, often = add_reminder(home), add_reminder(home, when="every 1h", dedupe_key="b")
    home.pass_time(hours=1, seconds=1)
    await home.settle()
    assert (home.job(once).status, home.job(often).status) == ("done", "active")
    home.pass_time(hours=1)
    await home.settle()
    assert (len(home.runs(once)), len(home.runs(often))) == (1, 2)


async def test_a_reminder_run_by_hand_is_the_same_and_moves_nothing(home: Home) -> None:
    job_id = add_reminder(home)
    before = home.job(job_id).next_run_at
    home.ask(run_job, JobRef(job_id=job_id))
    assert home.shown()[-1].text == "Drink some water."
    assert (home.job(job_id).next_run_at, home.job(job_id).enabled) == (before, True)


async def test_a_late_reminder_is_told_once(home: Home) -> None:
    job_id = add_reminder(home, when="every 1h")
    home.pass_time(hours=5, minutes=2)
    await home.settle()
    assert [message.text for message in home.shown()] == ["Drink some water."]
    assert sorted(home.ends(job_id)) == [("ok", None), ("skipped", "missed")]
