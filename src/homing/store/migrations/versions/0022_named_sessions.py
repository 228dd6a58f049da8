"""Sender names are apart from shared places: until now a second name at HTTP made a conversation a shared place."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("session", sa.Column("named", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute("update session set named = several")
    # Groups have keys of their channel; in these only labels differ, and they share what is their user's as before.
    op.execute(
        "update session set several = false"
        " where several and (key like 'web:%' or key like 'cli:%' or key like 'api:%')"
    )
