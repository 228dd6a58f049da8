"""The schema's versions: upgrade at start, and refuse a database from the future."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy import exc

from homing.model.errors import Broken, Conflict, NotReady
from homing.store.base import RESTORE, Store, Tx, is_damage

# Two processes that start at once: one upgrades, the other waits for it.
_LOCK = 466446644
_MIGRATIONS = Path(__file__).parent / "migrations"


def upgrade(store: Store) -> tuple[str | None, str]:
    """Bring the database to this program's schema; return the versions before and after."""
    newest = _known()[-1]
    try:
        with store.engine.connect() as connection:
            before = _version(connection)
        refuse_future(before)
        if before == newest:
            return before, newest
        with _rebuilding(store) as connection:
            if store.postgres:
                connection.execute(sa.text("select pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            # Looked at again under the lock: another process may have been faster.
            before = _version(connection)
            refuse_future(before)
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


def newer_than_known(tx: Tx) -> str | None:
    """Tell the database's version if a newer Homing upgraded it under this running one."""
    found = tx.connection.execute(sa.text("select version_num from alembic_version")).scalar()
    return found if found not in _known() else None


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


def refuse_future(version: str | None, what: str = "The database") -> None:
    """Refuse what a newer Homing made."""
    known = _known()
    if version is not None and version not in known:
        raise Conflict(
            f"{what} has schema version {version}, made by a newer Homing; this one knows up to {known[-1]}."
            " Install the newer Homing, or go back to a backup."
        )


def _unusable(store: Store, error: exc.DatabaseError) -> Exception:
    reason = str(error.orig).strip().splitlines()[0]
    where = store.url.render_as_string(hide_password=True)
    if is_damage(error):
        return NotReady(f"The database {where} is damaged: {reason}. {RESTORE}")
    if not isinstance(error, exc.OperationalError):
        return error
    return NotReady(
        f"The database {where} cannot be opened: {reason}. Check HOMING_DATABASE_URL, and that it is running."
    )
