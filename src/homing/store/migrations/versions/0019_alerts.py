"""Alerts: after how many failures of a job, where they go, and what was told (rule 38)."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json, Serial

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    op.add_column("job", sa.Column("alert_after", sa.BigInteger(), server_default="3", nullable=False))
    op.add_column("job", sa.Column("alert_to", Json, nullable=True))
    op.create_table(
        "alert",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("since_at", Instant(), nullable=False),
        sa.Column("count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("line", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("rev", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("names", Json, nullable=True),
        sa.Column("given_at", Instant(), nullable=True),
        sa.Column("given_to", Json, nullable=True),
        sa.Column("over_at", Instant(), nullable=True),
        sa.CheckConstraint("kind in ('failing', 'undelivered', 'left_out', 'away')", name=op.f("ck_alert_kind")),
        sa.CheckConstraint("state in ('pending', 'given', 'over')", name=op.f("ck_alert_state")),
        sa.CheckConstraint("(kind = 'away') = (job_id is null)", name=op.f("ck_alert_about_a_job")),
        sa.CheckConstraint(
            "(kind = 'undelivered') = (address is not null)", name=op.f("ck_alert_address_of_undelivered")
        ),
        sa.CheckConstraint(
            "state = 'over' or (state = 'given') = (given_at is not null)", name=op.f("ck_alert_given_at")
        ),
        sa.CheckConstraint("(state = 'over') = (over_at is not null)", name=op.f("ck_alert_over_at")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_alert_user_id")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_alert_job_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_alert")),
    )
    of_job, away = sa.text("state <> 'over' and job_id is not null"), sa.text("state <> 'over' and kind = 'away'")
    over = sa.text("over_at is not null")
    op.create_index(
        "ux_alert_job", "alert", ["job_id", "kind"], unique=True, sqlite_where=of_job, postgresql_where=of_job
    )
    op.create_index("ux_alert_away", "alert", ["user_id"], unique=True, sqlite_where=away, postgresql_where=away)
    op.create_index("ix_alert_given", "alert", ["job_id", "given_at"])
    op.create_index("ix_alert_over", "alert", ["over_at"], sqlite_where=over, postgresql_where=over)
    # The sessions of isolated runs, which go with their runs.
    apart = sa.text("parent_id is not null")
    op.create_index("ix_session_apart", "session", ["updated_at"], sqlite_where=apart, postgresql_where=apart)
