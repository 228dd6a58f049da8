"""One statement for many rows, compiled once a dialect and handed to the driver as it is.

SQLAlchemy prepares each row of an `executemany` again, which costs more than SQLite needs to write it. PostgreSQL gets
one statement for the whole set: the rows travel as arrays, one a column.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import repeat
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql
from sqlalchemy.sql import visitors

from homing.store.base import Tx

_PLACE = "place_in_the_set"
_Column = Callable[[Sequence[Mapping[str, Any]]], Iterable[Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Prepared:
    text: str
    columns: list[_Column]
    arrays: dict[str, _Column] | None
    """For one statement on a set: what is bound under each name. Else the statement is executed for each row."""
    same: Mapping[str, Any]


class Bulk:
    """An insert or update whose values are bound by name; what is not bound is the same for every row.

    A row is a record or a mapping. In an update, where a column's own name is reserved, `b_name` binds its field
    `name`. Empty JSON is stored as null. Of an update each row is changed once: no two rows may mean the same one.
    """

    def __init__(self, statement: sa.Insert | sa.Update) -> None:
        self._statement = statement
        self._prepared: dict[str, _Prepared] = {}

    def run(self, tx: Tx, given: Sequence[object], **same: object) -> int:
        """Execute for all rows, with `same` for each of them; say how many rows changed."""
        if not given:
            return 0
        rows: list[Mapping[str, Any]] = [{**(row if isinstance(row, Mapping) else vars(row)), **same} for row in given]
        dialect = tx.connection.dialect
        prepared = self._prepared.get(dialect.name) or self._prepare(dialect)
        # Column by column: a row at a time costs a call for each of its values.
        ready: Any = (
            list(zip(*(column(rows) for column in prepared.columns), strict=False))
            if prepared.arrays is None
            else {**{name: column(rows) for name, column in prepared.arrays.items()}, **prepared.same}
        )
        return tx.connection.exec_driver_sql(prepared.text, ready).rowcount

    def _prepare(self, dialect: sa.Dialect) -> _Prepared:
        prepared = self._on_a_set(dialect) if dialect.name == "postgresql" else self._row_by_row(dialect)
        self._prepared[dialect.name] = prepared
        return prepared

    def _row_by_row(self, dialect: sa.Dialect) -> _Prepared:
        compiled = self._statement.compile(dialect=dialect)
        binds = {str(name): bind for bind, name in compiled.bind_names.items()}
        columns = [_column(name, binds[name], dialect) for name in compiled.positiontup or ()]
        return _Prepared(text=str(compiled), columns=columns, arrays=None, same={})

    def _on_a_set(self, dialect: sa.Dialect) -> _Prepared:
        # As compiled for one row each value knows the type of its column.
        binds = {name: bind for bind, name in self._statement.compile(dialect=dialect).bind_names.items()}
        varying = {name: bind for name, bind in binds.items() if bind.required}
        kinds = {name: _element(bind.type) for name, bind in varying.items()}
        given = (
            sa.func.unnest(*(sa.bindparam(name, type_=postgresql.ARRAY(kind)) for name, kind in kinds.items()))
            .table_valued(*(sa.column(name, kind) for name, kind in kinds.items()), with_ordinality=_PLACE)
            .render_derived()
        )
        values = {
            name: sa.cast(given.c[name], postgresql.JSONB) if isinstance(bind.type, sa.JSON) else given.c[name]
            for name, bind in varying.items()
        }
        statement: sa.Insert | sa.Update
        if isinstance(self._statement, sa.Insert):
            chosen = [values.get(name, sa.literal(bind.value, bind.type)) for name, bind in binds.items()]
            statement = sa.insert(self._statement.table).from_select(
                # Numbers are given in the order of the rows: who came first goes first.
                list(binds),
                sa.select(*chosen).order_by(given.c[_PLACE]),
            )
        else:
            statement = _with_values(self._statement, values)
        compiled = statement.compile(dialect=dialect)
        return _Prepared(
            text=str(compiled),
            columns=[],
            arrays={name: _array(name, bind, dialect) for name, bind in varying.items()},
            same={name: value for name, value in compiled.params.items() if name not in varying},
        )


def _with_values(statement: sa.Update, values: Mapping[str, sa.ColumnElement[Any]]) -> sa.Update:
    """Put the columns of a set where values were to be bound; the set joins the update by itself."""

    def instead(element: Any, **kw: Any) -> Any:
        return values.get(str(element.key)) if isinstance(element, sa.BindParameter) else None

    replaced: Any = visitors.replacement_traverse(statement, {}, instead)
    return replaced


def _element(kind: sa.types.TypeEngine[Any]) -> sa.types.TypeEngine[Any]:
    """What a value travels as in an array: JSON as its text."""
    return sa.Text() if isinstance(kind, sa.JSON) else kind


def _array(name: str, bind: sa.BindParameter[Any], dialect: sa.Dialect) -> _Column:
    if isinstance(bind.type, sa.JSON):
        field = name.removeprefix("b_")
        return lambda rows: [json.dumps(row[field]) if row[field] else None for row in rows]
    return _column(name, bind, dialect)


def _column(name: str, bind: sa.BindParameter[Any], dialect: sa.Dialect) -> _Column:
    process = bind.type.dialect_impl(dialect).bind_processor(dialect)
    if not bind.required:
        value = bind.value if process is None else process(bind.value)
        return lambda _: repeat(value)
    field = name.removeprefix("b_")
    if process is None:
        return lambda rows: [row[field] for row in rows]
    if isinstance(bind.type, sa.JSON):
        return lambda rows: [process(row[field] or None) for row in rows]
    return lambda rows: [process(row[field]) for row in rows]


def names_of(kind: type[Any], *more: str) -> list[str]:
    """Name the columns that a record fills, and those beside it."""
    return [*(field.name for field in fields(kind)), *more]


def insert_rows(table: sa.Table, *names: str, **same: object) -> Bulk:
    """Prepare an insert of these columns; `same` are those with one value for all."""
    return Bulk(sa.insert(table).values({**{name: sa.bindparam(name) for name in names}, **same}))
