"""Entries of a deleted session are dropped by its id: the hourly sweep no longer reads all entries."""

from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    op.create_index("ix_search_entry_session", "search_entry", ["session_id"])
    # The indexer drops what the sweep had left.
    op.execute("update session set searched_revision = revision - 1 where deleted_at is not null")
