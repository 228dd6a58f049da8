"""What a worker can do, and settings that the database keeps: the id of the folder of the workspaces."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Json

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.add_column("worker", sa.Column("can", Json, nullable=True))
    op.create_table(
        "setting",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_setting")),
    )
