"""A browser for notifications knows the token that it was added with, and ends with it. Those of before know none."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    op.add_column("push", sa.Column("token_id", sa.Text(), nullable=True))
    where = sa.text("token_id is not null")
    op.create_index("ix_push_token", "push", ["token_id"], sqlite_where=where, postgresql_where=where)
