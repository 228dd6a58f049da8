"""Agents that people edit: policies per tool, hosts, secrets by name, revisions; each turn knows its agent's."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json

revision = "0005"
down_revision = "0004"

_DEFAULTS = ["schedule_task", "remember", "recall", "forget"]


def upgrade() -> None:
    for column in ("hosts", "secrets", "guest_tools", "heartbeat"):
        op.add_column("agent", sa.Column(column, Json, nullable=True))
    op.add_column("agent", sa.Column("thinking", sa.Text(), nullable=True))
    op.add_column("agent", sa.Column("revision", sa.BigInteger(), server_default="1", nullable=False))
    op.add_column("agent", sa.Column("updated_at", Instant(), server_default="0", nullable=False))
    op.add_column("agent", sa.Column("removed_at", Instant(), nullable=True))
    op.execute("update agent set updated_at = created_at")
    op.create_table(
        "agent_version",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("definition", Json, nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_agent_version_agent_id")),
        sa.PrimaryKeyConstraint("agent_id", "revision", name=op.f("pk_agent_version")),
    )
    op.add_column("turn", sa.Column("agent_revision", sa.BigInteger(), nullable=True))
    _policies()


def _policies() -> None:
    """A list of tools becomes their policies; the list that every 0.1.0 home has becomes this version's defaults."""
    agent = sa.table(
        "agent",
        *(sa.column(name, sa.Text()) for name in ("id", "name", "model", "instructions")),
        sa.column("tools", Json),
        sa.column("created_at", Instant()),
    )
    version = sa.table(
        "agent_version",
        sa.column("agent_id", sa.Text()),
        sa.column("revision", sa.BigInteger()),
        sa.column("definition", Json),
        sa.column("created_at", Instant()),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(agent)).mappings().all():
        named: list[str] = row["tools"] or []
        tools: dict[str, str] | None = None if sorted(named) == sorted(_DEFAULTS) else dict.fromkeys(named, "allow")
        connection.execute(sa.update(agent).where(agent.c.id == row["id"]).values(tools=tools))
        definition: dict[str, Any] = {
            "name": row["name"],
            "model": row["model"],
            "thinking": None,
            "instructions": row["instructions"],
            "tools": tools,
            "hosts": [],
            "secrets": [],
            "guest_tools": [],
            "heartbeat": {},
        }
        connection.execute(
            sa.insert(version).values(
                agent_id=row["id"], revision=1, definition=definition, created_at=row["created_at"]
            )
        )
