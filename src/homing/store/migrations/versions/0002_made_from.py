"""A cookie and a code know the token that they go back to."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("token", sa.Column("made_from", sa.Text(), nullable=True))
