"""Search that finds: one's own words, with marks, on both databases; never what is deleted, hidden or another's."""

import asyncio
import re
import time
from typing import Any

import pytest
import sqlalchemy as sa

from homing.engine.indexer import Indexer
from homing.model.messages import NewMessage
from homing.model.people import OWNER
from homing.model.search_terms import excerpt, read_query
from homing.operations.memories import add_memory, remove_memory
from homing.operations.removal import remove_job
from homing.operations.session_deletion import delete_session
from homing.operations.sessions import update_session
from homing.operations.shapes.job_asks import JobRef
from homing.operations.shapes.people_asks import AddMemory, MemoryRef
from homing.operations.shapes.session_asks import DeleteSession, UpdateSession
from homing.store import Tx, search, sessions
from homing.store import tables as t
from support.asking import add, session
from support.site import Site, open_site
from support.worlds import STRANGER, World

KEY = "web:abc"


def say(world: World, *texts: str, key: str = KEY, user_id: str = OWNER, **more: Any) -> None:
    def work(tx: Tx) -> None:
        found = sessions.find(tx, key, user_id=user_id)
        assert found is not None
        sessions.lock(tx, [found.id])
        plain: dict[str, Any] = {"role": "assistant", "kind": "chat"} | more
        sessions.append_messages(
            tx, [NewMessage(session_id=found.id, lane_id=found.id, text=text, **plain) for text in texts]
        )

    world.write(work)


async def index(world: World) -> int:
    """Index everything; give the number of batches."""
    indexer, batches = Indexer(world.store), 0
    while await indexer.step():
        batches += 1
    return batches


async def ask(site: Site, q: str, **more: Any) -> Any:
    answer = await site.owner.get("/api/search", params={"q": q, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


async def texts(site: Site, q: str, **more: Any) -> list[str]:
    return [item["words"] for item in (await ask(site, q, **more))["items"]]


async def test_messages_automations_memories_and_conversations_are_found_by_their_words(world: World) -> None:
    session(world)
    world.ask(update_session, UpdateSession(session_key=KEY, title="Fruit of the week"))
    say(world, "The pears from Lyon arrived.\nBoth boxes of fruit are ripe.", "我喜欢苹果", "Nothing else.")
    job = add(world, name="Fruit watch", message="Look at the fruit prices")
    world.ask(add_memory, AddMemory(text="Likes fruit, above all pears"))
    await index(world)
    site = open_site(world)
    found = (await ask(site, "fruit"))["items"]
    assert {item["kind"] for item in found} == {"message", "job", "memory", "session"}
    [message] = [item for item in found if item["kind"] == "message"]
    assert (message["session_key"], message["seq"], message["title"]) == (KEY, 1, "Fruit of the week")
    assert [message["words"][a:b] for a, b in message["marks"]] == ["fruit"]
    assert [item["id"] for item in found if item["kind"] == "job"] == [job.id]
    assert await texts(site, "pear", kind="message") == ["The pears from Lyon arrived. Both boxes of fruit are ripe."]
    assert await texts(site, "苹果") == ["我喜欢苹果"]
    # All words count, and the last may only have been begun.
    assert len(await texts(site, "lyon ripe")) == 1
    assert len(await texts(site, "lyon arri")) == 1
    assert await texts(site, "lyon bananas") == []
    assert [len(await texts(site, "fruit", kind=kind)) for kind in ("message", "job", "memory", "session")] == [1] * 4


async def test_what_changed_is_found_by_its_new_words_and_what_is_gone_by_none(world: World) -> None:
    session(world)
    world.ask(update_session, UpdateSession(session_key=KEY, title="Old harbour"))
    say(world, "The harbour is calm.")
    say(world, "A quiet harbour check.", kind="status")
    job = add(world, name="harbour watch")
    memory = world.ask(add_memory, AddMemory(text="Lives near the harbour"))
    await index(world)
    site = open_site(world)
    assert len((await ask(site, "harbour"))["items"]) == 4
    world.ask(update_session, UpdateSession(session_key=KEY, title="New quay"))
    await index(world)
    assert (await ask(site, "quay", kind="session"))["items"][0]["title"] == "New quay"
    assert await texts(site, "harbour", kind="session") == []
    world.ask(remove_job, JobRef(job_id=job.id))
    world.ask(remove_memory, MemoryRef(memory_id=memory.id))
    assert await texts(site, "harbour") == ["The harbour is calm."]
    world.ask(delete_session, DeleteSession(session_key=KEY, delete_automations=True))
    # At once, before anything was indexed again.
    assert await texts(site, "harbour") == []
    await index(world)
    assert await texts(site, "harbour") == []
    # And nothing of it is left in the index: no sweep has to look for it.
    assert world.write(lambda tx: tx.rows(sa.select(t.search_entry.c.kind))) == []


async def test_a_conversation_deleted_while_it_is_indexed_for_the_first_time_leaves_nothing(world: World) -> None:
    session(world)
    say(world, "The harbour is calm.")
    read = world.write(lambda tx: search.spelled(search.unindexed(tx)))
    world.ask(delete_session, DeleteSession(session_key=KEY, delete_automations=True))
    world.write(lambda tx: search.index(tx, read))
    await index(world)
    assert world.write(lambda tx: tx.rows(sa.select(t.search_entry.c.kind))) == []


async def test_entries_of_a_long_deleted_conversation_are_dropped_some_at_a_time(world: World) -> None:
    session(world)
    say(world, *(f"harbour {n}" for n in range(450)))
    await index(world)
    world.ask(delete_session, DeleteSession(session_key=KEY, delete_automations=True))
    indexer = Indexer(world.store)
    left: list[int] = []
    while await indexer.step():
        [(count,)] = world.write(lambda tx: tx.rows(sa.select(sa.func.count()).select_from(t.search_entry)))
        left.append(count)
    assert left == [250, 50, 0, 0]


async def test_what_was_just_written_is_counted_as_pending_and_found_within_seconds(world: World) -> None:
    session(world)
    site = open_site(world)
    add(world, name="lighthouse watch")
    say(world, "The lighthouse is lit.")
    world.ask(add_memory, AddMemory(text="Lives near the lighthouse"))
    assert (await ask(site, "lighthouse"))["pending"] == 3
    running = asyncio.create_task(Indexer(world.store).run())
    try:
        async with asyncio.timeout(10):
            while (await ask(site, "lighthouse"))["pending"]:  # noqa: ASYNC110 - indexing has no event
                await asyncio.sleep(0.05)
            # A memory rings no bell.
            world.ask(add_memory, AddMemory(text="Likes the lighthouse keeper"))
            while len(await texts(site, "lighthouse")) < 4:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    finally:
        running.cancel()


def test_an_excerpt_of_a_long_text_without_spaces_is_made_at_once() -> None:
    text = "我们今天去市场买菜。" * 1999 + "我喜欢苹果汁。"
    query = read_query("苹果汁")
    began = time.perf_counter()
    [*_, (words, marks)] = [excerpt(text, query) for _ in range(50)]
    assert time.perf_counter() - began < 2, "50 hits of a page took 10 s before"
    assert [words[a:b] for a, b in marks] == ["苹果汁"]
    words, marks = excerpt("新しいiPhoneと苹果", read_query("iphone 苹果"))
    assert [words[a:b] for a, b in marks] == ["iPhone", "苹果"]


async def test_nobody_finds_anothers_words(world: World) -> None:
    session(world)
    world.write(
        lambda tx: sessions.add(tx, key="web:theirs", user_id=STRANGER.user_id, agent_id="main", title="Theirs")
    )
    say(world, "secret lighthouse")
    say(world, "their lighthouse", key="web:theirs", user_id=STRANGER.user_id)
    await index(world)
    site = open_site(world)
    assert await texts(site, "lighthouse") == ["secret lighthouse"]
    theirs = await site.stranger.get("/api/search", params={"q": "lighthouse"})
    assert [item["words"] for item in theirs.json()["items"]] == ["their lighthouse"]
    assert (await site.nobody.get("/api/search", params={"q": "lighthouse"})).status_code == 401


async def test_an_upgraded_home_is_indexed_in_bounded_batches_and_search_says_how_far(world: World) -> None:
    session(world)
    say(world, *(f"message number {n} of the log" for n in range(450)))
    site = open_site(world)
    assert (await ask(site, "log"))["pending"] == 450
    theirs = await site.stranger.get("/api/search", params={"q": "log"})
    assert theirs.json()["pending"] == 0, "one's own messages are counted, and nobody else's"
    indexer = Indexer(world.store)
    assert await indexer.step()
    half = await ask(site, "log", limit=100)
    assert 0 < half["pending"] < 450
    assert len(half["items"]) == 100
    assert 1 <= await index(world) <= 4
    # Indexed once, no matter who does it.
    assert await asyncio.gather(*(Indexer(world.store).step() for _ in range(3))) == [False] * 3
    seen: list[int] = []
    cursor: dict[str, str] = {}
    while True:
        page = await ask(site, "number log", limit=200, **cursor)
        seen += [item["seq"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == list(range(450, 0, -1))
    assert page["pending"] == 0


async def test_two_who_index_at_once_write_each_entry_once(world: World) -> None:
    session(world)
    say(world, *(f"storm {n}" for n in range(150)))
    batches = [search.spelled(await world.store.read(search.unindexed)) for _ in range(2)]
    await asyncio.gather(*(world.store.write(lambda tx, batch=batch: search.index(tx, batch)) for batch in batches))
    await index(world)
    [(count,)] = world.write(lambda tx: tx.rows(sa.select(sa.func.count()).where(t.search_entry.c.kind == "message")))
    assert count == 150


@pytest.mark.parametrize(
    "q",
    ["", " ", "a", "x" * 1000, "to be or not", 'fruit AND "NOT', "NEAR(a b)", "a:b*", "'; drop table job; --", "🍎",
     "🍎 fruit", "\x00", "%", "\\", "(", "!", "fruit & !pear | <->", "苹", "ﬁ", "İ", "a'b", "''", "'" * 50],
)  # fmt: skip
async def test_whatever_is_typed_is_answered(world: World, q: str) -> None:
    session(world)
    say(world, "A fruit 🍎 it's <b>bold</b> 苹果")
    await index(world)
    found = await ask(open_site(world), q)
    for item in found["items"]:
        assert all(0 <= a < b <= len(item["words"]) for a, b in item["marks"])


async def test_too_long_a_query_and_an_unknown_kind_are_refused(world: World) -> None:
    site = open_site(world)
    assert (await site.owner.get("/api/search", params={"q": "x" * 1001})).status_code == 422
    assert (await site.owner.get("/api/search", params={"q": "x", "kind": "run"})).status_code == 422
    assert (await site.owner.get("/api/search", params={"q": "x", "cursor": "y"})).status_code == 400


async def test_no_table_is_read_whole(world: World) -> None:
    session(world)
    say(world, *(f"word{n % 500} filler{n}" for n in range(3000)))
    await index(world)
    query = read_query("word77 filler77 ")

    def plan(tx: Tx) -> str:
        wanted = search.statement(tx, query, user_id=OWNER, kind=None, before_n=None).limit(51)
        if tx.postgres:
            tx.run(sa.text("analyze"))
        made = wanted.compile(tx.connection)
        explain = "explain " if tx.postgres else "explain query plan "
        values: Any = made.params if tx.postgres else tuple(made.params[name] for name in made.positiontup or ())
        return "\n".join(str(row) for row in tx.connection.exec_driver_sql(explain + made.string, values))

    shown = world.write(plan)
    if world.postgres:
        assert "Seq Scan on search_entry" not in shown, shown
        assert re.search(r"Seq Scan on message\b", shown) is None, shown
    else:
        assert "search_fts VIRTUAL TABLE INDEX" in shown, shown
        assert not re.search(r"SCAN (search_entry|message|session|job|memory)\b", shown), shown
        # The newest come first from the index itself: what is in every message is not sorted to find twenty of it.
        assert "TEMP B-TREE" not in shown, shown
