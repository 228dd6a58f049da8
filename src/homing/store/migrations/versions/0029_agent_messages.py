"""Agents write to each other with a grant: a message knows its grant, and a grant may be paused by a loop brake."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant

revision = "0029"
down_revision = "0028"

_INDEXES = (
    ("ix_inbound_grant", "inbound", ["grant_id", "queued_at"], "grant_id is not null"),
    ("ix_outbound_sent", "outbound", ["session_id", "created_at"], "cause = 'sent'"),
)


def upgrade() -> None:
    op.add_column("grant", sa.Column("paused_until", Instant(), nullable=True))
    op.add_column("grant", sa.Column("told_at", Instant(), nullable=True))
    op.add_column("inbound", sa.Column("grant_id", sa.Text(), nullable=True))
    for name, table, columns, condition in _INDEXES:
        where = sa.text(condition)
        op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
