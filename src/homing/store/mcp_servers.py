"""MCP servers of agents. People write the definition, which counts revisions; workers write what they found out."""

from dataclasses import fields, replace
from typing import Any

import sqlalchemy as sa

from homing.model.mcp_servers import McpServer, McpTool, Secret, Value
from homing.store import tables as t
from homing.store.base import Row, Tx, insert_new

_columns = [t.mcp_server.c[field.name] for field in fields(McpServer)]


def listed(tx: Tx, agent_id: str) -> list[McpServer]:
    """List an agent's servers by name."""
    statement = sa.select(*_columns).where(t.mcp_server.c.agent_id == agent_id).order_by(t.mcp_server.c.name)
    return [_server_of(row) for row in tx.rows(statement)]


def in_state(tx: Tx, *states: str) -> list[McpServer]:
    """List the servers of living agents that are in one of these states."""
    living = sa.select(t.agent.c.id).where(t.agent.c.removed_at.is_(None))
    statement = sa.select(*_columns).where(t.mcp_server.c.state.in_(states), t.mcp_server.c.agent_id.in_(living))
    return [_server_of(row) for row in tx.rows(statement.order_by(t.mcp_server.c.agent_id, t.mcp_server.c.name))]


def agents_with_programs(tx: Tx) -> set[str]:
    """Name the agents with a server that runs as a program, unless it is off."""
    c = t.mcp_server.c
    return {id_ for (id_,) in tx.rows(sa.select(c.agent_id).distinct().where(c.transport == "stdio", c.state != "off"))}


def get(tx: Tx, agent_id: str, name: str) -> McpServer | None:
    return _one(tx, sa.select(*_columns).where(*_is(agent_id, name)))


def lock(tx: Tx, agent_id: str, name: str) -> McpServer | None:
    """Read a server for a change of it."""
    return _one(tx, sa.select(*_columns).where(*_is(agent_id, name)).with_for_update(key_share=True))


def add(tx: Tx, server: McpServer) -> McpServer | None:
    """Make a server, unless the agent has one of that name."""
    now = tx.now()
    made = replace(server, created_at=now, updated_at=now)
    return made if tx.run(insert_new(tx, t.mcp_server).values(_values(made))) else None


def change(tx: Tx, server: McpServer) -> McpServer:
    """Write what people changed over the row that was locked, as the next revision."""
    return note(tx, replace(server, revision=server.revision + 1))


def note(tx: Tx, server: McpServer) -> McpServer:
    """Write what was found out about a locked server: its tools, its state, its error."""
    noted = replace(server, updated_at=tx.now())
    tx.run(sa.update(t.mcp_server).where(*_is(server.agent_id, server.name)).values(_values(noted)))
    return noted


def remove(tx: Tx, agent_id: str, name: str) -> bool:
    return bool(tx.run(sa.delete(t.mcp_server).where(*_is(agent_id, name))))


def _is(agent_id: str, name: str) -> tuple[sa.ColumnElement[bool], sa.ColumnElement[bool]]:
    return t.mcp_server.c.agent_id == agent_id, t.mcp_server.c.name == name


def _one(tx: Tx, statement: Any) -> McpServer | None:
    rows = tx.rows(statement)
    return _server_of(rows[0]) if rows else None


def _values(server: McpServer) -> dict[str, Any]:
    values = {field.name: getattr(server, field.name) for field in fields(McpServer)}
    return values | {
        "args": list(server.args),
        "hosts": list(server.hosts),
        "env": {name: _spelled(value) for name, value in server.env.items()},
        "headers": {name: _spelled(value) for name, value in server.headers.items()},
        "tools": [{field.name: getattr(tool, field.name) for field in fields(McpTool)} for tool in server.tools],
    }


def _spelled(value: Value) -> str | dict[str, str]:
    return {"secret": value.name} if isinstance(value, Secret) else value


def _server_of(row: Row) -> McpServer:
    m: dict[str, Any] = dict(zip((field.name for field in fields(McpServer)), row, strict=True))
    m |= {
        "args": tuple(m["args"]),
        "hosts": tuple(m["hosts"]),
        "env": {name: _value_of(value) for name, value in m["env"].items()},
        "headers": {name: _value_of(value) for name, value in m["headers"].items()},
        "tools": tuple(McpTool(**tool) for tool in m["tools"]),
    }
    return McpServer(**m)


def _value_of(value: str | dict[str, str]) -> Value:
    return value if isinstance(value, str) else Secret(name=value["secret"])
