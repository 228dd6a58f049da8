"""Rows by a list of ids: one statement, compiled once a dialect and handed to the driver as it is.

SQLAlchemy spells out each id of an `IN` for every call. Here the list is one value: an array on PostgreSQL,
JSON on SQLite. Values are read column by column.
"""

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql.dml import UpdateBase

from homing.store.base import Tx

_IDS = "ids"
_Process = Callable[[Any], Any]
_Statement = sa.Select[*tuple[Any, ...]] | UpdateBase


@dataclass(frozen=True, kw_only=True, slots=True)
class Spelling:
    """How a dialect says it."""

    postgres: bool

    def among(self, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
        """Say that a column is one of the given ids."""
        if self.postgres:
            return column == sa.any_(sa.bindparam(_IDS, type_=postgresql.ARRAY(column.type)))
        given = sa.func.json_each(sa.bindparam(_IDS)).table_valued("value")
        return column.in_(sa.select(given.c.value))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Bind:
    """A place in the statement, and what goes there."""

    name: str
    process: _Process | None
    same: Any
    """Its value where that is the same for every call."""

    def value(self, values: Mapping[str, Any]) -> Any:
        if self.name not in values:
            return self.same
        return values[self.name] if self.process is None else self.process(values[self.name])


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    text: str
    binds: list[_Bind]
    reads: list[tuple[int, _Process]]
    """Which columns need reading, and how."""
    positional: bool


class Fetch:
    """A select, or an update that returns, whose list and values are bound by name."""

    def __init__(self, spell: Callable[[Spelling], _Statement]) -> None:
        self._spell = spell
        self._prepared: dict[str, _Prepared] = {}

    def rows(self, tx: Tx, ids: Collection[int] | Collection[str], **values: Any) -> list[tuple[Any, ...]]:
        """Read all rows; none when no id is given."""
        if not ids:
            return []
        dialect = tx.connection.dialect
        prepared = self._prepared.get(dialect.name) or self._prepare(dialect)
        values[_IDS] = list(ids) if tx.postgres else json.dumps(list(ids))
        ready: Any = (
            tuple([bind.value(values) for bind in prepared.binds])
            if prepared.positional
            else {bind.name: bind.value(values) for bind in prepared.binds}
        )
        result = tx.connection.exec_driver_sql(prepared.text, ready)
        # The driver's own rows: SQLAlchemy would build each one again, and read it one at a time.
        cursor: Any = result.cursor
        found: list[tuple[Any, ...]] = cursor.fetchall()
        result.close()
        if not found or not prepared.reads:
            return found
        columns: list[Any] = list(zip(*found, strict=True))
        for place, read in prepared.reads:
            columns[place] = [read(value) for value in columns[place]]
        return list(zip(*columns, strict=True))

    def _prepare(self, dialect: sa.Dialect) -> _Prepared:
        statement = self._spell(Spelling(postgres=dialect.name == "postgresql"))
        compiled = statement.compile(dialect=dialect)
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        described = (
            statement.returning_column_descriptions
            if isinstance(statement, UpdateBase)
            else statement.column_descriptions
        )
        reads = [_read(column["type"], dialect) for column in described]
        prepared = _Prepared(
            text=str(compiled),
            binds=[_bind(str(name), binds[name], dialect) for name in compiled.positiontup or binds],
            reads=[(place, read) for place, read in enumerate(reads) if read is not None],
            positional=compiled.positiontup is not None,
        )
        self._prepared[dialect.name] = prepared
        return prepared


def _read(kind: sa.types.TypeEngine[Any], dialect: sa.Dialect) -> _Process | None:
    # Both drivers give numbers as they are.
    return (
        None if isinstance(kind, sa.Numeric | sa.Float) else kind.dialect_impl(dialect).result_processor(dialect, None)
    )


def _bind(name: str, bind: sa.BindParameter[Any], dialect: sa.Dialect) -> _Bind:
    process = None if name == _IDS else bind.type.dialect_impl(dialect).bind_processor(dialect)
    same = bind.value if bind.value is None or process is None else process(bind.value)
    return _Bind(name=name, process=process, same=same)
