"""An answer that promises to come back, while nothing was scheduled, is marked; scheduling it takes the mark away."""

from typing import Any

import pytest

from behaviour.approvals.scenes import KEY
from homing.testing import tool_call
from support.whole import Whole

PROMISE = "Not yet. I'll check again tomorrow at nine."
ADD = {"action": "add", "when": "tomorrow at 9", "message": "check again"}


async def answer(whole: Whole, *replies: Any) -> dict[str, Any]:
    """Let the model answer; gives the message."""
    for reply in replies:
        whole.model.reply(reply)
    await whole.say("Is it there?", key=KEY)
    return (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=1"))["items"][0]


async def test_a_promise_is_marked_until_it_is_scheduled(whole: Whole) -> None:
    message = await answer(whole, PROMISE)
    assert message["promise"] == {
        "text": "I'll check again tomorrow at nine.",
        "when": "tomorrow at nine",
        "message": "Check again",
        "reminder": False,
        "job_id": None,
    }
    assert "promise" not in message["meta"]
    body = {"session_key": KEY, "when": "tomorrow at nine", "message": "Check again"}
    key = {"dedupe_key": f"promise:{message['seq']}"}
    job = await whole.ask("POST", "/jobs", body | key, code=201)
    # Pressed twice, in two windows: once is enough.
    assert (await whole.ask("POST", "/jobs", body | key))["id"] == job["id"]
    [shown] = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=1"))["items"]
    assert shown["promise"]["job_id"] == job["id"]
    await whole.ask("POST", f"/jobs/{job['id']}/undo", {"revision": job["revision"]})
    [shown] = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=1"))["items"]
    assert shown["promise"]["job_id"] is None


async def test_what_is_scheduled_in_the_turn_or_was_before_is_no_unkept_promise(whole: Whole) -> None:
    message = await answer(whole, [tool_call("schedule_task", ADD)], PROMISE)
    assert message["cards"]
    assert message["promise"] is None
    assert (await answer(whole, PROMISE))["promise"] is None
    assert (await answer(whole, "I'll get back to you."))["promise"] is None
    # Another time is another promise.
    assert (await answer(whole, "I'll check again in an hour."))["promise"]["when"] == "in an hour"


async def test_a_claim_after_a_refused_call_is_marked(whole: Whole) -> None:
    claim = "Done, I have scheduled it, see the card below."
    assert (await answer(whole, claim))["promise"] is None
    bad = [tool_call("schedule_task", {"action": "add", "when": "blue moon", "message": "x"})]
    assert (await answer(whole, bad, claim))["promise"]["text"] == claim


@pytest.mark.parametrize("tools", [{"recall": "allow"}, {"schedule_task": "ask", "cron": "deny"}])
async def test_who_cannot_schedule_is_not_checked(whole: Whole, tools: dict[str, str]) -> None:
    agent = await whole.ask("GET", "/agents/main")
    await whole.ask("PATCH", "/agents/main", {"tools": tools, "revision": agent["revision"]})
    assert (await answer(whole, PROMISE))["promise"] is None


async def test_only_answers_to_people_are_checked(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    job = {"session_key": KEY, "when": "every day at 8:00", "message": "look"}
    made = await whole.ask("POST", "/jobs", job, code=201)
    whole.model.reply("I'll check again in an hour.")
    run = await whole.ask("POST", f"/jobs/{made['id']}/run", {}, code=202)
    while not (await whole.ask("GET", f"/runs/{run['id']}"))["finished_at"]:
        pass
    [message] = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=1"))["items"]
    assert (message["kind"], message["promise"]) == ("scheduled", None)
