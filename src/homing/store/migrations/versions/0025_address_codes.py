"""Codes that are sent to a mail address and entered here, so that it counts as one's own."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Serial

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    op.create_table(
        "address_code",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_address_code_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_address_code")),
    )
    op.create_index("ix_address_code_user", "address_code", ["user_id", "created_at"])
    op.create_index("ix_address_code_address", "address_code", ["channel", "address", "created_at"])
