"""What a worker can do, and whose turns it leaves to a worker that can do more (rule 43, ADR 0039)."""

from dataclasses import dataclass

from homing.operations.workers import SANDBOX, WORKSPACE, agents_left_by
from homing.store import Tx


@dataclass(kw_only=True, eq=False)
class Abilities:
    """Of one worker; looked at again with each of its beats."""

    can: frozenset[str] = frozenset()
    left_agents: frozenset[str] = frozenset()
    """Agents whose turns this worker does not take: they need what another one has."""

    def add_sandbox(self) -> None:
        self.can |= {SANDBOX}

    def add_workspaces(self) -> None:
        self.can |= {WORKSPACE}

    def look(self, tx: Tx) -> None:
        self.left_agents = agents_left_by(tx, self.can)
