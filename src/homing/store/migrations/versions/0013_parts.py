"""Deliveries are sent in parts, each with its own text, id and receipt."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    for name in ("parts", "parts_sent"):
        op.add_column("delivery", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))
    for name in ("attempting", "unsure"):
        op.add_column("delivery", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_table(
        "part",
        sa.Column("delivery_id", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("question_id", sa.Text(), nullable=True),
        sa.Column("unsure", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("receipt", Json, nullable=True),
        sa.Column("sent_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "sent_at is not null or (external_id is null and receipt is null)", name=op.f("ck_part_receipt_when_sent")
        ),
        sa.ForeignKeyConstraint(["delivery_id"], ["delivery.id"], name=op.f("fk_part_delivery_id")),
        sa.PrimaryKeyConstraint("delivery_id", "n", name=op.f("pk_part")),
    )
    op.create_index(
        "ix_part_external",
        "part",
        ["external_id"],
        sqlite_where=sa.text("external_id is not null"),
        postgresql_where=sa.text("external_id is not null"),
    )
