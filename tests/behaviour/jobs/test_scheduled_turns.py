"""What a scheduled turn is: what its model sees, what its history holds, what it may do (rules 21, 24–27)."""

import hashlib
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.jobs.conftest import MakeHome
from behaviour.jobs.homes import Home
from homing.agent.models import Models
from homing.operations.jobs import list_jobs
from homing.operations.memories import add_memory
from homing.operations.runs import get_run, run_job
from homing.operations.shapes.base import utc
from homing.operations.shapes.job_asks import JobRef, ListJobs
from homing.operations.shapes.people_asks import AddMemory
from homing.operations.shapes.run_asks import RunRef
from homing.store import tables as t
from homing.testing import StubModelServer, scripted_model, tool_call
from support.ledger import CHAT

TASK = "look for fruit"
OPENING = f"Scheduled cron job triggered: fruit watch\n\n{TASK}"


async def come_due(home: Home) -> None:
    home.pass_time(hours=1, seconds=1)
    await home.settle()


def said(home: Home, nth: int = -1) -> list[str]:
    """What was said before the prompt of one call."""
    return [message.text for message in home.call(nth) if message.role != "system"][:-1]


async def test_a_scheduled_turn_sees_the_whole_conversation_and_what_is_remembered(home: Home) -> None:
    home.ask(add_memory, AddMemory(text="The user eats fruit at noon."))
    await home.say("I like apples")
    home.add(TASK, when="every 1h")
    await come_due(home)
    assert said(home) == ["I like apples", "You said: I like apples"]
    assert "The user eats fruit at noon." in home.call()[0].text


async def test_since_last_shows_only_what_was_said_since_the_jobs_last_run(home: Home) -> None:
    home.model.when(TASK, "Apples.")
    payload = {"kind": "agent_turn", "message": TASK, "context": "since_last"}
    home.add(message=None, payload=payload, when="every 1h")
    await home.say("I like apples")
    await come_due(home)
    assert said(home) == ["I like apples", "You said: I like apples"]
    await home.say("and pears")
    await come_due(home)
    assert said(home) == ["and pears", "You said: and pears"]


async def test_no_context_shows_nothing_but_the_task_and_what_is_remembered(home: Home) -> None:
    home.ask(add_memory, AddMemory(text="The user eats fruit at noon."))
    await home.say("I like apples")
    home.add(message=None, payload={"kind": "agent_turn", "message": TASK, "context": "none"}, when="every 1h")
    await come_due(home)
    assert said(home) == []
    assert "The user eats fruit at noon." in home.call()[0].text
    assert "I like apples" not in home.heard()


async def test_the_prompt_knows_job_instant_trigger_and_last_outcome_and_lives_in_the_record_only(home: Home) -> None:
    home.model.fail(401)
    home.model.otherwise("Fine.")
    job = home.add(TASK, name="fruit watch", when="every 1h")
    await come_due(home)
    await come_due(home)
    first, second = home.runs(job.id)
    assert "Its last run" not in (first.prompt or "")
    assert re.search(r"Its last run: error, \d{4}-\d\d-\d\d .* \(I could not answer", second.prompt or "")
    assert f'the automation "fruit watch" ({job.id}) came due' in (second.prompt or "")
    assert home.call()[-1].text == second.prompt
    variables = second.variables or {}
    assert {"job_id", "job_name", "message", "scheduled_for", "now", "trigger", "missed_count", "last_status"} <= set(
        variables
    )
    assert (variables["trigger"], variables["last_status"], variables["missed_count"]) == ("timer", "error", 0)
    home.ask(run_job, JobRef(job_id=job.id))
    await home.settle()
    assert "Somebody asked to run it now." in (home.runs(job.id)[-1].prompt or "")

    shown = home.ask(get_run, RunRef(run_id=second.id))
    assert (shown.prompt_ref.id, shown.prompt_ref.version) == ("cron.agent_turn.reminder", 3)
    assert shown.prompt_ref.sha256 == hashlib.sha256((second.prompt or "").encode()).hexdigest()

    def everything(tx: Any) -> str:
        texts = tx.rows(sa.select(t.message.c.text)) + tx.rows(sa.select(t.turn.c.history))
        return "\n".join(str(text) for (text,) in texts)

    assert "came due" not in home.ledger.write(everything)


async def test_exactly_one_result_stands_in_the_bound_session_with_its_provenance(home: Home) -> None:
    home.model.when(TASK, "There are apples.")
    job = home.add(TASK, name="fruit watch", when="every 1h")
    await come_due(home)
    run = home.only_run(job.id)
    opening, closing = home.shown()
    ref = {"id": "cron.agent_turn.reminder", "version": 3, "sha256": run.prompt_sha256}
    provenance = {
        "cron_turn": True, "cron_job_id": job.id, "cron_job_name": "fruit watch", "cron_run_id": run.id,
        "cron_prompt_ref": ref, "cron_trigger": "timer", "cron_due_at": utc(run.scheduled_for),
    }  # fmt: skip
    assert (opening.role, opening.kind, opening.text, opening.meta) == ("user", "scheduled", OPENING, provenance)
    assert (closing.role, closing.kind, closing.text, closing.meta) == (
        "assistant", "scheduled", "There are apples.", provenance,
    )  # fmt: skip
    assert (run.opening_seq, run.closing_seq, run.summary) == (1, 2, "There are apples.")
    assert re.fullmatch(rf"{job.id}:\d+", run.id)
    home.ledger.check_whole()


async def test_a_scheduled_turn_adds_no_jobs_unless_its_own_says_so(home: Home) -> None:
    add = tool_call("schedule_task", {"action": "add", "when": "in 5 minutes", "message": "again", "name": "more"})
    home.model.when(TASK, add, "Done.")
    home.add(TASK, when="every 1h", name="strict")
    await come_due(home)
    assert "A turn that no person opened adds no automations" in home.call()[-1].text
    assert [job.name for job in home.ask(list_jobs, ListJobs()).items] == ["strict"]
    free = home.add("go for fruit", when="every 1h", name="free", may_schedule=True)
    home.model.when("go for fruit", add, "Done.")
    home.ask(run_job, JobRef(job_id=free.id))
    await home.settle()
    assert sorted(job.name for job in home.ask(list_jobs, ListJobs()).items) == ["free", "more", "strict"]


async def test_a_scheduled_turn_updates_its_own_job_without_naming_it_and_no_other(home: Home) -> None:
    home.model.when(
        TASK,
        tool_call("schedule_task", {"action": "update", "when": "every 3h"}),
        tool_call("schedule_task", {"action": "disable", "job_id": "other"}),
        "Less often now.",
    )
    job = home.add(TASK, when="every 1h")
    other = home.add("something else", name="other", when="every 1 day")
    await come_due(home)
    assert home.shown()[-1].text == "Less often now."
    due = home.job(job.id).next_run_at
    assert due is not None
    assert 10_000 < (due - home.now()).total_seconds() <= 10_800
    assert home.job(other.id).enabled
    assert home.ends(job.id) == [("ok", None)]


async def test_a_scheduled_turn_that_removes_its_own_job_still_gives_its_answer(home: Home) -> None:
    home.model.when(TASK, tool_call("schedule_task", {"action": "remove"}), "That was the last time.")
    job = home.add(TASK, when="every 1h")
    await come_due(home)
    assert home.shown()[-1].text == "That was the last time."
    assert home.ends(job.id) == [("ok", None)]
    assert home.job(job.id).removed_at is not None
    home.pass_time(hours=2)
    await home.settle()
    assert len(home.runs(job.id)) == 1


async def test_a_jobs_model_and_sender_are_those_of_its_turn_and_the_sessions_stay(home: Home) -> None:
    other = scripted_model(["From another model."])
    home.models = Models(extra={"scripted": home.model, "other": other})
    payload = {"kind": "agent_turn", "message": TASK, "model": "other", "thinking": "low"}
    home.add(message=None, payload=payload, when="every 1h", sender_id="anna")
    await come_due(home)
    turn = home.ledger.turn()
    assert (turn.model, turn.thinking, turn.sender_id) == ("other", "low", "anna")
    assert (home.shown()[-1].text, home.shown()[-1].model) == ("From another model.", "other")
    assert (await home.say("hello"), home.ledger.turns()[-1].model) == ("You said: hello", "scripted")


async def test_an_answer_is_one_model_call_and_no_second_model_judges_it(home: Home) -> None:
    home.model.when(TASK, "Nothing much, but you asked.")
    home.add(TASK, when="every 1h")
    await come_due(home)
    assert len(home.model.seen) == 1
    assert home.shown()[-1].text == "Nothing much, but you asked."


async def test_the_prompt_mentions_the_scheduler_only_to_an_agent_that_has_it(home: Home) -> None:
    for tools, mentioned in ((["schedule_task"], "call schedule_task:"), (["cron"], "call cron:"), ([], None)):
        home.ledger.write(
            lambda tx, tools=tools: tx.run(sa.update(t.agent).values(tools=dict.fromkeys(tools, "allow")))
        )
        await home.say("hello")
        instructions = home.call()[0].text
        assert (mentioned or "You are helpful.") in instructions
        assert ("without it nothing happens" in instructions) == (mentioned is not None)


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def wired(make_home: MakeHome, stub: StubModelServer) -> AsyncIterator[Home]:
    """A home whose model is at the other end of a real wire."""
    home = make_home(model="openai-chat:stub")
    yield home
    await home.models.close()


async def test_what_was_said_in_chinese_is_before_the_model_when_the_job_of_it_comes_due(
    wired: Home, stub: StubModelServer
) -> None:
    like, remind = "我喜欢苹果", "每天提醒我吃苹果"
    stub.when(like, tool_call("remember", {"text": "用户喜欢苹果"}), "记住了。")
    add = {"action": "add", "when": "every day at 9", "message": "提醒我吃苹果", "name": "吃苹果"}
    stub.when(remind, tool_call("schedule_task", add), "好的，每天九点。")
    stub.when(re.compile("came due"), "该吃苹果了！")
    await wired.say(like)
    await wired.say(remind)
    [job] = wired.ask(list_jobs, ListJobs(session_key=CHAT)).items
    wired.ask(run_job, JobRef(job_id=job.id))
    await wired.settle()
    scheduled = stub.requests[-1]
    assert like in scheduled.texts()
    assert remind in scheduled.texts()
    assert "用户喜欢苹果" in scheduled.messages[0].text
    assert wired.shown()[-1].text == "该吃苹果了！"


async def test_in_an_isolated_run_the_memory_in_chinese_is_before_the_model_without_the_conversation(
    wired: Home, stub: StubModelServer
) -> None:
    stub.when("我喜欢苹果", tool_call("remember", {"text": "用户喜欢苹果"}), "记住了。")
    stub.when(re.compile("came due"), "该吃苹果了！")
    await wired.say("我喜欢苹果")
    job = wired.add("每天提醒我吃苹果", when="every day at 9", session="isolated", **{"continue": False})
    wired.ask(run_job, JobRef(job_id=job.id))
    await wired.settle()
    isolated = stub.requests[-1]
    assert "我喜欢苹果" not in isolated.texts()
    assert "用户喜欢苹果" in isolated.messages[0].text
    assert wired.shown()[-1].text == "该吃苹果了！"
