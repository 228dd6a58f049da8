"""The wired product: a chat is linked, somebody writes there, and the answer comes back there and on the page."""

import asyncio
from pathlib import Path

from behaviour.channels.scenes import PATIENCE, until
from homing.model.people import Caller
from homing.operations.contacts import link_channel
from homing.operations.context import Context
from homing.operations.messages import list_messages
from homing.operations.shapes.contact_asks import LinkChannel
from homing.operations.shapes.session_asks import ListMessages
from homing.settings import load
from homing.store import Tx, listeners, sessions
from homing.testing import ListeningChannel, RecordingChannel
from homing.wiring import Homing, make_engine, prepare, running, wire
from support.offices import owe


def ctx(homing: Homing, tx: Tx) -> Context:
    return Context(tx=tx, caller=Caller(user_id="default", role="admin", approve=True), instance=homing.instance)


def heard_so_far(tx: Tx) -> str | None:
    listener = listeners.get(tx, "chat")
    return listener.cursor if listener is not None else None


async def test_somebody_writes_in_a_linked_chat_and_is_answered_there_and_on_the_page(tmp_path: Path) -> None:
    homing = wire(load({"HOMING_HOME": str(tmp_path), "HOMING_TIMEZONE": "UTC", "HOMING_SANDBOX": "off"}))
    prepare(homing)
    channel = ListeningChannel("chat")
    engine = make_engine(homing, channels={"chat": channel})
    async with running(homing, engine), asyncio.timeout(PATIENCE):
        await until(lambda: homing.store.write_now(heard_so_far) is not None)
        code = homing.store.write_now(lambda tx: link_channel(ctx(homing, tx), LinkChannel(name="chat"))).code
        for text in (f"/start {code}", "remind me in 2 hours to stretch"):
            channel.say(text, at=homing.clock.now())
        await channel.all_confirmed()
        await channel.wait_for_sent(2)
        greeting, answer = channel.sent
        page = homing.store.write_now(lambda tx: list_messages(ctx(homing, tx), ListMessages(session_key="chat:7")))
    assert greeting.text.startswith("This chat is linked")
    assert "stretch" in answer.text
    assert [message.text for message in page.items][-2:] == ["remind me in 2 hours to stretch", answer.message.text]
    assert channel.listeners == 0
    [listener] = homing.store.write_now(lambda tx: listeners.get_many(tx, ["chat"])).values()
    assert listener.worker_id is None
    await homing.store.close()


async def test_two_hundred_messages_into_a_channel_that_hangs_delay_no_other_channel_and_no_turn(
    tmp_path: Path,
) -> None:
    homing = wire(load({"HOMING_HOME": str(tmp_path), "HOMING_TIMEZONE": "UTC", "HOMING_SANDBOX": "off"}))
    prepare(homing)
    channel, slow = ListeningChannel("chat"), RecordingChannel("slow")
    slow.hang(times=200)

    def owe_all(tx: Tx) -> None:
        session = sessions.add(tx, key="web:slow", user_id="default", agent_id="main")
        assert session is not None
        owe(tx, session, "It is nine.", [f"slow:{n}" for n in range(200)])

    engine = make_engine(homing, channels={"chat": channel, "slow": slow})
    async with running(homing, engine), asyncio.timeout(PATIENCE):
        await until(lambda: homing.store.write_now(heard_so_far) is not None)
        await homing.store.write(owe_all)
        await slow.wait_for_attempts(4)
        code = homing.store.write_now(lambda tx: link_channel(ctx(homing, tx), LinkChannel(name="chat"))).code
        for text in (f"/start {code}", "remind me in 2 hours to stretch"):
            channel.say(text, at=homing.clock.now())
        # The greeting, and the answer of a turn: both while the four hang.
        await channel.wait_for_sent(2)
        assert "stretch" in channel.sent[1].text
        assert (len(slow.attempts), slow.sent) == (4, [])
        slow.release()
    await homing.store.close()
