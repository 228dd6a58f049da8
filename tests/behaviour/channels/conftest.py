"""A place where people talk."""

from collections.abc import AsyncIterator

import pytest

from behaviour.channels.scenes import Place, make_receiver, until
from homing.testing import ListeningChannel
from support.worlds import World


@pytest.fixture
async def place(world: World) -> AsyncIterator[Place]:
    channel = ListeningChannel("chat")
    place = Place(world=world, channel=channel, receiver=make_receiver(world.store, world, channel))
    await place.receiver.step()
    # The first listen starts at now: it has said how far that is.
    await until(lambda: place.listener().cursor is not None)
    yield place
    for receiver in (place.receiver, *place.extra):
        await receiver.leave()
