"""Versions of the schema: migrations and tables agree, a newer database is refused, a backup is whole."""

import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from homing.model.clock import SystemClock
from homing.model.errors import Conflict, NotReady
from homing.store import Store, Tx, files, schema
from homing.store import tables as t
from homing.testing import PostgresServer
from store.scenes import add_session, do, many_stores, race, say

on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

# Spelled by each database in its own way, so they are made by the migration alone: SQLite's full-text table with the
# tables it keeps beside it, and PostgreSQL's index over an expression.
SEARCH = ("memory_fts", "ix_memory_grams", "search_fts", "ix_search_entry_grams")


def is_compared(_: object, name: str | None, kind: str, reflected: bool, __: object) -> bool:
    own = kind in {"table", "index"} and name is not None and name.startswith(SEARCH)
    return not (reflected and own)


def test_the_migrations_end_in_the_tables_that_the_program_knows(store: Store) -> None:
    def compare(tx: Tx) -> list[Any]:
        context = MigrationContext.configure(
            tx.connection, opts={"compare_type": True, "compare_server_default": True, "include_object": is_compared}
        )
        return compare_metadata(context, t.metadata)

    assert store.write_now(compare) == []


def test_every_check_and_partial_index_of_the_tables_is_in_the_database(store: Store) -> None:
    """Alembic compares neither checks nor the conditions of indexes: they carry the promises, so we do."""

    def names(tx: Tx) -> tuple[set[str], set[str]]:
        looked = sa.inspect(tx.connection)
        checks = {str(c["name"]) for table in t.metadata.tables for c in looked.get_check_constraints(table)}
        partial = {
            str(index["name"])
            for table in t.metadata.tables
            for index in looked.get_indexes(table)
            if index.get("dialect_options", {}).get(f"{tx.connection.dialect.name}_where") is not None
        }
        return checks, partial

    checks, partial = store.write_now(names)
    spoken = {
        str(c.name) for table in t.metadata.tables.values() for c in table.constraints
        if isinstance(c, sa.CheckConstraint)
    }  # fmt: skip
    conditional = {
        str(index.name) for table in t.metadata.tables.values() for index in table.indexes
        if index.dialect_options["sqlite"]["where"] is not None
    }  # fmt: skip
    assert {name.removeprefix("ck_") for name in checks} == {name.removeprefix("ck_") for name in spoken}
    assert partial == conditional
    assert len(conditional) > 10


def test_the_versions_we_read_from_the_files_are_those_of_the_migrations(store: Store) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(schema.__file__).parent / "migrations"))
    assert schema.current(store) == (ScriptDirectory.from_config(config).get_current_head(),) * 2
    assert (
        store.write_now(lambda tx: MigrationContext.configure(tx.connection).get_current_revision())
        == schema.current(store)[1]
    )


def test_an_upgrade_of_an_upgraded_database_changes_nothing(store: Store) -> None:
    newest = schema.current(store)[1]
    assert schema.current(store) == (newest, newest)
    assert schema.upgrade(store) == (newest, newest)


def test_a_database_of_a_newer_homing_is_refused(store: Store) -> None:
    do(store, lambda tx: tx.run(sa.text("update alembic_version set version_num = '9999'")))
    with pytest.raises(Conflict, match=r"9999.*newer Homing"):
        schema.upgrade(store)
    assert schema.current(store)[0] == "9999"


def test_processes_that_start_at_once_upgrade_once(postgres_server: PostgresServer, tmp_path: Path) -> None:
    fresh = postgres_server.fresh()
    for url in (fresh, f"sqlite:///{tmp_path / 'new' / 'homing.db'}"):
        with many_stores(url, 4) as stores:
            before = [came_from for came_from, _ in race(stores, lambda store, _: schema.upgrade(store))]
            assert before.count(None) == 1
    postgres_server.drop(fresh)


def test_a_database_that_cannot_be_reached_is_not_ready(tmp_path: Path) -> None:
    nobody = Store("postgresql://nobody@127.0.0.1:1/nowhere", SystemClock())
    (tmp_path / "file").write_text("this is no database")
    broken = Store(f"sqlite:///{tmp_path}/", SystemClock())
    for store in (nobody, broken):
        for look in (schema.upgrade, schema.current):
            with pytest.raises(NotReady, match="HOMING_DATABASE_URL"):
                look(store)
        store.engine.dispose()


@on_sqlite
@pytest.mark.parametrize("name", ["plain", "100% mine #1"])
def test_a_backup_is_whole_although_somebody_writes_meanwhile(database: str, tmp_path: Path, name: str) -> None:
    home = tmp_path / name
    home.mkdir()
    (home / "homing.db").write_bytes(Path(database.removeprefix("sqlite:///")).read_bytes())
    store = Store(f"sqlite:///{home / 'homing.db'}", SystemClock(), fsync=False)
    session = store.write_now(add_session)
    said, enough = threading.Event(), threading.Event()

    def write() -> None:
        while not enough.is_set():
            # Two messages or none: a copy that holds one alone was torn.
            store.write_now(lambda tx: (say(tx, session, "one"), say(tx, session, "two")))
            said.set()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert said.wait(30)
        for n in range(3):
            files.backup(store, home / f"copy_{n}.db")
    finally:
        enough.set()
        writer.join()
    for n in range(3):
        copy = sqlite3.connect(home / f"copy_{n}.db")
        assert copy.execute("pragma integrity_check").fetchall() == [("ok",)]
        [(messages, seq)] = copy.execute("select count(*), (select seq from session) from message").fetchall()
        assert messages == seq
        assert messages >= 2
        assert messages % 2 == 0
        copy.close()
    with pytest.raises(Conflict, match="exists already"):
        files.backup(store, home / "copy_0.db")
    store.engine.dispose()


@on_postgresql
def test_on_postgresql_a_backup_names_the_right_tool(store: Store, tmp_path: Path) -> None:
    with pytest.raises(Conflict, match="pg_dump"):
        files.backup(store, tmp_path / "copy.db")


def test_a_file_that_is_no_database_is_told_as_what_it_is(tmp_path: Path) -> None:
    path = tmp_path / "homing.db"
    path.write_text("This was never a database, and it is long enough to be taken for one." * 20)
    store = Store(f"sqlite:///{path}", SystemClock())
    with pytest.raises(NotReady, match="not a database"):
        schema.upgrade(store)
    store.engine.dispose()
