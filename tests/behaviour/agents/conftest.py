"""A whole Homing over HTTP with a scripted model and three agents."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from behaviour.agents.company import Company
from behaviour.agents.talking import make_agents
from homing.store import Store
from support.rooms import room_store
from support.whole import Whole, open_whole

__all__ = ["room_store"]


@pytest.fixture
async def whole(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    async with open_whole(database, tmp_path / "home") as whole:
        await make_agents(whole)
        yield whole


@pytest.fixture
def company(room_store: Store) -> Company:
    return Company(room_store)


@pytest.fixture
async def unified(database: str, tmp_path: Path) -> AsyncIterator[Whole]:
    """One in which all conversations of a user with an agent share one lane."""
    async with open_whole(database, tmp_path / "home", UNIFIED_SESSION="on") as whole:
        await make_agents(whole)
        yield whole
