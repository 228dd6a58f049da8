"""Try an automation (ADR 0074): its work is done apart, and nothing changes but what was spent."""

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

import pytest

from behaviour.jobs.homes import Home
from behaviour.lanes.test_crashes import live_and_die
from homing.model.errors import Conflict, NotFound
from homing.model.trials import MOST_TRIALS
from homing.operations.hands import Desk
from homing.operations.jobs import list_jobs
from homing.operations.messages import cancel_turn, send_message
from homing.operations.shapes.job_asks import ListJobs
from homing.operations.shapes.session_asks import CancelTurn, SendMessage
from homing.operations.shapes.turn import TrialShape, TryJob, TurnRef
from homing.operations.trials import try_job
from homing.operations.turns import get_turn
from homing.store import Tx, maintenance
from homing.testing import fault, tool_call
from homing.testing.scripted import wire_messages
from support.ledger import CHAT as CHAT_KEY
from support.mortal import MortalStore
from support.site import STRANGER_TOKEN
from support.whole import Whole, open_whole

YES = 'print(\'{"wakeAgent": true, "data": "pears"}\')'
NO = 'print(\'{"wakeAgent": false, "state": 2}\')'
CHAT = "/sessions/web:chat"


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path) as whole:
        await whole.ask("POST", "/sessions", {"key": "web:chat"}, code=201)
        yield whole


async def add(whole: Whole, **given: object) -> str:
    body = {"session_key": "web:chat", "when": "every 1h", "message": "look for fruit", "name": "fruit"} | given
    return (await whole.ask("POST", "/jobs", body, code=201))["id"]


async def try_it(whole: Whole, job_id: str, **body: object) -> dict[str, Any]:
    """Try a job and wait until its turn has closed."""
    turn = await whole.ask("POST", f"/jobs/{job_id}/try", body, code=202)
    assert (turn["state"], turn["job_id"]) == ("waiting", job_id)
    while turn["state"] != "closed":
        turn = await whole.ask("GET", f"/turns/{turn['id']}")
        assert turn["trial"]
    return turn


async def everything(whole: Whole, job_id: str) -> dict[str, Any]:
    """Read what a trial must leave alone."""
    conversation, job = await whole.ask("GET", CHAT), await whole.ask("GET", f"/jobs/{job_id}")
    del job["usage"]
    return {
        "conversation": conversation,
        "messages": await whole.ask("GET", f"{CHAT}/messages"),
        "job": job,
        "jobs": len((await whole.ask("GET", "/jobs"))["items"]),
        "runs": await whole.ask("GET", "/runs"),
        "inbox": await whole.ask("GET", "/inbox"),
        "sessions": await whole.ask("GET", "/sessions"),
        "memories": await whole.ask("GET", "/memories"),
        "deliveries": await whole.ask("GET", "/deliveries"),
        "approvals": await whole.ask("GET", "/approvals"),
        "found": (await whole.ask("GET", "/search?q=cherries"))["items"],
    }


async def test_a_trial_answers_and_writes_nothing_into_the_conversation(whole: Whole) -> None:
    whole.model.reply("Hello.")
    await whole.say("I like pears")
    job_id = await add(whole)
    before = await everything(whole, job_id)
    whole.model.reply("There are cherries.")
    turn = await try_it(whole, job_id)
    assert (turn["outcome"], turn["answer"], turn["would_have_called"]) == ("answered", "There are cherries.", [])
    assert turn["run_id"] is None
    assert turn["session_key"] != "web:chat"
    assert await everything(whole, job_id) == before
    heard = [message.text for message in wire_messages(whole.model.seen[-1])]
    assert "I like pears" in heard
    assert "look for fruit" in heard[-1]
    # The next real turn has not heard of it either.
    whole.model.reply("Yes?")
    await whole.say("Are you there?")
    assert "cherries" not in str(whole.model.seen[-1])


async def test_another_message_can_be_tried(whole: Whole) -> None:
    job_id = await add(whole)
    whole.model.reply("Nuts it is.")
    assert (await try_it(whole, job_id, message="look for nuts"))["answer"] == "Nuts it is."
    heard = wire_messages(whole.model.seen[-1])[-1].text
    assert "look for nuts" in heard
    assert "look for fruit" not in heard
    assert (await whole.ask("GET", f"/jobs/{job_id}"))["payload"]["message"] == "look for fruit"
    await whole.ask("POST", f"/jobs/{job_id}/try", {"message": ""}, code=422)


async def test_an_isolated_job_is_tried_without_the_conversation(whole: Whole) -> None:
    whole.model.reply("Hello.")
    await whole.say("I like pears")
    job_id = await add(whole, session="isolated")
    before = await everything(whole, job_id)
    whole.model.reply("Ripe.")
    assert (await try_it(whole, job_id))["answer"] == "Ripe."
    assert "I like pears" not in str(whole.model.seen[-1])
    assert await everything(whole, job_id) == before


async def test_tools_that_change_something_are_listed_and_not_called(whole: Whole) -> None:
    allowed = dict.fromkeys(["schedule_task", "remember", "recall", "write_file"], "allow")
    whole.change_agent(tools=allowed | {"send_message": "ask", "install_packages": "ask"})
    await whole.ask("POST", "/memories", {"text": "likes pears"}, code=201)
    job_id = await add(whole, may_schedule=True)
    before = await everything(whole, job_id)
    task = {"action": "add", "when": "in 5 minutes", "message": "again"}
    calls = {
        "schedule_task": task,
        "remember": {"text": "likes nuts"},
        "write_file": {"path": "a.txt", "text": "hello"},
    }
    asked = {"send_message": {"to": "main", "text": "hi"}, "install_packages": {"pip": ["requests"]}}
    whole.model.reply([tool_call(name, args) for name, args in (calls | asked).items()])
    whole.model.reply([tool_call("recall", {"query": "pears"})])
    whole.model.reply("All done.")
    turn = await try_it(whole, job_id)
    noted = {call["name"]: json.loads(call["arguments"]) for call in turn["would_have_called"]}
    assert noted == calls | asked
    assert "likes pears" in next(step["result"] for step in turn["steps"] if step["name"] == "recall")
    assert turn["answer"] == "All done."
    assert await everything(whole, job_id) == before
    tried = [step for step in turn["steps"] if step["name"] == "write_file"]
    assert [step["result"].startswith("Not called") for step in tried] == [True]


async def test_a_quiet_one_may_have_nothing_to_report(whole: Whole) -> None:
    job_id = await add(whole, quiet=True)
    before = await everything(whole, job_id)
    whole.model.reply([tool_call("nothing_to_report", {"note": "looked at two shops"})])
    whole.model.reply("")
    turn = await try_it(whole, job_id)
    assert (turn["outcome"], turn["reason"], turn["would_have_called"]) == ("answered", "quiet", [])
    assert await everything(whole, job_id) == before


async def test_it_is_counted_in_usage(whole: Whole) -> None:
    job_id = await add(whole)
    whole.model.reply("Found.")
    turn = await try_it(whole, job_id)
    used = (await whole.ask("GET", f"/jobs/{job_id}"))["usage"]
    assert used["turns"] == 1
    assert used["output_tokens"] == turn["usage"]["output_tokens"] > 0


async def test_a_script_is_tried_first_and_its_state_is_not_kept(whole: Whole) -> None:
    job_id = await add(whole, script=YES, script_language="python")
    whole.model.reply("Pears!")
    first = await whole.ask("POST", f"/jobs/{job_id}/try", {}, code=202)
    assert first["script"]["result"]["data"] == "pears"
    turn = first
    while turn["state"] != "closed":
        turn = await whole.ask("GET", f"/turns/{first['id']}")
    assert turn["answer"] == "Pears!"
    assert "pears" in wire_messages(whole.model.seen[-1])[-1].text
    asked = len(whole.model.seen)
    quiet = await add(whole, script=NO, script_language="python", dedupe_key="b")
    before = await everything(whole, quiet)
    left = await whole.ask("POST", f"/jobs/{quiet}/try", {}, code=202)
    assert (left["id"], left["state"], left["answer"]) == (None, "closed", None)
    assert left["script"]["result"]["wakeAgent"] is False
    assert await everything(whole, quiet) == before
    assert len(whole.model.seen) == asked


async def test_a_reminder_says_its_words_and_asks_no_model(whole: Whole) -> None:
    job_id = await add(whole, payload={"kind": "reminder", "message": "stretch"}, message=None)
    before = await everything(whole, job_id)
    tried = await whole.ask("POST", f"/jobs/{job_id}/try", {}, code=202)
    assert (tried["id"], tried["state"], tried["answer"]) == (None, "closed", "stretch")
    assert await everything(whole, job_id) == before
    assert whole.model.seen == []


async def test_a_trial_that_fails_says_why_and_counts_no_failure(whole: Whole) -> None:
    job_id = await add(whole)
    before = await everything(whole, job_id)
    whole.model.reply(fault(401, message="Incorrect API key provided"))
    turn = await try_it(whole, job_id)
    assert (turn["outcome"], turn["reason"]) == ("failed", "model")
    assert "Incorrect API key provided" in turn["error_summary"]
    assert await everything(whole, job_id) == before


async def test_only_ones_own_jobs_can_be_tried_and_none_that_is_gone(whole: Whole) -> None:
    job_id = await add(whole)
    await whole.ask("POST", f"/jobs/{job_id}/try", {}, token=STRANGER_TOKEN, code=404)
    whole.model.reply("Mine.")
    turn = await try_it(whole, job_id)
    await whole.ask("GET", f"/turns/{turn['id']}", token=STRANGER_TOKEN, code=404)
    await whole.ask("DELETE", f"/jobs/{job_id}")
    await whole.ask("POST", f"/jobs/{job_id}/try", {}, code=404)
    await whole.ask("POST", "/jobs/job_nobody/try", {}, code=404)


async def begin(home: Home, job_id: str, message: str | None = None) -> TrialShape:
    """Ask for a trial that a test works through itself."""
    desk = Desk(store=home.store, context=home.world.ctx, hands_or_none=None)
    return await try_job(desk, TryJob(job_id=job_id, message=message))


async def test_a_trial_waits_for_a_worker_and_its_session_is_pruned_with_time(home: Home) -> None:
    job_id = home.add(when="every 1h", name="fruit").id
    tried = await begin(home, job_id)
    assert tried.id is not None
    ref = TurnRef(turn_id=tried.id)
    waiting = home.ask(get_turn, ref)
    assert (waiting.state, waiting.trial, waiting.job_id) == ("waiting", True, job_id)
    await home.settle()
    assert home.ask(get_turn, ref).state == "closed"
    assert home.shown() == []

    def prune(tx: Tx) -> int:
        return maintenance.prune_apart(tx, tx.now() - timedelta(days=90))

    assert home.world.write(prune) == 0
    home.pass_time(days=91)
    assert home.world.write(prune) == 1
    with pytest.raises(NotFound):
        home.ask(get_turn, ref)


def send(home: Home, text: str, sender_id: str) -> None:
    home.ask(send_message, SendMessage(session_key=CHAT_KEY, text=text, sender_id=sender_id))


async def test_who_said_what_in_the_conversation_is_told_to_a_trial_as_to_a_run(home: Home) -> None:
    for name in ("alice", "bob"):
        send(home, f"{name} likes tea", name)
        await home.settle()
    job_id = home.add(when="every 1h", name="fruit").id
    tried = await begin(home, job_id)
    await home.settle()
    assert tried.id is not None
    assert home.ask(get_turn, TurnRef(turn_id=tried.id)).state == "closed"
    heard = [message.text for message in home.call() if message.role == "user"]
    assert heard[:2] == ["alice: alice likes tea", "bob: bob likes tea"]
    # One that works apart hears nobody.
    apart = home.add(when="every 1h", name="nuts", session="isolated").id
    await begin(home, apart)
    await home.settle()
    assert "likes tea" not in str(home.call())


async def test_a_trial_can_be_cancelled_before_a_worker_begins_it(home: Home) -> None:
    tried = await begin(home, home.add(when="every 1h", name="fruit").id)
    assert tried.id is not None
    assert tried.session_key is not None
    stop = CancelTurn(session_key=tried.session_key, turn_id=tried.id)
    assert home.ask(cancel_turn, stop).cancelled
    stopped = home.ask(get_turn, TurnRef(turn_id=tried.id))
    assert (stopped.state, stopped.outcome, stopped.trial) == ("closed", "cancelled", True)
    assert not home.ask(cancel_turn, stop).cancelled
    await home.settle()
    assert home.model.seen == []
    assert home.ask(get_turn, TurnRef(turn_id=tried.id)).outcome == "cancelled"


async def test_only_so_many_trials_of_a_job_are_under_way_at_once(home: Home) -> None:
    job_id, other = (home.add(when="every 1h", name=name).id for name in ("fruit", "nuts"))
    asked = await asyncio.gather(*(begin(home, job_id) for _ in range(20)), return_exceptions=True)
    refused = [one for one in asked if isinstance(one, Conflict)]
    assert [one.code for one in refused] == ["already_running"] * (20 - MOST_TRIALS)
    assert len([one for one in asked if isinstance(one, TrialShape)]) == MOST_TRIALS
    # Those of another job are counted by themselves, and those that have closed no more.
    assert (await begin(home, other)).state == "waiting"
    await home.settle()
    assert (await begin(home, job_id)).state == "waiting"


@pytest.mark.parametrize("place", ["before", "after"])
async def test_a_worker_that_dies_at_any_write_of_a_trial_leaves_no_ghost(
    database: str, home: Home, place: Literal["before", "after"]
) -> None:
    job_id = home.add(when="every 1h", name="fruit", may_schedule=True).id
    task = {"action": "add", "when": "in 5 minutes", "message": "again"}
    nth, died = 0, True
    while died:
        nth += 1
        home.model.when(f"round {nth}.", [tool_call("schedule_task", task, call_id="call_1")], "All done.")
        tried = await begin(home, job_id, message=f"round {nth}.")
        assert tried.id is not None
        assert tried.session_key is not None
        died = await live_and_die(home, MortalStore(database, nth=nth, place=place), tried.session_key)
        if died and home.ledger.turns(tried.session_key):
            home.expire(tried.session_key)
        if died:
            await home.work(tried.session_key)
        turn = home.ask(get_turn, TurnRef(turn_id=tried.id))
        assert (turn.state, turn.outcome, turn.answer) == ("closed", "answered", "All done.")
        assert [call.name for call in turn.would_have_called] == ["schedule_task"]
        home.ledger.check_whole(tried.session_key)
    assert nth > 4, "a turn of so many steps has more writes than that"
    assert home.shown() == []
    assert home.runs(job_id) == []
    assert len(home.ask(list_jobs, ListJobs()).items) == 1
