"""Scripts that look before a run, and the gate of each run that has one (rule 50)."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json, Serial

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("job", sa.Column("script", sa.Text(), nullable=True))
    # With its check in one statement: SQLite cannot add one later.
    op.execute(
        "alter table job add column script_language text default 'bash' not null"
        " constraint ck_job_script_language check (script_language in ('bash', 'python'))"
    )
    op.add_column("job", sa.Column("script_hosts", Json, nullable=True))
    op.add_column("job", sa.Column("script_seconds", sa.BigInteger(), server_default="30", nullable=False))
    op.add_column("job", sa.Column("script_state", Json, nullable=True))
    op.create_table(
        "gate",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("run_id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("depth", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("claimed_until", Instant(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("due_first", Instant(), nullable=True),
        sa.Column("due_until", Instant(), nullable=True),
        sa.Column("due_count", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("code", sa.BigInteger(), nullable=True),
        sa.Column("out", sa.Text(), nullable=True),
        sa.Column("err", sa.Text(), nullable=True),
        sa.Column("said", Json, nullable=True),
        sa.CheckConstraint("(worker_id is null) = (claimed_until is null)", name=op.f("ck_gate_claimed_by_somebody")),
        sa.CheckConstraint("ended is null or worker_id is null", name=op.f("ck_gate_ended_is_free")),
        sa.CheckConstraint("ended in ('exit', 'timeout', 'output', 'lost')", name=op.f("ck_gate_ended")),
        sa.CheckConstraint("said is null or (ended = 'exit' and code = 0)", name=op.f("ck_gate_said_at_a_good_end")),
        sa.CheckConstraint("worker_id is null or (fence > 0 and attempts > 0)", name=op.f("ck_gate_claim_is_counted")),
        sa.CheckConstraint(
            "(due_count > 0) = (due_first is not null) and (due_count > 0) = (due_until is not null)",
            name=op.f("ck_gate_due_meanwhile"),
        ),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_gate_run_id")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_gate_job_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_gate_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_gate")),
        sa.UniqueConstraint("run_id", name=op.f("uq_gate_run_id")),
    )
    waiting = sa.text("ended is null")
    op.create_index("ix_gate_waiting", "gate", ["n"], sqlite_where=waiting, postgresql_where=waiting)
