"""Every table, and the constraints that forbid impossible states.

Instants are integers of microseconds since 1970 on both databases: exact, sortable, and one text for every query.
Public nouns have text ids; order comes from integers (`n`), never from id text.
"""

from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Instant(sa.types.TypeDecorator[datetime]):
    """An aware UTC datetime, kept as microseconds since 1970."""

    impl = sa.BigInteger
    cache_ok = True

    # The processors themselves, not the wrapped ones: there are dozens of instants in what one turn reads and writes.
    def bind_processor(self, dialect: sa.Dialect) -> Any:
        return _micros

    def result_processor(self, dialect: sa.Dialect, coltype: object) -> Any:
        return _instant_of


def _micros(value: datetime | None) -> int | None:
    return None if value is None else (value - _EPOCH) // _MICROSECOND


# The rows of one read share most of their instants.
@lru_cache(1024)
def _instant_of(value: int | None) -> datetime | None:
    return None if value is None else _EPOCH + timedelta(microseconds=value)


Json = sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql")
# SQLite counts rows only in columns spelled INTEGER.
Serial = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _instant(name: str, *, nullable: bool = True) -> sa.Column[datetime]:
    return sa.Column(name, Instant, nullable=nullable)


def _text(name: str, *, nullable: bool = False, default: str | None = None) -> sa.Column[str]:
    return sa.Column(name, sa.Text, nullable=nullable, server_default=default)


def _flag(name: str, *, default: bool = False) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean, nullable=False, server_default=sa.true() if default else sa.false())


def _count(name: str, *, default: int = 0) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger, nullable=False, server_default=str(default))


def _number(name: str) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger)


def _json(name: str) -> sa.Column[Any]:
    return sa.Column(name, Json)


def _serial(name: str = "n") -> sa.Column[int]:
    return sa.Column(name, Serial, primary_key=True, autoincrement=True)


def _to(name: str, target: str, *, nullable: bool = True) -> sa.Column[Any]:
    return sa.Column(name, sa.ForeignKey(target), nullable=nullable)


def _among(name: str, column: str, *values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} in ({', '.join(repr(v) for v in values)})", name=name)


user = sa.Table(
    "user",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    _text("role"),
    _text("timezone", nullable=True),
    _instant("created_at", nullable=False),
    _among("role", "role", "user", "admin"),
)

token = sa.Table(
    "token",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _to("user_id", "user.id", nullable=False),
    _text("role"),
    _text("kind"),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    _instant("created_at", nullable=False),
    _instant("expires_at"),
    # The token that made this one, or that a cookie or a code goes back to: they end with it.
    _text("made_from", nullable=True),
    _text("name", nullable=True),
    # May its bearer answer approvals? The owner's may; others only if they were created so.
    _flag("approve"),
    # The home whose owner's token this is: one living row per home, replaced when the home's token changes.
    _text("owner", nullable=True),
    _instant("last_used_at"),
    # A revoked token keeps its row, so that its hash stays refused.
    _instant("revoked_at"),
    _among("kind", "kind", "token", "cookie", "code"),
    sa.Index("ix_token_user", "user_id"),
)

agent = sa.Table(
    "agent",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    _text("model", nullable=True),
    _text("thinking", nullable=True),
    _text("instructions"),
    # A policy by tool; null: the defaults of the running version.
    _json("tools"),
    _json("hosts"),
    # Names only: the values stay in the environment or in files of home.
    _json("secrets"),
    _json("guest_tools"),
    _json("heartbeat"),
    _count("revision", default=1),
    _instant("created_at", nullable=False),
    sa.Column("updated_at", Instant, nullable=False, server_default="0"),
    # A removed agent keeps its row: earlier turns, jobs and deleted sessions name it.
    _instant("removed_at"),
)

# What an agent was at each of its revisions: a turn works with the one it opened with.
agent_version = sa.Table(
    "agent_version",
    metadata,
    sa.Column("agent_id", sa.Text, sa.ForeignKey("agent.id"), primary_key=True),
    sa.Column("revision", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("definition", Json, nullable=False),
    _instant("created_at", nullable=False),
)

# A server of an agent's tools. Values of secrets are not in it, only their names.
mcp_server = sa.Table(
    "mcp_server",
    metadata,
    sa.Column("agent_id", sa.Text, sa.ForeignKey("agent.id"), primary_key=True),
    sa.Column("name", sa.Text, primary_key=True),
    _text("transport"),
    _text("command", nullable=True),
    sa.Column("args", Json, nullable=False),
    _text("url", nullable=True),
    sa.Column("env", Json, nullable=False),
    sa.Column("headers", Json, nullable=False),
    sa.Column("hosts", Json, nullable=False),
    _text("policy"),
    # As the server described them last, each with the hash that a person accepted.
    sa.Column("tools", Json, nullable=False),
    _text("state"),
    _text("error", nullable=True),
    _count("failed_starts"),
    # Of what people wrote; what workers found out does not count.
    _count("revision", default=1),
    _instant("created_at", nullable=False),
    _instant("updated_at", nullable=False),
    _among("transport", "transport", "stdio", "http"),
    _among("policy", "policy", "allow", "ask", "deny"),
    _among("state", "state", "pending", "ready", "failing", "changed", "off"),
)

session = sa.Table(
    "session",
    metadata,
    _serial("id"),
    _text("key"),
    _to("user_id", "user.id", nullable=False),
    _to("agent_id", "agent.id", nullable=False),
    _text("title", nullable=True),
    _text("timezone", nullable=True),
    # An isolated run's session knows the conversation it reports to.
    _to("parent_id", "session.id"),
    _count("seq"),
    _count("rev"),
    _count("revision", default=1),
    _text("summary", nullable=True),
    _count("summary_until"),
    # Who wrote here first, and whether anyone else did since: then each message names its sender to the model.
    _text("sender_id", nullable=True),
    _flag("several"),
    _instant("created_at", nullable=False),
    _instant("updated_at", nullable=False),
    _instant("deleted_at"),
    # A key is a name of one user: two users may have conversations of the same key.
    sa.Index(
        "ux_session_key",
        "key",
        "user_id",
        unique=True,
        sqlite_where=sa.text("deleted_at is null"),
        postgresql_where=sa.text("deleted_at is null"),
    ),
    sa.Index("ix_session_user", "user_id", "updated_at"),
)

address = sa.Table(
    "address",
    metadata,
    _serial(),
    _to("session_id", "session.id", nullable=False),
    _text("address"),
    sa.UniqueConstraint("session_id", "address"),
)

grant = sa.Table(
    "grant",
    metadata,
    _serial(),
    _text("id", nullable=True),
    _to("user_id", "user.id", nullable=False),
    _to("agent_id", "agent.id", nullable=False),
    _text("address"),
    _instant("created_at", nullable=False),
    sa.UniqueConstraint("user_id", "agent_id", "address"),
    sa.Index("ux_grant_id", "id", unique=True),
)

hook = sa.Table(
    "hook",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _to("session_id", "session.id", nullable=False),
    _text("name", nullable=True),
    sa.Column("hash", sa.Text, nullable=False, unique=True),
    _instant("created_at", nullable=False),
    # Set by the loop brake (DESIGN rule 35); calls are refused until then.
    _instant("paused_until"),
    sa.Index("ix_hook_session", "session_id"),
)

webhook = sa.Table(
    "webhook",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _to("user_id", "user.id", nullable=False),
    _text("url"),
    _text("secret"),
    # The machine whose loopback or private network this URL points into; only workers there may send to it.
    _text("local_to", nullable=True),
    _instant("created_at", nullable=False),
    _instant("removed_at"),
    sa.Index("ix_webhook_user", "user_id"),
)

message = sa.Table(
    "message",
    metadata,
    _serial(),
    _to("session_id", "session.id", nullable=False),
    _to("lane_id", "session.id", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    sa.Column("rev", sa.BigInteger, nullable=False),
    _text("role"),
    _text("kind"),
    _text("text"),
    _text("turn_id", nullable=True),
    _text("inbound_id", nullable=True),
    _text("job_id", nullable=True),
    _text("run_id", nullable=True),
    _text("model", nullable=True),
    _json("meta"),
    _json("cards"),
    # A quiet turn's lines give way to the newest status line of their job.
    _flag("folded"),
    _instant("created_at", nullable=False),
    sa.UniqueConstraint("session_id", "seq"),
    _among("role", "role", "user", "assistant"),
    _among("kind", "kind", "chat", "scheduled", "reminder", "report", "note", "status"),
    sa.Index("ix_message_rev", "session_id", "rev"),
    sa.Index("ix_message_lane", "lane_id", "n"),
)

memory = sa.Table(
    "memory",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _to("session_id", "session.id"),
    _text("sender_id", nullable=True),
    _text("text"),
    # Words, and bigrams of text without spaces: what both databases index.
    _text("grams"),
    # Where an unconfirmed memory came from, in words; null for what a person said or kept.
    _text("source", nullable=True),
    _flag("confirmed", default=True),
    _instant("created_at", nullable=False),
    sa.Index("ix_memory_user", "user_id", "n"),
)

job = sa.Table(
    "job",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("session_id", "session.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    _to("agent_id", "agent.id", nullable=False),
    _text("sender_id", nullable=True),
    _text("kind"),
    _text("name"),
    _text("description", nullable=True),
    # the schedule
    _text("schedule_kind"),
    _instant("at"),
    _number("every_ms"),
    _instant("anchor"),
    _text("cron", nullable=True),
    # Of the cron expression's days (or weeks), every n-th counts from the anchor on.
    _number("interval"),
    _text("tz"),
    _instant("starts_at"),
    _instant("ends_at"),
    _number("max_runs"),
    # the payload
    _text("payload_kind"),
    _text("message"),
    _text("model", nullable=True),
    _text("thinking", nullable=True),
    sa.Column("timeout_seconds", sa.Float),
    _text("context"),
    # how it runs
    _flag("isolated"),
    _text("write_back"),
    _flag("continues", default=True),
    _text("wake"),
    _text("catch_up"),
    _count("catch_up_window_seconds"),
    _flag("quiet"),
    _flag("delete_after_run"),
    _flag("may_schedule"),
    _text("dedupe_key", nullable=True),
    _text("origin_door"),
    _text("origin_turn_id", nullable=True),
    # What from outside was shown to the agent that wrote its message (rule 41).
    _text("outside", nullable=True),
    _json("legacy"),
    _count("revision", default=1),
    # what the last change can be taken back to
    _json("undo"),
    # the engine's columns
    _flag("enabled", default=True),
    _text("disabled_by", nullable=True),
    _text("disabled_reason", nullable=True),
    _instant("disabled_until"),
    _instant("next_run_at"),
    _count("retry"),
    _instant("retry_of"),
    _count("runs_queued"),
    _text("last_run_id", nullable=True),
    _instant("last_run_at"),
    _text("last_status", nullable=True),
    _text("last_error", nullable=True),
    _number("last_duration_ms"),
    # What the last quiet run noted; its next run is shown it.
    _text("last_note", nullable=True),
    _instant("last_note_at"),
    _count("consecutive_failures"),
    _count("schedule_errors"),
    _count("rev"),
    _instant("created_at", nullable=False),
    _instant("updated_at", nullable=False),
    _instant("removed_at"),
    _among("kind", "kind", "user", "system", "legacy"),
    _among("schedule_kind", "schedule_kind", "at", "every", "cron"),
    _among("payload_kind", "payload_kind", "agent_turn", "reminder", "system_event"),
    _among("context", "context", "session", "since_last", "none"),
    _among("write_back", "write_back", "full", "summary", "none"),
    _among("wake", "wake", "now", "next_heartbeat"),
    _among("catch_up", "catch_up", "latest", "skip"),
    _among("disabled_by", "disabled_by", "person", "engine", "done"),
    sa.CheckConstraint("enabled = (disabled_by is null)", name="disabled_by_somebody"),
    sa.CheckConstraint("next_run_at is null or (enabled and removed_at is null)", name="due_only_when_enabled"),
    sa.CheckConstraint(
        "(schedule_kind = 'at') = (at is not null) and (schedule_kind = 'every') = (every_ms is not null)"
        " and (schedule_kind = 'cron') = (cron is not null)"
        " and (schedule_kind = 'every' or \"interval\" is not null) = (anchor is not null)"
        ' and ("interval" is null or (schedule_kind = \'cron\' and "interval" between 2 and 52))',
        name="one_schedule",
    ),
    sa.CheckConstraint("not isolated or payload_kind = 'agent_turn'", name="isolated_is_agent_turn"),
    sa.Index(
        "ix_job_due",
        "next_run_at",
        sqlite_where=sa.text("next_run_at is not null"),
        postgresql_where=sa.text("next_run_at is not null"),
    ),
    sa.Index(
        "ix_job_wakes",
        "disabled_until",
        sqlite_where=sa.text("disabled_until is not null"),
        postgresql_where=sa.text("disabled_until is not null"),
    ),
    sa.Index("ix_job_session", "session_id", "rev"),
    sa.Index("ix_job_user", "user_id", "n"),
    sa.Index(
        "ux_job_dedupe",
        "session_id",
        "dedupe_key",
        unique=True,
        sqlite_where=sa.text("dedupe_key is not null and removed_at is null"),
        postgresql_where=sa.text("dedupe_key is not null and removed_at is null"),
    ),
)

run = sa.Table(
    "run",
    metadata,
    _serial(),
    # The id is the identity: job, planned instant, and :m or :r1 for the triggers that are not the schedule's.
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("job_id", "job.id", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _to("lane_id", "session.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    _text("trigger"),
    _instant("scheduled_for", nullable=False),
    _text("state"),
    _text("reason", nullable=True),
    _count("revision"),
    _count("rev"),
    _count("attempt", default=1),
    _instant("queued_at", nullable=False),
    _instant("started_at"),
    _instant("finished_at"),
    _number("lateness_ms"),
    _number("missed_count"),
    _instant("missed_until"),
    _text("summary", nullable=True),
    _text("error", nullable=True),
    _text("prompt_id", nullable=True),
    _number("prompt_version"),
    _text("prompt_sha256", nullable=True),
    _text("prompt", nullable=True),
    _json("variables"),
    _text("turn_id", nullable=True),
    _number("opening_seq"),
    _number("closing_seq"),
    _instant("next_run_at"),
    _count("input_tokens"),
    _count("output_tokens"),
    _number("cost_nano_usd"),
    _among("trigger", "trigger", "timer", "catch_up", "manual", "retry"),
    _among("state", "state", "queued", "running", "ok", "error", "skipped", "cancelled"),
    sa.CheckConstraint("(state in ('queued', 'running')) = (finished_at is null)", name="finished"),
    sa.CheckConstraint(
        "state <> 'running' or (started_at is not null and turn_id is not null)", name="running_has_turn"
    ),
    sa.Index(
        "ux_run_active",
        "job_id",
        unique=True,
        sqlite_where=sa.text("state in ('queued', 'running')"),
        postgresql_where=sa.text("state in ('queued', 'running')"),
    ),
    sa.Index("ix_run_job", "job_id", "scheduled_for"),
    sa.Index("ix_run_session", "session_id", "rev"),
    sa.Index("ix_run_user", "user_id", "n"),
    sa.Index(
        "ix_run_finished",
        "finished_at",
        sqlite_where=sa.text("finished_at is not null"),
        postgresql_where=sa.text("finished_at is not null"),
    ),
)

turn = sa.Table(
    "turn",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("lane_id", "session.id", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    _text("agent_id"),
    # Of the agent as it was at the opening; null in turns that 0.1.0 opened.
    _number("agent_revision"),
    _text("source"),
    _text("run_id", nullable=True),
    _text("job_id", nullable=True),
    _text("state"),
    _text("outcome", nullable=True),
    _text("reason", nullable=True),
    _text("worker_id", nullable=True),
    _instant("claimed_until"),
    _count("fence", default=1),
    _count("attempts", default=1),
    _instant("deadline_at"),
    _instant("cancel_requested_at"),
    _text("cancel_reason", nullable=True),
    _text("address", nullable=True),
    _text("sender_id", nullable=True),
    # How many machine-made causes lie between this turn and a person or a due instant (DESIGN rule 35).
    _count("depth"),
    _text("model"),
    _text("thinking", nullable=True),
    _text("prompt"),
    _json("policy"),
    _text("error", nullable=True),
    # What from outside a tool's result brought in, in words; written together with its step.
    _text("outside", nullable=True),
    # What later turns see of this one: Pydantic AI messages, the opening in its readable form.
    _text("history", nullable=True),
    _number("opening_seq"),
    _number("closing_seq"),
    _count("input_tokens"),
    _count("output_tokens"),
    _number("cost_nano_usd"),
    _instant("opened_at", nullable=False),
    _instant("closed_at"),
    _among("state", "state", "running", "closed"),
    _among("source", "source", "person", "run", "report", "hook", "agent", "system"),
    _among("outcome", "outcome", "answered", "empty", "failed", "cancelled"),
    sa.CheckConstraint("(state = 'closed') = (outcome is not null)", name="closed_has_outcome"),
    sa.CheckConstraint("(state = 'closed') = (closed_at is not null)", name="closed_at"),
    sa.CheckConstraint("(source = 'run') = (run_id is not null)", name="run_has_id"),
    sa.Index(
        "ux_turn_open",
        "lane_id",
        unique=True,
        sqlite_where=sa.text("state <> 'closed'"),
        postgresql_where=sa.text("state <> 'closed'"),
    ),
    sa.Index(
        "ix_turn_claim",
        "claimed_until",
        sqlite_where=sa.text("state <> 'closed'"),
        postgresql_where=sa.text("state <> 'closed'"),
    ),
    sa.Index("ix_turn_lane", "lane_id", "n"),
    sa.Index(
        "ix_turn_outside",
        "lane_id",
        "n",
        sqlite_where=sa.text("outside is not null"),
        postgresql_where=sa.text("outside is not null"),
    ),
    sa.Index(
        "ix_turn_caused",
        "session_id",
        "opened_at",
        sqlite_where=sa.text("depth > 0"),
        postgresql_where=sa.text("depth > 0"),
    ),
)

inbound = sa.Table(
    "inbound",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("session_id", "session.id", nullable=False),
    _to("lane_id", "session.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    _text("source"),
    _text("text"),
    # Where it stands: people before machines; a note wakes nobody and is taken along.
    _text("line"),
    _text("mode"),
    _text("state"),
    _to("run_id", "run.id"),
    _text("job_id", nullable=True),
    _text("sender_id", nullable=True),
    _text("address", nullable=True),
    # The channel's own message id: what comes in twice is taken once.
    _text("external_id", nullable=True),
    _text("hook_id", nullable=True),
    _count("depth"),
    _json("meta"),
    _text("turn_id", nullable=True),
    _flag("injected"),
    _instant("queued_at", nullable=False),
    _among("source", "source", "person", "run", "report", "hook", "agent", "system"),
    _among("line", "line", "people", "machines", "note"),
    sa.CheckConstraint("line <> 'people' or source = 'person'", name="people_are_people"),
    _among("mode", "mode", "inject", "queue"),
    _among("state", "state", "waiting", "taken", "withdrawn"),
    sa.CheckConstraint("(state = 'taken') = (turn_id is not null)", name="taken_by_turn"),
    sa.CheckConstraint("(source = 'run') = (run_id is not null)", name="run_has_id"),
    sa.CheckConstraint("not injected or source = 'person'", name="only_people_are_injected"),
    sa.UniqueConstraint("run_id"),
    sa.UniqueConstraint("session_id", "external_id"),
    sa.Index(
        "ix_inbound_lane",
        "lane_id",
        "line",
        "n",
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
    ),
    sa.Index(
        "ix_inbound_people",
        "n",
        sqlite_where=sa.text("state = 'waiting' and line = 'people'"),
        postgresql_where=sa.text("state = 'waiting' and line = 'people'"),
    ),
    sa.Index(
        "ix_inbound_machines",
        "user_id",
        "n",
        sqlite_where=sa.text("state = 'waiting' and line = 'machines'"),
        postgresql_where=sa.text("state = 'waiting' and line = 'machines'"),
    ),
    sa.Index(
        "ix_inbound_turn",
        "turn_id",
        sqlite_where=sa.text("turn_id is not null"),
        postgresql_where=sa.text("turn_id is not null"),
    ),
    sa.Index(
        "ix_inbound_hook",
        "hook_id",
        "queued_at",
        sqlite_where=sa.text("hook_id is not null"),
        postgresql_where=sa.text("hook_id is not null"),
    ),
)

step = sa.Table(
    "step",
    metadata,
    sa.Column("turn_id", sa.Text, sa.ForeignKey("turn.id"), primary_key=True),
    sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("kind"),
    _text("name"),
    _text("key"),
    _text("state"),
    _flag("failed"),
    _text("args", nullable=True),
    _text("result", nullable=True),
    # Changes of jobs that this call made, shown with the closing.
    _json("cards"),
    _number("duration_ms"),
    _count("input_tokens"),
    _count("output_tokens"),
    _number("cost_nano_usd"),
    _instant("begun_at", nullable=False),
    _instant("done_at"),
    _among("kind", "kind", "model", "tool", "inject", "summary", "retry"),
    _among("state", "state", "begun", "done"),
    sa.CheckConstraint("(state = 'done') = (done_at is not null)", name="done_at"),
    sa.UniqueConstraint("turn_id", "kind", "key"),
)

outbound = sa.Table(
    "outbound",
    metadata,
    _serial(),
    _to("session_id", "session.id", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _text("cause"),
    _to("turn_id", "turn.id"),
    _text("run_id", nullable=True),
    _instant("created_at", nullable=False),
    _among("cause", "cause", "closing", "note", "sent", "question"),
    sa.CheckConstraint("cause <> 'closing' or turn_id is not null", name="closing_has_turn"),
    sa.Index(
        "ux_outbound_closing",
        "turn_id",
        unique=True,
        sqlite_where=sa.text("cause = 'closing'"),
        postgresql_where=sa.text("cause = 'closing'"),
    ),
    sa.Index("ix_outbound_message", "session_id", "seq"),
)

delivery = sa.Table(
    "delivery",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("outbound_n", "outbound.n", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _text("address"),
    _text("state"),
    _count("attempts"),
    _instant("next_attempt_at"),
    _instant("sent_at"),
    _json("receipt"),
    _text("error", nullable=True),
    _count("rev"),
    _instant("created_at", nullable=False),
    _among("state", "state", "pending", "sent", "dead"),
    sa.CheckConstraint("(state = 'pending') = (next_attempt_at is not null)", name="pending_has_next"),
    sa.CheckConstraint("(state = 'sent') = (sent_at is not null)", name="sent_at"),
    sa.UniqueConstraint("outbound_n", "address"),
    sa.Index(
        "ix_delivery_due",
        "next_attempt_at",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index(
        "ix_delivery_line",
        "address",
        "n",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index("ix_delivery_session", "session_id", "rev"),
    sa.Index("ix_delivery_message", "session_id", "seq"),
    sa.Index(
        "ix_delivery_dead",
        "user_id",
        "n",
        sqlite_where=sa.text("state = 'dead'"),
        postgresql_where=sa.text("state = 'dead'"),
    ),
)

idempotency = sa.Table(
    "idempotency",
    metadata,
    sa.Column("user_id", sa.Text, primary_key=True),
    sa.Column("path", sa.Text, primary_key=True),
    sa.Column("key", sa.Text, primary_key=True),
    _text("body_sha256"),
    sa.Column("status", sa.Integer, nullable=False),
    _text("answer"),
    _instant("created_at", nullable=False),
    sa.Index("ix_idempotency_created", "created_at"),
)

worker = sa.Table(
    "worker",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    _flag("schedules"),
    _instant("started_at", nullable=False),
    _instant("beat_at", nullable=False),
    _instant("next_wake_at"),
    _text("note", nullable=True),
    _json("can"),
)

setting = sa.Table(
    "setting",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    _text("value"),
)

audit = sa.Table(
    "audit",
    metadata,
    _serial(),
    _instant("at", nullable=False),
    _text("user_id"),
    _text("action"),
    _text("object_id"),
    _json("detail"),
)
