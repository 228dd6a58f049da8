"""What arrives unasked is unread until its user has read it; read in one tab is read in all."""

import asyncio
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event

from behaviour.approvals.scenes import KEY, ask_for_memory
from behaviour.approvals.test_inbox import fail_job, inbox, run_job, see
from homing.model.people import OWNER, Caller
from homing.store import Tx, messages
from homing.store import tables as t
from homing.store.inbox import count_unread
from homing.web.stream import Streams
from support.events import Listener
from support.site import STRANGER_TOKEN
from support.whole import Whole


async def session(whole: Whole, key: str = KEY) -> dict[str, Any]:
    return await whole.ask("GET", f"/sessions/{key}")


async def read(whole: Whole, seq: int, **more: Any) -> dict[str, Any]:
    return await whole.ask("POST", f"/sessions/{KEY}/read", {"seq": seq}, **more)


async def remind(whole: Whole, text: str = "stretch", **more: Any) -> str:
    """Let a reminder arrive; gives its job."""
    payload = {"kind": "reminder", "message": text}
    job = await whole.ask(
        "POST", "/jobs", {"session_key": KEY, "when": "every day at 8:00", "payload": payload} | more, code=201
    )
    await run_job(whole, job["id"])
    return job["id"]


async def test_what_arrives_unasked_is_unread_until_its_conversation_is_read(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    assert (await session(whole))["unread"] == 0
    await remind(whole, "stretch")
    await remind(whole, "water the\n  plants")
    now = await session(whole)
    last = now["last_message"]["seq"]
    assert (now["unread"], now["read_seq"]) == (2, 0)
    listed = await inbox(whole)
    assert listed["items"] == [
        {
            "kind": "unread",
            "id": KEY,
            "session_key": KEY,
            "session_title": None,
            "title": "water the plants",
            "at": now["last_message"]["created_at"],
            "seen": False,
            "job_id": None,
            "count": 2,
            "seq": last - 1,
            "last_seq": last,
        }
    ]
    assert (listed["waiting"], listed["unseen"], listed["unread"]) == (0, 1, 2)

    after = await read(whole, last - 1)
    assert after["unread"] == 1
    # Reading is neither activity nor a change of the conversation.
    assert (after["revision"], after["updated_at"]) == (now["revision"], now["updated_at"])
    # A tab that is behind takes nothing back, and one that is ahead reads nothing that is yet to come.
    assert (await read(whole, 0))["unread"] == 1
    assert (await read(whole, last + 1000))["read_seq"] == last
    assert (await inbox(whole))["items"] == []
    await remind(whole)
    assert (await session(whole))["unread"] == 1
    assert await see(whole, {"kind": "unread", "id": KEY}) == {"waiting": 0, "unseen": 0, "unread": 0}
    assert (await session(whole))["unread"] == 0


async def test_scheduled_answers_reports_notes_and_questions_count_and_what_one_asked_for_does_not(
    whole: Whole,
) -> None:
    whole.model.reply("Hello.")
    await whole.say("hello", key=KEY)
    job = {"session_key": KEY, "when": "every day at 8:00", "message": "look"}
    counted = 0
    for more, arrives in (
        ({}, 1),
        ({"session": "isolated", "continue": False}, 1),
        ({"session": "isolated", "write_back": "none"}, 0),
    ):
        whole.model.reply("All is well.")
        made = await whole.ask("POST", "/jobs", job | more, code=201)
        await run_job(whole, made["id"])
        counted += arrives
        assert (await session(whole))["unread"] == counted, more
    quiet = await whole.ask("POST", "/jobs", job | {"quiet": True}, code=201)
    whole.model.reply("")
    assert (await run_job(whole, quiet["id"]))["reason"] == "empty"
    await whole.ask("POST", f"/sessions/{KEY}/test", {"address": KEY}, code=202)
    assert (await session(whole))["unread"] == counted
    await ask_for_memory(whole)
    assert (await session(whole))["unread"] == counted + 1
    # What asks, and what failed, stands in the inbox by itself.
    await fail_job(whole)
    kinds = {item["kind"]: item["count"] for item in (await inbox(whole))["items"]}
    assert kinds == {"failure": 1, "approval": 1, "unread": counted}
    assert (await session(whole))["unread"] == counted + 2
    shown = (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=200"))["items"]
    assert sum(message["unasked"] for message in shown) == counted + 2


async def test_what_another_program_set_off_arrives_unasked(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    hook = await whole.ask("POST", f"/sessions/{KEY}/hooks", {"name": "ci"}, code=201)
    whole.model.reply("The build is broken.")
    await whole.http.post("/api/hooks/" + hook["url"].rpartition("/")[2], json={"text": "red"})
    async with asyncio.timeout(30):
        while (await session(whole))["unread"] == 0:  # noqa: ASYNC110 - what a server tells, asked again
            await asyncio.sleep(0.02)
    assert (await session(whole))["last_message"]["text"] == "The build is broken."


async def test_one_user_reads_for_themselves_alone(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    await remind(whole)
    await read(whole, 1000, token=STRANGER_TOKEN, code=404)
    await whole.ask("POST", "/inbox/seen", {}, token=STRANGER_TOKEN)
    assert (await session(whole))["unread"] == 1
    assert (await whole.ask("POST", "/inbox/seen", {}))["unread"] == 0
    for wrong in ({}, {"seq": -1}, {"seq": "x"}, {"seq": True}):
        await whole.ask("POST", f"/sessions/{KEY}/read", wrong, code=422)
    await whole.ask("POST", "/sessions/web:nowhere/read", {"seq": 1}, code=404)


async def test_read_in_one_tab_is_read_in_all(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    await remind(whole)
    streams = Streams(whole.homing.store, whole.homing.instance)
    tab = Listener(streams.of_user(Caller(user_id=OWNER, role="admin")))
    assert (await tab.next()).noun == "hello"
    told = [asyncio.create_task(tab.next("session"))]
    await read(whole, 1000)
    assert (await told[0]).data["unread"] == 0
    assert (await tab.next("inbox")).data == {"waiting": 0, "unseen": 0, "unread": 0}
    await tab.close()


def say_much(tx: Tx) -> None:
    """Let the conversation have a thousand messages that were asked for, and the database know it."""
    [kept] = tx.rows(sa.select(t.message).where(t.message.c.seq == 1))
    plain = {name: value for name, value in kept._mapping.items() if name != "n"}
    tx.run(sa.insert(t.message).values([plain | {"seq": seq, "rev": seq} for seq in range(1001, 2001)]))
    tx.connection.exec_driver_sql("analyze")


async def test_unread_messages_are_found_by_an_index(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    engine = whole.homing.store.engine
    whole.homing.store.write_now(say_much)
    asked: list[tuple[str, Any]] = []

    def take(_c: Any, _cursor: Any, statement: str, params: Any, *_: Any) -> None:
        asked.append((statement, params))

    event.listen(engine, "before_cursor_execute", take)
    whole.homing.store.write_now(lambda tx: (messages.unread(tx, [1]), count_unread(tx, OWNER)))
    event.remove(engine, "before_cursor_execute", take)
    counts = [pair for pair in asked if "count(" in pair[0]]
    assert len(counts) == 2
    postgres = whole.homing.store.postgres
    with engine.connect() as connection:
        for statement, params in counts:
            plan = connection.exec_driver_sql(f"explain {'' if postgres else 'query plan '}{statement}", params).all()
            assert "ix_message_unasked" in str(plan), plan
