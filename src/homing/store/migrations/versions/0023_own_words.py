"""Which messages a conversation's user wrote themselves, which message told an alert, and ways to find what waits.

Of what 0.1.0 kept nobody knows whether a program sent it, so nothing of it counts as the user's own.
"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    op.add_column("message", sa.Column("own", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        "ix_message_own",
        "message",
        ["session_id", "n"],
        sqlite_where=sa.text("own = 1"),
        postgresql_where=sa.text("own"),
    )
    for name, table, columns, where in (
        ("ix_session_direct", "session", ["user_id", "id"], "parent_id is null and deleted_at is null"),
        ("ix_inbound_session", "inbound", ["session_id"], "state = 'waiting'"),
        ("ix_approval_job", "approval", ["job_id"], "state = 'pending'"),
    ):
        op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))
    op.add_column("alert", sa.Column("session_id", sa.BigInteger(), nullable=True))
    op.add_column("alert", sa.Column("seq", sa.BigInteger(), nullable=True))
