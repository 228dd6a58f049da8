"""Everything at once on sixty sessions: schedulers, workers, zombies, couriers and people, on several stores.

Afterwards nothing hangs, nothing is missing and nothing is there twice. HOMING_TEST_STORM_SECONDS makes it longer.
"""

import asyncio
import contextlib
import os
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import sqlalchemy as sa
from pydantic_ai.messages import ModelResponse, TextPart
from structlog.testing import capture_logs

from homing.agent.journal import ToolCall
from homing.channels import Capabilities, Channel, Part, Receipt
from homing.engine.courier import Courier
from homing.engine.lane import Lanes, work_lane
from homing.engine.opening import Opened
from homing.engine.runner import Runner
from homing.engine.scheduler import Scheduler
from homing.engine.step_journal import StepJournal
from homing.engine.turn_result import TurnResult
from homing.model.clock import SystemClock
from homing.model.errors import ChannelFailed, ModelFailed, Refused
from homing.operations.context import Context, Instance
from homing.operations.job_changes import disable_job, enable_job, skip_job, update_job
from homing.operations.messages import cancel_turn, send_message
from homing.operations.removal import remove_job
from homing.operations.runs import cancel_run, run_job
from homing.operations.session_deletion import delete_session
from homing.operations.shapes.job_asks import DisableJob, JobRef, SkipJob, UpdateJob
from homing.operations.shapes.run_asks import RunRef
from homing.operations.shapes.session_asks import CancelTurn, DeleteSession, SendMessage
from homing.settings import load
from homing.store import Store, Tx, people, picking
from homing.store import tables as t
from homing.store.steps import Done
from store.followers import Follower, newest
from store.scenes import add_job, add_session, claim, count, ctx, do, many_stores, rows, watched
from support.worlds import make_instance

# Read when the module is loaded: later the tests have no setting of the developer's.
SECONDS = float(os.environ.get("HOMING_TEST_STORM_SECONDS", "4"))
SESSIONS = 60
USERS = 6
CALM_SECONDS = 30.0 + 2 * SECONDS
ANSWER = ModelResponse(parts=[TextPart("hm")])

# What must be nothing when the storm is over; each is a table with a condition.
NOTHING: dict[str, str] = {
    "a running run without an open turn": """run where state = 'running'
        and not exists (select 1 from turn where turn.id = run.turn_id and turn.state = 'running')""",
    "a queued run that nothing in a lane stands for": """run where state = 'queued'
        and not exists (select 1 from inbound i where i.run_id = run.id and i.state = 'waiting')""",
    "something in a lane for a run that is not queued": """inbound i where i.state = 'waiting' and i.run_id is not null
        and not exists (select 1 from run where run.id = i.run_id and run.state = 'queued')""",
    "an open turn whose run is over": """turn where state = 'running' and run_id is not null
        and not exists (select 1 from run where run.id = turn.run_id and run.state = 'running')""",
    "a closed turn with more or less than one closing": """turn where state = 'closed' and closing_seq is not null
        and 1 <> (select count(*) from message m where m.turn_id = turn.id and m.role = 'assistant'
                  and m.seq = turn.closing_seq and m.session_id = turn.session_id)""",
    "a closed turn with more or less than one outbound": """turn where state = 'closed' and closing_seq is not null
        and 1 <> (select count(*) from outbound o where o.turn_id = turn.id and o.cause = 'closing')""",
    "a turn that closed in silence although its session lives": """turn where state = 'closed' and closing_seq is null
        and (reason is null or reason <> 'session_deleted')
        and exists (select 1 from session s where s.id = turn.session_id and s.deleted_at is null)""",
    "a taken inbound that is not exactly one message": """inbound i where i.state = 'taken'
        and 1 <> (select count(*) from message m where m.inbound_id = i.id)""",
    "a message of something that was not taken": """message m where m.inbound_id is not null
        and not exists (select 1 from inbound i where i.id = m.inbound_id and i.state = 'taken')""",
    "an injected message without its step": """inbound i where i.injected
        and not exists (select 1 from step where step.turn_id = i.turn_id and step.key = i.id)""",
    "a gap in a session's messages": """session s
        where s.seq <> (select count(*) from message m where m.session_id = s.id)
        or s.seq <> (select coalesce(max(seq), 0) from message m where m.session_id = s.id)""",
    "a revision from the future": """session s
        where s.rev < (select coalesce(max(rev), 0) from message m where m.session_id = s.id)
        or s.rev < (select coalesce(max(rev), 0) from run r where r.session_id = s.id)
        or s.rev < (select coalesce(max(rev), 0) from job j where j.session_id = s.id)
        or s.rev < (select coalesce(max(rev), 0) from delivery d where d.session_id = s.id)""",
    "something in a lane that is neither its session's nor shared": """inbound i join session s on s.id = i.lane_id
        where i.lane_id <> i.session_id and s.key not like 'unified:%'""",
    "two active runs of a job": """(select job_id from run where state in ('queued', 'running')
        group by job_id having count(*) > 1) twice""",
    "a waiting inbound of a deleted session": """inbound i join session s on s.id = i.session_id
        where i.state = 'waiting' and s.deleted_at is not null""",
    "a living job of a deleted session": """job j join session s on s.id = j.session_id
        where j.removed_at is null and s.deleted_at is not null""",
}  # fmt: skip


def owner_of(key: str) -> str:
    """Sessions belong to several users, whose lanes are apart also when each of them has only one."""
    return f"user_{int(key.rpartition('_')[2]) % USERS}"


class Weather(Channel):
    """A channel that takes parts, or not, as it likes."""

    name = "storm"
    capabilities = Capabilities(max_length=None, resend="deduplicated")

    def __init__(self) -> None:
        self.sent: list[str] = []
        self._dice = random.Random(7)

    async def check(self) -> str:
        return "the weather"

    async def send(self, part: Part) -> Receipt:
        await asyncio.sleep(self._dice.random() * 0.002)
        if self._dice.random() < 0.1:
            raise ChannelFailed("Too windy.", permanent=self._dice.random() < 0.5)
        self.sent.append(part.delivery_id)
        return Receipt(detail={})


@dataclass
class Storm:
    """One run of it: who blows, and what was done."""

    stores: list[Store]
    instance: Instance
    dice: random.Random = field(default_factory=lambda: random.Random(4664))
    done: Counter[str] = field(default_factory=Counter[str])
    followers: dict[int, Follower] = field(default_factory=dict[int, Follower])
    born: int = 0
    jobs: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    over: asyncio.Event = field(default_factory=asyncio.Event)

    def furnish(self, tx: Tx, key: str) -> None:
        outside = [f"storm:{key}"] if self.born % 5 == 0 else []
        session = add_session(tx, key, user_id=owner_of(key), addresses=[key, *outside])
        kinds: list[dict[str, Any]] = [
            {}, {"isolated": True}, {"payload_kind": "reminder"}, {"quiet": True},
            # An event is over when it is laid in: nothing holds the next one back.
            {"payload_kind": "system_event", "every_ms": 6000}, {"isolated": True, "continues": False},
            {"delete_after_run": True, "payload_kind": "reminder"},
        ]  # fmt: skip
        self.born += 1
        self.jobs.append((f"job_storm_{self.born}", key))
        every = {"every_ms": self.dice.choice((700, 1500, 3000)), "timeout_seconds": 20.0}
        add_job(tx, session, f"storm_{self.born}", **every | kinds[self.born % len(kinds)])

    async def think(self, opened: Opened, keeper: StepJournal) -> TurnResult:
        """Do what an agent does to rows, in any order, and now and then not well."""
        dice = self.dice
        for n in range(dice.randrange(-1, 3)):
            await keeper.take_injected()
            await keeper.model_done(ANSWER, name="m", duration_ms=1)
            call = ToolCall(key=f"{opened.turn.fence}_{n}", name="tool", args={})
            if opened.turn.job_id and opened.turn.run_id and dice.random() < 0.5:
                await self._own_tool(opened, keeper, call)
            else:
                await keeper.tool_begun(call)
                await asyncio.sleep(dice.random() * 0.02)
                await keeper.tool_done(call, "ok", failed=False, duration_ms=1)
        self.done["turns"] += 1
        if dice.random() < 0.1:
            raise ModelFailed("Thunder.")
        quiet = opened.turn.source == "run" and dice.random() < 0.3
        return TurnResult(outcome="answered", text="" if quiet else "yes", reason="quiet" if quiet else None)

    async def _own_tool(self, opened: Opened, keeper: StepJournal, call: ToolCall) -> None:
        def work(tx: Tx) -> Done:
            job_id = opened.turn.job_id
            assert job_id is not None
            update_job(ctx(tx, self.instance, opened.turn.user_id), UpdateJob(job_id=job_id, description=call.key))
            return Done(text="ok")

        try:
            await keeper.commit(call, work)
            self.done["own tools"] += 1
        except Refused:
            await keeper.tool_done(call, "refused", failed=True, duration_ms=1)

    async def people(self, number: int) -> None:
        """Ask for one thing after the other; a refusal is an answer too."""
        dice, store = random.Random(number), self.stores[number % len(self.stores)]
        while not self.over.is_set():
            name, user_id, ask = self._anything(dice)
            try:
                await store.write(lambda tx, by=user_id, ask=ask: ask(ctx(tx, self.instance, by)))
                self.done[name] += 1
            except Refused:
                self.done["refused"] += 1
            await asyncio.sleep(dice.random() * 0.02)

    def _anything(self, dice: random.Random) -> tuple[str, str, Callable[[Context], object]]:
        key = f"web:storm_{dice.randrange(SESSIONS)}"
        job_id, job_key = dice.choice(self.jobs)
        asks: list[tuple[str, Callable[[Context], object]]] = [
            ("run now", lambda d: run_job(d, JobRef(job_id=job_id))),
            ("disabled", lambda d: disable_job(d, DisableJob(job_id=job_id))),
            ("enabled", lambda d: enable_job(d, JobRef(job_id=job_id))),
            ("updated", lambda d: update_job(d, UpdateJob(job_id=job_id, name=f"job {dice.random()}"))),
            ("skipped", lambda d: skip_job(d, SkipJob(job_id=job_id))),
        ]
        talk: list[tuple[str, Callable[[Context], object]]] = [
            ("said", lambda d: send_message(d, SendMessage(session_key=key, text="hello", mode="inject"))),
            ("queued", lambda d: send_message(d, SendMessage(session_key=key, text="hello", mode="queue"))),
            ("turn cancelled", lambda d: cancel_turn(d, CancelTurn(session_key=key))),
            ("run cancelled", self._cancel_any_run),
        ]
        chance = dice.random()
        if chance < 0.03:
            return "removed", owner_of(job_key), lambda d: remove_job(d, JobRef(job_id=job_id))
        if chance < 0.07:
            return "deleted", owner_of(key), lambda d: self._begin_anew(d, key)
        if chance < 0.4:
            return (name := dice.choice(talk))[0], owner_of(key), name[1]
        return (name := dice.choice(asks))[0], owner_of(job_key), name[1]

    def _cancel_any_run(self, d: Context) -> object:
        mine = sa.select(t.run.c.id).where(
            t.run.c.state.in_(("queued", "running")), t.run.c.user_id == d.caller.user_id
        )
        active = d.tx.rows(mine.limit(5))
        return cancel_run(d, RunRef(run_id=self.dice.choice(active)[0])) if active else None

    def _begin_anew(self, d: Context, key: str) -> None:
        delete_session(d, DeleteSession(session_key=key, delete_automations=True))
        self.furnish(d.tx, key)

    async def zombies(self, number: int) -> None:
        """Open lanes with claims that are never renewed, and take as long as it takes."""
        store, dice = self.stores[number % len(self.stores)], random.Random(number)

        async def slowly(opened: Opened, keeper: StepJournal) -> TurnResult:
            await asyncio.sleep(dice.random() * 0.4)
            return await self.think(opened, keeper)

        room = Lanes(store=store, instance=self.instance, think=slowly)
        while not self.over.is_set():
            wanted = await store.read(
                lambda tx: picking.pick_people(tx, 4) + [i for i, _ in picking.stale_lanes(tx, 4)]
            )
            worked = await asyncio.gather(
                *(work_lane(room, lane_id, claim(f"zombie_{number}", seconds=0.15)) for lane_id in set(wanted))
            )
            self.done["zombies' turns"] += worked.count("more")
            self.done["zombies' losses"] += worked.count("held")
            await asyncio.sleep(0.02)

    async def watch(self) -> None:
        """Follow every session there is, again and again."""
        store = self.stores[-1]
        while not self.over.is_set():
            await self.look(store)
            await asyncio.sleep(0.05)

    async def look(self, store: Store) -> None:
        for (session_id,) in await store.read(lambda tx: tx.rows(sa.select(t.session.c.id))):
            await self.followers.setdefault(session_id, Follower(session_id, limit=20)).follow(store)


def machines(storm: Storm, store: Store, number: int, weather: Weather) -> list[Callable[[], Awaitable[None]]]:
    clock = SystemClock()
    room = Lanes(store=store, instance=storm.instance, think=storm.think)
    return [
        Scheduler(store, storm.instance, clock).run,
        Runner(room, clock, f"worker_{number}").run,
        Courier(store, storm.instance, {"storm": weather}).run,
    ]


async def calm_down(storm: Storm) -> None:
    """Let nothing come due any more, and wait until what is under way has ended."""
    store = storm.stores[0]

    living = sa.select(t.job.c.id, t.job.c.user_id).where(t.job.c.removed_at.is_(None), t.job.c.enabled)
    for job_id, user_id in await store.read(lambda tx: tx.rows(living)):
        with contextlib.suppress(Refused):  # it may be over, or just now removed after its run
            await store.write(
                lambda tx, job=job_id, by=user_id: disable_job(ctx(tx, storm.instance, by), DisableJob(job_id=job))
            )
    ear = store.bell.listen("lanes", "deliveries")
    started = asyncio.get_running_loop().time()
    while left := await store.read(_left):
        assert asyncio.get_running_loop().time() - started < CALM_SECONDS, left
        await ear.wait(0.2)


def _left(tx: Tx) -> dict[str, int]:
    """Count what is still under way."""
    counts = {
        "open turns": sa.select(sa.func.count()).where(t.turn.c.state == "running"),
        "waiting": sa.select(sa.func.count()).where(t.inbound.c.state == "waiting", t.inbound.c.line != "note"),
    }
    return {name: number for name, statement in counts.items() if (number := tx.rows(statement)[0][0])}


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True], ids=["a lane each", "one lane for all"])
async def test_a_storm_leaves_everything_in_order(database: str, *, shared: bool) -> None:
    instance = make_instance(
        load(
            {
                "TZ": "UTC", "HOMING_HOME": "/nonexistent", "HOMING_IDLE_RETRY_MS": "50", "HOMING_CLAIM_SECONDS": "3",
                "HOMING_UNIFIED_SESSION": "on" if shared else "off",
            }
        )
    )  # fmt: skip
    postgres = database.startswith("postgresql")
    with many_stores(database, 3 if postgres else 2) as stores, watched(stores) as trouble, capture_logs() as logs:
        storm, weather = Storm(stores=stores, instance=instance), Weather()
        for n in range(USERS):
            do(stores[0], people.add_user, f"user_{n}", role="user")
        for n in range(SESSIONS):
            await stores[0].write(lambda tx, n=n: storm.furnish(tx, f"web:storm_{n}"))
        for store in stores:
            await store.bell.open()
        engines = [
            asyncio.ensure_future(machine())
            # SQLite has one engine; the other store is a command beside it.
            for number, store in enumerate(stores if postgres else stores[:1])
            for machine in machines(storm, store, number, weather)
        ]
        others = [
            *(asyncio.create_task(storm.people(n)) for n in range(6)),
            *(asyncio.create_task(storm.zombies(n)) for n in range(2)),
            asyncio.create_task(storm.watch()),
        ]
        await asyncio.wait([*engines, *others], timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        storm.over.set()
        await asyncio.gather(*others)
        try:
            await calm_down(storm)
        finally:
            ended = [engine for engine in engines if engine.done()]
            for engine in engines:
                engine.cancel()
            await asyncio.gather(*engines, return_exceptions=True)
        assert not ended, ended
        await storm.look(stores[0])

        broken = [entry for entry in logs if entry["log_level"] in {"error", "critical"}]
        assert not broken, broken[:3]
        assert trouble.deadlocks == 0
        assert deadlocks(stores[0]) == 0
        found = {name: number for name, what in NOTHING.items() if (number := count(stores[0], what))}
        assert not found, found
        check_followers(storm)
        check_order(stores[0])
        print(f"\n{dict(storm.done)} {len(storm.followers)} sessions, {len(weather.sent)} parts, {trouble}")
        for store in stores:
            await store.close()


def deadlocks(store: Store) -> int:
    """Ask PostgreSQL itself; its count may be a little behind, but not after a storm."""
    if not store.postgres:
        return 0
    text = "select deadlocks from pg_stat_database where datname = current_database()"
    return int(do(store, lambda tx: tx.rows(sa.text(text)))[0][0])


def check_followers(storm: Storm) -> None:
    store = storm.stores[0]
    for session in rows(store, t.session):
        follower, expected = storm.followers[session.id], do(store, newest, session.id)
        assert follower.seqs == list(range(1, session.seq + 1)), session.key
        assert follower.rev == session.rev
        # A job that never changed under a revision need not be shown; of all else the newest state was.
        never = {key for key, state in expected.items() if key[0] == "job" and key not in follower.states}
        assert follower.states == {key: state for key, state in expected.items() if key not in never}, session.key


def check_order(store: Store) -> None:
    """What people queued in one lane became openings in that order."""
    heard: dict[int, list[int]] = {}
    statement = (
        sa.select(t.inbound.c.lane_id, t.inbound.c.n)
        .join(t.turn, t.turn.c.id == t.inbound.c.turn_id)
        .where(t.inbound.c.source == "person", t.inbound.c.mode == "queue")
        .order_by(t.turn.c.n)
    )
    for lane_id, n in do(store, lambda tx: tx.rows(statement)):
        heard.setdefault(lane_id, []).append(n)
    assert heard
    for order in heard.values():
        assert order == sorted(order)
