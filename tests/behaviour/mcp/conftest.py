"""The side door of each world."""

from collections.abc import AsyncIterator

import pytest

from support.doors import Doors, open_doors
from support.worlds import World


@pytest.fixture
async def doors(world: World) -> AsyncIterator[Doors]:
    doors = open_doors(world)
    async with doors.app.router.lifespan_context(doors.app):
        yield doors
