"""Files of conversations, and which conversations refer to each (rule 55)."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json, Serial

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.create_table(
        "file",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("stored_at", Instant(), nullable=True),
        sa.Column("gone_at", Instant(), nullable=True),
        sa.CheckConstraint("bytes > 0", name=op.f("ck_file_not_empty")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_file_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_file")),
        sa.UniqueConstraint("id", name=op.f("uq_file_id")),
    )
    op.create_index("ix_file_user", "file", ["user_id"])
    op.create_index("ix_file_created", "file", ["created_at"])
    op.create_table(
        "file_reference",
        sa.Column("file_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["file_id"], ["file.id"], name=op.f("fk_file_reference_file_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_file_reference_session_id")),
        sa.PrimaryKeyConstraint("file_id", "session_id", name=op.f("pk_file_reference")),
    )
    op.create_index("ix_file_reference_session", "file_reference", ["session_id"])
    op.add_column("message", sa.Column("files", Json, nullable=True))
    op.add_column("inbound", sa.Column("files", Json, nullable=True))
