"""The inbox lists what waits for a person and what failed; what was seen is kept, and every tab knows."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.approvals.scenes import KEY, ask_for_memory
from homing.model.messages import NewMessage
from homing.model.people import OWNER, Caller
from homing.store import Tx, deliveries, sessions
from homing.store import tables as t
from homing.testing import tool_call
from homing.web.stream import Streams
from support.events import Listener
from support.site import STRANGER_TOKEN
from support.whole import Whole


async def inbox(whole: Whole, query: str = "", **more: Any) -> dict[str, Any]:
    return await whole.ask("GET", f"/inbox{query}", **more)


async def see(whole: Whole, item: dict[str, Any], **more: Any) -> dict[str, Any]:
    return await whole.ask("POST", "/inbox/seen", {"kind": item["kind"], "id": item["id"]}, **more)


async def run_job(whole: Whole, job_id: str) -> dict[str, Any]:
    run = await whole.ask("POST", f"/jobs/{job_id}/run", {}, code=202)
    async with asyncio.timeout(30):
        while not run["finished_at"]:
            await asyncio.sleep(0.02)
            run = await whole.ask("GET", f"/runs/{run['id']}")
    return run


async def fail_job(whole: Whole) -> dict[str, Any]:
    """Make a job and let a run of it fail; gives the run."""
    body = {"session_key": KEY, "name": "Stocks", "when": "every day at 8:00", "message": "look"}
    job = await whole.ask("POST", "/jobs", body, code=201)
    whole.model.fail(401)
    return await run_job(whole, job["id"])


def lose_message(whole: Whole, count: int = 1) -> list[str]:
    """Let messages of the conversation be given up on their way; gives the deliveries' ids."""

    def work(tx: Tx) -> list[str]:
        session = sessions.find(tx, KEY, user_id=OWNER)
        assert session is not None
        ids: list[str] = []
        for _ in range(count):
            sessions.lock(tx, [session.id])
            new = NewMessage(session_id=session.id, lane_id=session.id, role="assistant", kind="note", text="hello")
            [seq], _ = deliveries.post(tx, [new], only=["email:a@example.org"])
            [delivery] = deliveries.of_messages(tx, session.id, [seq])[seq]
            rev = sessions.touch(tx, session.id)
            assert deliveries.fail_attempt(tx, delivery, rev=rev, error="Nobody took it.")
            ids.append(delivery.id)
        return ids

    return whole.homing.store.write_now(work)


async def test_an_approval_waits_in_the_inbox_until_it_is_answered(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    listed = await inbox(whole)
    assert listed["items"] == [
        {
            "kind": "approval",
            "id": approval["id"],
            "session_key": KEY,
            "session_title": None,
            "title": approval["title"],
            "at": approval["asked_at"],
            "seen": False,
            "job_id": None,
            "count": 1,
            "seq": None,
            "last_seq": None,
        }
    ]
    assert (listed["waiting"], listed["unseen"]) == (1, 1)
    assert (await inbox(whole, token=STRANGER_TOKEN))["items"] == []

    whole.model.reply("So be it.")
    await whole.ask("POST", f"/approvals/{approval['id']}", {"decision": "deny", "digest": approval["digest"]})
    assert "approval" not in [item["kind"] for item in (await inbox(whole))["items"]]


async def test_a_question_waits_in_the_inbox(whole: Whole) -> None:
    whole.model.reply([tool_call("ask_question", {"title": "Which fruit?", "options": ["Apple", "Pear"]})])
    whole.model.reply("I asked.")
    await whole.say("Buy fruit", key=KEY)
    [item] = (await inbox(whole))["items"]
    assert (item["kind"], item["title"], item["session_key"]) == ("question", "Which fruit?", KEY)


async def test_a_failed_job_is_in_the_inbox_until_it_goes_well(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    run = await fail_job(whole)
    assert run["state"] == "error"
    listed = await inbox(whole)
    [item] = listed["items"]
    assert (item["kind"], item["id"], item["job_id"], item["at"]) == (
        "failure",
        run["id"],
        run["job_id"],
        run["finished_at"],
    )
    assert item["title"] == "Stocks failed: model error"
    assert (listed["waiting"], listed["unseen"]) == (0, 1)
    await see(whole, item)

    # The next failure is news; a run that goes well takes it away.
    whole.model.fail(401)
    again = await run_job(whole, run["job_id"])
    [item] = (await inbox(whole))["items"]
    assert (item["id"], item["seen"]) == (again["id"], False)
    whole.model.reply("All is well.")
    assert (await run_job(whole, run["job_id"]))["state"] == "ok"
    assert [item["kind"] for item in (await inbox(whole))["items"]] == ["unread"]


async def test_a_failure_leaves_the_inbox_after_30_days_or_with_its_job(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    run = await fail_job(whole)
    lose_message(whole)
    assert len((await inbox(whole))["items"]) == 2
    removed = await whole.ask("DELETE", f"/jobs/{run['job_id']}")
    assert [item["job_id"] for item in (await inbox(whole))["items"]] == [None]
    await whole.ask("POST", f"/jobs/{run['job_id']}/undo", {"revision": removed["revision"]})
    assert len((await inbox(whole))["items"]) == 2

    old = whole.homing.clock.now() - timedelta(days=31)
    whole.homing.store.write_now(lambda tx: tx.run(sa.update(t.job).values(last_run_at=old)))
    whole.homing.store.write_now(lambda tx: tx.run(sa.update(t.delivery).values(created_at=old)))
    assert (await inbox(whole))["items"] == []


async def test_a_lost_message_is_in_the_inbox_until_it_is_tried_again(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    [lost] = lose_message(whole)
    [item] = (await inbox(whole))["items"]
    assert (item["id"], item["title"]) == (lost, "Not delivered to email:a@example.org: Nobody took it.")
    assert (await inbox(whole, token=STRANGER_TOKEN))["items"] == []


async def test_what_was_seen_is_kept_for_its_user_alone(whole: Whole) -> None:
    approval = await ask_for_memory(whole)
    [item] = (await inbox(whole))["items"]
    # An item that is not in one's inbox leaves no row.
    assert await see(whole, item, token=STRANGER_TOKEN) == {"waiting": 0, "unseen": 0, "unread": 0}
    assert await see(whole, {"kind": "question", "id": approval["id"]}) == {"waiting": 1, "unseen": 1, "unread": 1}
    assert whole.homing.store.write_now(lambda tx: tx.rows(sa.select(t.inbox_seen))) == []

    assert await see(whole, item) == {"waiting": 1, "unseen": 0, "unread": 1}
    assert await see(whole, item) == {"waiting": 1, "unseen": 0, "unread": 1}
    listed = await inbox(whole)
    assert (listed["items"][0]["seen"], listed["waiting"], listed["unseen"]) == (True, 1, 0)
    await whole.ask("POST", "/inbox/seen", {"kind": "news", "id": "x"}, code=422)

    old = whole.homing.clock.now() - timedelta(days=31)
    whole.homing.store.write_now(lambda tx: tx.run(sa.update(t.inbox_seen).values(seen_at=old)))
    await whole.engine.sweeper.prune()
    assert whole.homing.store.write_now(lambda tx: tx.rows(sa.select(t.inbox_seen))) == []


async def test_pages_follow_each_other_without_gaps(whole: Whole) -> None:
    await whole.say("hello", key=KEY)
    lost = lose_message(whole, 5)
    await fail_job(whole)
    whole_list = (await inbox(whole))["items"]
    assert len(whole_list) == 6
    assert {item["id"] for item in whole_list} >= set(lost)
    found: list[dict[str, Any]] = []
    cursor = ""
    while True:
        page = await inbox(whole, f"?limit=2{cursor}")
        assert (page["unseen"], page["waiting"]) == (6, 0)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert found == whole_list
    runs = (await whole.ask("GET", "/runs?limit=1"))["next_cursor"]
    if runs is not None:
        await whole.ask("GET", f"/inbox?cursor={runs}", code=400)


@pytest.fixture
def streams(whole: Whole) -> Streams:
    return Streams(whole.homing.store, whole.homing.instance)


async def test_every_open_tab_is_told_the_counts(whole: Whole, streams: Streams) -> None:
    tabs = [Listener(streams.of_user(Caller(user_id=OWNER, role="admin"))) for _ in range(2)]
    for tab in tabs:
        assert (await tab.next()).noun == "hello"
    waiting = [asyncio.create_task(tab.next("inbox")) for tab in tabs]
    approval = await ask_for_memory(whole)
    for told in waiting:
        assert (await told).data == {"waiting": 1, "unseen": 1, "unread": 1}

    waiting = [asyncio.create_task(tab.next("inbox")) for tab in tabs]
    await see(whole, {"kind": "approval", "id": approval["id"]})
    for told in waiting:
        assert (await told).data == {"waiting": 1, "unseen": 0, "unread": 1}

    waiting = [asyncio.create_task(tab.next("inbox")) for tab in tabs]
    whole.model.reply("So be it.")
    await whole.ask("POST", f"/approvals/{approval['id']}", {"decision": "deny", "digest": approval["digest"]})
    for told in waiting:
        assert (await told).data["waiting"] == 0
    for tab in tabs:
        await tab.close()
