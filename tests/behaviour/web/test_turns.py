"""What a turn did, what it cost and what was tried again: read over HTTP, made over the real wire to a stub."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

# Imported before any claim is held: on a busy machine they take longer than a claim lasts.
import pydantic_ai.models.anthropic
import pydantic_ai.models.openai  # noqa: F401
import pytest
from genai_prices import Usage, calc_price

from homing.engine.turn_context import HISTORY_TOKENS
from homing.store import Store
from homing.testing import FakeClock, StubModelServer, tool_call
from support.deeds import arguments, lines, make_tools, open_gate
from support.ledger import CHAT
from support.rooms import Room, room, room_store
from support.site import Site, open_site, problem
from support.worlds import START, World

__all__ = ["room", "room_store"]

ECHOED = "Rate limit reached for sk-abcdef1234. Slow down."
TURNS = f"/api/sessions/{CHAT}/turns"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture
async def wired(room_store: Store, stub: StubModelServer) -> AsyncIterator[Room]:
    """Each protocol on one of the databases: they have nothing to do with each other."""
    room = Room(room_store, model="openai-chat:gpt-4o" if room_store.postgres else "anthropic:claude-sonnet-5-5")
    yield room
    await room.models.close()


def door(room: Room) -> Site:
    return open_site(World(store=room.store, clock=FakeClock(START), instance=room.instance))


async def turns(site: Site, **query: Any) -> list[dict[str, Any]]:
    response = await site.owner.get(TURNS, params=query)
    assert response.status_code == 200, response.text
    return response.json()["items"]


async def last(site: Site) -> dict[str, Any]:
    """Read the newest turn in full."""
    return await read(site, f"/api/turns/{(await turns(site))[0]['id']}")


async def read(site: Site, path: str) -> dict[str, Any]:
    response = await site.owner.get(path)
    assert response.status_code == 200, response.text
    return response.json()


def price(room: Room, usage: dict[str, Any]) -> float:
    provider, _, model = room.instance.model.partition(":")
    used = Usage(input_tokens=usage["input_tokens"], output_tokens=usage["output_tokens"])
    return float(calc_price(used, model, provider_id=provider.removesuffix("-chat")).total_price)


async def test_a_turn_shows_its_steps_with_arguments_results_tokens_and_price(
    wired: Room, stub: StubModelServer
) -> None:
    site = door(wired)
    stub.reply(["I look.", tool_call("recall", {"query": "apples"})])
    stub.reply("You like apples.")
    wired.ledger.say("what do I like?")
    await wired.work()
    turn = await last(site)
    assert (turn["session_key"], turn["agent_id"], turn["source"]) == (CHAT, "main", "person")
    assert (turn["state"], turn["outcome"], turn["outcome_words"], turn["reason"]) == (
        "closed", "answered", "answered", None,
    )  # fmt: skip
    assert (turn["model"], turn["attempts"], turn["retries"], turn["error"]) == (wired.instance.model, 1, [], None)
    asked, tool, answered = turn["steps"]
    assert [step["kind"] for step in turn["steps"]] == ["model", "tool", "model"]
    assert (tool["name"], json.loads(tool["arguments"]), tool["state"]) == ("recall", {"query": "apples"}, "done")
    assert tool["result"]
    assert tool["usage"] is None
    assert (asked["result"], answered["result"]) == ("I look.", "You like apples.")
    assert asked["model"] == wired.instance.model.partition(":")[2]
    for step in (asked, answered):
        assert step["usage"]["cost_usd"] == pytest.approx(price(wired, step["usage"]), rel=1e-9)
        assert step["duration_ms"] is not None
    for name in ("input_tokens", "output_tokens", "cost_usd"):
        assert turn["usage"][name] == pytest.approx(asked["usage"][name] + answered["usage"][name])
    assert turn["usage"]["cost_usd"] > 0


async def test_a_run_has_the_usage_of_its_turn(wired: Room, stub: StubModelServer) -> None:
    site = door(wired)
    stub.otherwise("Sunny.")
    run_id = wired.ledger.run("look at the weather")
    await wired.work()
    turn, run = await last(site), await read(site, f"/api/runs/{run_id}")
    assert run["usage"] == turn["usage"]
    assert run["usage"]["cost_usd"] > 0
    assert (turn["run_id"], turn["source"]) == (run_id, "run")


async def test_a_model_without_a_known_price_counts_tokens_and_has_no_price(room: Room) -> None:
    site = door(room)
    room.ledger.say("hello")
    await room.work()
    usage = (await last(site))["usage"]
    assert usage["output_tokens"] > 0
    assert usage["cost_usd"] is None


async def test_a_turn_that_runs_shows_in_lists_what_it_has_cost_so_far(wired: Room, stub: StubModelServer) -> None:
    site = door(wired)
    stub.reply(tool_call("recall", {"query": "apples"}))
    stub.reply("You like apples.", hold=True)
    async with wired.running():
        wired.ledger.say("what do I like?")
        wired.ring()
        await wired.until(lambda: len(stub.requests) == 2, "the second call has begun")
        [row] = await turns(site)
        stub.release()
    assert (row["state"], row["usage"]["cost_usd"]) == ("running", pytest.approx(price(wired, row["usage"])))
    assert row["usage"]["cost_usd"] > 0


async def test_the_offline_model_costs_nothing(room_store: Store) -> None:
    room = Room(room_store, model="offline")
    site = door(room)
    room.ledger.say("help")
    await room.work()
    assert (await last(site))["usage"]["cost_usd"] == 0


async def test_turns_are_listed_newest_first_in_pages_and_without_their_steps(room: Room) -> None:
    site = door(room)
    for number in range(5):
        room.ledger.say(f"message {number}")
        await room.work()
    room.ledger.say("elsewhere", "web:other")
    await room.work("web:other")
    first = (await site.owner.get(TURNS, params={"limit": 3})).json()
    second = (await site.owner.get(TURNS, params={"limit": 3, "cursor": first["next_cursor"]})).json()
    found = [*first["items"], *second["items"]]
    assert (len(first["items"]), len(second["items"]), second["next_cursor"]) == (3, 2, None)
    assert [turn["id"] for turn in found] == [turn.id for turn in reversed(room.ledger.turns())]
    assert {"steps", "retries", "error"} & found[0].keys() == set()
    messages = (await read(site, f"/api/sessions/{CHAT}/messages"))["items"]
    assert {message["turn_id"] for message in messages} == {turn["id"] for turn in found}


async def test_a_turn_of_a_unified_session_is_listed_with_the_chat_that_it_answers(room_store: Store) -> None:
    room = Room(room_store, unified_session="true")
    site = door(room)
    for key in (CHAT, "web:other", CHAT):
        room.ledger.say("hello", key)
        await room.work(key)
    assert len(await turns(site)) == 2


async def test_a_stranger_finds_neither_a_turn_nor_a_list_of_them(room: Room) -> None:
    site = door(room)
    room.ledger.say("hello")
    await room.work()
    for path in (TURNS, f"/api/turns/{room.ledger.turn().id}"):
        response = await site.stranger.get(path)
        assert (response.status_code, problem(response)["code"]) == (404, "not_found")


async def test_a_turn_goes_with_its_deleted_session(room: Room) -> None:
    site = door(room)
    room.ledger.say("hello")
    await room.work()
    turn_id = room.ledger.turn().id
    assert (await site.owner.delete(f"/api/sessions/{CHAT}")).status_code == 200
    assert (await site.owner.get(f"/api/turns/{turn_id}")).status_code == 404


async def test_long_arguments_and_results_are_cut_and_say_so(room: Room) -> None:
    site = door(room)
    room.model.reply(tool_call("recall", {"query": "apple " * 1000}))
    room.model.reply("word " * 2000)
    room.ledger.say("hello")
    await room.work()
    tool, answer = (await last(site))["steps"][1:]
    assert (tool["cut"], len(tool["arguments"])) == (True, 2000)
    assert (answer["cut"], len(answer["result"])) == (True, 4000)


async def test_a_call_that_runs_now_is_shown_as_running_and_one_nobody_finished_as_unknown(
    room: Room, tmp_path: Any
) -> None:
    site = door(room)
    room.tools = make_tools(tmp_path)
    room.model.reply(tool_call("deaf", arguments("it")))
    async with room.running():
        room.ledger.say("do it")
        room.ring()
        await room.until(lambda: lines(tmp_path), "the tool has begun")
        turn = await last(site)
        assert [(step["kind"], step["state"]) for step in turn["steps"]] == [("model", "done"), ("tool", "running")]
        assert (turn["state"], turn["usage"]["output_tokens"] > 0) == ("running", True)
        [row] = await turns(site)
        assert (row["state"], row["usage"]) == ("running", turn["usage"])
        room.expire()
        assert (await last(site))["steps"][1]["state"] == "unknown"
        open_gate(tmp_path, "deaf")


async def test_a_refused_call_is_shown_as_failed_with_what_the_model_was_told(room: Room) -> None:
    site = door(room)
    room.model.reply(tool_call("nonsense", {"a": 1}))
    room.ledger.say("hello")
    await room.work()
    tool = (await last(site))["steps"][1]
    assert (tool["failed"], tool["arguments"]) == (True, '{"a": 1}')
    assert tool["result"].startswith("Unknown tool: nonsense.")


async def test_a_turn_that_a_second_worker_took_up_says_so(room: Room) -> None:
    site = door(room)
    room.model.reply("nobody hears this", hold=True)
    room.ledger.say("hello")
    claim = room.claim()
    task = asyncio.create_task(room.work(claim=claim))
    await room.called(1)
    claim.stop("lost")
    await task
    room.expire()
    await room.work()
    assert (await last(site))["attempts"] == 2


WHY = {429: "rate limit reached", 500: "the model's server reported an error", "cut": "the model failed"}


@pytest.mark.parametrize("kind", list(WHY))
async def test_a_repeated_model_call_is_on_record_with_the_providers_words_and_the_wait(
    wired: Room, stub: StubModelServer, kind: Any
) -> None:
    site = door(wired)
    stub.fail(kind, retry_after_seconds=0, message=ECHOED)
    stub.otherwise("Hello.")
    run_id = wired.ledger.run("look at the weather")
    ear = wired.store.bell.listen(f"session:{wired.ledger.session().id}")
    await wired.work()
    turn, run = await last(site), await read(site, f"/api/runs/{run_id}")
    [retry] = turn["retries"]
    told = [words["data"] for words in ear.received if words["event"] == "retry"]
    assert told == [
        {
            "session_key": CHAT, "turn_id": turn["id"], "n": 1, "name": wired.instance.model,
            "wait_seconds": retry["wait_seconds"], "why": WHY[kind],
        }
    ]  # fmt: skip
    assert run["retries"] == turn["retries"]
    assert retry["model"] == wired.instance.model
    assert retry["at"]
    if kind == "cut":
        assert (retry["wait_seconds"], bool(retry["error"])) == (2, True)
    else:
        assert retry["wait_seconds"] == 0
        model = wired.instance.model.partition(":")[2]
        assert retry["error"] == f"Rate limit reached for sk-*** Slow down. ({kind} from {model})"
    [step] = turn["steps"]
    assert step["kind"] == "model"
    waited = datetime.fromisoformat(step["started_at"]) - datetime.fromisoformat(retry["at"])
    assert waited.total_seconds() >= retry["wait_seconds"]
    assert turn["outcome"] == "answered"
    assert [step["kind"] for step in run["steps"]] == ["model"]


async def test_the_providers_own_sentence_is_on_the_turn_and_the_run_and_its_key_nowhere(
    wired: Room, stub: StubModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "plainly-a-password")
    site = door(wired)
    stub.fail(401, message="Incorrect API key provided: sk-proj-12345678. Or was it plainly-a-password?")
    run_id = wired.ledger.run("look at the weather")
    await wired.work()
    turn, run = await last(site), await read(site, f"/api/runs/{run_id}")
    for shown in (turn, run, (await turns(site))[0]):
        assert shown["error_summary"].startswith("Incorrect API key provided: *** Or was it ***? (401 from ")
    assert "ModelFailed" in turn["error"]
    for key in ("12345678", "plainly-a-password"):
        assert key not in json.dumps([turn, run])
    assert (turn["outcome_words"], turn["reason_words"]) == ("failed", "model error")
    messages = (await read(site, f"/api/sessions/{CHAT}/messages"))["items"]
    assert "401" not in messages[-1]["text"]


async def test_the_tokens_of_a_turn_that_failed_in_the_end_are_counted(wired: Room, stub: StubModelServer) -> None:
    site = door(wired)
    stub.reply(tool_call("recall", {"query": "apples"}))
    stub.fail(401, match="never")
    wired.ledger.say("what do I like?")
    stub.reply(tool_call("look", "{"), times=2)
    await wired.work()
    turn = await last(site)
    assert turn["outcome"] == "failed"
    assert turn["usage"]["output_tokens"] == sum(
        step["usage"]["output_tokens"] for step in turn["steps"] if step["kind"] == "model"
    )
    assert turn["usage"]["cost_usd"] > 0


async def test_a_summary_of_the_earlier_conversation_is_a_step_and_counts(wired: Room, stub: StubModelServer) -> None:
    site = door(wired)
    stub.otherwise("Fine.")
    stub.when("Messages since then", "They said a lot.")
    for _ in range(4):
        wired.ledger.say("apple " * (HISTORY_TOKENS * 4 // 6 // 3))
        await wired.work()
    turn = await last(site)
    assert [step["kind"] for step in turn["steps"]] == ["summary", "model"]
    summary, answer = (step["usage"] for step in turn["steps"])
    assert summary["input_tokens"] > 0
    assert turn["usage"]["input_tokens"] == summary["input_tokens"] + answer["input_tokens"]
    assert turn["usage"]["cost_usd"] == pytest.approx(summary["cost_usd"] + answer["cost_usd"])


async def test_the_closing_message_names_each_tool_call_also_one_that_was_refused(room: Room, tmp_path: Path) -> None:
    site = door(room)
    room.tools = make_tools(tmp_path)
    room.model.reply([tool_call("deed", arguments("apples")), tool_call("look", arguments("pears"))])
    room.model.reply([tool_call("fetch_page", {"url": "https://example.org/a?b=c"})])
    room.model.reply("Done, I have fetched it.")
    room.ledger.say("fetch it")
    await room.work()
    tools = (await site.owner.get(f"/api/sessions/{CHAT}/messages")).json()["items"][-1]["meta"]["tools"]
    assert {(tool["name"], tool["about"], tool["failed"]) for tool in tools} == {
        ("deed", "apples", False),
        ("look", "pears", False),
        ("fetch_page", "example.org", True),
    }
    kept = {step["n"]: step["name"] for step in (await last(site))["steps"] if step["kind"] == "tool"}
    assert {tool["n"]: tool["name"] for tool in tools} == kept
