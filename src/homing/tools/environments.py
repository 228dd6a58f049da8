"""The packages of agents on this machine: looked up, built from their lock, found for a program, swept."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from homing.model.agents import Agent
from homing.model.clock import Clock
from homing.model.packages import PackageLock, PackageRequest, Resolved
from homing.sandbox.errors import NoSandbox
from homing.sandbox.packages import Packages
from homing.store import Store, environments

log = structlog.get_logger(__name__)

FindEnvironment = Callable[[Agent], Awaitable[Path | None]]
"""Gives the environment of an agent, built if it was missing; None for an agent without packages."""


async def no_environment(agent: Agent) -> Path | None:
    """For where no agent has packages."""
    del agent


@dataclass(frozen=True, kw_only=True)
class AgentPackages:
    """What this machine has of the agents' packages, and how it gets more."""

    packages: Packages
    store: Store
    clock: Clock
    _building: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def resolve(self, request: PackageRequest, base: PackageLock | None) -> Resolved:
        """Find out what exactly would be installed; nothing is."""
        return await self.packages.resolve(request, base, self.clock.now())

    async def build(self, lock: PackageLock) -> None:
        """Build an environment, unless it is there."""
        await self.packages.build(lock)

    async def find(self, agent: Agent) -> Path | None:
        """Give an agent's environment. A machine that does not have it builds it from its lock first."""
        digest = agent.environment
        if digest is None:
            return None
        found = await asyncio.to_thread(self.packages.environment, digest)
        if found is not None:
            return found
        lock = await self.store.read(lambda tx: environments.get(tx, digest))
        if lock is not None:
            log.info("environment_missing", agent=agent.id, digest=digest)
            # One after the other: several calls may miss the same one.
            async with self._building:
                await self.packages.build(lock)
            found = await asyncio.to_thread(self.packages.environment, digest)
        if found is None:
            raise NoSandbox(f"The packages of the agent {agent.id} cannot be found: install them again.")
        return found

    async def sweep(self) -> None:
        """Remove what no agent uses any more."""
        keep = await self.store.read(environments.in_use)
        gone = await asyncio.to_thread(self.packages.sweep, keep)
        if gone:
            log.info("environments_swept", folders=len(gone))
