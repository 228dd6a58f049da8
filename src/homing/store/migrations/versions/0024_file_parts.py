"""A part of a delivery may be a file: which one, so that its bytes are read when it is sent."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    op.add_column("part", sa.Column("file_id", sa.Text(), nullable=True))
