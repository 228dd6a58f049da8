"""Environments of packages: the locks that they are built from, and which agents use them.

Two agents with the same packages share an environment, but not the names that they asked for nor the environment that
they had before: beside the lock of each environment there is the one of each agent, under the agent's name.
"""

import json
from dataclasses import replace

import sqlalchemy as sa

from homing.model.agents import Agent
from homing.model.packages import PackageLock, canonical
from homing.store import tables as t
from homing.store.base import Tx, insert_new

_OWN = "agent:"


def get(tx: Tx, digest: str) -> PackageLock | None:
    """Read the lock of an environment."""
    rows = tx.rows(sa.select(t.environment.c.lock).where(t.environment.c.digest == digest))
    return PackageLock.read(json.loads(rows[0][0])) if rows else None


def of_agent(tx: Tx, agent_id: str) -> PackageLock | None:
    """Read the lock of what an agent uses now."""
    return next(iter(_used(tx, t.agent.c.id == agent_id)), None)


def use(tx: Tx, agent: Agent, lock: PackageLock) -> Agent:
    """Let an agent whose row is locked use an environment from now on; of an empty lock, none."""
    if lock.is_empty:
        tx.run(sa.update(t.agent).where(t.agent.c.id == agent.id).values(environment=None))
        return replace(agent, environment=None)
    values = {"lock": canonical(lock.plain()), "created_at": tx.now()}
    tx.run(insert_new(tx, t.environment).values(values | {"digest": lock.digest}))
    own = _OWN + agent.id
    if not tx.run(sa.update(t.environment).where(t.environment.c.digest == own).values(values)):
        tx.run(sa.insert(t.environment).values(values | {"digest": own}))
    tx.run(sa.update(t.agent).where(t.agent.c.id == agent.id).values(environment=lock.digest))
    return replace(agent, environment=lock.digest)


def in_use(tx: Tx) -> set[str]:
    """Name the environments to keep: the one that each agent uses, and the one that it had before."""
    locks = _used(tx, sa.true())
    return {lock.digest for lock in locks} | {lock.base for lock in locks if lock.base is not None}


def _used(tx: Tx, which: sa.ColumnElement[bool]) -> list[PackageLock]:
    shared, own = t.environment.alias("shared"), t.environment.alias("own")
    agent = t.agent.c
    joined = t.agent.join(shared, shared.c.digest == agent.environment)
    joined = joined.outerjoin(own, own.c.digest == sa.literal(_OWN) + agent.id)
    rows = tx.rows(sa.select(sa.func.coalesce(own.c.lock, shared.c.lock)).select_from(joined).where(which))
    return [PackageLock.read(json.loads(lock)) for (lock,) in rows]
