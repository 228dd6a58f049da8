"""What is owed to a Telegram chat arrives there: in parts, with buttons, as slowly as Telegram asks for."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from behaviour.channels.scenes import PATIENCE, until
from homing.channels.telegram import TelegramChannel
from homing.engine.receiver import Receiver
from homing.model.approvals import OPEN_FOR, Question
from homing.model.messages import NewMessage
from homing.model.people import OWNER
from homing.operations.contacts import link_channel
from homing.operations.shapes.contact_asks import LinkChannel
from homing.store import Tx, deliveries, listeners, questions, sessions
from homing.store import tables as t
from homing.testing import RecordingChannel, TelegramStub
from support.offices import Office
from support.worlds import ON_PAGE, World


@pytest.fixture
def office(world: World) -> Office:
    return Office.of(world)


@pytest.fixture
def telegram() -> Iterator[TelegramStub]:
    with TelegramStub() as stub:
        stub.write("hello")
        yield stub


def channel_to(telegram: TelegramStub, name: str = "telegram", seconds: float = 5.0) -> TelegramChannel:
    return TelegramChannel(name=name, token=telegram.token, base_url=telegram.url, timeout_seconds=seconds)


async def test_a_long_message_arrives_in_order_and_a_lost_answer_is_marked(
    office: Office, telegram: TelegramStub
) -> None:
    text = "\n\n".join(f"Paragraph {n}. " + "word " * 300 for n in range(8)).strip()
    (delivery_id,) = office.owe(text, "telegram:7")
    courier = office.courier(channel_to(telegram, seconds=0.3))
    await courier.step()
    telegram.fail("close")
    for _ in range(8):
        await courier.step()
        office.make_due()
    sent = office.look(delivery_id)
    assert (sent.state, sent.unsure, sent.parts) == ("sent", True, sent.parts_sent)
    shown = [message["text"] for message in telegram.sent]
    assert shown[1] == shown[2], "Telegram cannot tell a repeat, so the message says that it may have come twice"
    assert "".join("".join([shown[0], *shown[2:]]).split()) == "".join(text.split())


async def test_a_limited_bot_waits_alone(office: Office, telegram: TelegramStub) -> None:
    with TelegramStub() as other:
        other.write("hello")
        courier = office.courier(channel_to(telegram), channel_to(other, "work"))
        telegram.limit(60)
        (slow, _) = office.owe("It is nine.", "telegram:7", "work:7")
        await courier.step()
        office.owe("And ten.", "telegram:7", "work:7")
        await courier.step()
        assert (len(telegram.sent), len(other.sent)) == (0, 2)
        assert office.look(slow).attempts == 0


async def test_a_blocked_bot_leaves_a_dead_delivery_with_telegrams_words(
    office: Office, telegram: TelegramStub
) -> None:
    telegram.block()
    (delivery_id,) = office.owe("It is nine.", "telegram:7")
    await office.courier(channel_to(telegram)).step()
    dead = office.look(delivery_id)
    assert (dead.state, dead.error) == ("dead", "Telegram refused it: Forbidden: bot was blocked by the user.")


async def test_a_question_is_asked_with_buttons_there_and_with_numbers_where_there_are_none(
    office: Office, telegram: TelegramStub
) -> None:

    def ask(tx: Tx) -> None:
        sessions.lock(tx, [office.session.id])
        sessions.set_addresses(tx, office.session.id, ["telegram:7", "pigeon:roof"])
        question = Question(
            id="q_k3v9x2mq7a", user_id=OWNER, agent_id="main", session_id=office.session.id,
            session_key=office.session.key, turn_id="turn_1", call_key="turn_1:1", title="Which fruit?",
            options=("Apple", "Pear"), asked_at=tx.now(), expires_at=tx.now() + OPEN_FOR,
        )  # fmt: skip
        questions.add(tx, question)
        text = "Which fruit?\n1. Apple\n2. Pear"
        card = NewMessage(
            session_id=office.session.id, lane_id=office.session.id, role="assistant", kind="question", text=text,
            meta={"question_id": question.id},
        )  # fmt: skip
        deliveries.post(tx, [card], cause="question")

    office.world.write(ask)
    pigeon = RecordingChannel("pigeon")
    await office.courier(channel_to(telegram), pigeon).step()
    [card] = telegram.sent
    assert card["text"] == "Which fruit?"
    buttons = [button for row in card["reply_markup"]["inline_keyboard"] for button in row]
    assert [(button["text"], button["callback_data"]) for button in buttons] == [
        ("Apple", "q_k3v9x2mq7a:1"),
        ("Pear", "q_k3v9x2mq7a:2"),
    ]
    assert [part.text for part in pigeon.sent] == ["Which fruit?\n1. Apple\n2. Pear"]


async def test_another_bot_under_the_same_name_is_heard_though_it_counts_from_one_again(office: Office) -> None:
    world = office.world

    async def hear(stub: TelegramStub, *, code: bool) -> None:
        receiver = Receiver(world.store, world.instance, {"telegram": channel_to(stub)}, "worker_a")
        await receiver.step()
        await until(lambda: stub.polling)
        if code:
            stub.write(f"/start {world.ask(link_channel, LinkChannel(name='telegram'), caller=ON_PAGE).code}")
            await until(lambda: world.write(lambda tx: tx.rows(t.contact.select())))
        stub.write(f"hello {stub.token}")
        await until(lambda: stub.token in str(world.write(lambda tx: tx.rows(t.inbound.select()))))
        await receiver.leave()

    with TelegramStub(token="1:old") as old, TelegramStub(token="2:new") as new:
        await hear(old, code=True)
        new.write("before it was set up")
        await hear(new, code=False)
    heard = world.write(lambda tx: tx.rows(t.inbound.select().order_by(t.inbound.c.n)))
    assert [(row.text, row.external_id) for row in heard] == [
        ("hello 1:old", "telegram:1:7:2"),
        ("hello 2:new", "telegram:2:7:2"),
    ]
    listener = world.write(lambda tx: listeners.get(tx, "telegram"))
    assert listener is not None
    assert listener.cursor == "2:3"


async def test_what_a_bot_cannot_read_is_counted(office: Office, telegram: TelegramStub) -> None:
    world = office.world
    receiver = Receiver(world.store, world.instance, {"telegram": channel_to(telegram)}, "worker_a")
    await receiver.step()
    await until(lambda: telegram.polling)
    nobody: dict[str, Any] = {"from": {"is_bot": False}}
    telegram.write("broken", **nobody)
    await until(lambda: world.write(lambda tx: listeners.get_many(tx, ["telegram"])["telegram"].unstored) == 1)
    await receiver.leave()


async def test_a_revoked_token_is_failing_within_ten_seconds_and_needs_no_restart_once_mended(
    world: World, telegram: TelegramStub
) -> None:
    def asked() -> list[dict[str, Any]]:
        return [fields for method, fields in telegram.calls if method == "getUpdates" and fields["timeout"]]

    def listener() -> listeners.Listener | None:
        return world.write(lambda tx: listeners.get(tx, "telegram"))

    # Telegram says so at the next poll at the latest, and one poll with its answer takes less than ten seconds.
    usual = Receiver(world.store, world.instance, {"telegram": channel_to(telegram, seconds=1)}, "worker_a")
    await usual.step()
    await until(lambda: telegram.polling)
    assert asked()[-1]["timeout"] + 1 < 10
    await usual.leave()

    channel = TelegramChannel(name="telegram", token=telegram.token, base_url=telegram.url, poll_seconds=1)
    receiver = Receiver(world.store, world.instance, {"telegram": channel}, "worker_a")
    await receiver.step()
    await until(lambda: telegram.polling)
    polls, token, telegram.token = len(asked()), telegram.token, "4664:another"
    await until(lambda: (found := listener()) is not None and found.error is not None)
    found = listener()
    assert found is not None
    assert found.error == "Telegram does not accept the token of telegram: Unauthorized. Check its setting."
    assert len(asked()) <= polls + 2, "the poll under way, and the one that was refused"
    # It asks again by itself a second later; nothing is restarted.
    telegram.token = token
    world.clock.advance(1)
    async with asyncio.timeout(PATIENCE):
        while not telegram.polling:
            await receiver.step()
            await asyncio.sleep(0.005)
    telegram.write("hello again")
    await until(lambda: (found := listener()) is not None and found.error is None)
    await receiver.leave()
