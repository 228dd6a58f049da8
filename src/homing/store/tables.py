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


def _unsearched(table: str, column: str, condition: str) -> sa.Index:
    """The rows that search does not know yet: almost none, so looking for them costs almost nothing."""
    where = sa.text(condition)
    return sa.Index(f"ix_{table}_unsearched", column, sqlite_where=where, postgresql_where=where)


user = sa.Table(
    "user",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    _text("name"),
    _text("role"),
    _text("timezone", nullable=True),
    # The session for what belongs to no conversation; null or gone: the first direct one.
    _number("home_id"),
    # Such as 22:00-07:00, on the clock of their zone: nothing is pushed then.
    _text("quiet_hours", nullable=True),
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

# Packages that were resolved once: the lock says what is built, the digest names the folder.
environment = sa.Table(
    "environment",
    metadata,
    sa.Column("digest", sa.Text, primary_key=True),
    _text("lock"),
    _instant("created_at", nullable=False),
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
    # The packages it has; not of its definition, since a build changes it and no person.
    _text("environment", nullable=True),
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
    _text("model", nullable=True),
    _text("title", nullable=True),
    _text("timezone", nullable=True),
    # An isolated run's session knows the conversation it reports to.
    _to("parent_id", "session.id"),
    _count("seq"),
    _count("rev"),
    _count("revision", default=1),
    # Its user has read up to here; what is unread is counted from the messages behind it.
    _count("read_seq"),
    _text("summary", nullable=True),
    _count("summary_until"),
    # Who wrote here first, and whether another name did since: then each message names its sender to the model.
    _text("sender_id", nullable=True),
    _flag("named"),
    # A shared place: others than its user write here (rule 60).
    _flag("several"),
    # Its user keeps it on top of the list, or out of it until something arrives.
    _flag("pinned"),
    _flag("archived"),
    # A branch begins with copies of another conversation's messages up to this one.
    _number("branch_of"),
    _number("branch_seq"),
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
    sa.Index(
        "ix_session_apart",
        "updated_at",
        sqlite_where=sa.text("parent_id is not null"),
        postgresql_where=sa.text("parent_id is not null"),
    ),
    # Conversations, without the many sessions of runs that work apart.
    sa.Index(
        "ix_session_direct",
        "user_id",
        "id",
        sqlite_where=sa.text("parent_id is null and deleted_at is null"),
        postgresql_where=sa.text("parent_id is null and deleted_at is null"),
    ),
    # How far search knows it: its messages, and its name.
    _count("searched_seq"),
    _count("searched_revision"),
    _unsearched("session", "id", "searched_seq < seq or searched_revision < revision"),
)

address = sa.Table(
    "address",
    metadata,
    _serial(),
    _to("session_id", "session.id", nullable=False),
    _text("address"),
    # What is said at this address comes to this session.
    _flag("heard"),
    sa.UniqueConstraint("session_id", "address"),
    sa.Index(
        # SQLite uses it only for the condition as SQLAlchemy spells it there.
        "ux_address_heard",
        "address",
        unique=True,
        sqlite_where=sa.text("heard = 1"),
        postgresql_where=sa.text("heard"),
    ),
)

# Who listens to a channel account, and how far it has heard: one worker in the whole cluster.
listener = sa.Table(
    "listener",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    # The channel's own words for how far; null before the first listen.
    _text("cursor", nullable=True),
    _text("worker_id", nullable=True),
    _instant("claimed_until"),
    _count("fence"),
    _text("error", nullable=True),
    _instant("beat_at"),
    # As whom it listens, and the address that opens a chat with a link code; `{code}` stands for the code.
    _text("account", nullable=True),
    _text("link_url", nullable=True),
    # Who wrote without being linked; nothing of what they wrote is kept.
    _count("strangers"),
    _instant("stranger_at"),
    # Messages that could not be stored.
    _count("unstored"),
    sa.CheckConstraint("(worker_id is null) = (claimed_until is null)", name="claimed_by_somebody"),
    sa.CheckConstraint("worker_id is null or fence > 0", name="claim_is_counted"),
    sa.CheckConstraint("(strangers > 0) = (stranger_at is not null)", name="stranger_at"),
)

# A person's or a group's identity in a channel, linked to a user.
contact = sa.Table(
    "contact",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _text("channel"),
    _text("kind"),
    # The platform's id of a person, or the address of a group.
    _text("place"),
    _text("name"),
    _to("user_id", "user.id", nullable=False),
    # Where it was linked. The session that hears it may change.
    _text("address"),
    _text("who", default="linked"),
    _text("wakes", default="addressed"),
    _flag("blocked"),
    _text("linked_by", nullable=True),
    _instant("created_at", nullable=False),
    _instant("last_at"),
    _among("kind", "kind", "person", "group"),
    _among("who", "who", "linked", "everyone"),
    _among("wakes", "wakes", "addressed", "all"),
    sa.CheckConstraint("place <> ''", name="place_is_named"),
    sa.CheckConstraint("substr(address, 1, length(channel) + 1) = channel || ':'", name="address_of_channel"),
    sa.CheckConstraint("kind = 'group' or (who = 'linked' and wakes = 'addressed')", name="rules_of_groups"),
    sa.UniqueConstraint("channel", "kind", "place"),
    sa.Index("ix_contact_user", "user_id", "n"),
)

# Codes that link a chat: kept as hashes, for ten minutes, used once.
link_code = sa.Table(
    "link_code",
    metadata,
    sa.Column("hash", sa.Text, primary_key=True),
    _to("user_id", "user.id", nullable=False),
    _text("channel"),
    _to("session_id", "session.id"),
    _flag("for_group"),
    # The token or cookie it was made with: it ends with that.
    _text("made_from", nullable=True),
    _instant("created_at", nullable=False),
    _instant("expires_at", nullable=False),
    sa.CheckConstraint("session_id is null or not for_group", name="group_has_its_own_session"),
    sa.CheckConstraint("expires_at > created_at", name="expires_later"),
    sa.Index("ix_link_code_user", "user_id"),
)

# Wrong codes of a sender since an instant.
link_try = sa.Table(
    "link_try",
    metadata,
    sa.Column("channel", sa.Text, primary_key=True),
    sa.Column("sender", sa.Text, primary_key=True),
    _count("tries"),
    _instant("since", nullable=False),
    sa.CheckConstraint("tries >= 0", name="tries"),
)

# Codes that were sent to a mail address: who enters one may call the address theirs. Kept for an hour, to count them.
address_code = sa.Table(
    "address_code",
    metadata,
    _serial(),
    _to("user_id", "user.id", nullable=False),
    _text("channel"),
    _text("address"),
    _text("hash"),
    # Wrong codes that were entered for it.
    _count("tries"),
    _instant("created_at", nullable=False),
    # Null once it was used, or replaced by a newer one.
    _instant("expires_at"),
    sa.Index("ix_address_code_user", "user_id", "created_at"),
    sa.Index("ix_address_code_address", "channel", "address", "created_at"),
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
    # Rule 35: a loop brake stopped it until then, and people were told at that time.
    _instant("paused_until"),
    _instant("told_at"),
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

# A browser that notifications are pushed to. Endpoint and keys are secrets: anyone who has them can write to it.
push = sa.Table(
    "push",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _text("name"),
    sa.Column("endpoint", sa.Text, nullable=False, unique=True),
    _text("p256dh"),
    _text("auth"),
    # Of the server, as the browser was given it.
    _text("public_key"),
    _instant("created_at", nullable=False),
    _instant("last_at"),
    # The token that it was added with, or that the page's cookie goes back to: it ends with it. Null before 0030.
    _text("token_id", nullable=True),
    sa.Index("ix_push_user", "user_id"),
    sa.Index(
        "ix_push_token",
        "token_id",
        sqlite_where=sa.text("token_id is not null"),
        postgresql_where=sa.text("token_id is not null"),
    ),
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
    # Ids of its files, in order; `file_reference` keeps them.
    _json("files"),
    # A quiet turn's lines give way to the newest status line of their job.
    _flag("folded"),
    # It arrived without a person's message that it answers: until read, it counts as unread.
    _flag("unasked"),
    # Of a copy in a branch: the conversation in which it was said, with the same seq.
    _number("said_in"),
    # Its conversation's user wrote it: no program, and no guest. Of 0.1.0's messages nobody knows, so they are none.
    _flag("own"),
    _instant("created_at", nullable=False),
    sa.UniqueConstraint("session_id", "seq"),
    _among("role", "role", "user", "assistant"),
    _among("kind", "kind", "chat", "scheduled", "reminder", "report", "note", "status", "question", "approval"),
    sa.Index("ix_message_rev", "session_id", "rev"),
    # SQLite uses it only for a condition spelled as here.
    sa.Index(
        "ix_message_unasked",
        "session_id",
        "seq",
        sqlite_where=sa.text("unasked = 1"),
        postgresql_where=sa.text("unasked"),
    ),
    sa.Index("ix_message_lane", "lane_id", "n"),
    sa.Index(
        "ix_message_own",
        "session_id",
        "n",
        sqlite_where=sa.text("own = 1"),
        postgresql_where=sa.text("own"),
    ),
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
    _flag("searched"),
    _unsearched("memory", "n", "not searched"),
)

# What search finds, written by the engine after the fact. Full-text tables beside it are made by the migration.
search_entry = sa.Table(
    "search_entry",
    metadata,
    _serial(),
    _to("user_id", "user.id", nullable=False),
    _text("kind"),
    # What it is an entry of, once: an id, or session and seq.
    _text("ref"),
    _number("session_id"),
    _number("seq"),
    _text("grams"),
    _instant("at", nullable=False),
    sa.UniqueConstraint("kind", "ref"),
    _among("kind", "kind", "message", "job", "memory", "session"),
    sa.CheckConstraint("kind <> 'message' or (session_id is not null and seq is not null)", name="place"),
    sa.Index("ix_search_entry_user", "user_id", "n"),
    sa.Index("ix_search_entry_session", "session_id"),
)

# What is left of facts that a person removed: hashes of their telling words, so that they are not learned again.
memory_mark = sa.Table(
    "memory_mark",
    metadata,
    _serial(),
    _to("user_id", "user.id", nullable=False),
    _json("words"),
    _instant("removed_at", nullable=False),
    sa.Index("ix_memory_mark_user", "user_id", "n"),
)

# One time of memory upkeep: up to which message it looked, and what undo needs.
dream = sa.Table(
    "dream",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _number("seq"),
    sa.Column("until_n", sa.BigInteger, nullable=False),
    _json("added"),
    _json("before"),
    _instant("created_at", nullable=False),
    _instant("undone_at"),
    sa.Index("ix_dream_user", "user_id", "n"),
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
    sa.Column("max_cost_usd_per_day", sa.Float),
    _count("alert_after", default=3),
    _json("alert_to"),
    _text("dedupe_key", nullable=True),
    _text("origin_door"),
    _text("origin_turn_id", nullable=True),
    # What from outside was shown to the agent that wrote its message (rule 41).
    _text("outside", nullable=True),
    # the script that looks before each run (rule 50)
    _text("script", nullable=True),
    _text("script_language", default="bash"),
    _json("script_hosts"),
    _count("script_seconds", default=30),
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
    # What its script asked to remember; a changed script clears it.
    _json("script_state"),
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
    _among("script_language", "script_language", "bash", "python"),
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
    _count("searched_revision"),
    _unsearched("job", "n", "searched_revision < revision"),
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

# The script of a run: it waits for a worker, runs under a claim, and has ended. A withdrawn run has none any more.
gate = sa.Table(
    "gate",
    metadata,
    _serial(),
    sa.Column("run_id", sa.Text, sa.ForeignKey("run.id"), nullable=False, unique=True),
    _to("job_id", "job.id", nullable=False),
    _to("user_id", "user.id", nullable=False),
    # Of the inbound that the run becomes (rule 35).
    _count("depth"),
    _text("worker_id", nullable=True),
    _instant("claimed_until"),
    _count("fence"),
    _count("attempts"),
    # Instants that came due meanwhile.
    _instant("due_first"),
    _instant("due_until"),
    _count("due_count"),
    _text("ended", nullable=True),
    _number("code"),
    _text("out", nullable=True),
    _text("err", nullable=True),
    # The last line as it was read; null of a script that did not work.
    _json("said"),
    sa.CheckConstraint("(worker_id is null) = (claimed_until is null)", name="claimed_by_somebody"),
    sa.CheckConstraint("ended is null or worker_id is null", name="ended_is_free"),
    sa.CheckConstraint("ended in ('exit', 'timeout', 'output', 'lost')", name="ended"),
    sa.CheckConstraint("said is null or (ended = 'exit' and code = 0)", name="said_at_a_good_end"),
    sa.CheckConstraint("worker_id is null or (fence > 0 and attempts > 0)", name="claim_is_counted"),
    sa.CheckConstraint(
        "(due_count > 0) = (due_first is not null) and (due_count > 0) = (due_until is not null)", name="due_meanwhile"
    ),
    sa.Index(
        "ix_gate_waiting",
        "n",
        sqlite_where=sa.text("ended is null"),
        postgresql_where=sa.text("ended is null"),
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
    # By which an agent wrote it from another conversation.
    _text("grant_id", nullable=True),
    _count("depth"),
    _json("meta"),
    _json("files"),
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
        "ux_inbound_external",
        "external_id",
        unique=True,
        sqlite_where=sa.text("external_id is not null"),
        postgresql_where=sa.text("external_id is not null"),
    ),
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
        "ix_inbound_session",
        "session_id",
        sqlite_where=sa.text("state = 'waiting'"),
        postgresql_where=sa.text("state = 'waiting'"),
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
    sa.Index(
        "ix_inbound_grant",
        "grant_id",
        "queued_at",
        sqlite_where=sa.text("grant_id is not null"),
        postgresql_where=sa.text("grant_id is not null"),
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

usage_sum = sa.Table(
    "usage_sum",
    metadata,
    # Without foreign keys but the user's: what was spent stays when a job or a session goes.
    sa.Column("user_id", sa.Text, sa.ForeignKey("user.id"), primary_key=True),
    # Such as 2026-11-17, on the user's own calendar when the call was made.
    sa.Column("day", sa.Text, primary_key=True),
    # Empty for what no job caused.
    sa.Column("job_id", sa.Text, primary_key=True),
    sa.Column("session_id", Serial, primary_key=True, autoincrement=False),
    sa.Column("agent_id", sa.Text, primary_key=True),
    sa.Column("model", sa.Text, primary_key=True),
    _count("turns"),
    _count("runs"),
    _count("calls"),
    _count("input_tokens"),
    _count("output_tokens"),
    _count("cached_tokens"),
    _count("thinking_tokens"),
    _count("cost_nano_usd"),
    _count("unpriced_calls"),
    sa.Index("ix_usage_sum_job", "job_id", "day"),
)

budget_note = sa.Table(
    "budget_note",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey("user.id"), primary_key=True),
    sa.Column("day", sa.Text, primary_key=True),
    # What was announced: `runs` or `messages` beyond the user's ceiling, or the id of the job beyond its own.
    sa.Column("about", sa.Text, primary_key=True),
    _instant("given_at", nullable=False),
)

# What a person is to be told by another route, once: a job that does not work, or what came due while nobody was there.
alert = sa.Table(
    "alert",
    metadata,
    _serial(),
    _to("user_id", "user.id", nullable=False),
    # None: of everything that came due while Homing was not running.
    _to("job_id", "job.id"),
    _text("kind"),
    # pending: to be given; given: the trouble goes on; over: it does not, or was never worth telling.
    _text("state"),
    _instant("since_at", nullable=False),
    _count("count"),
    _text("run_id", nullable=True),
    _text("line", nullable=True),
    # Of messages that do not arrive: where, and the session's revision when the last one died.
    _text("address", nullable=True),
    _count("rev"),
    _json("names"),
    _instant("given_at"),
    _json("given_to"),
    # The message that told it.
    _number("session_id"),
    _number("seq"),
    _instant("over_at"),
    _among("kind", "kind", "failing", "undelivered", "left_out", "away"),
    _among("state", "state", "pending", "given", "over"),
    sa.CheckConstraint("(kind = 'away') = (job_id is null)", name="about_a_job"),
    sa.CheckConstraint("(kind = 'undelivered') = (address is not null)", name="address_of_undelivered"),
    sa.CheckConstraint("state = 'over' or (state = 'given') = (given_at is not null)", name="given_at"),
    sa.CheckConstraint("(state = 'over') = (over_at is not null)", name="over_at"),
    sa.Index(
        "ux_alert_job",
        "job_id",
        "kind",
        unique=True,
        sqlite_where=sa.text("state <> 'over' and job_id is not null"),
        postgresql_where=sa.text("state <> 'over' and job_id is not null"),
    ),
    sa.Index(
        "ux_alert_away",
        "user_id",
        unique=True,
        sqlite_where=sa.text("state <> 'over' and kind = 'away'"),
        postgresql_where=sa.text("state <> 'over' and kind = 'away'"),
    ),
    sa.Index("ix_alert_given", "job_id", "given_at"),
    sa.Index(
        "ix_alert_over",
        "over_at",
        sqlite_where=sa.text("over_at is not null"),
        postgresql_where=sa.text("over_at is not null"),
    ),
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
    sa.Index(
        "ix_outbound_sent",
        "session_id",
        "created_at",
        sqlite_where=sa.text("cause = 'sent'"),
        postgresql_where=sa.text("cause = 'sent'"),
    ),
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
    # 0 until the first attempt cuts the text, and on a screen.
    _count("parts"),
    _count("parts_sent"),
    # An attempt is under way; if it still says so when the next one is taken, the last one broke off.
    _flag("attempting"),
    # A part of it may have come twice.
    _flag("unsure"),
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

# One platform message of a delivery: its text is cut once, and is sent under the id `<delivery_id>.<n>`.
part = sa.Table(
    "part",
    metadata,
    sa.Column("delivery_id", sa.Text, sa.ForeignKey("delivery.id"), primary_key=True),
    sa.Column("n", sa.BigInteger, primary_key=True, autoincrement=False),
    _text("text"),
    # Whose options are buttons under it; questions go earlier than deliveries.
    _text("question_id", nullable=True),
    # The file that it is, one of its message's; none once a line of text has taken its place.
    _text("file_id", nullable=True),
    # The request that its buttons answer, and the digest of what it showed: a press answers exactly that.
    _text("approval_id", nullable=True),
    _text("digest", nullable=True),
    # It was sent with buttons that nobody has taken away since.
    _flag("buttons"),
    # An attempt ended without an answer: it may have arrived.
    _flag("unsure"),
    # `<account>:<place>:<message id>` on the platform, by which replies and presses of buttons find it.
    _text("external_id", nullable=True),
    _json("receipt"),
    _instant("sent_at"),
    sa.CheckConstraint("sent_at is not null or (external_id is null and receipt is null)", name="receipt_when_sent"),
    sa.CheckConstraint("(approval_id is null) = (digest is null)", name="approval_has_digest"),
    sa.CheckConstraint("approval_id is null or question_id is null", name="asks_one"),
    sa.CheckConstraint("not buttons or external_id is not null", name="buttons_when_sent"),
    sa.Index(
        "ix_part_buttons",
        "delivery_id",
        sqlite_where=sa.text("buttons = 1"),
        postgresql_where=sa.text("buttons"),
    ),
    sa.Index(
        "ix_part_external",
        "external_id",
        sqlite_where=sa.text("external_id is not null"),
        postgresql_where=sa.text("external_id is not null"),
    ),
)

# What an agent asked a person to allow. The action begins once, after a yes; its end is told by one inbound.
approval = sa.Table(
    "approval",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _to("agent_id", "agent.id", nullable=False),
    # Where the card and the answer appear: of an isolated run the bound session.
    _to("session_id", "session.id", nullable=False),
    # Null: an admin's own change, which no turn asked for.
    _text("turn_id", nullable=True),
    # turn:tool_call_id. A turn taken up again finds what it asked.
    sa.Column("call_key", sa.Text, nullable=False, unique=True),
    _text("job_id", nullable=True),
    # What the turn that asked was and might do; the turn after the answer is and may the same (rule 46).
    _text("asked_by"),
    _count("depth"),
    _flag("may_schedule"),
    # What from outside the model had seen when it asked; an automation that comes of it says so too (rule 41).
    _text("outside", nullable=True),
    _text("tool"),
    # Canonical JSON, kept as text: this runs, this was shown, and the digest is over it.
    _text("args"),
    # Of the tool as it was when it was asked for; null for our own tools.
    _text("tool_sha256", nullable=True),
    _text("digest"),
    _text("title"),
    _text("shown"),
    # The agent's own words.
    _text("reason", nullable=True),
    _text("audience"),
    _text("state"),
    _text("ended", nullable=True),
    _instant("asked_at", nullable=False),
    _instant("expires_at", nullable=False),
    _text("answered_by", nullable=True),
    # The token or cookie behind the answer: revoked before the action begins, the answer does not count.
    _text("answered_with", nullable=True),
    _instant("answered_at"),
    _text("note", nullable=True),
    # How often the action was begun; a repeatable one may be begun again after a crash.
    _count("attempts"),
    _count("fence"),
    _text("worker_id", nullable=True),
    _instant("claimed_until"),
    _instant("begun_at"),
    _instant("finished_at"),
    _text("result", nullable=True),
    _text("error", nullable=True),
    _among("asked_by", "asked_by", "person", "run", "report", "hook", "agent", "system"),
    _among("audience", "audience", "admin", "owner"),
    _among("state", "state", "pending", "approved", "running", "done", "failed", "unknown", "denied", "expired"),
    _among(
        "ended",
        "ended",
        "answered",
        "time",
        "replaced",
        "session_deleted",
        "agent_changed",
        "tool_changed",
        "approver_gone",
    ),
    sa.CheckConstraint("(state in ('pending', 'approved', 'running')) = (finished_at is null)", name="finished"),
    sa.CheckConstraint("(finished_at is null) = (ended is null)", name="ended_when_finished"),
    sa.CheckConstraint("state in ('pending', 'expired') or answered_at is not null", name="answered_first"),
    sa.CheckConstraint("state <> 'pending' or answered_at is null", name="pending_is_unanswered"),
    sa.CheckConstraint("(answered_at is null) = (answered_by is null)", name="answered_by_somebody"),
    sa.CheckConstraint("(state = 'running') = (claimed_until is not null)", name="running_is_claimed"),
    sa.CheckConstraint("(state = 'expired') = (ended is not null and ended <> 'answered')", name="why_expired"),
    sa.Index(
        "ux_approval_pending",
        "session_id",
        "digest",
        unique=True,
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index(
        "ix_approval_job",
        "job_id",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index(
        "ux_approval_packages",
        "agent_id",
        unique=True,
        sqlite_where=sa.text("state = 'pending' and tool = 'install_packages'"),
        postgresql_where=sa.text("state = 'pending' and tool = 'install_packages'"),
    ),
    sa.Index(
        "ix_approval_expires",
        "expires_at",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index(
        "ix_approval_act",
        "n",
        sqlite_where=sa.text("state in ('approved', 'running')"),
        postgresql_where=sa.text("state in ('approved', 'running')"),
    ),
    sa.Index("ix_approval_session", "session_id", "n"),
    sa.Index("ix_approval_user", "user_id", "n"),
    sa.Index("ix_approval_agent", "agent_id", "asked_at"),
)

# What an agent asked the people of a conversation.
question = sa.Table(
    "question",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _to("agent_id", "agent.id", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _text("turn_id"),
    sa.Column("call_key", sa.Text, nullable=False, unique=True),
    _text("title"),
    # Null: free text.
    _json("options"),
    _text("state"),
    _text("ended", nullable=True),
    _instant("asked_at", nullable=False),
    _instant("expires_at", nullable=False),
    _text("answered_by", nullable=True),
    _instant("answered_at"),
    _text("answer", nullable=True),
    _instant("finished_at"),
    _among("state", "state", "pending", "answered", "expired"),
    _among("ended", "ended", "answered", "time", "session_deleted"),
    sa.CheckConstraint("(state = 'pending') = (finished_at is null)", name="finished"),
    sa.CheckConstraint("(finished_at is null) = (ended is null)", name="ended_when_finished"),
    sa.CheckConstraint("(state = 'answered') = (answer is not null)", name="answered_has_answer"),
    sa.CheckConstraint("(state = 'answered') = (answered_by is not null)", name="answered_by_somebody"),
    sa.Index(
        "ix_question_pending",
        "session_id",
        "n",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index(
        "ix_question_expires",
        "expires_at",
        sqlite_where=sa.text("state = 'pending'"),
        postgresql_where=sa.text("state = 'pending'"),
    ),
    sa.Index("ix_question_user", "user_id", "n"),
)

# The message that shows an approval or a question in a session; its revision moves with their state.
card = sa.Table(
    "card",
    metadata,
    _serial(),
    _to("session_id", "session.id", nullable=False),
    sa.Column("seq", sa.BigInteger, nullable=False),
    _to("approval_id", "approval.id"),
    _to("question_id", "question.id"),
    sa.Column("rev", sa.BigInteger, nullable=False),
    sa.CheckConstraint("(approval_id is null) <> (question_id is null)", name="shows_one"),
    sa.UniqueConstraint("session_id", "seq"),
    sa.UniqueConstraint("approval_id", "session_id"),
    sa.UniqueConstraint("question_id", "session_id"),
    sa.Index("ix_card_rev", "session_id", "rev"),
)

# What a user has looked at in the inbox.
file = sa.Table(
    "file",
    metadata,
    _serial(),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    _to("user_id", "user.id", nullable=False),
    _text("name"),
    _text("media_type"),
    sa.Column("bytes", sa.BigInteger, nullable=False),
    _text("sha256"),
    _instant("created_at", nullable=False),
    # The row is written first, then the bytes; the sweeper drops the bytes first, then the row.
    _instant("stored_at"),
    _instant("gone_at"),
    sa.CheckConstraint("bytes > 0", name="not_empty"),
    sa.Index("ix_file_user", "user_id"),
    sa.Index("ix_file_created", "created_at"),
)

file_reference = sa.Table(
    "file_reference",
    metadata,
    _to("file_id", "file.id", nullable=False),
    _to("session_id", "session.id", nullable=False),
    _instant("created_at", nullable=False),
    sa.PrimaryKeyConstraint("file_id", "session_id"),
    sa.Index("ix_file_reference_session", "session_id"),
)

inbox_seen = sa.Table(
    "inbox_seen",
    metadata,
    sa.Column("user_id", sa.Text, sa.ForeignKey("user.id"), primary_key=True),
    sa.Column("kind", sa.Text, primary_key=True),
    sa.Column("ref", sa.Text, primary_key=True),
    _instant("seen_at", nullable=False),
    _among("kind", "kind", "unread", "failure", "approval", "question"),
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
