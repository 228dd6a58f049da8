"""Which worker can do what: a turn whose agent has workspace tools is for workers that have the workspaces."""

from collections.abc import Collection

from homing.operations.status import ALIVE
from homing.store import Tx, agents, maintenance

WORKSPACE = "workspace"


def agents_left_by(tx: Tx, can: Collection[str]) -> frozenset[str]:
    """Name the agents whose turns a worker leaves to others. While no worker has workspaces there are no such tools,
    and nothing waits for them.
    """
    if WORKSPACE in can or not any(WORKSPACE in worker.can for worker in maintenance.workers(tx, ALIVE)):
        return frozenset()
    return frozenset(agent.id for agent in agents.listed(tx) if agent.uses_workspace)


def agents_for_few(tx: Tx) -> frozenset[str]:
    """Name the agents whose turns some living worker leaves to others."""
    lacking = any(WORKSPACE not in worker.can for worker in maintenance.workers(tx, ALIVE))
    return agents_left_by(tx, ()) if lacking else frozenset()
