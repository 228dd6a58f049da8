"""The schema's versions: upgrade at start, refuse a database from the future, make a safe copy."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy import exc

from homing.model.errors import Broken, Conflict, NotReady
from homing.store.base import Store, Tx

# Two processes that start at once: one upgrades, the other waits for it.
_LOCK = 466446644
_MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(store: Store) -> tuple[str | None, str]:
    """Bring the database to this program's schema; return the versions before and after."""
    newest = _known()[-1]
    try:
        with store.engine.connect() as connection:
            before = _version(connection)
        _refuse_future(before)
        if before == newest:
            return before, newest
        with _rebuilding(store) as connection:
            if store.postgres:
                connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            # Looked at again under the lock: another process may have been faster.
            before = _version(connection)
            _refuse_future(before)
            if before != newest:
                _migrate(connection)
    except exc.DatabaseError as error:
        raise _unusable(store, error) from error
    return before, newest


@contextmanager
def _rebuilding(store: Store) -> Generator[sa.Connection]:
    """Open a transaction in which SQLite may rebuild a table that others refer to.

    Foreign keys cannot be switched inside a transaction, and dropping a table with them on deletes its rows first.
    """
    if store.postgres:
        with store.engine.begin() as connection:
            yield connection
        return
    with store.engine.connect() as connection:
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.execute("pragma foreign_keys=off")
        try:
            with connection.begin():
                yield connection
                if broken := connection.exec_driver_sql("pragma foreign_key_check").all():
                    raise Broken(f"The migration would leave {len(broken)} rows that refer to nothing.")
        finally:
            driver.execute("pragma foreign_keys=on")


def current(store: Store) -> tuple[str | None, str]:
    """Tell the database's version and this program's."""
    try:
        with store.engine.connect() as connection:
            return _version(connection), _known()[-1]
    except exc.DatabaseError as error:
        raise _unusable(store, error) from error


def version_in(tx: Tx) -> tuple[str | None, str]:
    """Tell the version that a transaction sees, and this program's."""
    return _version(tx.connection), _known()[-1]


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


def _migrate(connection: sa.Connection) -> None:
    # Every command looks at the version, and few find an old one: only those pay for the import.
    from alembic import command  # noqa: PLC0415 - see above
    from alembic.config import Config  # noqa: PLC0415 - see above

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _version(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("select version_num from alembic_version")).scalar()


def _known() -> list[str]:
    """Name the versions of the schema, oldest first: their files begin with them."""
    return sorted(path.name[:4] for path in (_MIGRATIONS / "versions").glob("[0-9]*.py"))


def _refuse_future(version: str | None) -> None:
    known = _known()
    if version is not None and version not in known:
        raise Conflict(
            f"The database has schema version {version}, made by a newer Homing; this one knows up to {known[-1]}."
            " Install the newer Homing, or go back to a backup."
        )


def _unusable(store: Store, error: exc.DatabaseError) -> Exception:
    # SQLite's own word for a file that is no database, or a broken one, is the plain class; its heirs are bugs of ours.
    world = isinstance(error, exc.OperationalError) or type(error) is exc.DatabaseError
    return NotReady(_cannot_reach(store, error)) if world else error


def _cannot_reach(store: Store, error: exc.DatabaseError) -> str:
    reason = str(error.orig).strip().splitlines()[0]
    where = store.url.render_as_string(hide_password=True)
    return f"The database {where} cannot be opened: {reason}. Check HOMING_DATABASE_URL, and that it is running."
