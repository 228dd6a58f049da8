"""Which worker can do what: a turn whose agent has workspace tools, or MCP servers that are programs, is for workers
that have the sandbox and the workspaces; a bash script for those that have a sandbox.
"""

from collections.abc import Collection
from pathlib import Path

from homing.operations.instance_id import instance_id
from homing.operations.status import ALIVE
from homing.store import Tx, agents, maintenance, mcp_servers

WORKSPACE = "workspace"
SANDBOX = "sandbox"


def agents_left_by(tx: Tx, can: Collection[str]) -> frozenset[str]:
    """Name the agents whose turns a worker leaves to others. While no worker has workspaces there are no such tools,
    and nothing waits for them.
    """
    if WORKSPACE in can or not any(WORKSPACE in worker.can for worker in maintenance.workers(tx, ALIVE)):
        return frozenset()
    programs = mcp_servers.agents_with_programs(tx)
    return frozenset(agent.id for agent in agents.listed(tx) if agent.uses_workspace or agent.id in programs)


def agents_for_few(tx: Tx) -> frozenset[str]:
    """Name the agents whose turns some living worker leaves to others."""
    lacking = any(WORKSPACE not in worker.can for worker in maintenance.workers(tx, ALIVE))
    return agents_left_by(tx, ()) if lacking else frozenset()


def home_ability(home: Path) -> frozenset[str]:
    """Name the home of a worker among what it can do: keys that are kept in it reach its turns."""
    here = instance_id(home)
    return frozenset() if here is None else frozenset({f"home:{here}"})


def works_apart(tx: Tx, home: Path) -> bool:
    """Say whether turns may run where this home's files are not. SQLite without a worker belongs to this home."""
    living = maintenance.workers(tx, ALIVE)
    here = home_ability(home)
    return any(not here or not here <= worker.can for worker in living) if living else tx.postgres


def can_run_bash(tx: Tx) -> bool:
    """Say whether some living worker can run bash scripts."""
    return any(SANDBOX in worker.can for worker in maintenance.workers(tx, ALIVE))
