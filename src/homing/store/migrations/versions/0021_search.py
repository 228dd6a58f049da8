"""What search finds, and how far each row is indexed. The index itself is filled by the engine, in the background."""

import sqlalchemy as sa
from alembic import op

from homing.store.tables import Instant, Serial

revision = "0021"
down_revision = "0020"

_SESSIONS = "searched_seq < seq or searched_revision < revision"
_JOBS = "searched_revision < revision"
_MEMORIES = "not searched"


def upgrade() -> None:
    op.add_column("session", sa.Column("searched_seq", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("session", sa.Column("searched_revision", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("job", sa.Column("searched_revision", sa.BigInteger(), server_default="0", nullable=False))
    op.add_column("memory", sa.Column("searched", sa.Boolean(), server_default=sa.false(), nullable=False))
    for table, column, where in (("session", "id", _SESSIONS), ("job", "n", _JOBS), ("memory", "n", _MEMORIES)):
        condition = sa.text(where)
        op.create_index(f"ix_{table}_unsearched", table, [column], sqlite_where=condition, postgresql_where=condition)
    op.create_table(
        "search_entry",
        sa.Column("n", Serial, autoincrement=True, nullable=False),
        sa.Column("user_id", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.Column("session_id", sa.BigInteger(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("grams", sa.Text(), nullable=False),
        sa.Column("at", Instant(), nullable=False),
        sa.CheckConstraint("kind in ('message', 'job', 'memory', 'session')", name=op.f("ck_search_entry_kind")),
        sa.CheckConstraint(
            "kind <> 'message' or (session_id is not null and seq is not null)", name=op.f("ck_search_entry_place")
        ),
        sa.ForeignKeyConstraint(["user_id"], ["user.id"], name=op.f("fk_search_entry_user_id")),
        sa.PrimaryKeyConstraint("n", name=op.f("pk_search_entry")),
        sa.UniqueConstraint("kind", "ref", name=op.f("uq_search_entry_kind_ref")),
    )
    op.create_index("ix_search_entry_user", "search_entry", ["user_id", "n"])
    if op.get_bind().dialect.name == "postgresql":
        op.execute("create index ix_search_entry_grams on search_entry using gin (to_tsvector('simple', grams))")
        return
    op.execute("create virtual table search_fts using fts5(grams, content='search_entry', content_rowid='n')")
    op.execute(
        "create trigger search_entry_added after insert on search_entry begin"
        " insert into search_fts(rowid, grams) values (new.n, new.grams); end"
    )
    op.execute(
        "create trigger search_entry_removed after delete on search_entry begin"
        " insert into search_fts(search_fts, rowid, grams) values ('delete', old.n, old.grams); end"
    )
