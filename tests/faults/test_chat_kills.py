"""Ten times kill -9 on the process that hears and sends in Slack and Discord: nothing is lost, taken or shown twice."""

import asyncio
import multiprocessing
import random
import time
from collections import Counter
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess
from typing import Literal

import pytest
import sqlalchemy as sa

from faults.test_channel_kills import hurry
from homing.channels import Channel
from homing.channels.discord import DiscordChannel
from homing.channels.slack import SlackChannel
from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.clock import SystemClock
from homing.model.people import OWNER
from homing.store import Store, Tx, contacts, deliveries, sessions
from homing.store import tables as t
from homing.testing import DiscordStub, SlackStub
from homing.testing.slack import APP_TOKEN, BOT_TOKEN
from support.offices import owe
from support.worlds import make_instance

pytestmark = pytest.mark.slow

Kind = Literal["slack", "discord"]
KILLS = 10  # for each platform and database
PATIENCE = 120.0
# The chat with the linked person, and the platform's id of them.
PEOPLE: dict[Kind, tuple[str, str]] = {"slack": ("slack:D1", "U7"), "discord": ("discord:70", "7")}


def open_channel(kind: Kind, url: str) -> Channel:
    if kind == "slack":
        return SlackChannel(name=kind, app_token=APP_TOKEN, bot_token=BOT_TOKEN, base_url=url, timeout_seconds=5)
    return DiscordChannel(name=kind, token="stub.discord.token", base_url=url, timeout_seconds=5, pause_seconds=0)


def be_a_worker(database: str, kind: Kind, url: str, number: int) -> None:
    """Hear and send until killed."""

    async def work() -> None:
        store = Store(database, SystemClock())
        instance, channels = make_instance(), {kind: open_channel(kind, url)}
        # The next one need not wait a minute for it; and it is long enough to connect within it on a busy machine.
        receiver = Receiver(store, instance, channels, f"worker_{number}", claim_seconds=2.0)
        await store.bell.open()
        await asyncio.gather(receiver.run(), Courier(store, instance, channels).run())

    asyncio.run(work())


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that have imported nearly everything and run none of our threads."""
    made = multiprocessing.get_context("forkserver")
    homing = ["homing.wiring", "homing.channels.slack", "homing.channels.discord", "homing.engine.receiver"]
    dialects = ["sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"]
    made.set_forkserver_preload(["pytest", "psycopg", "homing.testing", *homing, *dialects])
    return made


@pytest.fixture(params=["slack", "discord"])
def stub(request: pytest.FixtureRequest) -> Iterator[SlackStub | DiscordStub]:
    with SlackStub() if request.param == "slack" else DiscordStub() as made:
        made.write("before it began")
        yield made


def link(tx: Tx, kind: Kind) -> None:
    """Link the chat to the owner, as a code does."""
    address, sender = PEOPLE[kind]
    session = sessions.add(tx, key=address, user_id=OWNER, agent_id="main", addresses=[])
    assert session is not None
    sessions.hear(tx, session.id, address)
    contacts.link(
        tx, channel=kind, kind="person", place=sender, name="Ada", user_id=OWNER, address=address, linked_by="x"
    )


def say(tx: Tx, address: str, text: str) -> None:
    session = sessions.find(tx, address, user_id=OWNER)
    assert session is not None
    owe(tx, session, text, [address])


def test_nothing_is_lost_or_taken_or_shown_twice(
    database: str, stub: SlackStub | DiscordStub, context: ForkServerContext
) -> None:
    kind: Kind = "slack" if isinstance(stub, SlackStub) else "discord"
    store, dice = Store(database, SystemClock()), random.Random(17)
    workers: list[BaseProcess] = []
    try:
        _kill_and_count(store, database, stub, kind, context, dice, workers)
    finally:
        for worker in workers:
            worker.kill()
        store.engine.dispose()


def _kill_and_count(
    store: Store,
    database: str,
    stub: SlackStub | DiscordStub,
    kind: Kind,
    context: ForkServerContext,
    dice: random.Random,
    workers: list[BaseProcess],
) -> None:
    address = PEOPLE[kind][0]
    store.write_now(lambda tx: link(tx, kind))
    said, owed = list[str](), list[str]()
    # Most of a life is spent between sending and the receipt.
    stub.delay_seconds = 0.1

    def begin(number: int) -> BaseProcess:
        worker = context.Process(target=be_a_worker, args=(database, kind, stub.url, number), daemon=True)
        worker.start()
        workers.append(worker)
        return worker

    def heard() -> list[str]:
        rows = store.write_now(lambda tx: tx.rows(sa.select(t.inbound.c.text).order_by(t.inbound.c.n)))
        return [text for (text,) in rows if text.startswith("in ")]

    def wait_until_it_listens(before: int) -> None:
        # Not only that a connection is open: at Discord a chat is known from its first message on.
        stub.wait_for(lambda seen: seen.listening, seconds=PATIENCE)
        end = time.monotonic() + PATIENCE
        while before and not heard():
            assert time.monotonic() < end
            time.sleep(0.05)

    first = begin(0)
    wait_until_it_listens(0)
    said.append("in 0")
    stub.write(said[-1])
    wait_until_it_listens(1)
    for number in range(1, KILLS + 1):
        for _ in range(dice.randint(1, 4)):
            said.append(f"in {len(said)}")
            stub.write(said[-1])
            owed.append(f"out {len(owed)}")
            store.write_now(lambda tx, text=owed[-1]: say(tx, address, text))
            time.sleep(dice.random() * 0.1)
        time.sleep(dice.random() * 0.5)
        first.kill()
        first.join()
        stub.wait_for(lambda seen: not seen.listening, seconds=PATIENCE)
        # Only now: while somebody is at work, nobody may make the next attempt.
        store.write_now(hurry)
        if number % 3 == 0:
            # A longer absence: the platform gives up, and only its history has what was missed.
            said.append(f"in {len(said)}")
            stub.write(said[-1])
            if isinstance(stub, SlackStub):
                stub.forget_events()
            else:
                stub.forget_sessions()
        first = begin(number)
        stub.wait_for(lambda seen: seen.listening, seconds=PATIENCE)
    end = time.monotonic() + PATIENCE
    while heard() != said or store.write_now(lambda tx: deliveries.count_by_state(tx, None))["pending"]:
        assert time.monotonic() < end, (len(said), len(heard()), [one for one in said if one not in heard()])
        time.sleep(0.2)
    assert heard() == said, "each once, in order"
    texts = [str(one.get("content") or one.get("text")) for one in stub.sent]
    assert Counter(texts) == Counter(owed), "each once, and nothing else"
