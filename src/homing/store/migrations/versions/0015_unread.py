"""How far a user has read each conversation, and which messages arrive unasked. All that is there counts as read."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.add_column("session", sa.Column("read_seq", sa.BigInteger(), server_default="0", nullable=False))
    op.execute("update session set read_seq = seq")
    op.add_column("message", sa.Column("unasked", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        "ix_message_unasked",
        "message",
        ["session_id", "seq"],
        sqlite_where=sa.text("unasked = 1"),
        postgresql_where=sa.text("unasked"),
    )
