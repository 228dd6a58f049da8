"""One statement for many rows, compiled once a dialect and handed to the driver as it is.

SQLAlchemy prepares each row of an `executemany` anew, which costs more than SQLite needs to write it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import sqlalchemy as sa
from sqlalchemy.sql.dml import UpdateBase

from homing.store.base import Tx

_Read = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    text: str
    reads: list[tuple[str, _Read]]
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
        if prepared.positional:
            reads = [read for _, read in prepared.reads]
            ready: Any = [tuple([read(row) for read in reads]) for row in rows]
        else:
            ready = [{name: read(row) for name, read in prepared.reads} for row in rows]
        return tx.connection.exec_driver_sql(prepared.text, ready).rowcount

    def _prepare(self, dialect: sa.Dialect) -> _Prepared:
        compiled = self._statement.compile(dialect=dialect)
        names = {name: bind for bind, name in compiled.bind_names.items()}
        order = compiled.positiontup or list(names)
        prepared = _Prepared(
            text=str(compiled),
            reads=[(name, _reader(name, names[name], dialect)) for name in order],
            positional=compiled.positiontup is not None,
        )
        self._prepared[dialect.name] = prepared
        return prepared


def _reader(name: str, bind: sa.BindParameter[Any], dialect: sa.Dialect) -> _Read:
    process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if not bind.required:
        value = bind.value if process is None else process(bind.value)
        return lambda _: value
    if process is None:
        return itemgetter(name)
    return lambda row: process(row[name])


def insert_rows(table: sa.Table, *names: str, **same: object) -> Bulk:
    """Prepare an insert of these columns; `same` are those with one value for all."""
    return Bulk(sa.insert(table).values({**{name: sa.bindparam(name) for name in names}, **same}))
