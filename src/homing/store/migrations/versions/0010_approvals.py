"""Approvals and questions with their cards, what a user has seen of the inbox, environments of packages."""

import sqlalchemy as sa
from alembic import op

from homing.store.migrations.changes import replace_check
from homing.store.tables import Instant, Json, Serial

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    replace_check(
        "message",
        "kind",
        "kind in ('chat', 'scheduled', 'reminder', 'report', 'note', 'status', 'question', 'approval')",
    )
    op.create_table(
        "environment",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("lock", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_environment")),
    )
    op.create_table(
        "inbox_seen",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("seen_at", Instant(), nullable=False),
        sa.CheckConstraint("kind in ('unread', 'failure', 'approval', 'question')", name=op.f("ck_inbox_seen_kind")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_inbox_seen_user_id")),
        sa.PrimaryKeyConstraint("user_id", "kind", "ref", name=op.f("pk_inbox_seen")),
    )
    op.create_table(
        "approval",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("depth", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("may_schedule", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("outside", sa.Text(), nullable=True),
        sa.Column("tool", sa.Text(), nullable=False),
        sa.Column("args", sa.Text(), nullable=False),
        sa.Column("tool_sha256", sa.Text(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("audience", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("asked_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("answered_by", sa.Text(), nullable=True),
        sa.Column("answered_with", sa.Text(), nullable=True),
        sa.Column("answered_at", Instant(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("claimed_until", Instant(), nullable=True),
        sa.Column("begun_at", Instant(), nullable=True),
        sa.Column("finished_at", Instant(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "(state = 'expired') = (ended is not null and ended <> 'answered')", name=op.f("ck_approval_why_expired")
        ),
        sa.CheckConstraint(
            "(state = 'running') = (claimed_until is not null)", name=op.f("ck_approval_running_is_claimed")
        ),
        sa.CheckConstraint(
            "(state in ('pending', 'approved', 'running')) = (finished_at is null)", name=op.f("ck_approval_finished")
        ),
        sa.CheckConstraint(
            "asked_by in ('person', 'run', 'report', 'hook', 'agent', 'system')", name=op.f("ck_approval_asked_by")
        ),
        sa.CheckConstraint("audience in ('admin', 'owner')", name=op.f("ck_approval_audience")),
        sa.CheckConstraint(
            "ended in ('answered', 'time', 'replaced', 'session_deleted', 'agent_changed', 'tool_changed', 'approver_gone')",
            name=op.f("ck_approval_ended"),
        ),
        sa.CheckConstraint("state <> 'pending' or answered_at is null", name=op.f("ck_approval_pending_is_unanswered")),
        sa.CheckConstraint(
            "state in ('pending', 'approved', 'running', 'done', 'failed', 'unknown', 'denied', 'expired')",
            name=op.f("ck_approval_state"),
        ),
        sa.CheckConstraint(
            "state in ('pending', 'expired') or answered_at is not null", name=op.f("ck_approval_answered_first")
        ),
        sa.CheckConstraint(
            "(answered_at is null) = (answered_by is null)", name=op.f("ck_approval_answered_by_somebody")
        ),
        sa.CheckConstraint("(finished_at is null) = (ended is null)", name=op.f("ck_approval_ended_when_finished")),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_approval_agent_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_approval_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_approval_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_approval")),
        sa.UniqueConstraint("call_key", name=op.f("uq_approval_call_key")),
        sa.UniqueConstraint("id", name=op.f("uq_approval_id")),
    )
    op.create_index(
        "ix_approval_act",
        "approval",
        ["n"],
        unique=False,
        sqlite_where=sa.text("state in ('approved', 'running')"),
        postgresql_where=sa.text("state in ('approved', 'running')"),
    )
    op.create_index("ix_approval_agent", "approval", ["agent_id", "asked_at"], unique=False)
    op.create_index(
        "ix_approval_expires",
        "approval",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_approval_session", "approval", ["session_id", "n"], unique=False)
    op.create_index("ix_approval_user", "approval", ["user_id", "n"], unique=False)
    op.create_index(
        "ux_approval_packages",
        "approval",
        ["agent_id"],
        unique=True,
        sqlite_where=sa.text("state = 'pending' and tool = 'install_packages'"),
        postgresql_where=sa.text("state = 'pending' and tool = 'install_packages'"),
    )
    op.create_index(
        "ux_approval_pending",
        "approval",
        ["session_id", "digest"],
        unique=True,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_table(
        "question",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("options", Json, nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("ended", sa.Text(), nullable=True),
        sa.Column("asked_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.Column("answered_by", sa.Text(), nullable=True),
        sa.Column("answered_at", Instant(), nullable=True),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("finished_at", Instant(), nullable=True),
        sa.CheckConstraint("(state = 'answered') = (answer is not null)", name=op.f("ck_question_answered_has_answer")),
        sa.CheckConstraint(
            "(state = 'answered') = (answered_by is not null)", name=op.f("ck_question_answered_by_somebody")
        ),
        sa.CheckConstraint("(state = 'pending') = (finished_at is null)", name=op.f("ck_question_finished")),
        sa.CheckConstraint("ended in ('answered', 'time', 'session_deleted')", name=op.f("ck_question_ended")),
        sa.CheckConstraint("state in ('pending', 'answered', 'expired')", name=op.f("ck_question_state")),
        sa.CheckConstraint("(finished_at is null) = (ended is null)", name=op.f("ck_question_ended_when_finished")),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_question_agent_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_question_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_question_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_question")),
        sa.UniqueConstraint("call_key", name=op.f("uq_question_call_key")),
        sa.UniqueConstraint("id", name=op.f("uq_question_id")),
    )
    op.create_index(
        "ix_question_expires",
        "question",
        ["expires_at"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_question_pending",
        "question",
        ["session_id", "n"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_question_user", "question", ["user_id", "n"], unique=False)
    op.create_table(
        "card",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("approval_id", sa.Text(), nullable=True),
        sa.Column("question_id", sa.Text(), nullable=True),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("(approval_id is null) <> (question_id is null)", name=op.f("ck_card_shows_one")),
        sa.ForeignKeyConstraint(["approval_id"], ["approval.id"], name=op.f("fk_card_approval_id")),
        sa.ForeignKeyConstraint(["question_id"], ["question.id"], name=op.f("fk_card_question_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_card_session_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_card")),
        sa.UniqueConstraint("approval_id", "session_id", name=op.f("uq_card_approval_id_session_id")),
        sa.UniqueConstraint("question_id", "session_id", name=op.f("uq_card_question_id_session_id")),
        sa.UniqueConstraint("session_id", "seq", name=op.f("uq_card_session_id_seq")),
    )
    op.create_index("ix_card_rev", "card", ["session_id", "rev"], unique=False)
    op.add_column("agent", sa.Column("environment", sa.Text(), nullable=True))
    op.add_column("user", sa.Column("home_id", sa.BigInteger(), nullable=True))
