"""Fifty times kill -9 on the process that hears and sends: nothing said is lost or taken twice, doubles are marked."""

import asyncio
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess

import pytest
import sqlalchemy as sa

from homing.channels.telegram import TelegramChannel
from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.clock import SystemClock
from homing.model.people import OWNER
from homing.store import Store, Tx, contacts, deliveries, sessions
from homing.store import tables as t
from homing.testing import TelegramStub
from support.offices import owe
from support.worlds import make_instance

pytestmark = pytest.mark.slow

KILLS = 25  # for each database
PATIENCE = 60.0


def be_a_worker(database: str, url: str, token: str, number: int) -> None:
    """Hear and send until killed."""

    async def work() -> None:
        store = Store(database, SystemClock())
        channel = TelegramChannel(name="telegram", token=token, base_url=url, timeout_seconds=2, poll_seconds=5)
        instance, channels = make_instance(), {"telegram": channel}
        # A claim as short as a life here: the next one need not wait a minute for it.
        receiver = Receiver(store, instance, channels, f"worker_{number}", claim_seconds=0.3)
        await store.bell.open()
        await asyncio.gather(receiver.run(), Courier(store, instance, channels).run())

    asyncio.run(work())


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that have imported nearly everything and run none of our threads."""
    made = multiprocessing.get_context("forkserver")
    # Not this module: the server of 3.11 does not know where tests are.
    homing = ["homing.wiring", "homing.channels.telegram", "homing.engine.courier", "homing.engine.receiver"]
    dialects = ["sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"]
    made.set_forkserver_preload(["pytest", "psycopg", "homing.testing", *homing, *dialects])
    return made


@pytest.fixture
def telegram() -> Iterator[TelegramStub]:
    with TelegramStub() as stub:
        stub.write("before it began")
        yield stub


def link(tx: Tx) -> None:
    """Link the chat 7 to the owner, as a code does."""
    session = sessions.add(tx, key="telegram:7", user_id=OWNER, agent_id="main", addresses=[])
    assert session is not None
    sessions.hear(tx, session.id, "telegram:7")
    contacts.link(
        tx, channel="telegram", kind="person", place="7", name="Ada", user_id=OWNER, address="telegram:7", linked_by="x"
    )


def say(tx: Tx, text: str) -> None:
    session = sessions.find(tx, "telegram:7", user_id=OWNER)
    assert session is not None
    owe(tx, session, text, ["telegram:7"])


def hurry(tx: Tx) -> None:
    """Let the time come for every next attempt, without waiting for it."""
    c = t.delivery.c
    tx.run(sa.update(t.delivery).where(c.state == "pending").values(next_attempt_at=tx.now() - timedelta(seconds=1)))


def test_nothing_is_lost_or_taken_twice_and_what_came_twice_is_marked(
    database: str, telegram: TelegramStub, context: ForkServerContext
) -> None:
    dice = random.Random(14)
    store = Store(database, SystemClock())
    try:
        _kill_and_count(store, database, telegram, context, dice)
    finally:
        store.engine.dispose()


def _kill_and_count(
    store: Store, database: str, telegram: TelegramStub, context: ForkServerContext, dice: random.Random
) -> None:
    store.write_now(link)
    said, owed = list[str](), list[str]()
    # Most of a life is spent between sending and the receipt.
    telegram.delay_seconds = 0.1

    def begin(number: int) -> BaseProcess:
        worker = context.Process(target=be_a_worker, args=(database, telegram.url, telegram.token, number), daemon=True)
        worker.start()
        return worker

    def heard() -> list[str]:
        rows = store.write_now(lambda tx: tx.rows(sa.select(t.inbound.c.text).order_by(t.inbound.c.n)))
        return [text for (text,) in rows if text.startswith("in ")]

    first = begin(0)
    telegram.wait_for(lambda stub: stub.polling, seconds=PATIENCE)
    first.kill()
    first.join()
    for number in range(1, KILLS):
        worker = begin(number)
        telegram.wait_for(lambda stub: stub.polling, seconds=PATIENCE)
        for _ in range(dice.randint(1, 4)):
            said.append(f"in {len(said)}")
            telegram.write(said[-1])
            owed.append(f"out {len(owed)}")
            store.write_now(lambda tx, text=owed[-1]: say(tx, text))
            time.sleep(dice.random() * 0.1)
        time.sleep(dice.random() * 0.5)
        worker.kill()
        worker.join()
        # Only now: while somebody is at work, nobody may make the next attempt.
        store.write_now(hurry)
    last = begin(KILLS)
    end = time.monotonic() + PATIENCE
    while heard() != said or store.write_now(lambda tx: deliveries.count_by_state(tx, None))["pending"]:
        assert time.monotonic() < end, (len(said), len(heard()))
        time.sleep(0.2)
    last.kill()
    last.join()
    assert heard() == said, "each once, in order"
    shown = Counter(message["text"] for message in telegram.sent)
    assert set(shown) == set(owed), "all of it, and nothing else"
    marked = store.write_now(
        lambda tx: tx.rows(
            sa.select(t.message.c.text, t.delivery.c.unsure, t.delivery.c.state).join(
                t.delivery,
                sa.and_(t.delivery.c.session_id == t.message.c.session_id, t.delivery.c.seq == t.message.c.seq),
            )
        )
    )
    assert {state for _, _, state in marked} == {"sent"}
    unsure = {text for text, doubt, _ in marked if doubt}
    assert unsure, "some were killed between sending and the receipt, or this proves nothing"
    assert {text for text, count in shown.items() if count > 1} <= unsure, "a double says that it may be one"
