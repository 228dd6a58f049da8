"""Conversations for the tests of tools."""

import pytest

from behaviour.tools.chats import Chat, MakeChat
from behaviour.tools.talks import Talk
from homing.model.people import OWNER, Agent
from homing.store import Tx, people, sessions
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


@pytest.fixture
def talk(world: World) -> Talk:
    """A conversation with an agent that has all our tools and the offline model."""

    def furnish(tx: Tx) -> Talk:
        tools = ("schedule_task", "remember", "recall", "forget")
        people.add_agent(tx, Agent(id="handy", name="Handy", model=None, instructions="Be kind.", tools=tools))
        session = sessions.add(tx, key="web:talk", user_id=OWNER, agent_id="handy")
        assert session is not None
        return Talk(world=world, session=session)

    return world.write(furnish)
