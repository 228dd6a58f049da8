"""Fifty times kill -9, on the process that hears and sends and on Synapse, in a plain and an encrypted room.

Nothing said is lost or taken twice, and nothing is shown twice: the server knows a part that is sent again. The keys of
the encrypted room are stored before the cursor, or one of these kills would leave a message that nobody can open.
"""

import asyncio
import multiprocessing
import random
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import sqlalchemy as sa

from faults.test_channel_kills import hurry
from homing.channels.matrix import MatrixChannel
from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.clock import SystemClock
from homing.model.people import OWNER
from homing.settings import load
from homing.store import Store, Tx, contacts, deliveries, listeners, sessions
from homing.store import tables as t
from support.offices import owe
from support.synapse import Login, Person, Synapse, nio_person, person, running_synapse
from support.worlds import make_instance

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = 25  # for each database
SERVER_KILLS = (8, 16)  # Synapse is killed first, then the process
PATIENCE = 120.0


def be_a_worker(database: str, url: str, token: str, keys: str, number: int) -> None:
    """Hear and send until killed."""

    async def work() -> None:
        store = Store(database, SystemClock())
        channel = MatrixChannel(
            name="matrix", base_url=url, token=token, keys_folder=Path(keys), timeout_seconds=10, poll_seconds=3
        )
        # Killed so often, a part needs more attempts than it gets elsewhere.
        settings = load({"TZ": "UTC", "HOMING_HOME": "/nonexistent", "HOMING_DELIVERY_ATTEMPTS": "20"})
        instance, channels = make_instance(settings), {"matrix": channel}
        receiver = Receiver(store, instance, channels, f"worker_{number}")
        await store.bell.open()
        await asyncio.gather(receiver.run(), Courier(store, instance, channels).run())

    asyncio.run(work())


@pytest.fixture(scope="module")
def synapse() -> Iterator[Synapse]:
    with running_synapse() as server:
        yield server


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that have imported nearly everything and run none of our threads."""
    made = multiprocessing.get_context("forkserver")
    homing = ["homing.wiring", "homing.channels.matrix", "homing.engine.courier", "homing.engine.receiver"]
    dialects = ["sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"]
    made.set_forkserver_preload(["pytest", "psycopg", "nio", "homing.testing", "markdown_it", *homing, *dialects])
    return made


def link(tx: Tx, who: Person, name: str) -> None:
    """Link a person's room to the owner, as a code does."""
    address = f"matrix:{who.room}"
    session = sessions.add(tx, key=address, user_id=OWNER, agent_id="main", addresses=[])
    assert session is not None
    sessions.hear(tx, session.id, address)
    contacts.link(
        tx, channel="matrix", kind="person", place=who.login.user_id, name=name, user_id=OWNER, address=address,
        linked_by=name,
    )  # fmt: skip


def say(tx: Tx, address: str, text: str) -> None:
    session = sessions.find(tx, address, user_id=OWNER)
    assert session is not None
    owe(tx, session, text, [address])


def free(tx: Tx) -> None:
    """Let the dead one's claim and its attempts be over, without waiting for it."""
    tx.run(sa.update(t.listener).values(claimed_until=tx.now() - timedelta(seconds=1)))
    hurry(tx)


class House:
    """What the test knows of both sides."""

    def __init__(self, store: Store, database: str, synapse: Synapse, bot: Login, keys: Path) -> None:
        self.store, self.synapse = store, synapse
        self.given = (database, synapse.url, bot.token, str(keys))

    async def begin(self, context: ForkServerContext, number: int) -> BaseProcess:
        """Start a worker, and wait until it may listen."""
        before = self.fence()
        worker = context.Process(target=be_a_worker, args=(*self.given, number), daemon=True)
        worker.start()
        async with asyncio.timeout(PATIENCE):
            while self.fence() == before:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.1)
        return worker

    def fence(self) -> int:
        known = self.store.write_now(lambda tx: listeners.get(tx, "matrix"))
        return known.fence if known is not None else 0

    def heard(self, address: str) -> list[str]:
        c = t.inbound.c
        rows = self.store.write_now(
            lambda tx: tx.rows(sa.select(c.text).where(c.address == address, c.source == "person").order_by(c.n))
        )
        return [text for (text,) in rows]

    async def catch_up(self, said: Mapping[str, list[str]]) -> None:
        """Wait until everything was heard and sent."""
        async with asyncio.timeout(PATIENCE):
            while self.pending() or any(self.heard(one) != words for one, words in said.items()):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def pending(self) -> int:
        return self.store.write_now(lambda tx: deliveries.count_by_state(tx, None))["pending"]


@asynccontextmanager
async def people_in_rooms(house: House, bot: Login, folder: Path, label: str) -> AsyncIterator[list[Person]]:
    async with AsyncExitStack() as stack:
        ann = await stack.enter_async_context(person(house.synapse, f"ann{label}"))
        ben = await stack.enter_async_context(nio_person(house.synapse, f"ben{label}", folder))
        for who in (ann, ben):
            await who.invite(bot.user_id)
            house.store.write_now(lambda tx, who=who: link(tx, who, who.login.user_id))
        yield [ann, ben]


async def test_nothing_is_lost_taken_twice_or_shown_twice(
    database: str, synapse: Synapse, context: ForkServerContext, tmp_path: Path
) -> None:
    dice, label = random.Random(17), database.partition(":")[0].partition("+")[0]
    bot = synapse.register(f"homing{label}")
    store = Store(database, SystemClock())
    house = House(store, database, synapse, bot, tmp_path / "keys")
    try:
        async with people_in_rooms(house, bot, tmp_path / "ben", label) as people:
            await _kill_and_count(house, context, people, bot, dice)
    finally:
        store.engine.dispose()


async def _kill_and_count(
    house: House, context: ForkServerContext, people: list[Person], bot: Login, dice: random.Random
) -> None:
    said: dict[str, list[str]] = {f"matrix:{who.room}": [] for who in people}
    owed: dict[str, list[str]] = {address: [] for address in said}
    # It starts at now: the rooms are entered first.
    worker = await house.begin(context, 0)
    for who in people:
        await who.until_in(bot.user_id)
    worker.kill()
    worker.join()
    house.store.write_now(free)
    for number in range(1, KILLS):
        worker = await house.begin(context, number)
        # What the kill before left over: on a slow machine, too, nothing is tried for twenty lives.
        await house.catch_up(said)
        for who in dice.sample(people, dice.randint(1, 2)):
            address = f"matrix:{who.room}"
            said[address].append(f"in {len(said[address])}")
            await who.write(said[address][-1])
            owed[address].append(f"out {len(owed[address])}")
            house.store.write_now(lambda tx, address=address: say(tx, address, owed[address][-1]))
            await asyncio.sleep(dice.random() * 0.1)
        await asyncio.sleep(dice.random() * 0.8)
        if number in SERVER_KILLS:
            await asyncio.to_thread(house.synapse.kill)
            await asyncio.to_thread(house.synapse.start)
            await asyncio.sleep(dice.random())
        worker.kill()
        worker.join()
        # Only now: while somebody is at work, nobody may make the next attempt.
        house.store.write_now(free)
    last = await house.begin(context, KILLS)
    await house.catch_up(said)
    last.kill()
    last.join()
    for who in people:
        address = f"matrix:{who.room}"
        assert house.heard(address) == said[address], "each once, in order"
        await who.look()
        shown = Counter(str(one["content"]["body"]) for one in who.seen)
        assert shown == Counter(owed[address]), "all of it once, and nothing else"
    assert house.store.write_now(lambda tx: deliveries.count_by_state(tx, None))["dead"] == 0
