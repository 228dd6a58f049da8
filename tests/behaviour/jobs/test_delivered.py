"""A closing rings for the courier: what people are owed starts on its way at once, not at the next sweep."""

import asyncio

from behaviour.jobs.homes import Home
from homing.engine.courier import Courier
from homing.store import sessions
from homing.testing import RecordingChannel
from support.ledger import CHAT

OUTSIDE = "recording:somewhere"


async def test_a_closing_wakes_the_courier_and_no_sweep_has_to_come(home: Home) -> None:
    session = home.ledger.session()
    home.ledger.write(lambda tx: sessions.set_addresses(tx, session.id, [CHAT, OUTSIDE]))
    home.model.reply("There are apples.", hold=True)
    channel = RecordingChannel()
    ear = home.store.bell.listen("deliveries")
    async with home.running():
        courier = asyncio.create_task(Courier(home.store, home.instance, {"recording": channel}).run())
        home.ledger.say("Look for fruit")
        home.ring()
        await home.called(1)
        # The courier has looked, found nothing, and sleeps until its sweep, a minute from now.
        await ear.wait(0.0)
        home.model.release()
        assert "deliveries" in await ear.wait(20)
        async with asyncio.timeout(20):
            await channel.wait_for_sent(1)
        courier.cancel()
        await asyncio.gather(courier, return_exceptions=True)
    ear.close()
    assert [letter.text for letter in channel.sent] == ["There are apples."]
