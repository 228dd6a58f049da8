"""Conversations for the tests of tools."""

from collections.abc import Sequence

import pytest

from behaviour.tools.chats import Chat, MakeChat
from behaviour.tools.talks import MakeTalk, Talk
from homing.agent.models import Models
from homing.model.agents import SCHEDULERS, Agent
from homing.model.people import OWNER
from homing.store import Tx, agents, sessions
from homing.testing import ScriptedModel
from homing.tools.tool import OutsideTool
from support.worlds import World


@pytest.fixture
def open_chat(world: World, called: str) -> MakeChat:
    """Open conversations by key, for any user and agent."""

    def make(key: str = "web:fruit", *, user_id: str = OWNER, agent_id: str = "main", **acting: object) -> Chat:
        session = world.write(
            lambda tx: (
                sessions.find(tx, key, user_id=user_id) or sessions.add(tx, key=key, user_id=user_id, agent_id=agent_id)
            )
        )
        assert session is not None
        return Chat(world=world, session=session, tool=called, **acting)  # pyright: ignore[reportArgumentType]

    return make


@pytest.fixture
def called() -> str:
    """The name by which models call the tool; a module may say others."""
    return SCHEDULERS[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A name does not reach the database: the other names are tried on one kind only."""
    items[:] = [item for item in items if not _is_other_name_on_postgres(item)]


def _is_other_name_on_postgres(item: pytest.Item) -> bool:
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return params.get("database") == "postgresql" and params.get("called", SCHEDULERS[0]) != SCHEDULERS[0]


@pytest.fixture
def chat(open_chat: MakeChat) -> Chat:
    return open_chat()


@pytest.fixture
def open_talk(world: World) -> MakeTalk:
    """Open conversations with an agent that has the tools named, and with a scripted model where one is given."""

    def make(
        *tools: str,
        key: str = "web:talk",
        model: ScriptedModel | None = None,
        hosts: tuple[str, ...] = (),
        outside: Sequence[OutsideTool] = (),
    ) -> Talk:
        agent = Agent(
            id=f"handy-{key}",
            name="Handy",
            model="scripted" if model else None,
            instructions="Be kind.",
            tools=dict.fromkeys(tools, "allow"),
            hosts=hosts,
        )

        def furnish(tx: Tx) -> Talk:
            agents.add(tx, agent)
            session = sessions.add(tx, key=key, user_id=OWNER, agent_id=agent.id)
            assert session is not None
            models = Models(extra={"scripted": model} if model else {})
            return Talk(world=world, session=session, models=models, outside=outside)

        return world.write(furnish)

    return make


@pytest.fixture
def talk(open_talk: MakeTalk) -> Talk:
    """A conversation with all our tools and the offline model."""
    return open_talk("schedule_task", "remember", "recall", "forget")
