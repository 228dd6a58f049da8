"""Branch a conversation at a message: the past comes along as it was, and the old conversation stays as it is."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from homing.model.people import OWNER
from homing.testing import Reply
from homing.testing.scripted import wire_messages
from support.site import OWNER_TOKEN, STRANGER_TOKEN
from support.whole import Whole, open_whole

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path, SANDBOX="off") as whole:
        assert whole.engine.hands
        await whole.engine.hands.opened.wait()
        yield whole


async def add(whole: Whole, content: bytes, name: str) -> str:
    headers = {"Authorization": f"Bearer {OWNER_TOKEN}"}
    return (await whole.http.post("/api/files", files={"file": (name, content)}, headers=headers)).json()["id"]


async def messages(whole: Whole, key: str) -> list[dict[str, Any]]:
    return (await whole.ask("GET", f"/sessions/{key}/messages"))["items"]


async def branch(whole: Whole, seq: int, *, key: str = "web:chat", code: int = 201, **more: Any) -> dict[str, Any]:
    return await whole.ask("POST", f"/sessions/{key}/branch", {"seq": seq, **more}, code=code)


def remembered(whole: Whole) -> list[tuple[str, str]]:
    return [(message.role, message.text) for message in wire_messages(whole.model.seen[-1])]


async def answered(whole: Whole, key: str, count: int) -> list[dict[str, Any]]:
    bell = whole.homing.store.bell.listen(f"user:{OWNER}")
    async with asyncio.timeout(60):
        while len(found := await messages(whole, key)) < count:
            await bell.wait(1)
    return found


async def talk(whole: Whole, *words: str) -> None:
    for word in words:
        whole.model.reply(f"Heard {word}.")
        await whole.say(word)


async def test_a_branch_has_the_past_up_to_its_message_and_goes_on_by_itself(whole: Whole) -> None:
    await talk(whole, "one", "two")
    made = await branch(whole, 2)
    assert made["branch_of"] == {"session_key": "web:chat", "seq": 2}
    assert (made["unread"], made["read_seq"], made["state"]) == (0, 2, "idle")
    before = await messages(whole, "web:chat")
    copies = await messages(whole, made["key"])
    assert [(m["seq"], m["text"], m["created_at"]) for m in copies] == [
        (m["seq"], m["text"], m["created_at"]) for m in before[:2]
    ]
    whole.model.reply("Three here.")
    await whole.say("three", key=made["key"])
    assert remembered(whole) == [("user", "one"), ("assistant", "Heard one."), ("user", "three")]
    assert await messages(whole, "web:chat") == before
    whole.model.reply("Four there.")
    await whole.say("four")
    assert "three" not in str(remembered(whole))


async def test_edit_and_resend_says_other_words_in_a_branch(whole: Whole) -> None:
    await talk(whole, "one", "two")
    before = await messages(whole, "web:chat")
    whole.model.reply("Better.")
    made = await branch(whole, 3, text="two, but kinder")
    found = await answered(whole, made["key"], 4)
    assert [m["text"] for m in found] == ["one", "Heard one.", "two, but kinder", "Better."]
    assert remembered(whole) == [("user", "one"), ("assistant", "Heard one."), ("user", "two, but kinder")]
    assert await messages(whole, "web:chat") == before
    # Again, in the branch: copies are words of one's own, too.
    whole.model.reply("First.")
    again = await branch(whole, 1, key=made["key"], text="one, again")
    assert [m["text"] for m in await answered(whole, again["key"], 2)] == ["one, again", "First."]
    assert remembered(whole) == [("user", "one, again")]


async def test_the_model_knows_the_tool_calls_of_a_copied_turn(whole: Whole) -> None:
    await whole.call("remember", {"text": "Anna likes pears"}, key="web:chat")
    made = await branch(whole, 2)
    second = await branch(whole, 2, key=made["key"])
    whole.model.reply("Fine.")
    await whole.say("go on", key=second["key"])
    roles = [message.role for message in wire_messages(whole.model.seen[-1])]
    assert roles == ["user", "assistant", "tool", "assistant", "user"]
    # The turn of a copy is that of its original.
    [_, answer, *_] = await messages(whole, second["key"])
    assert (await whole.ask("GET", f"/turns/{answer['turn_id']}"))["session_key"] == "web:chat"


async def test_a_branch_inside_a_turn_knows_nothing_of_what_came_later(whole: Whole) -> None:
    """Something said meanwhile is part of the same turn, whose history knows the answer as well."""
    whole.model.reply(Reply(chunks=["Wait"], hold=True))
    whole.model.otherwise("Both heard.")
    await whole.ask("POST", "/sessions/web:chat/messages", {"text": "one"}, code=202)
    async with asyncio.timeout(60):
        await whole.model.wait_for_calls(1)
    made = await branch(whole, 1)
    assert made["state"] == "idle"
    assert [m["text"] for m in await messages(whole, made["key"])] == ["one"]
    whole.model.release()
    original = await answered(whole, "web:chat", 2)
    assert original[-1]["text"].startswith("Wait")
    await whole.say("two", key=made["key"])
    # Two messages of one person, and no answer between them.
    assert remembered(whole) == [("user", "one"), ("user", "two")] or remembered(whole) == [("user", "one\n\ntwo")]
    assert "Wait" not in str(remembered(whole))


async def test_agent_model_zone_and_files_come_along_and_automations_stay(whole: Whole) -> None:
    whole.model.otherwise("Seen.")
    file_id = await add(whole, PNG, "bird.png")
    await whole.say("What is this?", files=[file_id])
    change = {"title": "Birds", "timezone": "Asia/Tokyo", "model": "scripted"}
    await whole.ask("PATCH", "/sessions/web:chat", change)
    await whole.ask("POST", "/jobs", {"session_key": "web:chat", "when": "every 2h", "message": "look"}, code=201)
    made = await branch(whole, 2)
    assert {name: made[name] for name in change} == change | {"title": "Birds (branch)"}
    assert made["automations"] == {"enabled": 0, "total": 0}
    assert made["agent_id"] == "main"
    assert made["addresses"] == [made["key"]]
    resent = await branch(whole, 1, text="Which bird is this?")
    [said, _] = await answered(whole, resent["key"], 2)
    assert [file["id"] for file in said["files"]] == [file_id]
    # The file stays for as long as one of them refers to it.
    await whole.ask("DELETE", "/sessions/web:chat?delete_automations=true")
    assert (await whole.ask("GET", f"/sessions/{made['key']}"))["branch_of"] is None
    [copy, _] = await messages(whole, made["key"])
    assert [file["id"] for file in copy["files"]] == [file_id]


async def test_a_branch_that_makes_no_sense_is_refused(whole: Whole) -> None:
    await talk(whole, "one")
    refusals: list[tuple[dict[str, Any], int, str]] = [
        ({"seq": 0}, 422, "out_of_range"),
        ({"seq": 3}, 422, "out_of_range"),
        ({"seq": 2, "text": "x"}, 409, "wrong_state"),
        ({"seq": 1, "text": "  "}, 422, "missing"),
        ({"seq": 1, "text": ""}, 422, "out_of_range"),
        ({}, 422, "missing"),
    ]
    for given, code, problem in refusals:
        refused = await whole.ask("POST", "/sessions/web:chat/branch", given, code=code)
        assert problem in (refused["code"], *(error["code"] for error in refused.get("errors", ()))), given
    assert len((await whole.ask("GET", "/sessions"))["items"]) == 1


async def test_nobody_branches_what_is_not_theirs_or_gone(whole: Whole) -> None:
    await talk(whole, "one")
    await whole.ask("POST", "/sessions/web:chat/branch", {"seq": 1}, token=STRANGER_TOKEN, code=404)
    await whole.ask("DELETE", "/sessions/web:chat")
    await branch(whole, 1, code=404)


async def test_the_same_request_twice_makes_one_branch(whole: Whole) -> None:
    await talk(whole, "one")
    headers = {"Authorization": f"Bearer {OWNER_TOKEN}", "Idempotency-Key": "k"}
    path = "/api/sessions/web:chat/branch"
    first, second = [(await whole.http.post(path, json={"seq": 2}, headers=headers)).json() for _ in range(2)]
    assert first == second
    assert len((await whole.ask("GET", "/sessions"))["items"]) == 2
