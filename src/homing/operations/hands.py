"""What operations that work outside a transaction are given: short transactions of their own, and hands.

Hands are made by wiring. Operations know none of the rooms behind them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from homing.model.agents import Agent
from homing.model.errors import Conflict
from homing.model.mcp_servers import McpServer, McpTool
from homing.operations.context import Context
from homing.store import Store, Tx

T = TypeVar("T")

NO_HANDS = "This command needs a running server: start `homing up`."


class Hands(Protocol):
    """What a process can do outside the database."""

    def check_mcp_server(self, server: McpServer, agent: Agent) -> None:
        """Refuse a server that can never be used here."""
        ...

    async def list_mcp_tools(self, server: McpServer, agent: Agent, user_id: str) -> tuple[McpTool, ...]:
        """Start a server once and say which tools it has; `Failed` when it does not come up."""
        ...


@dataclass(frozen=True, kw_only=True)
class Desk:
    """One caller outside a transaction."""

    store: Store
    context: Callable[[Tx], Context]
    hands_or_none: Hands | None

    async def read(self, work: Callable[[Context], T]) -> T:
        """Read in one transaction."""
        return await self.store.read(lambda tx: work(self.context(tx)))

    async def write(self, work: Callable[[Context], T]) -> T:
        """Write in one transaction."""
        return await self.store.write(lambda tx: work(self.context(tx)))

    @property
    def hands(self) -> Hands:
        if self.hands_or_none is None:
            raise Conflict(NO_HANDS, code="no_sandbox")
        return self.hands_or_none
