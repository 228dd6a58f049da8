"""Ceilings of money: what is beyond one is left out or stopped, and said once a day; people are answered."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from behaviour.jobs.homes import Home
from homing.model.errors import Conflict, Forbidden, Invalid
from homing.operations.hands import Desk
from homing.operations.job_changes import update_job
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import JobRef, UpdateJob, WhyJob
from homing.operations.shapes.turn import TryJob, TurnRef
from homing.operations.trials import try_job
from homing.operations.turns import get_turn
from homing.operations.why import why_job
from homing.store import Store, Tx
from homing.store import tables as t
from homing.testing import FakeClock, Reply, StubModelServer, tool_call
from support import asking
from support.ledger import CHAT

# A dollar of input tokens of gpt-4o.
DOLLAR = 400_000
USED_UP = "budget of $2.00 a day is used up"
MakePriced = Callable[..., Home]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[StubModelServer]:
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        server.otherwise(Reply(text="Done.", tokens={"input": DOLLAR, "output": 0}))
        yield server


@pytest.fixture
async def make_priced(store: Store, clock: FakeClock, stub: StubModelServer) -> AsyncIterator[MakePriced]:
    """Make homes in which every call costs a dollar."""
    homes: list[Home] = []

    def make(**settings: Any) -> Home:
        homes.append(Home(store, clock, model="openai-chat:gpt-4o", **settings))
        return homes[-1]

    yield make
    for home in homes:
        await home.models.close()


def next_day(home: Home) -> None:
    """Let a day pass. On PostgreSQL the rows go back instead, and so do the days in them."""
    home.pass_time(days=1)
    if not home.store.postgres:
        return

    def work(tx: Tx) -> None:
        for table in (t.usage_sum, t.budget_note):
            for (day,) in sorted(tx.rows(sa.select(table.c.day).distinct())):
                before = (date.fromisoformat(day) - timedelta(days=1)).isoformat()
                tx.run(sa.update(table).where(table.c.day == day).values(day=before))

    home.ledger.write(work)


async def hours(home: Home, count: int) -> None:
    for _ in range(count):
        home.pass_time(hours=1)
        await home.settle()


async def test_a_job_beyond_its_budget_is_left_out_with_one_note_and_goes_on_the_next_day(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=2)
    await hours(home, 5)
    assert home.ends(job.id) == [("ok", None), ("ok", None), ("skipped", "budget")]
    assert home.runs(job.id)[-1].missed_count == 3
    assert len(stub.requests) == 2
    [note] = home.notes()
    assert note.endswith(f'"look for fruit" will not run again today. Its {USED_UP} ($2.00 spent today).')
    assert home.job(job.id).status == "active"
    why = home.ask(why_job, WhyJob(job_id=job.id))
    assert "Its budget of $2.00 a day is used up ($2.00 spent today)." in why.answer
    assert "because the budget of the day was used up" in why.answer
    next_day(home)
    await home.settle()
    assert home.ends(job.id).count(("ok", None)) == 3


async def test_a_run_that_reaches_its_budget_is_stopped_before_its_next_call(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=1)
    stub.reply(tool_call("recall", {"query": "fruit"}), tokens={"input": DOLLAR, "output": 0})
    await hours(home, 1)
    assert home.ends(job.id) == [("error", "budget")]
    assert len(stub.requests) == 1
    assert home.shown()[-1].text == "I stopped. Its budget of $1.00 a day is used up ($1.00 spent today)."
    assert home.only_run(job.id).cost_nano_usd == 1_000_000_000


async def test_a_budget_of_nothing_lets_nothing_run(make_priced: MakePriced, stub: StubModelServer) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=0)
    reminder = home.add(message=None, when="every 1h", payload={"kind": "reminder", "message": "Drink."})
    event = home.add(
        message=None, when="every 1h", max_cost_usd_per_day=0, payload={"kind": "system_event", "message": "Tick."}
    )
    await hours(home, 1)
    assert (home.ends(job.id), home.ends(event.id)) == ([("skipped", "budget")], [("skipped", "budget")])
    assert home.ends(reminder.id) == [("ok", None)]
    assert stub.requests == []
    with pytest.raises(Conflict, match=r"Its budget of \$0.00 a day is used up"):
        home.ask(run_job, JobRef(job_id=job.id))


async def test_a_one_shot_beyond_the_budget_is_kept_and_needs_somebody(make_priced: MakePriced) -> None:
    home = make_priced()
    job = home.add(when="in 1 hour", max_cost_usd_per_day=0)
    await hours(home, 1)
    assert home.ends(job.id) == [("skipped", "budget")]
    kept = home.job(job.id)
    assert (kept.status, kept.enabled, kept.disabled_by) == ("attention", False, "engine")
    assert home.notes()[-1].startswith('The automation "look for fruit" did not run. Its budget of $0.00 a day')
    assert "Homing paused it. It was due, and could not run." in home.ask(why_job, WhyJob(job_id=job.id)).answer


async def test_beyond_the_users_budget_people_are_answered_and_told_once_and_runs_are_not(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced(budget_usd_per_day=2)
    for number in range(4):
        assert await home.say(f"hello {number}") == "Done."
    assert home.notes() == [
        f"The {USED_UP} ($2.00 spent today). I still answer your messages; automations go on tomorrow."
    ]
    job, other = home.add(when="every 1h"), home.add("look for bread", when="every 1h")
    await hours(home, 3)
    assert home.ends(job.id) == home.ends(other.id) == [("skipped", "budget")]
    [left_out] = home.notes()[1:]
    assert left_out.startswith(f"The {USED_UP} ($4.00 spent today). Automations are paused until tomorrow.")
    assert len(stub.requests) == 4


async def test_a_run_that_waited_for_its_lane_is_left_out_when_the_budget_went_meanwhile(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=1)
    home.pass_time(hours=1)
    await home.tick()
    home.ask(update_job, UpdateJob(job_id=job.id, max_cost_usd_per_day=0))
    await home.settle()
    assert home.ends(job.id) == [("skipped", "budget")]
    assert len(home.notes()) == 1
    # What follows is counted in the same row, whether the tick or the opening left it out.
    home.change(job.id, max_cost_usd_per_day=1.0)
    home.pass_time(hours=1)
    await home.tick()
    home.change(job.id, max_cost_usd_per_day=0.0)
    await home.settle()
    await hours(home, 1)
    [run] = home.runs(job.id)
    assert (run.state, run.reason, run.missed_count) == ("skipped", "budget", 3)
    assert stub.requests == []


async def test_eight_runs_opened_together_pass_a_budget_by_no_more_than_the_calls_in_flight(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced(budget_usd_per_day=4, max_concurrent_runs=8)
    stub.otherwise(Reply(tool_calls=[tool_call("recall", {"query": "x"})], tokens={"input": DOLLAR, "output": 0}))
    jobs = [home.add(f"look {n}", when="every 1h", session="isolated") for n in range(8)]
    home.pass_time(hours=1)
    await home.tick()
    async with asyncio.timeout(60), home.running():
        home.ring()
        await home.until(
            lambda: all(run.state in ("error", "skipped") for job in jobs for run in home.runs(job.id)), "all ended"
        )
    ends = [end for job in jobs for end in home.ends(job.id)]
    assert {reason for _, reason in ends} == {"budget"}
    assert 4 <= len(stub.requests) <= 4 + 7
    spent = home.ledger.write(lambda tx: tx.rows(sa.select(sa.func.sum(t.usage_sum.c.cost_nano_usd)))[0][0])
    assert int(spent) == len(stub.requests) * 1_000_000_000


async def test_a_budget_needs_a_model_with_a_known_price(make_priced: MakePriced) -> None:
    home = make_priced()
    known = home.add(when="every 1h", max_cost_usd_per_day=1)
    instance = replace(home.instance, has_price=home.models.has_price, why_unusable=lambda name: None)
    home.world = replace(home.world, instance=instance)
    with pytest.raises(Invalid, match="The price of the model openai-chat:mine is not known"):
        home.add(when="every 1h", max_cost_usd_per_day=1, payload={"model": "openai-chat:mine"})
    with pytest.raises(Invalid, match="max_cost_usd_per_day cannot limit"):
        home.ask(update_job, UpdateJob(job_id=known.id, payload={"model": "openai-chat:mine"}))
    # 0 needs no price, and neither does a job without a budget.
    home.add(when="every 1h", max_cost_usd_per_day=0, payload={"model": "openai-chat:mine"})
    home.add(when="every 2h", payload={"model": "openai-chat:mine"})


async def test_a_job_whose_model_got_one_without_a_price_later_is_left_out(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=1)
    home.instance = replace(home.instance, model="openai-chat:mine", has_price=home.models.has_price)
    await hours(home, 2)
    [run] = home.runs(job.id)
    assert (run.state, run.reason, run.missed_count) == ("skipped", "budget", 2)
    assert "The price of the model openai-chat:mine is not known" in home.notes()[-1]
    assert len(home.notes()) == 1
    assert stub.requests == []


async def test_a_run_cannot_raise_its_own_budget(make_priced: MakePriced) -> None:
    home = make_priced()
    job = home.add(when="every 1h", max_cost_usd_per_day=1)
    caller = asking.agent(home.world, asking.RUN_TURN, job_id=job.id)
    with pytest.raises(Forbidden, match="Only a person may change the budget"):
        home.world.ask(update_job, UpdateJob(job_id=job.id, max_cost_usd_per_day=100), caller=caller)
    assert home.job(job.id).max_cost_usd_per_day == 1


async def test_a_plain_run_reads_and_writes_nothing_about_budgets(make_priced: MakePriced) -> None:
    home = make_priced()
    home.add(when="every 1h")
    home.pass_time(hours=1)
    with home.statements() as made:
        await home.settle()
    touching = [one for one in made if "usage_sum" in one or "budget_note" in one]
    assert [one.split()[0] for one in touching] == ["INSERT"]
    assert home.notes(CHAT) == []


async def test_a_hook_beyond_the_users_budget_calls_no_model_and_says_so(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced(budget_usd_per_day=1)
    await home.say("hello")
    home.ledger.put("A parcel came.", source="hook", line="machines")
    await home.settle()
    assert len(stub.requests) == 1
    [turn] = [turn for turn in home.ledger.turns() if turn.source == "hook"]
    assert (turn.outcome, turn.reason) == ("failed", "budget")
    assert home.shown()[-1].text == "I stopped. The budget of $1.00 a day is used up ($1.00 spent today)."
    # A person is answered all the same.
    assert await home.say("and now?") == "Done."


async def test_the_turn_after_a_report_is_stopped_by_the_users_budget(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    """The isolated run spends the last of it: its report stands in the conversation, and no model is called for it."""
    home = make_priced(budget_usd_per_day=1)
    job = home.add(when="every 1h", session="isolated")
    await hours(home, 1)
    assert home.ends(job.id) == [("ok", None)]
    assert len(stub.requests) == 1
    [turn] = [turn for turn in home.ledger.turns() if turn.source == "report"]
    assert (turn.outcome, turn.reason) == ("failed", "budget")
    assert home.shown()[0].kind == "report"
    assert "Done." in home.shown()[0].text


async def test_a_trial_is_counted_and_stopped_by_a_ceiling_without_a_word(
    make_priced: MakePriced, stub: StubModelServer
) -> None:
    home = make_priced()
    job_id = home.add(when="every 1h", max_cost_usd_per_day=2).id
    desk = Desk(store=home.store, context=home.world.ctx, hands_or_none=None)
    looking = tool_call("recall", {"query": "fruit"})
    stub.when("again and again", *[Reply(tool_calls=(looking,), tokens={"input": DOLLAR, "output": 0})] * 9)
    trial = await try_job(desk, TryJob(job_id=job_id, message="again and again"))
    await home.settle()
    assert trial.id is not None
    turn = home.ask(get_turn, TurnRef(turn_id=trial.id))
    assert (turn.outcome, turn.reason, turn.usage.cost_usd) == ("failed", "budget", 2.0)
    assert len(stub.requests) == 2
    with pytest.raises(Conflict) as refused:
        await try_job(desk, TryJob(job_id=job_id))
    assert refused.value.code == "quota_reached"
    assert home.shown() == []
    # The run that comes due is held back by the same sum.
    await hours(home, 1)
    assert home.ends(job_id) == [("skipped", "budget")]
