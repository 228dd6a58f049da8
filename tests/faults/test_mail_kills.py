"""Kill -9, again and again, on the process that reads and sends mail, between Dovecot and aiosmtpd.

Nothing said is lost or taken twice, in order; what goes out twice has the same Message-ID.
"""

import asyncio
import multiprocessing
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from email import message_from_bytes
from multiprocessing.context import ForkServerContext
from multiprocessing.process import BaseProcess

import pytest
import sqlalchemy as sa
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope
from aiosmtpd.smtp import Session as Connection

from homing.engine.courier import Courier
from homing.engine.receiver import Receiver
from homing.model.clock import SystemClock
from homing.model.people import OWNER
from homing.model.sessions import Session
from homing.store import Store, Tx, contacts, deliveries, listeners, sessions
from homing.store import tables as t
from support.dovecot import Dovecot, dovecot
from support.offices import owe
from support.ports import free_port
from support.worlds import make_instance
from unit.channels.imap_office import OWN, PERSON, channel_at, mail

pytestmark = pytest.mark.slow

KILLS = 25  # for each database
PATIENCE = 60.0
ADDRESS = f"email:{PERSON}"


class Post:
    """Anna's mailbox. It can keep its answer back: then whoever sent does not know that the mail is there."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.taken = threading.Event()
        self.answers = threading.Event()
        self.answers.set()

    async def handle_DATA(self, _: SMTP, __: Connection, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        assert isinstance(envelope.content, bytes)
        self.ids.append(message_from_bytes(envelope.content)["Message-ID"])
        self.taken.set()
        # Most of a life is spent between sending and the receipt.
        await asyncio.sleep(0.05)
        await asyncio.to_thread(self.answers.wait)
        return "250 2.0.0 taken"


def be_a_worker(database: str, imap: int, smtp: int, number: int) -> None:
    """Hear and send until killed."""

    async def work() -> None:
        store = Store(database, SystemClock())
        instance, channels = make_instance(), {"email": channel_at(imap, smtp)}
        receiver = Receiver(store, instance, channels, f"worker_{number}")
        await store.bell.open()
        await asyncio.gather(receiver.run(), Courier(store, instance, channels).run())

    asyncio.run(work())


@pytest.fixture(scope="module")
def context() -> ForkServerContext:
    """Processes that have imported nearly everything and run none of our threads."""
    made = multiprocessing.get_context("forkserver")
    # Not this module: the server of 3.11 does not know where tests are.
    homing = ["homing.wiring", "homing.channels.mail_account", "homing.engine.courier", "homing.engine.receiver"]
    dialects = ["sqlalchemy.dialects.postgresql.psycopg", "sqlalchemy.dialects.sqlite.pysqlite"]
    made.set_forkserver_preload(["pytest", "psycopg", "homing.testing", *homing, *dialects])
    return made


@pytest.fixture
def post() -> Iterator[tuple[Post, int]]:
    kept = Post()
    controller = Controller(kept, hostname="127.0.0.1", port=free_port())
    controller.start()
    yield kept, int(controller.port)
    kept.answers.set()
    controller.stop()


def link(tx: Tx) -> Session:
    contacts.link(tx, channel="email", kind="person", place=PERSON, name="Anna", user_id=OWNER, address=ADDRESS)
    session = sessions.add(tx, key="web:fruit", user_id=OWNER, agent_id="main")
    assert session is not None
    return session


def forget_the_dead(tx: Tx) -> None:
    """Let the next worker go on at once; a dead one's claims and attempts end by themselves, only later."""
    tx.run(sa.update(t.listener).values(worker_id=None, claimed_until=None))
    again = {"next_attempt_at": tx.now(), "attempts": 0}
    tx.run(sa.update(t.delivery).where(t.delivery.c.state == "pending").values(again))


def test_nothing_is_lost_or_taken_twice_and_a_double_has_the_same_message_id(
    database: str, post: tuple[Post, int], context: ForkServerContext
) -> None:
    store = Store(database, SystemClock())
    try:
        with dovecot() as server:
            _kill_and_count(store, database, server, *post, context)
    finally:
        store.engine.dispose()


def _kill_and_count(
    store: Store, database: str, server: Dovecot, post: Post, smtp: int, context: ForkServerContext
) -> None:
    dice, said, owed = random.Random(14), list[str](), list[str]()
    session = store.write_now(link)

    def begin(number: int) -> BaseProcess:
        """Give a process that listens."""
        worker = context.Process(target=be_a_worker, args=(database, server.imap, smtp, number), daemon=True)
        worker.start()
        until(lambda: listening(f"worker_{number}"))
        return worker

    def listening(worker_id: str) -> bool:
        found = store.write_now(lambda tx: listeners.get(tx, "email"))
        return found is not None and found.worker_id == worker_id and found.cursor is not None

    def kill(worker: BaseProcess) -> None:
        worker.kill()
        worker.join()
        post.answers.set()
        store.write_now(forget_the_dead)

    def heard() -> list[str]:
        return [text for (text,) in store.write_now(lambda tx: tx.rows(sa.select(t.inbound.c.text).order_by("n")))]

    def write() -> None:
        said.append(f"in {len(said)}")
        server.deliver(mail(said[-1], number=len(said)), sender=PERSON)

    def waiting() -> int:
        return store.write_now(lambda tx: deliveries.count_by_state(tx, None))["pending"]

    def answer() -> None:
        text = f"out {len(owed)}"
        owed.extend(store.write_now(lambda tx: owe(tx, session, text, [ADDRESS])))

    kill(begin(0))
    held = 0
    for number in range(1, KILLS):
        for _ in range(dice.randint(1, 3)):
            write()
            answer()
        # Every fourth dies for sure between sent and answered, the others wherever they are.
        surely = number % 4 == 0
        if surely:
            post.answers.clear()
            post.taken.clear()
        worker = begin(number)
        if surely:
            assert post.taken.wait(PATIENCE)
            held += 1
        else:
            time.sleep(dice.random() * 0.3)
            write()
            time.sleep(dice.random() * 0.3)
        kill(worker)
    last = begin(KILLS)
    until(lambda: len(heard()) >= len(said) and not waiting())
    kill(last)
    assert heard() == said, "each once, in order"
    came = Counter(post.ids)
    assert set(came) == {f"<{one}@{OWN.partition('@')[2]}>" for one in owed}, "all of it, and nothing else"
    assert sum(count > 1 for count in came.values()) >= held, "what was not answered went again"
    assert store.write_now(lambda tx: tx.rows(sa.select(t.delivery.c.state))) == [("sent",)] * len(owed)


def until(enough: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not enough():
        assert time.monotonic() < end
        time.sleep(0.02)
