"""Conversations may be pinned, archived, and branch off from another one."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    for name in ("pinned", "archived"):
        op.add_column("session", sa.Column(name, sa.Boolean(), server_default=sa.false(), nullable=False))
    for table, name in (("session", "branch_of"), ("session", "branch_seq"), ("message", "said_in")):
        op.add_column(table, sa.Column(name, sa.BigInteger(), nullable=True))
