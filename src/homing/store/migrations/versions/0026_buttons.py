"""Approvals are answered by button: a part keeps whose, and the digest of what it showed. Contacts, link codes and tries
get the checks that they lacked.
"""

import re

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_CHECKS = {
    "contact": {
        "place_is_named": "place <> ''",
        "address_of_channel": "substr(address, 1, length(channel) + 1) = channel || ':'",
        "rules_of_groups": "kind = 'group' or (who = 'linked' and wakes = 'addressed')",
    },
    "link_code": {
        "group_has_its_own_session": "session_id is null or not for_group",
        "expires_later": "expires_at > created_at",
    },
    "link_try": {"tries": "tries >= 0"},
}


def upgrade() -> None:
    op.execute("alter table part add column approval_id text")
    op.execute(
        "alter table part add column digest text"
        " constraint ck_part_approval_has_digest check ((approval_id is null) = (digest is null))"
        " constraint ck_part_asks_one check (approval_id is null or question_id is null)"
    )
    no = "false" if op.get_bind().dialect.name == "postgresql" else "0"
    op.execute(
        f"alter table part add column buttons boolean default {no} not null"
        " constraint ck_part_buttons_when_sent check (not buttons or external_id is not null)"
    )
    op.create_index(
        "ix_part_buttons",
        "part",
        ["delivery_id"],
        sqlite_where=sa.text("buttons = 1"),
        postgresql_where=sa.text("buttons"),
    )
    # A person has no rules of a group, whatever somebody wrote there.
    op.execute("update contact set who = 'linked', wakes = 'addressed' where kind = 'person'")
    for table, checks in _CHECKS.items():
        _add_checks(table, {f"ck_{table}_{name}": check for name, check in checks.items()})


def _add_checks(table: str, checks: dict[str, str]) -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        for name, check in checks.items():
            op.execute(f"alter table {table} add constraint {name} check ({check})")
        return
    # SQLite adds no check to a table that is there. Nothing refers to these three, so each is made again, with its
    # columns and indexes as they are.
    made = sa.text("select sql from sqlite_master where tbl_name = :name and sql is not null order by type = 'index'")
    table_sql, *indexes = [sql for (sql,) in connection.execute(made, {"name": table})]
    body = table_sql.rstrip()[:-1].rstrip()
    added = "".join(f",\n\tCONSTRAINT {name} CHECK ({check})" for name, check in checks.items())
    op.execute(re.sub(rf'^CREATE TABLE "?{table}"?', f"CREATE TABLE {table}_new", f"{body}{added}\n)", count=1))
    op.execute(f"insert into {table}_new select * from {table}")  # noqa: S608 - our own names
    op.execute(f"drop table {table}")
    op.execute(f"alter table {table}_new rename to {table}")
    for sql in indexes:
        op.execute(sql)
