"""The schema's versions: upgrade at start, refuse a database from the future, make a safe copy."""

import sqlite3
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import exc

from homing.model.errors import Conflict, NotReady
from homing.store.base import Store, Tx

# Two processes that start at once: one upgrades, the other waits for it.
_LOCK = 466446644


def upgrade(store: Store) -> tuple[str | None, str]:
    """Bring the database to this program's schema; return the versions before and after."""
    config, newest = _config()
    try:
        with store.engine.begin() as connection:
            if store.postgres:
                connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            before = MigrationContext.configure(connection).get_current_revision()
            _refuse_future(before)
            if before != newest:
                config.attributes["connection"] = connection
                command.upgrade(config, "head")
    except exc.OperationalError as error:
        raise NotReady(_cannot_reach(store, error)) from error
    return before, newest


def current(store: Store) -> tuple[str | None, str]:
    """Tell the database's version and this program's."""
    _, newest = _config()
    try:
        with store.engine.connect() as connection:
            return MigrationContext.configure(connection).get_current_revision(), newest
    except exc.OperationalError as error:
        raise NotReady(_cannot_reach(store, error)) from error


def version_in(tx: Tx) -> tuple[str | None, str]:
    """Tell the version that a transaction sees, and this program's."""
    _, newest = _config()
    return MigrationContext.configure(tx.connection).get_current_revision(), newest


def backup(store: Store, target: Path) -> None:
    """Copy the live SQLite database to a file, consistent and without stopping anybody."""
    if store.postgres:
        raise Conflict("This database is PostgreSQL: use pg_dump to back it up.")
    if target.exists():
        raise Conflict(f"{target} exists already; name another file.")
    # Quoted: in a path, a # or a % would otherwise mean something.
    source = sqlite3.connect(f"file:{quote(store.url.database or '')}?mode=ro", uri=True)
    copy = sqlite3.connect(target)
    try:
        source.backup(copy)
    finally:
        copy.close()
        source.close()


def _config() -> tuple[Config, str]:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    newest = ScriptDirectory.from_config(config).get_current_head()
    assert newest is not None
    return config, newest


def _refuse_future(version: str | None) -> None:
    config, newest = _config()
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if version is not None and version not in known:
        raise Conflict(
            f"The database has schema version {version}, made by a newer Homing; this one knows up to {newest}."
            " Install the newer Homing, or go back to a backup."
        )


def _cannot_reach(store: Store, error: exc.OperationalError) -> str:
    reason = str(error.orig).strip().splitlines()[0]
    where = store.url.render_as_string(hide_password=True)
    return f"The database {where} cannot be opened: {reason}. Check HOMING_DATABASE_URL, and that it is running."
