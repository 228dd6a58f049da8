"""Agents, what each was at its revisions, and the hosts granted to it. An edit names the revision it changes."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.agents import DEFINITION, Agent
from homing.model.people import AGENT_GRANT, HOST_GRANT
from homing.model.sessions import UNIFIED
from homing.model.turns import Turn
from homing.store import people
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx, insert_new


def get(tx: Tx, agent_id: str) -> Agent | None:
    """Read an agent, also a removed one."""
    rows = tx.rows(sa.select(*r.agent_columns).where(t.agent.c.id == agent_id))
    return _with_grants(tx, r.agent_of(rows[0])) if rows else None


def get_many(tx: Tx, agent_ids: Collection[str]) -> dict[str, Agent]:
    rows = tx.rows(sa.select(*r.agent_columns).where(t.agent.c.id.in_(sorted(agent_ids))))
    return {agent.id: agent for agent in map(r.agent_of, rows)}


def listed(tx: Tx) -> list[Agent]:
    """List the agents that were not removed."""
    statement = sa.select(*r.agent_columns).where(t.agent.c.removed_at.is_(None)).order_by(t.agent.c.id)
    return [_with_grants(tx, r.agent_of(row)) for row in tx.rows(statement)]


def lock(tx: Tx, agent_id: str, *, alone: bool = False) -> Agent | None:
    """Read an agent for a change of it; nobody else changes it meanwhile, and with `alone` nobody holds it either."""
    return _locked(tx, agent_id, sa.select(*r.agent_columns).with_for_update(key_share=not alone))


def hold(tx: Tx, agent_id: str) -> Agent | None:
    """Read an agent that something is about to name: it may be changed meanwhile, and not removed."""
    return _locked(tx, agent_id, sa.select(*r.agent_columns).with_for_update(read=True, key_share=True))


def _locked(tx: Tx, agent_id: str, statement: sa.Select[Any]) -> Agent | None:
    rows = tx.rows(statement.where(t.agent.c.id == agent_id))
    return _with_grants(tx, r.agent_of(rows[0])) if rows else None


def _with_grants(tx: Tx, agent: Agent, *, until: datetime | None = None) -> Agent:
    """Add the hosts granted to an agent; with `until`, those that were granted by then."""
    if not agent.has_host_grants:
        return agent
    c = t.grant.c
    given = [c.agent_id == agent.id, c.address.startswith(HOST_GRANT)]
    given += [c.created_at <= until] if until is not None else []
    found = tx.rows(sa.select(c.address).where(*given).order_by(c.n))
    return replace(agent, granted_hosts=tuple(address.removeprefix(HOST_GRANT) for (address,) in found))


def add(tx: Tx, agent: Agent) -> bool:
    """Make an agent, unless one of that id is there."""
    if get(tx, agent.id) is not None:
        return False
    now = tx.now()
    values = _definition(agent) | {"id": agent.id, "revision": 1, "created_at": now, "updated_at": now}
    # Several processes may start at once: the second one takes the first one's.
    if not tx.run(insert_new(tx, t.agent).values(values)):
        return False
    _keep_version(tx, replace(agent, revision=1))
    return True


def change(tx: Tx, agent: Agent) -> Agent:
    """Write an agent's new definition over the one that was locked, as its next revision; a removed one is back."""
    changed = replace(agent, revision=agent.revision + 1, updated_at=tx.now(), removed_at=None)
    values = _definition(changed) | {"revision": changed.revision, "updated_at": changed.updated_at, "removed_at": None}
    tx.run(sa.update(t.agent).where(t.agent.c.id == agent.id).values(values))
    _keep_version(tx, changed)
    return changed


def remove(tx: Tx, agent_id: str) -> None:
    """Take an agent away with its grants and servers; its row stays for turns and deleted sessions that name it."""
    tx.run(sa.update(t.agent).where(t.agent.c.id == agent_id).values(removed_at=tx.now(), environment=None))
    people.remove_grants_to(tx, f"{AGENT_GRANT}{agent_id}")
    for table in (t.grant, t.mcp_server):
        tx.run(sa.delete(table).where(table.c.agent_id == agent_id))


def ids_like(tx: Tx, beginning: str) -> set[str]:
    """Name the ids, also of removed agents, that begin like this."""
    return {id_ for (id_,) in tx.rows(sa.select(t.agent.c.id).where(t.agent.c.id.startswith(beginning)))}


def sessions_with(tx: Tx, agent_id: str, *, limit: int) -> tuple[list[tuple[str, str | None, str]], int]:
    """Give key, title and user of the newest conversations with an agent, and count all; isolated runs do not count."""
    c = t.session.c
    living = (c.agent_id == agent_id, c.deleted_at.is_(None), c.parent_id.is_(None))
    shared = c.key.startswith(UNIFIED, autoescape=True)
    columns = (c.key, c.title, c.user_id, sa.func.count().over())
    rows = tx.rows(sa.select(*columns).where(*living, ~shared).order_by(c.id.desc()).limit(limit))
    return [(key, title, user_id) for key, title, user_id, _ in rows], int(rows[0][3]) if rows else 0


def as_opened(tx: Tx, agent: Agent, turn: Turn) -> Agent:
    """Give an agent as it was when a turn opened, without grants taken back since.

    A turn that 0.1.0 opened knows no revision and gets today's.
    """
    agent, revision = _with_grants(tx, agent, until=turn.opened_at), turn.agent_revision
    if revision is None or revision == agent.revision:
        return agent
    c = t.agent_version.c
    rows = tx.rows(sa.select(c.definition).where(c.agent_id == agent.id, c.revision == revision))
    if not rows:
        return agent
    kept: dict[str, Any] = rows[0][0]
    lists = {name: tuple(kept[name]) for name in ("hosts", "secrets", "guest_tools")}
    return replace(agent, **(kept | lists), revision=revision)


def _keep_version(tx: Tx, agent: Agent) -> None:
    tx.run(
        sa.insert(t.agent_version).values(
            agent_id=agent.id, revision=agent.revision, definition=_definition(agent), created_at=tx.now()
        )
    )


def _definition(agent: Agent) -> dict[str, Any]:
    values: dict[str, Any] = {name: getattr(agent, name) for name in DEFINITION}
    return values | {name: list(values[name]) for name in ("hosts", "secrets", "guest_tools")}
