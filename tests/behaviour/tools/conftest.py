"""Conversations for the tests of tools."""

import pytest

from behaviour.tools.chats import Chat, MakeChat
from homing.model.people import OWNER
from homing.store import sessions
from support.worlds import World


@pytest.fixture
def open_chat(world: World) -> MakeChat:
    """Open conversations by key, for any user and agent."""

    def make(key: str = "web:fruit", *, user_id: str = OWNER, agent_id: str = "main", **acting: object) -> Chat:
        session = world.write(
            lambda tx: sessions.find(tx, key) or sessions.add(tx, key=key, user_id=user_id, agent_id=agent_id)
        )
        assert session is not None
        return Chat(world=world, session=session, **acting)  # pyright: ignore[reportArgumentType]

    return make


@pytest.fixture
def chat(open_chat: MakeChat) -> Chat:
    return open_chat()
