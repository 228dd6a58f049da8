"""A SQLite database as a file: made for its owner only, copied, put back, and checked after an unclean end.

A copy or a restore that is killed at any point leaves the old content or the new, never a mix: SQLite's own transaction
carries a restore, and where the old file cannot be read a rename does, after its log is out of the way.
"""

import os
import shutil
import sqlite3
import time
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from homing.model.errors import Conflict, NotReady
from homing.store import schema
from homing.store.base import RESTORE, Store, keep_private

# A start is not held up for longer; `homing doctor` looks without a limit.
CHECK_SECONDS = 10.0
CHECK_BYTES = 4_000_000_000

# The tables of the first schema, which every later one has as well: a backup may be older than this program.
_FIRST = frozenset(
    "address agent alembic_version audit delivery grant hook idempotency inbound job memory message outbound run"
    " session step token turn user webhook worker".split()
)
_LOGS = ("-wal", "-shm", "-journal")
_PRIVATE = 0o600
_STEPS = 10_000
# What says that the file in place cannot take a copy as one of its own transactions: it is damaged, no database at
# all, or has pages of another size.
_UNUSABLE = {"SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_READONLY"}


@dataclass(frozen=True, kw_only=True)
class Restored:
    """What a restore did: the schema it brought, and where the content before it is kept."""

    version: str
    kept: Path | None


def backup(store: Store, target: Path) -> None:
    """Copy the live SQLite database to a file, consistent and without stopping anybody."""
    if store.postgres:
        raise Conflict("This database is PostgreSQL: use pg_dump to back it up.")
    try:
        # Neither an existing file nor what a link points at is ever written.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
    except FileExistsError:
        raise Conflict(f"{target} exists already; name another file.") from None
    try:
        with _partial(target) as partial, closing(_reading(Path(store.url.database or ""), alone=False)) as source:
            _copy(source, partial)
            partial.replace(target)
    except BaseException as error:
        target.unlink(missing_ok=True)
        if isinstance(error, sqlite3.Error):
            raise _unreadable(store.url.database, error) from error
        raise


def restore(source: Path, database: Path, kept: Path) -> Restored:
    """Put a backup in the database's place. The caller holds the engine's lock; the old content goes to `kept`."""
    version = _check_backup(source, database)
    old = database.exists() and database.stat().st_size > 0
    keep_private(database)
    if old:
        _keep(database, kept)
    _put_in(source, database)
    return Restored(version=version, kept=kept if old else None)


def check(database: Path, *, seconds: float | None = None) -> str | None:
    """Look through the whole file for damage; None when it is sound. Raises TimeoutError when time is up."""
    if seconds is not None and database.stat().st_size > CHECK_BYTES:
        raise TimeoutError
    with closing(sqlite3.connect(database, timeout=30.0)) as connection:
        if seconds is not None:
            ends = time.monotonic() + seconds
            connection.set_progress_handler(lambda: time.monotonic() > ends, _STEPS)
        try:
            [(verdict,)] = connection.execute("pragma quick_check(1)").fetchall()
        except sqlite3.OperationalError as error:
            if "interrupted" in str(error):
                raise TimeoutError from None
            raise NotReady(f"The database {database} cannot be opened: {error}.") from error
        except sqlite3.DatabaseError as error:
            return str(error)
    return None if verdict == "ok" else " ".join(str(verdict).split())


def _check_backup(source: Path, database: Path) -> str:
    """Refuse what is not a whole Homing database that this program knows; return its schema's version."""
    if not source.is_file():
        raise Conflict(f"There is no file {source}.")
    if database.exists() and source.samefile(database):
        raise Conflict(f"{source} is the database itself; name a backup of it.")
    try:
        with closing(_reading(source)) as connection:
            damage = [row[0] for row in connection.execute("pragma integrity_check(1)")]
            if damage != ["ok"]:
                raise Conflict(f"{source} is damaged ({' '.join(damage[0].split())}); use another backup.")
            version = _version(connection)
    except sqlite3.Error as error:
        raise Conflict(f"{source} cannot be restored: {error}.") from error
    schema.refuse_future(version, str(source))
    return version


def _version(connection: sqlite3.Connection) -> str:
    tables = {name for (name,) in connection.execute("select name from sqlite_schema where type = 'table'")}
    versions = connection.execute("select version_num from alembic_version").fetchall() if tables >= _FIRST else []
    if len(versions) != 1:
        raise Conflict("That file is not a Homing database.")
    return str(versions[0][0])


def _put_in(source: Path, database: Path) -> None:
    with closing(_reading(source)) as copied:
        try:
            # One SQLite transaction: readers meanwhile, and the next start, see either the old content or the new.
            with closing(sqlite3.connect(database, timeout=30.0)) as connection:
                copied.backup(connection)
                connection.execute("pragma wal_checkpoint(truncate)")
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname not in _UNUSABLE:
                raise NotReady(f"{database} cannot be written: {error}. Nothing was changed.") from error
            _replace(copied, database.resolve())
    if (damage := check(database)) is not None:
        raise NotReady(f"{database} is damaged after the restore: {damage}. Check the disk, and restore again.")


def _replace(copied: sqlite3.Connection, database: Path) -> None:
    """Put a copy where a file is that cannot be read, or not be written as it is."""
    with _partial(database) as partial:
        _copy(copied, partial)
        with suppress(sqlite3.Error), closing(sqlite3.connect(database, timeout=30.0)) as old:
            # What can be read is whole without its log from here on.
            old.execute("pragma journal_mode=delete")
        # Before the new file is there: SQLite would play the old log into it.
        for log in _LOGS:
            _beside(database, log).unlink(missing_ok=True)
        partial.replace(database)
        _sync(database.parent)


def _keep(database: Path, kept: Path) -> None:
    """Copy the database as it is aside; one that SQLite cannot read byte by byte, with its log."""
    with _partial(kept) as partial:
        try:
            with closing(_reading(database, alone=False)) as old:
                _copy(old, partial)
        except sqlite3.Error:
            shutil.copyfile(database, partial)
            with suppress(FileNotFoundError):
                shutil.copyfile(_beside(database, "-wal"), _beside(kept, "-wal"))
        partial.replace(kept)


@contextmanager
def _partial(target: Path) -> Generator[Path]:
    """Give a private file beside the target that becomes it when it is whole, and is gone otherwise."""
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
    try:
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def _copy(source: sqlite3.Connection, target: Path) -> None:
    with closing(sqlite3.connect(target)) as copy:
        # Nobody sees this file before it is whole; one sync at the end is enough.
        copy.execute("pragma journal_mode=off")
        copy.execute("pragma synchronous=off")
        source.backup(copy)
    _sync(target)


def _reading(database: Path, *, alone: bool = True) -> sqlite3.Connection:
    """Open a database to read it. A lone file is read as it is, so that nothing is made beside a backup."""
    logs = any(_beside(database, log).exists() for log in _LOGS)
    mode = "immutable=1" if alone and not logs else "mode=ro"
    # Quoted: in a path, a # or a % would otherwise mean something.
    return sqlite3.connect(f"file:{quote(str(database))}?{mode}", uri=True, timeout=30.0)


def _beside(database: Path, log: str) -> Path:
    return database.with_name(database.name + log)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unreadable(database: str | None, error: sqlite3.Error) -> NotReady:
    return NotReady(f"The database {database} cannot be read: {error}. {RESTORE}")
