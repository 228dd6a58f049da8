"""The founding story: an agent comes back to its own conversation, at its time, with all that was said before it."""

from typing import Any

from homing.model.jobs import Job
from homing.operations.jobs import get_job
from homing.operations.messages import list_messages, send_message
from homing.operations.runs import get_run, list_runs
from homing.operations.sessions import get_session
from homing.operations.shapes.job_asks import GetJob, WhyJob
from homing.operations.shapes.run_asks import ListRuns, RunRef
from homing.operations.shapes.session_asks import ListMessages, SendMessage, SessionRef
from homing.operations.why import why_job
from homing.store import Tx, jobs
from homing.testing import Reply, StubModelServer, tool_call
from support.crews import Crew
from support.ledger import CHAT, Ledger
from support.worlds import write_job

ADD = {"action": "add", "when": "every day at 9", "message": "look for fruit", "name": "fruit watch"}


def say(ask: Any, crew: Crew, text: str) -> None:
    ask(send_message, SendMessage(session_key=CHAT, text=text))
    crew.ring()


def make_due(ledger: Ledger, crew: Crew) -> Job:
    """Let it be nine o'clock for the only job."""

    session = ledger.session()

    def work(tx: Tx) -> Job:
        [job] = jobs.bound_to(tx, session.id)
        write_job(tx, job.id, {"next_run_at": tx.now()})
        return job

    job = ledger.write(work)
    crew.ring()
    return job


def test_an_agent_comes_back_to_its_own_conversation_with_all_that_was_said(
    crew: Crew, ledger: Ledger, stub: StubModelServer, ask: Any
) -> None:
    stub.when("I like apples", "Good to know.")
    stub.when("every morning, please", tool_call("schedule_task", ADD, call_id="call_1"), "Every day at nine.")
    stub.when("a long story", Reply(chunks=["Once ", "upon ", "a time."], hold="story", hold_after_chunks=2))
    stub.when("look for fruit", "There are apples today. Red or green?")
    stub.when("The red ones", "Red it is.")
    crew.start(claim_seconds=60)
    say(ask, crew, "I like apples")
    ledger.until_closed(1)
    say(ask, crew, "Look for fruit every morning, please")
    ledger.until_closed(2)
    say(ask, crew, "Tell me a long story")
    stub.wait_for_requests(4)

    job = make_due(ledger, crew)
    ledger.until(lambda: ask(list_runs, ListRuns(job_id=job.id)).items, "the job has fired")
    [waiting] = ask(list_runs, ListRuns(job_id=job.id)).items
    assert (waiting.state, waiting.waiting_for, waiting.trigger) == ("queued", "session", "timer")
    session = ask(get_session, SessionRef(session_key=CHAT))
    assert (session.state, session.turn.source) == ("running", "person")
    [queued] = session.lane
    assert (queued.source, queued.run_id, queued.waiting_for) == ("run", waiting.id, "session")
    assert "waits for its session, which is busy" in ask(why_job, WhyJob(job_id=job.id)).answer
    assert ask(get_job, GetJob(job_id=job.id)).state.active_run_id == waiting.id
    assert len(stub.requests) == 4

    stub.release("story")
    ledger.until_closed(4)
    story, scheduled = stub.requests[3:]
    assert not any("fruit watch" in text and "came due" in text for text in story.texts())
    said = [(m.role, m.text) for m in scheduled.messages if m.role != "system"]
    told = f'Added "fruit watch" ({job.id}): every day at 09:00'
    assert said[:4] == [
        ("user", "I like apples"), ("assistant", "Good to know."),
        ("user", "Look for fruit every morning, please"), ("assistant", ""),
    ]  # fmt: skip
    assert said[4][0] == "tool"
    assert said[4][1].startswith(told)
    assert said[5:8] == [
        ("assistant", "Every day at nine."), ("user", "Tell me a long story"), ("assistant", "Once upon a time."),
    ]  # fmt: skip
    [(role, prompt)] = said[8:]
    assert role == "user"
    assert f'the automation "fruit watch" ({job.id}) came due' in prompt
    run = ask(get_run, RunRef(run_id=waiting.id))
    assert (run.state, run.waiting_for, run.prompt) == ("ok", None, prompt)

    say(ask, crew, "The red ones, please")
    ledger.until_closed(5)
    make_due(ledger, crew)
    ledger.until_closed(6)
    again = [(m.role, m.text) for m in stub.requests[-1].messages if m.role != "system"]
    # History has the readable opening; the prompt of the first run is nowhere but in its record.
    assert again[8:12] == [
        ("user", "Scheduled cron job triggered: fruit watch\n\nlook for fruit"),
        ("assistant", "There are apples today. Red or green?"),
        ("user", "The red ones, please"), ("assistant", "Red it is."),
    ]  # fmt: skip
    assert len(again) == 13
    assert "Its last run: ok" in again[-1][1]
    ledger.check_whole()
    shown = ask(list_messages, ListMessages(session_key=CHAT)).items
    assert [(m.role, m.kind) for m in shown[6:10]] == [
        ("user", "scheduled"), ("assistant", "scheduled"), ("user", "chat"), ("assistant", "chat"),
    ]  # fmt: skip
    assert shown[6].meta["cron_run_id"] == shown[7].meta["cron_run_id"] == waiting.id
    assert [(r.state, r.trigger) for r in ask(list_runs, ListRuns(job_id=job.id)).items] == [("ok", "timer")] * 2
