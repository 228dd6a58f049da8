"""Browsers that notifications are pushed to, and each user's quiet hours. Nobody has either before they ask for it."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Serial

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    op.add_column("user", sa.Column("quiet_hours", sa.Text(), nullable=True))
    op.create_table(
        "push",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("endpoint", sa.Text(), nullable=False),
        sa.Column("p256dh", sa.Text(), nullable=False),
        sa.Column("auth", sa.Text(), nullable=False),
        sa.Column("public_key", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("last_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_push_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_push")),
        sa.UniqueConstraint("id", name=op.f("uq_push_id")),
        sa.UniqueConstraint("endpoint", name=op.f("uq_push_endpoint")),
    )
    op.create_index("ix_push_user", "push", ["user_id"])
