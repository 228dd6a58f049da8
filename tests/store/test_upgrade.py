"""A home of every released version goes through every migration, and keeps each of its rows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from homing.model.clock import SystemClock
from homing.store import Store, schema
from homing.store import tables as t
from homing.testing import PostgresServer
from store.test_schema import is_compared
from support.kept_homes import VERSIONS, load_home

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture(params=["sqlite", "postgresql"])
def empty(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'homing.db'}"
        return
    server: PostgresServer = request.getfixturevalue("postgres_server")
    url = server.fresh()
    yield url
    server.drop(url)


def rows_of(store: Store) -> Rows:
    """Read every row of every table that the program knows, by the columns that are there."""
    with store.engine.connect() as connection:
        there = sa.inspect(connection)
        return {
            name: sorted(
                (dict(row._mapping) for row in connection.execute(sa.text(f'select * from "{name}"'))), key=str
            )
            for name in t.metadata.tables
            if there.has_table(name)
        }


@pytest.mark.parametrize("version", VERSIONS)
def test_a_kept_home_upgrades_without_losing_a_row_or_a_value(empty: str, version: str) -> None:
    load_home(version, empty)
    store = Store(empty, SystemClock(), fsync=False)
    before = rows_of(store)
    assert before["turn"]
    assert before["delivery"]
    schema.upgrade(store)
    after = rows_of(store)
    for name, rows in before.items():
        columns = rows[0].keys() if rows else ()
        assert sorted(({c: row[c] for c in columns} for row in after[name]), key=str) == sorted(rows, key=str), name
    store.engine.dispose()


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upgraded_home_has_the_schema_of_a_new_one(empty: str, version: str) -> None:
    load_home(version, empty)
    store = Store(empty, SystemClock(), fsync=False)
    schema.upgrade(store)
    with store.engine.connect() as connection:
        context = MigrationContext.configure(
            connection, opts={"compare_type": True, "compare_server_default": True, "include_object": is_compared}
        )
        assert compare_metadata(context, t.metadata) == []
        if not store.postgres:
            assert connection.exec_driver_sql("pragma foreign_keys").scalar() == 1
            assert connection.exec_driver_sql("pragma integrity_check").all() == [("ok",)]
    store.engine.dispose()
