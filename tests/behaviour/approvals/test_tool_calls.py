"""A tool whose policy is ask: the call waits for a person, runs once with what was shown, and the agent is told."""

import json

from behaviour.approvals.scenes import (
    KEY,
    REX,
    answer,
    ask_for_memory,
    call,
    ended,
    let_ask,
    pending,
    rows,
    told,
    told_of,
)
from homing.store import tables as t
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.whole import Whole


def last_told(whole: Whole) -> str:
    """Give what the last tool call told the model."""
    return [message.text for message in wire_messages(whole.model.seen[-1]) if message.role == "tool"][-1]


async def test_an_approved_call_runs_once_and_the_agent_is_told(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    assert approval["tool"] == "remember"
    assert approval["args"] == {"text": REX}
    assert approval["shown"] == f'{{\n  "text": "{REX}"\n}}'
    assert (await whole.ask("GET", "/memories"))["items"] == []

    whole.model.reply("It is kept.")
    assert (await answer(whole, approval))["state"] == "approved"
    await told(whole, "It is kept.")

    done = await ended(whole, approval["id"])
    assert (done["state"], done["ended"], done["answered_by"]) == ("done", "answered", "default")
    assert [memory["text"] for memory in (await whole.ask("GET", "/memories"))["items"]] == [REX]
    shown = "\n".join(message.text for message in wire_messages(whole.model.seen[-1]))
    assert 'how the request to use "remember" ended' in shown
    assert "approved by Owner and done" in shown
    assert len(told_of(whole, approval["id"])) == 1


async def test_a_denied_call_is_not_made_and_is_not_asked_again_within_a_day(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    whole.model.reply("I will not.")
    denied = await answer(whole, approval, "deny", note="Not \u202ethat dog.")
    assert (denied["state"], denied["ended"]) == ("denied", "answered")
    await told(whole, "I will not.")
    shown = "\n".join(message.text for message in wire_messages(whole.model.seen[-1]))
    assert "denied by Owner" in shown
    await call(whole, "remember", {"text": REX})
    assert "denied within the last day" in last_told(whole)
    assert "They wrote: Not \\\\u202ethat dog." in last_told(whole)
    # Another text is another request, and so is the same one in another conversation.
    await call(whole, "remember", {"text": "the cat is called Rex"})
    await call(whole, "remember", {"text": REX}, key="web:other")
    assert len(await pending(whole)) == 2
    assert (await whole.ask("GET", "/memories"))["items"] == []


async def test_the_same_request_again_gives_the_one_that_waits(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    await call(whole, "remember", {"text": REX})
    assert approval["id"] in last_told(whole)
    assert "asked before" in last_told(whole)
    assert len(await pending(whole)) == 1
    assert len(rows(whole, t.card.select())) == 1


async def test_ten_requests_of_a_conversation_wait_at_most(whole: Whole) -> None:
    await let_ask(whole, "remember")
    whole.model.reply([tool_call("remember", {"text": f"fact {n}"}, call_id=f"call_{n}") for n in range(12)])
    whole.model.reply("I asked.")
    await whole.say("Remember twelve facts", key=KEY)
    assert len(await pending(whole)) == 10
    refused = [
        m.text for m in wire_messages(whole.model.seen[-1]) if m.role == "tool" and "has 10 open requests" in m.text
    ]
    assert len(refused) == 2
    # Another conversation has its own ten.
    await call(whole, "remember", {"text": "fact 20"}, key="web:other")
    assert len(await pending(whole)) == 11


async def test_an_agent_asks_thirty_times_a_day_at_most(whole: Whole) -> None:
    await let_ask(whole, "remember")
    for n in range(4):
        calls = [tool_call("remember", {"text": f"fact {n} {m}"}, call_id=f"call_{m}") for m in range(8)]
        whole.model.reply(calls)
        whole.model.reply("I asked.")
        await whole.say("Remember eight facts", key=f"web:chat-{n}")
    assert len(await pending(whole)) == 30
    refused = [message.text for message in wire_messages(whole.model.seen[-1]) if "asked 30 times" in message.text]
    assert len(refused) == 2


async def test_a_call_too_large_to_be_shown_is_refused_at_asking(whole: Whole) -> None:
    await let_ask(whole, "remember")
    await call(whole, "remember", {"text": "x" * (65 << 10)})
    assert "too large to be shown to a person" in last_told(whole)
    assert await pending(whole) == []


async def test_what_an_approved_automation_was_asked_with_from_outside_is_kept_with_it(whole: Whole) -> None:
    await let_ask(whole, "schedule_task")
    whole.model.reply("Hello.")
    await whole.say("hello", key=KEY)
    url = (await whole.ask("POST", f"/sessions/{KEY}/hooks", {"name": "door"}, code=201))["url"]
    whole.model.reply("Somebody rang.")
    await whole.ask("POST", f"/hooks/{url.rpartition('/')[2]}", {"text": "Ring!"}, code=202)
    await told(whole, "Somebody rang.")
    job = {"action": "add", "name": "Door", "schedule": "every 1h", "message": "Look at the door."}
    await call(whole, "schedule_task", job)
    [approval] = await pending(whole)
    assert json.loads(approval["shown"]) == job
    whole.model.reply("It is planned.")
    await answer(whole, approval)
    done = await ended(whole, approval["id"])
    assert done["state"] == "done", done
    [kept] = rows(whole, t.job.select())
    assert (kept.name, kept.outside) == ("Door", 'the hook "door"')


async def test_the_script_of_an_approved_automation_is_tried_before_it_is_written(whole: Whole) -> None:
    await let_ask(whole, "schedule_task")
    job = {"action": "add", "when": "every 1h", "message": "Look.", "script_language": "python"}
    states: list[tuple[str, str | None]] = []
    for number, script in enumerate(("print('{\"wakeAgent\": false}')", "print(nobody)")):
        await call(whole, "schedule_task", job | {"script": script})
        [approval] = await pending(whole)
        whole.model.reply(f"I know {number}.")
        await answer(whole, approval)
        done = await ended(whole, approval["id"])
        await told(whole, f"I know {number}.")
        states.append((done["state"], done["error"]))
    [well, badly] = states
    assert well == ("done", None)
    assert badly[0] == "failed"
    assert "name 'nobody' is not defined" in str(badly[1])
    [added] = (await whole.ask("GET", "/jobs"))["items"]
    assert added["script"] == "print('{\"wakeAgent\": false}')"


async def test_two_calls_of_one_tool_can_be_told_apart_by_their_titles(whole: Whole) -> None:
    await let_ask(whole, "remember")
    for text in ("the dog is called Rex", "the cat is called \u202eTom"):
        await call(whole, "remember", {"text": text})
    items = (await whole.ask("GET", "/inbox"))["items"]
    assert [one["title"] for one in items] == [
        "Main asks to use remember: the cat is called \\u202eTom",
        "Main asks to use remember: the dog is called Rex",
    ]
