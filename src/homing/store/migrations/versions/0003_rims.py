"""Depth of every inbound and turn, sources of memories, notes of quiet jobs, named tokens, grants by id, intervals."""

import re

import sqlalchemy as sa
from alembic import op

from homing.store.migrations.changes import replace_check
from homing.store.tables import Instant

revision = "0003"
down_revision = "0002"

_UNATTENDED = "a turn that no person opened, before the upgrade"


def upgrade() -> None:
    _tokens()
    _grants()
    op.add_column("hook", sa.Column("paused_until", Instant(), nullable=True))
    op.add_column("webhook", sa.Column("local_to", sa.Text(), nullable=True))
    _memories()
    _jobs()
    _depth()
    _senders()
    op.add_column("worker", sa.Column("note", sa.Text(), nullable=True))


def _tokens() -> None:
    op.add_column("token", sa.Column("name", sa.Text(), nullable=True))
    op.add_column("token", sa.Column("approve", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.add_column("token", sa.Column("owner", sa.Text(), nullable=True))
    op.add_column("token", sa.Column("last_used_at", Instant(), nullable=True))
    op.add_column("token", sa.Column("revoked_at", Instant(), nullable=True))


def _grants() -> None:
    op.add_column("grant", sa.Column("id", sa.Text(), nullable=True))
    # Nothing could write a grant before; a row put there by hand gets an id of the usual form.
    op.execute("update \"grant\" set id = 'grt_' || n")
    op.create_index(op.f("ux_grant_id"), "grant", ["id"], unique=True)


def _memories() -> None:
    op.add_column("memory", sa.Column("source", sa.Text(), nullable=True))
    op.add_column("memory", sa.Column("confirmed", sa.Boolean(), server_default=sa.true(), nullable=False))
    # What a hook, a report or an automation made an agent remember was said by no person. The result of the call ends
    # with the memory's id.
    connection = op.get_bind()
    results = connection.execute(
        sa.text(
            "select step.result from step join turn on turn.id = step.turn_id"
            " where step.kind = 'tool' and step.name = 'remember' and not step.failed"
            " and step.result is not null and turn.source <> 'person'"
        )
    ).scalars()
    found = {match[1] for result in results if (match := re.search(r"\((mem_\w+)\)$", result))}
    if found:
        connection.execute(
            sa.text("update memory set confirmed = false, source = :source where id = :id"),
            [{"id": memory_id, "source": _UNATTENDED} for memory_id in sorted(found)],
        )


def _jobs() -> None:
    op.add_column("job", sa.Column("interval", sa.BigInteger(), nullable=True))
    op.add_column("job", sa.Column("last_note", sa.Text(), nullable=True))
    op.add_column("job", sa.Column("last_note_at", Instant(), nullable=True))
    replace_check(
        "job",
        "one_schedule",
        "(schedule_kind = 'at') = (at is not null) and (schedule_kind = 'every') = (every_ms is not null)"
        " and (schedule_kind = 'cron') = (cron is not null)"
        " and (schedule_kind = 'every' or \"interval\" is not null) = (anchor is not null)"
        ' and ("interval" is null or (schedule_kind = \'cron\' and "interval" between 2 and 52))',
    )


def _depth() -> None:
    op.add_column("turn", sa.Column("depth", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("inbound", sa.Column("depth", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("inbound", sa.Column("hook_id", sa.Text(), nullable=True))
    caused, hooked = sa.text("depth > 0"), sa.text("hook_id is not null")
    op.create_index("ix_turn_caused", "turn", ["session_id", "opened_at"], sqlite_where=caused, postgresql_where=caused)
    op.create_index(
        "ix_inbound_hook", "inbound", ["hook_id", "queued_at"], sqlite_where=hooked, postgresql_where=hooked
    )


def _senders() -> None:
    op.add_column("session", sa.Column("sender_id", sa.Text(), nullable=True))
    op.add_column("session", sa.Column("several", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.execute(
        "update session set sender_id = (select min(sender_id) from inbound"
        " where inbound.session_id = session.id and source = 'person')"
    )
    op.execute(
        "update session set several = true where sender_id < (select max(sender_id) from inbound"
        " where inbound.session_id = session.id and source = 'person')"
    )
