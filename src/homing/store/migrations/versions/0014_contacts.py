"""Listeners of channels, contacts, link codes, heard addresses, and external ids that are unique over all sessions."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Serial

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("address", sa.Column("heard", sa.Boolean(), server_default=sa.false(), nullable=False))
    op.create_index(
        "ux_address_heard",
        "address",
        ["address"],
        unique=True,
        sqlite_where=sa.text("heard = 1"),
        postgresql_where=sa.text("heard"),
    )
    op.create_table(
        "listener",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True),
        sa.Column("worker_id", sa.Text(), nullable=True),
        sa.Column("claimed_until", Instant(), nullable=True),
        sa.Column("fence", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("beat_at", Instant(), nullable=True),
        sa.Column("account", sa.Text(), nullable=True),
        sa.Column("link_url", sa.Text(), nullable=True),
        sa.Column("strangers", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("stranger_at", Instant(), nullable=True),
        sa.Column("unstored", sa.BigInteger(), server_default="0", nullable=False),
        sa.CheckConstraint(
            "(worker_id is null) = (claimed_until is null)", name=op.f("ck_listener_claimed_by_somebody")
        ),
        sa.CheckConstraint("worker_id is null or fence > 0", name=op.f("ck_listener_claim_is_counted")),
        sa.CheckConstraint("(strangers > 0) = (stranger_at is not null)", name=op.f("ck_listener_stranger_at")),
        sa.PrimaryKeyConstraint("channel", name=op.f("pk_listener")),
    )
    op.create_table(
        "contact",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("place", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.Column("who", sa.Text(), server_default="linked", nullable=False),
        sa.Column("wakes", sa.Text(), server_default="addressed", nullable=False),
        sa.Column("blocked", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("linked_by", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("last_at", Instant(), nullable=True),
        sa.CheckConstraint("kind in ('person', 'group')", name=op.f("ck_contact_kind")),
        sa.CheckConstraint("who in ('linked', 'everyone')", name=op.f("ck_contact_who")),
        sa.CheckConstraint("wakes in ('addressed', 'all')", name=op.f("ck_contact_wakes")),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_contact_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_contact")),
        sa.UniqueConstraint("id", name=op.f("uq_contact_id")),
        sa.UniqueConstraint("channel", "kind", "place", name=op.f("uq_contact_channel_kind_place")),
    )
    op.create_index("ix_contact_user", "contact", ["user_id", "n"])
    op.create_table(
        "link_code",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("session_id", Serial, nullable=True),
        sa.Column("for_group", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("made_from", sa.Text(), nullable=True),
        sa.Column("created_at", Instant(), nullable=False),
        sa.Column("expires_at", Instant(), nullable=False),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_link_code_user_id")),
        sa.ForeignKeyConstraint(["session_id"], ["session.id"], name=op.f("fk_link_code_session_id")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_link_code")),
    )
    op.create_index("ix_link_code_user", "link_code", ["user_id"])
    op.create_table(
        "link_try",
        sa.Column("channel", sa.Text(), nullable=False),
        sa.Column("sender", sa.Text(), nullable=False),
        sa.Column("tries", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("since", Instant(), nullable=False),
        sa.PrimaryKeyConstraint("channel", "sender", name=op.f("pk_link_try")),
    )
    # Until now unique in its session: of equal ones the first keeps it.
    op.execute(
        "update inbound set external_id = null where external_id is not null"
        " and n not in (select min(n) from inbound where external_id is not null group by external_id)"
    )
    given = sa.text("external_id is not null")
    op.create_index(
        "ux_inbound_external", "inbound", ["external_id"], unique=True, sqlite_where=given, postgresql_where=given
    )
