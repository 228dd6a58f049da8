"""What model calls cost, for steps, turns and runs; steps for summaries and for failed calls that were repeated."""

import sqlalchemy as sa
from alembic import op

from homing.store.migrations.changes import replace_check

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    # Earlier calls keep null: prices at their time cannot be looked up later.
    for table in ("step", "turn", "run"):
        op.add_column(table, sa.Column("cost_nano_usd", sa.BigInteger(), nullable=True))
    replace_check("step", "kind", "kind in ('model', 'tool', 'inject', 'summary', 'retry')")
