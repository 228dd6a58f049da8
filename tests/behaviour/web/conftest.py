"""The front door of each world."""

from collections.abc import AsyncIterator

import pytest

from support.site import Site, open_site
from support.worlds import World


@pytest.fixture
async def site(world: World) -> AsyncIterator[Site]:
    site = open_site(world)
    async with site.app.router.lifespan_context(site.app):
        yield site
    for client in site.clients:
        await client.aclose()
