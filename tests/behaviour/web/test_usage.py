"""What was used, read over HTTP: sums that are there with their steps, never twice, and stay as they were recorded."""

from collections.abc import AsyncIterator, Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.operations.people import update_me
from homing.operations.shapes.people_asks import UpdateMe
from homing.store import Store
from homing.store import tables as t
from homing.testing import FakeClock, Reply, StubModelServer, tool_call
from support.ledger import CHAT
from support.site import open_site, problem

DOLLAR = 400_000


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        server.otherwise(Reply(text="Done.", tokens={"input": DOLLAR, "output": 10}))
        yield server


@pytest.fixture
async def home(store: Store, clock: FakeClock, stub: StubModelServer) -> AsyncIterator[Home]:
    home = Home(store, clock, model="openai-chat:gpt-4o")
    yield home
    await home.models.close()


async def used(home: Home, **query: Any) -> dict[str, Any]:
    response = await open_site(home.world).owner.get("/api/usage", params=query)
    assert response.status_code == 200, response.text
    return response.json()


async def test_usage_is_summed_by_day_job_session_agent_and_model(home: Home) -> None:
    await home.say("hello")
    job = home.add(when="every 1h", session="isolated")
    home.pass_time(hours=1)
    await home.settle()
    by_day = await used(home)
    assert sum(item["turns"] for item in by_day["items"]) == 3
    assert sum(item["cost_usd"] for item in by_day["items"]) == pytest.approx(3.0003)
    items = {item["key"]: item for item in (await used(home, by="job"))["items"]}
    # The run, and the turn that goes on with its report.
    assert (items[job.id]["name"], items[job.id]["turns"]) == (job.name, 2)
    assert (items[""]["name"], items[""]["turns"], items[""]["input_tokens"]) == ("Conversations", 1, DOLLAR)
    [session] = (await used(home, by="session"))["items"]
    assert (session["key"], session["turns"]) == (CHAT, 3)
    [agent] = (await used(home, by="agent"))["items"]
    [model] = (await used(home, by="model"))["items"]
    assert (agent["key"], model["key"], model["output_tokens"]) == ("main", "openai-chat:gpt-4o", 30)
    shown = (await open_site(home.world).owner.get(f"/api/jobs/{job.id}")).json()
    assert shown["usage"] == {"turns": 2, "input_tokens": 2 * DOLLAR, "output_tokens": 20, "cost_usd": 2.0002}


async def test_cached_and_thinking_tokens_are_kept_and_priced_as_what_they_are(
    home: Home, stub: StubModelServer
) -> None:
    stub.reply("Hm.", tokens={"input": DOLLAR, "cached": DOLLAR, "output": 100, "thinking": 90})
    await home.say("hello")
    [item] = (await used(home))["items"]
    assert (item["input_tokens"], item["cached_tokens"]) == (DOLLAR, DOLLAR)
    assert (item["output_tokens"], item["thinking_tokens"]) == (100, 90)
    # Cached input is half the price, and thinking is output.
    assert item["cost_usd"] == pytest.approx(0.5 + 0.001)


async def test_a_model_without_a_known_price_counts_tokens_and_names_the_calls(store: Store, clock: FakeClock) -> None:
    home = Home(store, clock)
    await home.say("hello")
    report = await used(home)
    [item] = report["items"]
    assert (item["cost_usd"], item["unpriced_calls"], item["turns"]) == (None, 1, 1)
    assert item["output_tokens"] > 0
    assert (report["today_usd"], report["month_usd"], report["forecast_month_usd"]) == (None, None, None)


async def test_a_turn_that_another_worker_took_over_is_counted_once(home: Home, stub: StubModelServer) -> None:
    stub.reply(tool_call("recall", {"query": "fruit"}), tokens={"input": DOLLAR, "output": 0})
    stub.reply("Late.", hold="gate", tokens={"input": DOLLAR, "output": 0})
    stub.reply("Taken up.", tokens={"input": DOLLAR, "output": 0})
    home.ledger.say("hello")
    async with home.running():
        home.ring()
        await home.until(lambda: len(stub.requests) == 2, "the second call has begun")
        home.expire()
        await home.work()
        stub.release("gate")
    [item] = (await used(home))["items"]
    # The zombie's answer has no step, and so no sum.
    assert (item["turns"], item["input_tokens"]) == (1, 2 * DOLLAR)
    assert [turn.input_tokens for turn in home.ledger.turns()] == [2 * DOLLAR]


async def test_days_are_the_users_own_and_what_was_recorded_stays(home: Home) -> None:
    await home.say("hello")
    before = await used(home)
    zone = "Pacific/Kiritimati" if before["timezone"] != "Pacific/Kiritimati" else "UTC"
    home.ask(update_me, UpdateMe(timezone=zone))
    after = await used(home, **{"from": before["from"], "to": before["to"]})
    assert after["items"] == before["items"]
    assert after["timezone"] == zone
    await home.say("hello again")
    local = home.now().astimezone(ZoneInfo(zone)).date().isoformat()
    days = {item["key"]: item["turns"] for item in (await used(home, to=local))["items"]}
    assert days[local] >= 1
    assert sum(days.values()) == 2


async def test_a_price_change_leaves_what_was_recorded(home: Home) -> None:
    await home.say("hello")
    # As if it had been half as dear then: nothing is computed again from tokens.
    home.ledger.write(lambda tx: tx.run(sa.update(t.usage_sum).values(cost_nano_usd=500_000_000)))
    await home.say("hello")
    [item] = (await used(home, by="model"))["items"]
    assert item["cost_usd"] == pytest.approx(1.5001)


async def test_the_month_is_forecast_from_what_runs_cost_and_how_many_are_left(home: Home) -> None:
    job = home.add(when="every 1h")
    home.add("never ran", when="every 5h")
    home.pass_time(hours=1)
    await home.settle()
    report = await used(home)
    assert report["month_usd"] == pytest.approx(report["today_usd"]) == pytest.approx(1.0001)
    whole = (await used(home))["forecast_month_usd"]
    assert whole >= report["month_usd"]
    home.change(job.id, max_runs=home.job(job.id).timing.runs_queued + 2)
    bounded = (await used(home))["forecast_month_usd"]
    assert bounded == pytest.approx(min(whole, 3 * 1.0001))
    home.change(job.id, max_cost_usd_per_day=0.0)
    assert (await used(home))["forecast_month_usd"] == pytest.approx(1.0001)


async def test_everybody_sees_their_own_usage(home: Home) -> None:
    await home.say("hello")
    assert (await open_site(home.world).stranger.get("/api/usage")).json()["items"] == []


@pytest.mark.parametrize(
    "query", [{"from": "yesterday"}, {"from": "2026-02-02", "to": "2026-02-01"}, {"from": "2020-01-01"}, {"by": "moon"}]
)
async def test_a_question_that_makes_no_sense_is_refused(home: Home, query: dict[str, str]) -> None:
    response = await open_site(home.world).owner.get("/api/usage", params=query)
    assert response.status_code == 422
    assert problem(response)["errors"][0]["field"] in ("from", "to", "by")
