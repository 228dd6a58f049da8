"""A world to ask things of: a migrated store on SQLite and on PostgreSQL, with its owner and an agent.

Fixtures: `database` (both kinds, as URLs), `clock`, `store`, `house`, `world`. On PostgreSQL the time is the server's:
tests that need another one go by relative times.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest
import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.channel_info import ChannelInfo
from homing.model.contract import BY_NAME
from homing.model.ids import new_id
from homing.model.people import OWNER, Caller
from homing.model.runs import Rendered
from homing.model.turns import Policy, Turn
from homing.operations.binding import bind
from homing.operations.context import Context, Instance
from homing.operations.runs import run_job
from homing.operations.shapes.job_asks import JobRef
from homing.settings import Settings, load
from homing.store import Store, Tx, agents, inbounds, lanes, maintenance, people, runs, schema, sessions, turns
from homing.store import tables as t
from homing.store.inbounds import NewInbound
from homing.store.lanes import Head
from homing.testing import FakeClock, PostgresServer
from support.hands import StillHands
from support.recycled import RecycledDatabase

T = TypeVar("T")
A = TypeVar("A")

START = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)
"""A Monday, nine o'clock in Berlin."""

OWNER_CALLER = Caller(user_id=OWNER, role="admin", door="api")
ON_PAGE = replace(OWNER_CALLER, door="page", approve=True)
"""The owner as the page signs them in."""
STRANGER = Caller(user_id="stranger", role="user", door="api")

SCHEDULER = "worker_world"

_TEMPLATE = "homing_template"


@dataclass(frozen=True, kw_only=True)
class World:
    """A store, its clock, the house, and short ways to ask."""

    store: Store
    clock: FakeClock
    instance: Instance

    @property
    def postgres(self) -> bool:
        return self.store.postgres

    @property
    def settings(self) -> Settings:
        return self.instance.settings

    def write(self, work: Callable[[Tx], T]) -> T:
        """Run one transaction now, in this thread."""
        return self.store.write_now(work)

    def ask(self, operation: Callable[[Context, A], T], ask: A, *, caller: Caller = OWNER_CALLER) -> T:
        """Ask one operation, in a transaction of its own."""
        row = BY_NAME.get(operation.__name__)
        # Of a prepared one nothing is prepared here: what needs that goes through a door.
        run: Callable[..., T] = operation if row is None or row.kind == "prepared" else bind(row).run

        def work(tx: Tx) -> T:
            ctx = self.ctx(tx, caller)
            if row is not None and row.who == "admin":
                ctx.admin()
            return run(ctx, ask)

        return self.write(work)

    def ctx(self, tx: Tx, caller: Caller = OWNER_CALLER) -> Context:
        return Context(tx=tx, caller=caller, instance=self.instance)

    def with_settings(self, **values: Any) -> "World":
        """The same world under other settings."""
        return replace(self, instance=replace(self.instance, settings=replace(self.settings, **values)))

    def make_past(self, job_id: str, by: timedelta = timedelta(hours=1)) -> None:
        """Let a one-shot's time be over, on either clock."""
        self.write(lambda tx: write_job(tx, job_id, {"at": tx.now() - by}))

    def open_turn(self, key: str, *, job_id: str | None = None, user_id: str = OWNER) -> str:
        """Open a turn in a session as a worker would: a person's, or that of a job run by hand."""

        def work(tx: Tx) -> str:
            session = sessions.find(tx, key, user_id=user_id)
            assert session is not None
            if job_id is None:
                person = NewInbound(
                    session_id=session.id, lane_id=session.id, user_id=session.user_id, source="person",
                    text="Hello?", line="people", address=key, sender_id=session.user_id,
                )  # fmt: skip
                inbounds.take_in(tx, [person])
            [head] = lanes.take_heads(tx, [session.id])
            turn = new_turn(tx, head)
            turns.open_turns(tx, [(turn, head)])
            if head.inbound.run_id is not None:
                rendered = Rendered(id="test", version=1, sha256="", text="", variables={})
                runs.open_runs(tx, [(turn, rendered, 1)])
            return turn.id

        if job_id is not None:
            self.ask(run_job, JobRef(job_id=job_id))
        return self.write(work)

    def now(self) -> datetime:
        """Tell the store's time."""
        return self.write(lambda tx: tx.now())

    def ahead(self, **length: float) -> str:
        """Spell an instant so long from now."""
        return (self.now() + timedelta(**length)).isoformat()


def write_job(tx: Tx, job_id: str, values: Mapping[str, Any]) -> None:
    """Write into a job's row what no verb would."""
    tx.ring("jobs")
    tx.run(sa.update(t.job).where(t.job.c.id == job_id).values(dict(values)))


def pass_time(store: Store, clock: FakeClock, by: timedelta) -> None:
    """Let time pass, for every row alike: SQLite goes by the fake clock, PostgreSQL by its own, so that there every
    instant is set back.
    """
    if not store.postgres:
        clock.advance(by)
        return
    # A run's id is its instant: one millisecond more, so that no later one falls on an earlier.
    micros = by // timedelta(microseconds=1) + 1000
    # Plain SQL, and all in one message: it is asked for thousands of times.
    statements = [
        f'update "{table.name}" set ' + ", ".join(f'"{name}" = "{name}" - {micros}' for name in names)
        for table in t.metadata.sorted_tables
        if (names := [column.name for column in table.c if isinstance(column.type, t.Instant)])
    ]
    store.write_now(lambda tx: tx.connection.exec_driver_sql("; ".join(statements)))


async def stays_idle(store: Store, run: Coroutine[Any, Any, None], did: Callable[[], Any]) -> None:
    """Let a machine of an outdated process (rule 62) run for some rounds of its store, in which it does nothing; then,
    with a database that it knows again, until it does.
    """
    store.outdated = "the database is newer"
    machine = asyncio.create_task(run)
    try:
        for _ in range(5):
            await store.read(lambda tx: None)
            await store.write(lambda tx: None)
        assert not did()
        store.outdated = None
        async with asyncio.timeout(30):
            while not did():
                store.bell.ring({"jobs", "deliveries", "approvals", "gates"})
                await asyncio.sleep(0.01)
    finally:
        machine.cancel()
        await asyncio.gather(machine, return_exceptions=True)


def new_turn(tx: Tx, head: Head) -> Turn:
    """A turn about to open on a head."""
    inbound = head.inbound
    return Turn(
        id=new_id("turn"), lane_id=inbound.lane_id, session_id=inbound.session_id, user_id=inbound.user_id,
        agent_id="main", source=inbound.source, run_id=inbound.run_id, job_id=inbound.job_id, worker_id="tester",
        claimed_until=None, deadline_at=None, address=inbound.address, sender_id=inbound.sender_id,
        depth=inbound.depth, model="offline", thinking=None, prompt="", policy=Policy(), opening_seq=1,
        opened_at=tx.now(),
    )  # fmt: skip


def make_instance(settings: Settings | None = None) -> Instance:
    return Instance(
        version="0.0-test",
        model="offline",
        model_offline=True,
        model_why="No key was found.",
        channels=lambda settings: [ChannelInfo(name="chat", kind="chat", listens=True)],
        hands=StillHands(),
        settings=settings or load({"TZ": "Europe/Berlin", "HOMING_HOME": "/nonexistent"}),
    )


def furnish(tx: Tx) -> None:
    """Make the people whom tests know: the owner, a stranger, the agent."""
    people.add_user(tx, OWNER, role="admin", name="Owner")
    people.add_user(tx, STRANGER.user_id, role="user", name="Stranger")
    agents.add(tx, Agent(id="main", name="Main", model=None, instructions="You are helpful.", tools={}))
    agents.add(tx, Agent(id="other", name="Other", model=None, instructions="You are another.", tools={}))


def start_scheduler(tx: Tx) -> None:
    """Let somebody watch the clock, wherever a test sets it: without, every answer warns that nothing fires."""
    maintenance.beat(tx, SCHEDULER, name="scheduler", schedules=True, next_wake_at=None)
    tx.run(sa.update(t.worker).values(beat_at=datetime(2999, 1, 1, tzinfo=UTC)))


def stop_scheduler(tx: Tx) -> None:
    """Leave nobody to watch the clock."""
    maintenance.leave(tx, SCHEDULER)


def _fill(url: str) -> None:
    store = Store(url, FakeClock(START), fsync=False)
    schema.upgrade(store)
    store.write_now(furnish)
    store.engine.dispose()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of this process (or worker)."""
    with PostgresServer() as server:
        server.template(_TEMPLATE, _fill)
        yield server


@pytest.fixture(scope="session")
def recycled_database(postgres_server: PostgresServer) -> Iterator[RecycledDatabase]:
    """One PostgreSQL database, as the template is before each test."""
    recycled = RecycledDatabase(postgres_server, _TEMPLATE)
    yield recycled
    recycled.drop()


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file that each test copies."""
    path = tmp_path_factory.mktemp("template") / "homing.db"
    _fill(f"sqlite:///{path}")
    return path


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh, migrated and furnished database of each kind."""
    if request.param == "sqlite":
        template: Path = request.getfixturevalue("sqlite_template")
        shutil.copy(template, tmp_path / "homing.db")
        yield f"sqlite:///{tmp_path / 'homing.db'}"
        return
    recycled: RecycledDatabase = request.getfixturevalue("recycled_database")
    yield recycled.url()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
async def store(database: str, clock: FakeClock) -> AsyncIterator[Store]:
    store = Store(database, clock, fsync=False)
    yield store
    await store.close()


@pytest.fixture
def instance() -> Instance:
    return make_instance()


@pytest.fixture
def world(store: Store, clock: FakeClock, instance: Instance) -> World:
    world = World(store=store, clock=clock, instance=instance)
    world.write(start_scheduler)
    return world
