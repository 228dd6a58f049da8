"""A long message is sent in parts: each under its own id, in order, and once where a platform can tell (rule 51)."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Literal

import pytest
import sqlalchemy as sa

from homing.channels import Capabilities, Channel, Part, Receipt
from homing.engine.courier import Courier
from homing.model.errors import ChannelFailed
from homing.store import Store, parts
from homing.store import tables as t
from homing.testing import RecordingChannel
from support.mortal import MortalStore
from support.offices import Office, assert_waits, owe, running
from support.worlds import World

THREE = "One two.\n\nThree four.\n\nFive."
SMALL = Capabilities(max_length=12, resend="deduplicated")
DOUBLING = Capabilities(max_length=12, resend="duplicates")


@pytest.fixture
def office(world: World) -> Office:
    return Office.of(world)


def stored(office: Office) -> list[tuple[str, str, str | None, bool, bool]]:
    """Read the parts: id, text, external id, whether it was sent, whether it was in doubt."""
    c = t.part.c
    rows = office.world.write(
        lambda tx: tx.rows(sa.select(c.delivery_id, c.n, c.text, c.external_id, c.sent_at, c.unsure).order_by(c.n))
    )
    return [(f"{r.delivery_id}.{r.n}", r.text, r.external_id, r.sent_at is not None, r.unsure) for r in rows]


async def carry_all(courier: Courier) -> None:
    while await courier.step():
        pass


async def test_each_part_has_its_own_id_and_receipt_and_the_last_one_ends_the_delivery(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    (delivery_id,) = office.owe(THREE, "pigeon:roof")
    courier = office.courier(channel)
    assert await courier.step()
    tried = office.look(delivery_id)
    assert (tried.state, tried.attempts, tried.parts, tried.parts_sent) == ("pending", 0, 3, 1)
    await carry_all(courier)
    sent = office.look(delivery_id)
    assert (sent.state, sent.parts, sent.parts_sent, sent.unsure) == ("sent", 3, 3, False)
    assert stored(office) == [
        (f"{delivery_id}.0", "One two.", "pigeon:roof:1", True, False),
        (f"{delivery_id}.1", "Three four.", "pigeon:roof:2", True, False),
        (f"{delivery_id}.2", "Five.", "pigeon:roof:3", True, False),
    ]
    assert [part.id for part in channel.sent] == [row[0] for row in stored(office)]
    assert {part.message.text for part in channel.sent} == {THREE}
    found = office.world.write(lambda tx: parts.find(tx, "pigeon:roof:2"))
    assert found is not None
    assert found.id == f"{delivery_id}.1"


async def test_a_later_message_waits_until_the_last_part_of_an_earlier_one_is_sent(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    office.owe(THREE, "pigeon:roof")
    office.owe("Later.", "pigeon:roof")
    async with running(office.courier(channel)):
        await channel.wait_for_sent(4)
    assert [part.text for part in channel.sent] == ["One two.", "Three four.", "Five.", "Later."]


async def test_a_retry_goes_on_after_the_last_sent_part_and_counts_attempts_from_there(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    (delivery_id,) = office.owe(THREE, "pigeon:roof")
    courier = office.courier(channel)
    channel.fail(times=4)
    for _ in range(5):
        assert await courier.step()
        office.make_due()
    assert (office.look(delivery_id).parts_sent, office.look(delivery_id).attempts) == (1, 0)
    channel.fail(times=5)
    for _ in range(5):
        assert await courier.step()
        office.make_due()
    dead = office.look(delivery_id)
    assert (dead.state, dead.parts_sent, dead.attempts) == ("dead", 1, 5)
    assert office.retry(delivery_id)
    await carry_all(courier)
    assert [part.text for part in channel.sent] == ["One two.", "Three four.", "Five."]
    assert office.look(delivery_id).state == "sent"


async def test_the_text_is_cut_once_also_if_the_channel_changes_its_mind(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    channel.fail()
    office.owe(THREE, "pigeon:roof")
    await office.courier(channel).step()
    office.make_due()
    wide = RecordingChannel("pigeon", Capabilities(max_length=4096))
    await carry_all(office.courier(wide))
    assert [part.text for part in wide.sent] == ["One two.", "Three four.", "Five."]


async def test_a_pending_delivery_of_an_older_home_goes_on(office: Office) -> None:
    """One that was tried before there were parts: no part is there, and its attempts count."""
    channel = RecordingChannel("pigeon", SMALL)
    (delivery_id,) = office.owe(THREE, "pigeon:roof")
    office.world.write(lambda tx: tx.run(sa.update(t.delivery).values(attempts=2, error="busy")))
    await carry_all(office.courier(channel))
    assert (office.look(delivery_id).state, len(channel.sent)) == ("sent", 3)


async def test_an_attempt_without_an_answer_waits_and_is_marked_where_a_repeat_is_shown_twice(office: Office) -> None:
    channel = RecordingChannel("pigeon", DOUBLING)
    (delivery_id,) = office.owe("Nine.", "pigeon:roof")
    courier = office.courier(channel)
    channel.fail_with(ChannelFailed("No answer.", unsure=True))
    await courier.step()
    tried = office.look(delivery_id)
    assert (tried.state, tried.unsure) == ("pending", True)
    assert_waits(office, tried, 30)
    office.make_due()
    await courier.step()
    assert [part.unsure for part in channel.attempts] == [False, True]
    assert len({part.id for part in channel.attempts}) == 1
    assert (office.look(delivery_id).state, office.look(delivery_id).unsure) == ("sent", True)


async def test_where_a_repeat_is_recognised_nothing_is_marked_and_nobody_waits_longer(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    (delivery_id,) = office.owe("Nine.", "pigeon:roof")
    channel.fail_with(ChannelFailed("No answer.", unsure=True))
    courier = office.courier(channel)
    await courier.step()
    assert_waits(office, office.look(delivery_id), 1)
    office.make_due()
    await courier.step()
    assert [part.unsure for part in channel.attempts] == [False, True]
    assert not office.look(delivery_id).unsure


async def test_a_definite_refusal_is_never_marked(office: Office) -> None:
    channel = RecordingChannel("pigeon", DOUBLING)
    (delivery_id,) = office.owe("Nine.", "pigeon:roof")
    channel.fail(times=2)
    courier = office.courier(channel)
    for _ in range(3):
        await courier.step()
        office.make_due()
    assert (office.look(delivery_id).state, office.look(delivery_id).unsure) == ("sent", False)


async def test_told_to_slow_down_an_account_waits_alone_and_no_attempt_is_counted(office: Office) -> None:
    busy, free = RecordingChannel("pigeon", SMALL), RecordingChannel("raven", SMALL)
    courier = office.courier(busy, free)
    busy.fail_with(ChannelFailed("Too many.", retry_after=120, limited=True))
    (first,) = office.owe("one", "pigeon:roof")
    await courier.step()
    (second,) = office.owe("two", "pigeon:barn")
    office.owe("three", "raven:tower")
    assert await courier.step()
    assert not await courier.step()
    assert ([part.text for part in busy.attempts], [part.text for part in free.sent]) == (["one"], ["three"])
    waiting = office.look(first)
    assert (waiting.state, waiting.attempts, waiting.error) == ("pending", 0, "Too many.")
    assert_waits(office, waiting, 120)
    assert office.look(second).attempts == 0


async def test_a_paused_account_is_tried_again_by_the_running_courier(office: Office) -> None:
    channel = RecordingChannel("pigeon", SMALL)
    channel.fail_with(ChannelFailed("Too many.", retry_after=0.2, limited=True))
    office.owe("one", "pigeon:roof")
    ear = office.world.store.bell.listen("deliveries")
    async with running(office.courier(channel)):
        while not channel.attempts:
            await ear.wait(None)
        office.world.clock.advance(1)
        await channel.wait_for_sent(1)


async def test_two_hundred_messages_into_one_slow_channel_delay_no_other(office: Office) -> None:
    slow, quick = RecordingChannel("pigeon", SMALL), RecordingChannel("raven", SMALL)
    slow.hang(times=200)
    office.world.write(lambda tx: [owe(tx, office.session, "slow", [f"pigeon:{n}" for n in range(200)])])
    async with running(office.courier(slow, quick, grace_seconds=0.01)):
        await slow.wait_for_attempts(4)
        await office.world.store.write(lambda tx: owe(tx, office.session, "quick", ["raven:tower"]))
        await quick.wait_for_sent(1)
    assert len(slow.attempts) == 4, "a quarter of the slots"


class Platform(Channel):
    """What a platform has when a courier is killed: it keeps what it was given, and knows repeats or does not."""

    name = "pigeon"

    def __init__(self, resend: Literal["deduplicated", "duplicates"]) -> None:
        self.capabilities = Capabilities(max_length=12, resend=resend)
        self.shown: list[str] = []

    async def check(self) -> str:
        return "the platform"

    async def send(self, part: Part) -> Receipt:
        if self.capabilities.resend == "duplicates" or part.id not in self.shown:
            self.shown.append(part.id)
        return Receipt(detail={})


@pytest.mark.parametrize("resend", ["deduplicated", "duplicates"])
@pytest.mark.parametrize("nth", range(1, 6))
async def test_killed_at_any_write_of_two_parts_nothing_is_lost_and_a_double_has_the_same_id_and_a_mark(
    office: Office, database: str, nth: int, resend: Literal["deduplicated", "duplicates"]
) -> None:
    """Killed after: taken, cut, receipt of the first part, taken, receipt of the last; what is sent is in between."""
    platform = Platform(resend)
    (delivery_id,) = office.owe("One two.\n\nThree.", "pigeon:roof")
    store = MortalStore(database, nth=nth, place="after", clock=office.world.clock)
    killed = asyncio.create_task(carry_all(office.courier(platform, store=store)))
    died = asyncio.create_task(store.died.wait())
    async with asyncio.timeout(20):
        await asyncio.wait([killed, died], return_when=asyncio.FIRST_COMPLETED)
    for task in (killed, died):
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
    await store.close()

    another = office.courier(platform)
    for _ in range(4):
        office.make_due()
        await carry_all(another)
    sent = office.look(delivery_id)
    assert (sent.state, sent.parts_sent) == ("sent", 2)
    ids = [f"{delivery_id}.0", f"{delivery_id}.1"]
    assert list(dict.fromkeys(platform.shown)) == ids
    doubled = [part_id for part_id, count in Counter(platform.shown).items() if count > 1]
    assert resend == "duplicates" or not doubled
    assert sent.unsure or not doubled, "a double is marked on its message"


async def test_eight_couriers_send_the_parts_of_each_message_in_order_and_once(office: Office, database: str) -> None:
    addresses = [f"pigeon:{number}" for number in range(10)]
    for _ in range(2):
        office.owe(THREE, *addresses)
    channel = RecordingChannel("pigeon", SMALL)
    stores = [Store(database, office.world.clock, fsync=False) for _ in range(8)]

    async def work(courier: Courier) -> None:
        while len(channel.sent) < 60:
            await courier.step()

    async with asyncio.timeout(60):
        await asyncio.gather(*(work(office.courier(channel, store=store, slots=5)) for store in stores))
    for store in stores:
        await store.close()
    assert len({part.id for part in channel.attempts}) == len(channel.attempts) == 60
    for address in addresses:
        assert [x.text for x in channel.sent if x.address == address] == ["One two.", "Three four.", "Five."] * 2


async def test_killed_between_sending_and_the_receipt_the_part_is_sent_again_under_its_id_and_marked(
    office: Office, database: str
) -> None:
    platform = Platform("duplicates")
    (delivery_id,) = office.owe("Nine.", "pigeon:roof")
    store = MortalStore(database, nth=3, place="before", clock=office.world.clock)
    killed = asyncio.create_task(carry_all(office.courier(platform, store=store)))
    async with asyncio.timeout(20):
        await store.died.wait()
    killed.cancel()
    with suppress(asyncio.CancelledError):
        await killed
    await store.close()
    assert (platform.shown, office.look(delivery_id).state) == ([f"{delivery_id}.0"], "pending")

    office.make_due()
    await carry_all(office.courier(platform))
    assert platform.shown == [f"{delivery_id}.0"] * 2
    assert (office.look(delivery_id).state, office.look(delivery_id).unsure) == ("sent", True)


async def test_an_unsure_file_comes_with_the_receipts_of_files_that_went_there_before(office: Office) -> None:
    """So that a channel which looks for it does not take an equal one for it."""
    channel, elsewhere = RecordingChannel("pigeon", SMALL), RecordingChannel("crow", SMALL)
    courier = office.courier(channel, elsewhere)
    for address in ("pigeon:roof", "pigeon:barn", "crow:roof"):
        office.owe("Before.", address)
    await carry_all(courier)
    (delivery_id,) = office.owe(THREE, "pigeon:roof")
    assert await courier.step()
    assert channel.sent[-1].others == ()
    files = sa.update(t.part).values(file_id="file_1")
    office.world.write(lambda tx: tx.run(files))
    office.world.write(lambda tx: tx.run(files.values(unsure=True).where(t.part.c.delivery_id == delivery_id)))
    await carry_all(courier)
    receipts = office.world.write(
        lambda tx: tx.rows(
            sa.select(t.part.c.receipt)
            .join(t.delivery, t.delivery.c.id == t.part.c.delivery_id)
            .where(t.delivery.c.address == "pigeon:roof")
            .order_by(t.delivery.c.n, t.part.c.n)
        )
    )
    assert list(channel.sent[-1].others) == [row.receipt for row in receipts[:-1]]
    assert len(channel.sent[-1].others) == 3
