"""Three agents over one engine that works turn by turn, when the test says so."""

from typing import Any

import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.people import OWNER
from homing.store import Store, Tx, agents, people, sessions
from homing.store import tables as t
from homing.store.people import Grant
from homing.testing import tool_call
from homing.testing.replies import ToolCall
from support.rooms import Room

CHAT = "web:chat"
NEXT = {"main": "research", "research": "writer", "writer": "main"}


class Company(Room):
    """A room in which main, research and writer have every tool."""

    def __init__(self, store: Store, **settings: Any) -> None:
        super().__init__(store, **settings)
        self.ledger.write(_furnish)

    def grant(self, agent_id: str = "main", address: str = "agent:research") -> Grant:
        return self.ledger.write(lambda tx: people.add_grant(tx, user_id=OWNER, agent_id=agent_id, address=address))

    def look(self, grant: Grant) -> Grant:
        found = self.ledger.write(lambda tx: people.get_grant(tx, grant.id))
        assert found is not None
        return found

    def place(self, agent_id: str) -> str:
        """Where an agent is asked."""
        return CHAT if agent_id == "main" else f"agent:{agent_id}"

    def rows(self, table: sa.Table, *where: sa.ColumnElement[bool]) -> list[Any]:
        return self.ledger.write(lambda tx: list(tx.rows(sa.select(table).where(*where).order_by(table.c.n))))

    def asked(self) -> list[Any]:
        """What agents wrote to each other, answers included."""
        return self.rows(t.inbound, t.inbound.c.source == "agent")

    async def work_all(self) -> None:
        """Work until nothing waits that wakes a lane."""
        waits = (t.inbound.c.state == "waiting", t.inbound.c.line != "note")
        while waiting := self.rows(t.inbound, *waits):
            key = self.ledger.write(lambda tx, n=waiting[0].session_id: sessions.get(tx, n)).key
            await self.work(key)


def _furnish(tx: Tx) -> None:
    for agent_id in NEXT:
        agents.add(tx, Agent(id=agent_id, name=agent_id.title(), instructions="Be kind."))
        tx.run(sa.update(t.agent).where(t.agent.c.id == agent_id).values(tools=None))


def sends(to: str, text: str, **more: Any) -> list[ToolCall]:
    return [tool_call("send_message", {"to": to, "text": text, **more}, call_id="call_1")]
