"""One statement for many rows, compiled once a dialect and handed to the driver as it is.

SQLAlchemy prepares each row of an `executemany` anew, which costs more than SQLite needs to write it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import UpdateBase

from homing.store.base import Tx

_Column = Callable[[Sequence[Mapping[str, Any]]], Iterable[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    text: str
    names: list[str]
    columns: list[_Column]
    positional: bool


class Bulk:
    """An insert or update whose values are bound by name; what is not bound is the same for every row."""

    def __init__(self, statement: UpdateBase) -> None:
        self._statement = statement
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, rows: Sequence[Mapping[str, Any]]) -> int:
        """Execute for each row; say how many rows changed."""
        if not rows:
            return 0
        dialect = tx.connection.dialect
        prepared = self._prepared.get(dialect.name) or self._prepare(dialect)
        # Column by column: a row at a time costs a call for each of its values.
        ready: Any = list(zip(*(column(rows) for column in prepared.columns), strict=False))
        if not prepared.positional:
            ready = [dict(zip(prepared.names, values, strict=True)) for values in ready]
        return tx.connection.exec_driver_sql(prepared.text, ready).rowcount

    def _prepare(self, dialect: sa.Dialect) -> _Prepared:
        compiled = self._statement.compile(dialect=dialect)
        binds = {name: bind for bind, name in compiled.bind_names.items()}
        names = [str(name) for name in compiled.positiontup or binds]
        prepared = _Prepared(
            text=str(compiled),
            names=names,
            columns=[_column(name, binds[name], dialect) for name in names],
            positional=compiled.positiontup is not None,
        )
        self._prepared[dialect.name] = prepared
        return prepared


def _column(name: str, bind: sa.BindParameter[Any], dialect: sa.Dialect) -> _Column:
    process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if not bind.required:
        value = bind.value if process is None else process(bind.value)
        return lambda _: repeat(value)
    if process is None:
        return lambda rows: [row[name] for row in rows]
    return lambda rows: [process(row[name]) for row in rows]


def insert_rows(table: sa.Table, *names: str, **same: object) -> Bulk:
    """Prepare an insert of these columns; `same` are those with one value for all."""
    return Bulk(sa.insert(table).values({**{name: sa.bindparam(name) for name in names}, **same}))
