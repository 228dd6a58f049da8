"""Changes that one database makes by a statement and the other only by rebuilding a table."""

from collections.abc import Callable

import sqlalchemy as sa
from alembic import op


def drop_not_null(table: str, column: str) -> None:
    """Let a text column of a table be null, keeping its rows, indexes and triggers."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column(table, column, nullable=True)
        return
    _rebuild(table, lambda definition: _without_not_null(definition, column))


def replace_check(table: str, name: str, condition: str) -> None:
    """Replace a CHECK constraint of a table, keeping its rows, indexes and triggers.

    SQLite cannot alter a constraint: the table is created again from its own definition, with the constraint replaced,
    and takes the old one's place. `schema.upgrade` switches foreign keys off meanwhile and checks them afterwards.
    """
    constraint = f"ck_{table}_{name}"
    if op.get_bind().dialect.name == "postgresql":
        op.drop_constraint(op.f(constraint), table, type_="check")
        op.create_check_constraint(op.f(constraint), table, condition)
        return
    _rebuild(table, lambda definition: _with_check(definition, constraint, condition))


def _rebuild(table: str, change: Callable[[str], str]) -> None:
    connection = op.get_bind()
    parts = connection.execute(
        sa.text("select type, sql from sqlite_master where tbl_name = :table and sql is not null"), {"table": table}
    ).all()
    [definition] = [sql for kind, sql in parts if kind == "table"]
    new = f"{table}_new"
    columns = ", ".join(f'"{column["name"]}"' for column in sa.inspect(connection).get_columns(table))
    op.execute(_renamed(change(definition), table, new))
    op.execute(f'insert into "{new}" ({columns}) select {columns} from "{table}"')  # noqa: S608 - our own names
    op.execute(f'drop table "{table}"')
    op.execute(f'alter table "{new}" rename to "{table}"')
    for kind, sql in parts:
        if kind != "table":
            op.execute(sql)


def _renamed(definition: str, table: str, new: str) -> str:
    head, body = definition.split("(", 1)
    return f"{head.replace(table, new)}({body}"


def _without_not_null(definition: str, column: str) -> str:
    strict = f"{column} TEXT NOT NULL"
    if definition.count(strict) != 1:
        raise ValueError(f"The column {column} is not a text that must be there.")
    return definition.replace(strict, f"{column} TEXT")


def _with_check(definition: str, constraint: str, condition: str) -> str:
    """Put a condition in place of the one that a named CHECK has now, up to its closing parenthesis."""
    start = definition.index("(", definition.index(f"CONSTRAINT {constraint} CHECK"))
    depth = 0
    for end in range(start, len(definition)):
        depth += {"(": 1, ")": -1}.get(definition[end], 0)
        if depth == 0:
            return f"{definition[:start]}({condition}){definition[end + 1 :]}"
    raise ValueError(f"The CHECK {constraint} has no end.")
