"""A session's key is unique per user, no longer for all users together."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    living = sa.text("deleted_at is null")
    op.drop_index("ux_session_key", table_name="session")
    op.create_index(
        "ux_session_key", "session", ["key", "user_id"], unique=True, sqlite_where=living, postgresql_where=living
    )
