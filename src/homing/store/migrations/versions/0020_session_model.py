"""A conversation may have a model of its own."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.add_column("session", sa.Column("model", sa.Text(), nullable=True))
