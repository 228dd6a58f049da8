"""Memory upkeep: what was changed, so that it can be undone, and what is left of facts that a person removed."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json, Serial

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "dream",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("until_n", sa.BigInteger(), nullable=False),
        sa.Column("added", Json, nullable=True),
        sa.Column("before", Json, nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("undone_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_dream_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_dream_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_dream")),
        sa.UniqueConstraint("id", name=op.f("uq_dream_id")),
    )
    op.create_index("ix_dream_user", "dream", ["user_id", "n"])
    op.create_table(
        "memory_mark",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("words", Json, nullable=True),
        sa.Column("removed_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_memory_mark_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_memory_mark")),
    )
    op.create_index("ix_memory_mark_user", "memory_mark", ["user_id", "n"])
