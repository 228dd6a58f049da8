"""What people are owed arrives, at least once and under one id, or is shown as dead (rules 32 and 33)."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest
from standardwebhooks import Webhook
from structlog.testing import capture_logs

from homing.channels import Part, Receipt
from homing.channels.webhook import WebhookChannel
from homing.engine.courier import Courier
from homing.model.clock import SystemClock
from homing.model.errors import Conflict, NotReady
from homing.model.messages import Delivery, Message
from homing.model.people import OWNER
from homing.model.sessions import Session
from homing.model.webhook_urls import new_signing_secret
from homing.operations import deliveries as desk_of_deliveries
from homing.operations.grants import remove_grant
from homing.operations.shapes import session_asks
from homing.operations.shapes.message import message_shape
from homing.operations.shapes.people_asks import GrantRef
from homing.store import Store, Tx, deliveries, inbounds, messages, people, picking, sessions
from homing.store.deliveries import ATTEMPT
from homing.testing import RecordingChannel, WebhookReceiver
from support.offices import Office, assert_waits, owe, running
from support.worlds import World, stays_idle

WAITS = [1, 5, 30, 300]


def show(message: Message) -> dict[str, object]:
    return message_shape(message).plain()


@pytest.fixture
def office(world: World) -> Office:
    return Office.of(world)


def add_webhook(office: Office, url: str) -> tuple[str, WebhookChannel, str]:
    """Make a webhook; return its address, a channel that finds it, and its secret."""
    secret = new_signing_secret()
    webhook = office.world.write(lambda tx: people.add_webhook(tx, user_id=OWNER, url=url, secret=secret))

    async def find(webhook_id: str) -> tuple[str, str] | None:
        found = await office.world.store.read(lambda tx: people.get_webhook(tx, webhook_id))
        return (found.url, found.secret) if found else None

    channel = WebhookChannel(find, show=show, clock=SystemClock(), loopback=True, timeout_seconds=0.3)
    return f"webhook:{webhook.id}", channel, secret


async def test_an_outdated_process_carries_nothing(office: Office) -> None:
    channel = RecordingChannel()
    office.owe("hello", f"{channel.name}:anna")
    await stays_idle(office.world.store, office.courier(channel).run(), lambda: channel.sent)


async def test_a_receiver_that_fails_twice_and_hangs_once_gets_it_at_the_fourth_attempt(office: Office) -> None:
    with WebhookReceiver() as receiver:
        address, channel, secret = add_webhook(office, receiver.url)
        courier = office.courier(channel)
        receiver.answer(500, 503, "hang")
        (delivery_id,) = office.owe("It is nine.", address)
        for attempt, wait in enumerate(WAITS[:3], 1):
            assert await courier.step()
            tried = office.look(delivery_id)
            assert (tried.state, tried.attempts) == ("pending", attempt)
            assert tried.error
            assert_waits(office, tried, wait)
            assert not await courier.step()
            office.make_due()
        assert await courier.step()
        requests = receiver.requests
    sent = office.look(delivery_id)
    assert (sent.state, sent.attempts, sent.receipt, sent.error) == ("sent", 4, {"status": 200}, None)
    assert [request.headers["webhook-id"] for request in requests] == [delivery_id] * 4
    for request in requests:
        event = Webhook(secret).verify(request.text, dict(request.headers))
        assert (event["id"], event["data"]["text"]) == (delivery_id, "It is nine.")
        assert event["data"]["deliveries"] == []
    assert office.notes() == []


async def test_a_receiver_that_never_answers_leaves_a_dead_delivery_that_can_be_tried_again(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    courier = office.courier(channel)
    channel.fail(times=5)
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    seen_rev = office.look(delivery_id).rev
    for _ in range(5):
        assert await courier.step()
        office.make_due()
    assert not await courier.step()
    dead = office.look(delivery_id)
    assert (dead.state, dead.attempts, dead.error) == ("dead", 5, "The recording channel was told to fail.")
    assert office.notes() == ["A message could not be delivered to pigeon:roof. The user sees why, and can try again."]
    changes = office.world.write(lambda tx: messages.changes(tx, office.session.id, seen_rev, 100))
    assert changes.delivery_ids == [delivery_id]

    assert office.retry(delivery_id)
    assert await courier.step()
    assert office.look(delivery_id).state == "sent"
    assert {part.delivery_id for part in channel.attempts} == {delivery_id}
    assert not office.retry(delivery_id)


async def test_the_log_names_each_end_of_an_attempt_and_warns_only_of_a_dead_delivery(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    courier = office.courier(channel)
    channel.fail(times=1)
    channel.refuse(times=1)
    with capture_logs() as logs:
        office.owe("one", "pigeon:roof")
        await courier.step()
        office.make_due()
        await courier.step()
        office.owe("two", "pigeon:barn")
        await courier.step()
    told = [line for line in logs if str(line["event"]).startswith("delivery")]
    assert [(line["event"], line["log_level"], line["attempt"]) for line in told] == [
        ("delivery_failed", "info", 1),
        ("delivery_dead", "warning", 2),
        ("delivery_sent", "info", 1),
    ]
    assert ["error" in line for line in told] == [True, True, False]


async def test_the_note_of_a_dead_delivery_wakes_nobody_and_there_is_one_an_address(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.refuse(times=4)
    courier = office.courier(channel)
    for text in ("one", "two", "three"):
        office.owe(text, "pigeon:roof")
        await courier.step()
    office.owe("four", "pigeon:barn")
    await courier.step()
    assert office.notes() == [
        "3 messages could not be delivered to pigeon:roof. The user sees why, and can try again.",
        "A message could not be delivered to pigeon:barn. The user sees why, and can try again.",
    ]
    assert office.world.write(lambda tx: picking.pick_people(tx, 10) + picking.pick_machines(tx, 10, {})) == []


async def test_a_refusal_is_dead_at_once(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.refuse()
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    await office.courier(channel).step()
    dead = office.look(delivery_id)
    assert (dead.state, dead.attempts) == ("dead", 1)


async def test_a_channel_that_says_when_to_come_back_is_left_alone_until_then(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.fail(retry_after=120)
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    await office.courier(channel).step()
    assert_waits(office, office.look(delivery_id), 120)


async def test_a_missing_channel_is_a_failure_and_never_a_success(office: Office) -> None:
    courier = office.courier()
    slack, email = office.owe("It is nine.", "slack:C1", "email:person@example.org")
    for _ in range(5):
        assert await courier.step()
        office.make_due()
    dead = [office.look(slack), office.look(email)]
    assert [(delivery.state, delivery.attempts) for delivery in dead] == [("dead", 5), ("dead", 5)]
    assert dead[0].error == "The channel slack is not set up on this server."
    assert dead[1].error == "The channel email is not set up on this server: set HOMING_SMTP_URL."


async def test_a_broken_channel_is_a_failure_and_never_a_success(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.fail_with(ZeroDivisionError("secret inside"))
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    courier = office.courier(channel)
    await courier.step()
    tried = office.look(delivery_id)
    assert (tried.state, tried.error) == (
        "pending",
        "The channel pigeon broke (ZeroDivisionError); see the server's log.",
    )
    office.make_due()
    await courier.step()
    assert office.look(delivery_id).state == "sent"


async def test_a_database_that_is_away_while_a_channel_looks_something_up_is_not_the_channels_failure(
    office: Office,
) -> None:
    channel = RecordingChannel("pigeon")
    channel.fail_with(NotReady("The database did not answer."))
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    courier = office.courier(channel)
    with pytest.raises(NotReady):
        await courier.step()
    left = office.look(delivery_id)
    assert (left.state, left.error) == ("pending", None)
    office.make_due()
    await courier.step()
    assert office.look(delivery_id).state == "sent"


async def test_an_address_that_is_neither_own_nor_granted_is_refused_and_recorded(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    courier = office.courier(channel)
    (refused,) = office.owe("psst", "pigeon:stranger", own=False)
    await courier.step()
    dead = office.look(refused)
    assert (dead.state, channel.attempts) == ("dead", [])
    assert "neither one of its addresses nor granted" in (dead.error or "")

    grant = office.world.write(
        lambda tx: people.add_grant(tx, user_id=OWNER, agent_id="main", address="pigeon:stranger")
    )
    (granted,) = office.owe("hello", "pigeon:stranger", own=False)
    await courier.step()
    assert office.look(granted).state == "sent"
    (late,) = office.owe("once more", "pigeon:stranger", own=False)
    office.world.ask(remove_grant, GrantRef(grant_id=grant.id))
    await courier.step()
    assert office.look(late).state == "dead", "a right taken back counts for what is still on its way"
    assert "nor granted" in (office.look(late).error or "")


async def test_what_is_dead_because_its_address_was_taken_back_is_not_tried_again(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.refuse()
    give = {"user_id": OWNER, "agent_id": "main", "address": "pigeon:stranger"}
    grant = office.world.write(lambda tx: people.add_grant(tx, **give))
    (dead,) = office.owe("hello", "pigeon:stranger", own=False)
    await office.courier(channel).step()
    office.world.ask(remove_grant, GrantRef(grant_id=grant.id))
    again = session_asks.DeliveryRef(delivery_id=dead)
    with pytest.raises(Conflict, match="pigeon:stranger no longer belongs to this conversation"):
        office.world.ask(desk_of_deliveries.retry_delivery, again)
    assert office.look(dead).state == "dead"
    office.world.write(lambda tx: people.add_grant(tx, **give))
    assert office.world.ask(desk_of_deliveries.retry_delivery, again).state == "pending"


async def test_a_test_reaches_a_webhook_of_ones_own_before_it_is_an_address_and_answers_do_not(office: Office) -> None:
    with WebhookReceiver() as receiver:
        address, channel, _ = add_webhook(office, receiver.url)
        (answer,) = office.owe("psst", address, own=False)
        ask = session_asks.TestAddress(session_key=office.session.key, address=address)
        test = office.world.ask(desk_of_deliveries.test_address, ask)
        courier = office.courier(channel)
        while await courier.step():
            pass
        assert (office.look(answer).state, office.look(test.id).state) == ("dead", "sent")
        assert len(receiver.requests) == 1


async def test_what_a_deleted_session_owed_is_not_sent_any_more(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    office.world.write(lambda tx: sessions.delete(tx, office.session.id))
    await office.courier(channel).step()
    assert (office.look(delivery_id).state, channel.attempts, office.notes()) == ("dead", [], [])


async def test_on_a_screen_the_message_itself_is_the_delivery(office: Office) -> None:
    ids = office.owe("It is nine.", "web:fruit", "cli:main", "api:x")
    assert not await office.courier().step()
    assert [(d.state, d.attempts) for d in map(office.look, ids)] == [("sent", 1)] * 3


async def test_each_address_gets_its_messages_in_order_and_none_waits_for_another_address(office: Office) -> None:
    pigeon, raven = RecordingChannel("pigeon"), RecordingChannel("raven")
    courier = office.courier(pigeon, raven)
    pigeon.fail(times=2)
    office.owe("first", "pigeon:roof")
    office.owe("second", "pigeon:roof")
    await courier.step()
    office.owe("elsewhere", "raven:tower")
    office.make_due()
    # "second" has its time as well, and still waits for "first", which fails once more.
    await courier.step()
    assert [part.text for part in pigeon.attempts] == ["first", "first"]
    assert [part.text for part in raven.sent] == ["elsewhere"]
    office.make_due()
    assert await courier.step()
    assert await courier.step()
    assert [part.text for part in pigeon.sent] == ["first", "second"]


async def test_a_dead_message_lets_the_next_one_through(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    courier = office.courier(channel)
    channel.refuse()
    office.owe("first", "pigeon:roof")
    office.owe("second", "pigeon:roof")
    await courier.step()
    assert await courier.step()
    assert [part.text for part in channel.sent] == ["second"]


async def test_killed_between_the_attempt_and_its_end_it_is_tried_again_under_the_same_id(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.hang()
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    killed = asyncio.create_task(office.courier(channel).step())
    async with asyncio.timeout(10):
        await channel.wait_for_attempts(1)
    killed.cancel()
    with pytest.raises(asyncio.CancelledError):
        await killed

    another = office.courier(channel)
    left = office.look(delivery_id)
    assert (left.state, left.attempts) == ("pending", 1)
    assert_waits(office, left, ATTEMPT.total_seconds())
    assert not await another.step()
    office.make_due()
    assert await another.step()
    assert (office.look(delivery_id).state, office.look(delivery_id).attempts) == ("sent", 2)
    assert [part.delivery_id for part in channel.attempts] == [delivery_id] * 2


async def test_killed_in_its_last_attempt_it_is_dead_and_not_tried_for_ever(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    for _ in range(5):
        assert office.world.write(lambda tx: deliveries.take_deliveries(tx, 10))
        office.make_due()
    assert await office.courier(channel).step()
    dead = office.look(delivery_id)
    assert (dead.state, dead.error) == ("dead", "The last attempt broke off without an answer.")
    assert channel.attempts == []


async def test_sent_beats_all_and_an_old_attempt_ends_nothing_of_a_newer(office: Office) -> None:
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    (first,) = office.world.write(lambda tx: deliveries.take_deliveries(tx, 10))
    office.make_due()
    (second,) = office.world.write(lambda tx: deliveries.take_deliveries(tx, 10))

    def finish(taken: Delivery, *, sent: bool) -> bool:
        if sent:
            return office.world.write(lambda tx: deliveries.finish_part(tx, taken, rev=9))
        return office.world.write(lambda tx: deliveries.fail_attempt(tx, taken, rev=9, error="no"))

    assert not finish(first, sent=False)
    assert office.look(delivery_id).state == "pending"
    assert finish(second, sent=False)
    assert office.look(delivery_id).state == "dead"
    assert finish(first, sent=True)
    assert not finish(second, sent=False)
    assert (office.look(delivery_id).state, office.look(delivery_id).error) == ("sent", None)


async def test_eight_couriers_at_once_send_each_message_once_and_each_address_in_order(
    office: Office, database: str
) -> None:
    addresses = [f"pigeon:{number}" for number in range(20)]
    for number in range(6):
        office.owe(str(number), *addresses)
    channel = RecordingChannel("pigeon")
    stores = [Store(database, office.world.clock, fsync=False) for _ in range(8)]
    couriers = [office.courier(channel, store=store, slots=5) for store in stores]

    async def work(courier: Courier) -> None:
        while len(channel.sent) < 120:
            await courier.step()

    async with asyncio.timeout(60):
        await asyncio.gather(*map(work, couriers))
    for store in stores:
        await store.close()
    assert len({part.delivery_id for part in channel.attempts}) == len(channel.attempts) == 120
    for address in addresses:
        assert [x.text for x in channel.sent if x.address == address] == ["0", "1", "2", "3", "4", "5"]


async def test_a_running_courier_is_woken_by_what_is_owed(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    async with running(office.courier(channel)):
        await office.world.store.write(lambda tx: owe(tx, office.session, "one", ["pigeon:roof"]))
        await channel.wait_for_sent(1)
        await office.world.store.write(lambda tx: owe(tx, office.session, "two", ["pigeon:roof"]))
        await office.world.store.write(lambda tx: owe(tx, office.session, "three", ["pigeon:roof"]))
        await channel.wait_for_sent(3)
    assert [part.text for part in channel.sent] == ["one", "two", "three"]


async def test_a_receiver_that_hangs_holds_up_nobody_else(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.hang()
    (stuck,) = office.owe("stuck", "pigeon:roof")
    async with running(office.courier(channel, grace_seconds=0.01)):
        await channel.wait_for_attempts(1)
        for number in range(20):
            address = [f"pigeon:{number}"]
            await office.world.store.write(lambda tx, to=address: owe(tx, office.session, "free", to))
        await channel.wait_for_sent(20)
    assert office.look(stuck).state == "pending"


class _Sluggish(RecordingChannel):
    """Takes nothing for addresses that begin with `pigeon:slow`, and never says so."""

    async def send(self, part: Part) -> Receipt:
        if part.place.startswith("slow"):
            self.hang()
        return await super().send(part)


async def test_hanging_receivers_of_one_user_take_a_quarter_of_the_slots_and_delay_nobody_else(office: Office) -> None:
    def furnish(tx: Tx) -> Session:
        people.add_user(tx, "eve", role="user")
        session = sessions.add(tx, key="web:eve", user_id="eve", agent_id="main")
        assert session is not None
        owe(tx, session, "stuck", [f"pigeon:slow{number}" for number in range(20)])
        owe(tx, session, "another channel", ["raven:quick"])
        return session

    office.world.write(furnish)
    pigeons, ravens = _Sluggish("pigeon"), RecordingChannel("raven")
    async with running(office.courier(pigeons, ravens, slots=16, grace_seconds=0.01)):
        await pigeons.wait_for_attempts(4)
        await ravens.wait_for_sent(1)
        await office.world.store.write(lambda tx: owe(tx, office.session, "free", ["pigeon:roof"]))
        await pigeons.wait_for_sent(1)
    assert [part.address for part in pigeons.sent] == ["pigeon:roof"]
    assert len(pigeons.attempts) == 5


async def test_what_waits_for_its_users_share_has_no_time_of_its_own(office: Office) -> None:
    office.owe("one", "pigeon:1", "pigeon:2")
    world, mine = office.world, deliveries.party_of(OWNER, "pigeon:1")
    assert world.write(deliveries.next_attempt) is not None
    assert world.write(lambda tx: deliveries.next_attempt(tx, full=[mine])) is None


async def test_with_every_slot_taken_the_next_begins_when_one_is_free(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.hang(times=2)
    for number in range(5):
        office.owe(str(number), f"pigeon:{number}")
    async with running(office.courier(channel, slots=8)):
        await channel.wait_for_attempts(2)
        assert len(channel.attempts) == 2
        channel.release()
        await channel.wait_for_sent(5)


async def test_a_channel_without_an_end_is_cut_at_the_ceiling(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.hang()
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    await office.courier(channel, ceiling_seconds=0.05).step()
    tried = office.look(delivery_id)
    assert (tried.state, tried.error) == ("pending", "There was no answer within 0.05 seconds.")


async def test_a_stopped_courier_lets_what_is_under_way_end(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.hang()
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    task = asyncio.create_task(office.courier(channel, grace_seconds=10).run())
    async with asyncio.timeout(10):
        await channel.wait_for_attempts(1)
        task.cancel()
        channel.release()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert office.look(delivery_id).state == "sent"


async def test_a_failed_attempt_is_repeated_by_the_running_courier_when_its_time_has_come(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.fail()
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    ear = office.world.store.bell.listen("deliveries")
    async with running(office.courier(channel)):
        while office.look(delivery_id).error is None:
            await ear.wait(None)
        office.world.clock.advance(1)
        await channel.wait_for_sent(1)


async def test_no_transaction_is_open_while_a_channel_is_called(office: Office) -> None:
    """On SQLite there is one writer: a channel that writes would wait for ever for a courier that holds it."""

    class Writing(RecordingChannel):
        async def send(self, part: Part) -> Receipt:
            await office.world.store.write(lambda tx: owe(tx, office.session, "written meanwhile", ["web:fruit"]))
            return await super().send(part)

    channel = Writing("pigeon")
    (delivery_id,) = office.owe("It is nine.", "pigeon:roof")
    async with asyncio.timeout(10):
        await office.courier(channel).step()
    assert office.look(delivery_id).state == "sent"


async def test_with_a_unified_session_the_note_waits_in_the_users_lane(office: Office) -> None:
    channel = RecordingChannel("pigeon")
    channel.refuse()
    office.owe("It is nine.", "pigeon:roof")
    instance = replace(office.world.instance, settings=replace(office.world.settings, unified_session=True))
    await Courier(office.world.store, instance, {"pigeon": channel}).step()
    lane = office.world.write(lambda tx: sessions.find(tx, f"unified:{OWNER}", user_id=OWNER))
    assert lane is not None
    waiting = office.world.write(lambda tx: inbounds.waiting(tx, lane.id, 20))
    assert [(inbound.line, inbound.session_id) for inbound in waiting] == [("note", office.session.id)]


def test_the_next_attempt_is_that_of_the_first_in_line(office: Office) -> None:
    office.owe("first", "pigeon:roof")
    office.owe("second", "pigeon:roof")
    office.world.write(lambda tx: deliveries.take_deliveries(tx, 10))
    found: datetime | None = office.world.write(deliveries.next_attempt)
    assert found is not None
    assert found > office.world.now()
