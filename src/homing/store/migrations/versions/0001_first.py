"""The first schema."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Json, Serial

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "agent",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("instructions", sa.Text(), nullable=False),
        sa.Column("tools", Json, nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
    )
    op.create_table(
        "audit",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("object_id", sa.Text(), nullable=False),
        sa.Column("detail", Json, nullable=True),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_audit")),
    )
    op.create_table(
        "idempotency",
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body_sha256", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "path", "key", name=op.f("pk_idempotency")),
    )
    op.create_index("ix_idempotency_created", "idempotency", ["created_at"], unique=False)
    op.create_table(
        "user",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("timezone", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint("role in ('user', 'admin')", name=op.f("ck_user_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
    )
    op.create_table(
        "worker",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("schedules", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("started_at", Instant(), nullable=False),
        sa.Column("beat_at", Instant(), nullable=False),
        sa.Column("next_wake_at", Instant(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker")),
    )
    op.create_table(
        "grant",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_grant_agent_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_grant_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_grant")),
        sa.UniqueConstraint("user_id", "agent_id", "address", name=op.f("uq_grant_user_id_agent_id_address")),
    )
    op.create_table(
        "session",
        sa.Column("id", Serial, autoincrement=True, nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("timezone", sa.Text(), nullable=True),
        sa.Column("parent_id", Serial, nullable=True),
        sa.Column("seq", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rev", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("summary_until", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("deleted_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_session_agent_id")),
        sa.ForeignKeyConstraint(["parent_id"], ["session.id"], name=op.f("fk_session_parent_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_session_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_session")),
    )
    op.create_index("ix_session_user", "session", ["user_id", "updated_at"], unique=False)
    op.create_index(
        "ux_session_key",
        "session",
        ["key"],
        unique=True,
        sqlite_where=sa.text("deleted_at is null"),
        postgresql_where=sa.text("deleted_at is null"),
    )
    op.create_table(
        "token",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=True),
        sa.CheckConstraint("kind in ('token', 'cookie', 'code')", name=op.f("ck_token_kind")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_token_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_token")),
        sa.UniqueConstraint("hash", name=op.f("uq_token_hash")),
    )
    op.create_index("ix_token_user", "token", ["user_id"], unique=False)
    op.create_table(
        "webhook",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("removed_at", Instant(), nullable=True),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_webhook_user_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index("ix_webhook_user", "webhook", ["user_id"], unique=False)
    op.create_table(
        "address",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_address_session_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_address")),
        sa.UniqueConstraint("session_id", "address", name=op.f("uq_address_session_id_address")),
    )
    op.create_table(
        "hook",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_hook_session_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hook")),
        sa.UniqueConstraint("hash", name=op.f("uq_hook_hash")),
    )
    op.create_index("ix_hook_session", "hook", ["session_id"], unique=False)
    op.create_table(
        "job",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("sender_id", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=True),
        sa.Column("schedule_kind", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=True),
        sa.Column("every_ms", sa.BigInteger(), nullable=True),
        sa.Column("anchor", Instant(), nullable=True),
        sa.Column("cron", sa.Text(), nullable=True),
        sa.Column("tz", sa.Text(), nullable=False),
        sa.Column("starts_at", Instant(), nullable=True),
        sa.Column("ends_at", Instant(), nullable=True),
        sa.Column("max_runs", sa.BigInteger(), nullable=True),
        sa.Column("payload_kind", sa.Text(), nullable=False),
        sa.Column("message", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("thinking", sa.Text(), nullable=True),
        sa.Column("timeout_seconds", sa.Float(), nullable=True),
        sa.Column("context", sa.Text(), nullable=False),
        sa.Column("isolated", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("write_back", sa.Text(), nullable=False),
        sa.Column("continues", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("wake", sa.Text(), nullable=False),
        sa.Column("catch_up", sa.Text(), nullable=False),
        sa.Column("catch_up_window_seconds", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("quiet", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("delete_after_run", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("may_schedule", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("dedupe_key", sa.Text(), nullable=True),
        sa.Column("origin_door", sa.Text(), nullable=False),
        sa.Column("origin_turn_id", sa.Text(), nullable=True),
        sa.Column("legacy", Json, nullable=True),
        sa.Column("revision", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("undo", Json, nullable=True),
        sa.Column("enabled", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("disabled_by", sa.Text(), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        sa.Column("disabled_until", Instant(), nullable=True),
        sa.Column("next_run_at", Instant(), nullable=True),
        sa.Column("retry", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("retry_of", Instant(), nullable=True),
        sa.Column("runs_queued", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("last_run_id", sa.Text(), nullable=True),
        sa.Column("last_run_at", Instant(), nullable=True),
        sa.Column("last_status", sa.Text(), nullable=True),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("last_duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("consecutive_failures", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("schedule_errors", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rev", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("updated_at", Instant(), nullable=False),
        sa.Column("removed_at", Instant(), nullable=True),
        sa.CheckConstraint(
            "(schedule_kind = 'at') = (at is not null) and (schedule_kind = 'every') = (every_ms is not null) and (schedule_kind = 'every') = (anchor is not null) and (schedule_kind = 'cron') = (cron is not null)",
            name=op.f("ck_job_one_schedule"),
        ),
        sa.CheckConstraint("catch_up in ('latest', 'skip')", name=op.f("ck_job_catch_up")),
        sa.CheckConstraint("context in ('session', 'since_last', 'none')", name=op.f("ck_job_context")),
        sa.CheckConstraint("disabled_by in ('person', 'engine', 'done')", name=op.f("ck_job_disabled_by")),
        sa.CheckConstraint("kind in ('user', 'system', 'legacy')", name=op.f("ck_job_kind")),
        sa.CheckConstraint("not isolated or payload_kind = 'agent_turn'", name=op.f("ck_job_isolated_is_agent_turn")),
        sa.CheckConstraint(
            "payload_kind in ('agent_turn', 'reminder', 'system_event')", name=op.f("ck_job_payload_kind")
        ),
        sa.CheckConstraint("schedule_kind in ('at', 'every', 'cron')", name=op.f("ck_job_schedule_kind")),
        sa.CheckConstraint("wake in ('now', 'next_heartbeat')", name=op.f("ck_job_wake")),
        sa.CheckConstraint("write_back in ('full', 'summary', 'none')", name=op.f("ck_job_write_back")),
        sa.CheckConstraint("enabled = (disabled_by is null)", name=op.f("ck_job_disabled_by_somebody")),
        sa.CheckConstraint(
            "next_run_at is null or (enabled and removed_at is null)", name=op.f("ck_job_due_only_when_enabled")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_job_agent_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_job_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_job_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_job")),
        sa.UniqueConstraint("id", name=op.f("uq_job_id")),
    )
    op.create_index(
        "ix_job_due",
        "job",
        ["next_run_at"],
        unique=False,
        sqlite_where=sa.text("next_run_at is not null"),
        postgresql_where=sa.text("next_run_at is not null"),
    )
    op.create_index("ix_job_session", "job", ["session_id", "rev"], unique=False)
    op.create_index("ix_job_user", "job", ["user_id", "n"], unique=False)
    op.create_index(
        "ix_job_wakes",
        "job",
        ["disabled_until"],
        unique=False,
        sqlite_where=sa.text("disabled_until is not null"),
        postgresql_where=sa.text("disabled_until is not null"),
    )
    op.create_index(
        "ux_job_dedupe",
        "job",
        ["session_id", "dedupe_key"],
        unique=True,
        sqlite_where=sa.text("dedupe_key is not null and removed_at is null"),
        postgresql_where=sa.text("dedupe_key is not null and removed_at is null"),
    )
    op.create_table(
        "memory",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=True),
        sa.Column("sender_id", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("grams", sa.Text(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_memory_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_memory_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_memory")),
        sa.UniqueConstraint("id", name=op.f("uq_memory_id")),
    )
    op.create_index("ix_memory_user", "memory", ["user_id", "n"], unique=False)
    op.create_table(
        "message",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("lane_id", Serial, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("rev", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("inbound_id", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("meta", Json, nullable=True),
        sa.Column("cards", Json, nullable=True),
        sa.Column("folded", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint(
            "kind in ('chat', 'scheduled', 'reminder', 'report', 'note', 'status')", name=op.f("ck_message_kind")
        ),
        sa.CheckConstraint("role in ('user', 'assistant')", name=op.f("ck_message_role")),
        sa.ForeignKeyConstraint(["lane_id"], ["session.id"], name=op.f("fk_message_lane_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_message_session_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_message")),
        sa.UniqueConstraint("session_id", "seq", name=op.f("uq_message_session_id_seq")),
    )
    op.create_index("ix_message_lane", "message", ["lane_id", "n"], unique=False)
    op.create_index("ix_message_rev", "message", ["session_id", "rev"], unique=False)
    op.create_table(
        "turn",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("lane_id", Serial, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("claimed_until", Instant(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("deadline_at", Instant(), nullable=True),
        sa.Column("cancel_requested_at", Instant(), nullable=True),
        sa.Column("cancel_reason", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("sender_id", sa.Text(), nullable=True),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("thinking", sa.Text(), nullable=True),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("policy", Json, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("history", sa.Text(), nullable=True),
        sa.Column("opening_seq", sa.BigInteger(), nullable=True),
        sa.Column("closing_seq", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("opened_at", Instant(), nullable=False),
        sa.Column("closed_at", Instant(), nullable=True),
        sa.CheckConstraint("(source = 'run') = (run_id is not null)", name=op.f("ck_turn_run_has_id")),
        sa.CheckConstraint("(state = 'closed') = (closed_at is not null)", name=op.f("ck_turn_closed_at")),
        sa.CheckConstraint("(state = 'closed') = (outcome is not null)", name=op.f("ck_turn_closed_has_outcome")),
        sa.CheckConstraint("outcome in ('answered', 'empty', 'failed', 'cancelled')", name=op.f("ck_turn_outcome")),
        sa.CheckConstraint(
            "source in ('person', 'run', 'report', 'hook', 'agent', 'system')", name=op.f("ck_turn_source")
        ),
        sa.CheckConstraint("state in ('running', 'closed')", name=op.f("ck_turn_state")),
        sa.ForeignKeyConstraint(["lane_id"], ["session.id"], name=op.f("fk_turn_lane_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_turn_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_turn_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_turn")),
        sa.UniqueConstraint("id", name=op.f("uq_turn_id")),
    )
    op.create_index(
        "ix_turn_claim",
        "turn",
        ["claimed_until"],
        unique=False,
        sqlite_where=sa.text("state <> 'closed'"),
        postgresql_where=sa.text("state <> 'closed'"),
    )
    op.create_index("ix_turn_lane", "turn", ["lane_id", "n"], unique=False)
    op.create_index(
        "ux_turn_open",
        "turn",
        ["lane_id"],
        unique=True,
        sqlite_where=sa.text("state <> 'closed'"),
        postgresql_where=sa.text("state <> 'closed'"),
    )
    op.create_table(
        "outbound",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint("cause <> 'closing' or turn_id is not null", name=op.f("ck_outbound_closing_has_turn")),
        sa.CheckConstraint("cause in ('closing', 'note', 'sent', 'question')", name=op.f("ck_outbound_cause")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_outbound_session_id")),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name=op.f("fk_outbound_turn_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_outbound")),
    )
    op.create_index("ix_outbound_message", "outbound", ["session_id", "seq"], unique=False)
    op.create_index(
        "ux_outbound_closing",
        "outbound",
        ["turn_id"],
        unique=True,
        sqlite_where=sa.text("cause = 'closing'"),
        postgresql_where=sa.text("cause = 'closing'"),
    )
    op.create_table(
        "run",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("job_id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("lane_id", Serial, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("scheduled_for", Instant(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("revision", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("rev", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("attempt", sa.BigInteger(), server_default="1", nullable=False),
        sa.Column("queued_at", Instant(), nullable=False),
        sa.Column("started_at", Instant(), nullable=True),
        sa.Column("finished_at", Instant(), nullable=True),
        sa.Column("lateness_ms", sa.BigInteger(), nullable=True),
        sa.Column("missed_count", sa.BigInteger(), nullable=True),
        sa.Column("missed_until", Instant(), nullable=True),
        sa.Column("summary", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("prompt_id", sa.Text(), nullable=True),
        sa.Column("prompt_version", sa.BigInteger(), nullable=True),
        sa.Column("prompt_sha256", sa.Text(), nullable=True),
        sa.Column("prompt", sa.Text(), nullable=True),
        sa.Column("variables", Json, nullable=True),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("opening_seq", sa.BigInteger(), nullable=True),
        sa.Column("closing_seq", sa.BigInteger(), nullable=True),
        sa.Column("next_run_at", Instant(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint("(state in ('queued', 'running')) = (finished_at is null)", name=op.f("ck_run_finished")),
        sa.CheckConstraint(
            "state <> 'running' or (started_at is not null and turn_id is not null)",
            name=op.f("ck_run_running_has_turn"),
        ),
        sa.CheckConstraint(
            "state in ('queued', 'running', 'ok', 'error', 'skipped', 'cancelled')", name=op.f("ck_run_state")
        ),
        sa.CheckConstraint("trigger in ('timer', 'catch_up', 'manual', 'retry')", name=op.f("ck_run_trigger")),
        sa.ForeignKeyConstraint(["job_id"], ["job.id"], name=op.f("fk_run_job_id")),
        sa.ForeignKeyConstraint(["lane_id"], ["session.id"], name=op.f("fk_run_lane_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_run_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_run_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_run")),
        sa.UniqueConstraint("id", name=op.f("uq_run_id")),
    )
    op.create_index(
        "ix_run_finished",
        "run",
        ["finished_at"],
        unique=False,
        sqlite_where=sa.text("finished_at is not null"),
        postgresql_where=sa.text("finished_at is not null"),
    )
    op.create_index("ix_run_job", "run", ["job_id", "scheduled_for"], unique=False)
    op.create_index("ix_run_session", "run", ["session_id", "rev"], unique=False)
    op.create_index("ix_run_user", "run", ["user_id", "n"], unique=False)
    op.create_index(
        "ux_run_active",
        "run",
        ["job_id"],
        unique=True,
        sqlite_where=sa.text("state in ('queued', 'running')"),
        postgresql_where=sa.text("state in ('queued', 'running')"),
    )
    op.create_table(
        "step",
        sa.Column("turn_id", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failed", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("args", sa.Text(), nullable=True),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("cards", Json, nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("input_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("begun_at", Instant(), nullable=False),
        sa.Column("done_at", Instant(), nullable=True),
        sa.CheckConstraint("(state = 'done') = (done_at is not null)", name=op.f("ck_step_done_at")),
        sa.CheckConstraint("kind in ('model', 'tool', 'inject')", name=op.f("ck_step_kind")),
        sa.CheckConstraint("state in ('begun', 'done')", name=op.f("ck_step_state")),
        sa.ForeignKeyConstraint(["turn_id"], ["turn.id"], name=op.f("fk_step_turn_id")),
        sa.PrimaryKeyConstraint("turn_id", "n", name=op.f("pk_step")),
        sa.UniqueConstraint("turn_id", "kind", "key", name=op.f("uq_step_turn_id_kind_key")),
    )
    op.create_table(
        "delivery",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("outbound_n", Serial, nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("next_attempt_at", Instant(), nullable=True),
        sa.Column("sent_at", Instant(), nullable=True),
        sa.Column("receipt", Json, nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("rev", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("created_at", Instant(), nullable=False),
        sa.CheckConstraint(
            "(state = 'pending') = (next_attempt_at is not null)", name=op.f("ck_delivery_pending_has_next")
        ),
        sa.CheckConstraint("(state = 'sent') = (sent_at is not null)", name=op.f("ck_delivery_sent_at")),
        sa.CheckConstraint("state in ('pending', 'sent', 'dead')", name=op.f("ck_delivery_state")),
        sa.ForeignKeyConstraint(["outbound_n"], ["outbound.n"], name=op.f("fk_delivery_outbound_n")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_delivery_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_delivery_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_delivery")),
        sa.UniqueConstraint("id", name=op.f("uq_delivery_id")),
        sa.UniqueConstraint("outbound_n", "address", name=op.f("uq_delivery_outbound_n_address")),
    )
    op.create_index(
        "ix_delivery_dead",
        "delivery",
        ["user_id", "n"],
        unique=False,
        sqlite_where=sa.text("state = 'dead'"),
        postgresql_where=sa.text("state = 'dead'"),
    )
    op.create_index(
        "ix_delivery_due",
        "delivery",
        ["next_attempt_at"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index(
        "ix_delivery_line",
        "delivery",
        ["address", "n"],
        unique=False,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    )
    op.create_index("ix_delivery_message", "delivery", ["session_id", "seq"], unique=False)
    op.create_index("ix_delivery_session", "delivery", ["session_id", "rev"], unique=False)
    op.create_table(
        "inbound",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=False),
        sa.Column("lane_id", Serial, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("line", sa.Text(), nullable=False),
        sa.Column("mode", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("run_id", sa.Text(), nullable=True),
        sa.Column("job_id", sa.Text(), nullable=True),
        sa.Column("sender_id", sa.Text(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("external_id", sa.Text(), nullable=True),
        sa.Column("meta", Json, nullable=True),
        sa.Column("turn_id", sa.Text(), nullable=True),
        sa.Column("injected", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("queued_at", Instant(), nullable=False),
        sa.CheckConstraint("(source = 'run') = (run_id is not null)", name=op.f("ck_inbound_run_has_id")),
        sa.CheckConstraint("(state = 'taken') = (turn_id is not null)", name=op.f("ck_inbound_taken_by_turn")),
        sa.CheckConstraint("line <> 'people' or source = 'person'", name=op.f("ck_inbound_people_are_people")),
        sa.CheckConstraint("line in ('people', 'machines', 'note')", name=op.f("ck_inbound_line")),
        sa.CheckConstraint("mode in ('inject', 'queue')", name=op.f("ck_inbound_mode")),
        sa.CheckConstraint("not injected or source = 'person'", name=op.f("ck_inbound_only_people_are_injected")),
        sa.CheckConstraint(
            "source in ('person', 'run', 'report', 'hook', 'agent', 'system')", name=op.f("ck_inbound_source")
        ),
        sa.CheckConstraint("state in ('waiting', 'taken', 'withdrawn')", name=op.f("ck_inbound_state")),
        sa.ForeignKeyConstraint(["lane_id"], ["session.id"], name=op.f("fk_inbound_lane_id")),
        sa.ForeignKeyConstraint(["run_id"], ["run.id"], name=op.f("fk_inbound_run_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_inbound_session_id")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_inbound_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_inbound")),
        sa.UniqueConstraint("id", name=op.f("uq_inbound_id")),
        sa.UniqueConstraint("run_id", name=op.f("uq_inbound_run_id")),
        sa.UniqueConstraint("session_id", "external_id", name=op.f("uq_inbound_session_id_external_id")),
    )
    op.create_index(
        "ix_inbound_lane",
        "inbound",
        ["lane_id", "line", "n"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(
        "ix_inbound_machines",
        "inbound",
        ["user_id", "n"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting' and line = 'machines'"),
        postgresql_where=sa.text("state = 'waiting' and line = 'machines'"),
    )
    op.create_index(
        "ix_inbound_people",
        "inbound",
        ["n"],
        unique=False,
        sqlite_where=sa.text("state = 'waiting' and line = 'people'"),
        postgresql_where=sa.text("state = 'waiting' and line = 'people'"),
    )
    op.create_index(
        "ix_inbound_turn",
        "inbound",
        ["turn_id"],
        unique=False,
        sqlite_where=sa.text("turn_id is not null"),
        postgresql_where=sa.text("turn_id is not null"),
    )
    _add_memory_search()


def _add_memory_search() -> None:
    """Index the terms of memories: a GIN index on PostgreSQL, an FTS5 table kept in step by triggers on SQLite."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("create index ix_memory_grams on memory using gin (to_tsvector('simple', grams))")
        return
    op.execute("create virtual table memory_fts using fts5(grams, content='memory', content_rowid='n')")
    op.execute(
        "create trigger memory_added after insert on memory begin"
        " insert into memory_fts(rowid, grams) values (new.n, new.grams); end"
    )
    op.execute(
        "create trigger memory_removed after delete on memory begin"
        " insert into memory_fts(memory_fts, rowid, grams) values ('delete', old.n, old.grams); end"
    )
