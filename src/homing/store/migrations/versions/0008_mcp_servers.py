"""MCP servers of agents."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "mcp_server",
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("transport", sa.Text(), nullable=False),
        sa.Column("command", sa.Text(), nullable=True),
        sa.Column("args", Json, nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("env", Json, nullable=False),
        sa.Column("headers", Json, nullable=False),
        sa.Column("hosts", Json, nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("tools", Json, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("failed_starts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.CheckConstraint("transport in ('stdio', 'http')", name=op.f("ck_mcp_server_transport")),
        sa.CheckConstraint("policy in ('allow', 'ask', 'deny')", name=op.f("ck_mcp_server_policy")),
        sa.CheckConstraint(
            "state in ('pending', 'ready', 'failing', 'changed', 'off')", name=op.f("ck_mcp_server_state")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_mcp_server_agent_id")),
        sa.PrimaryKeyConstraint("agent_id", "name", name=op.f("pk_mcp_server")),
    )
