"""One transaction, one plain function.

Verbs are synchronous functions on an open transaction (`Tx`); `Store.write` runs such a function whole in a thread, so
a transaction pays one thread hop, and cancelling a task can never tear it. SQLite has one writer thread; PostgreSQL a
pool. Bells that a transaction asks for ring after its commit.
"""

import asyncio
import contextlib
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import sqlalchemy as sa
from sqlalchemy import event, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url

from homing.model.clock import Clock
from homing.model.errors import Invalid, NotReady
from homing.store.bell import Bell, LocalBell

T = TypeVar("T")
R = TypeVar("R")
Row = sa.Row[*tuple[Any, ...]]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TRIES = 8
_READERS = 4
# Short looks that everything else waits for, such as who is asking, have threads of their own.
_RECOGNISERS = 2
_READS_PER_USER = 2
_WAL_TRIES = 250
_PG_CONNECTIONS = 12
# How long to rely on the bell. Behind a pooler PostgreSQL's rings can be lost: others' work is looked for by oneself.
_LOOK_SECONDS = 60.0
_PG_LOOK_SECONDS = 5.0
# Less than a claim lasts, so that a worker that takes up a frozen worker's turn does not wait for its locks as well.
_PG_IDLE_SECONDS = 5
# deadlock, serialization failure, lock timeout; a crash or fast shutdown of the server, a lost connection
_LOOK_AGAIN = {"40P01", "40001", "55P03"}
# What a server says that was the first until a moment ago, and is not any more.
_READ_ONLY = "25006"


RESTORE = "Restore a backup: homing db restore FILE."
_LOGS = ("-wal", "-shm")
_PRIVATE = 0o600


class LookAgain(Exception):
    """A transaction found, once it had its locks, another world than it planned for: `Store.write` runs it again."""


def columns(row: Row) -> dict[str, Any]:
    """Read a row by its columns' names."""
    # SQLAlchemy keeps its public names apart from columns' by an underscore; this one is documented.
    return dict(zip(row._fields, row, strict=True))  # pyright: ignore[reportPrivateUsage]


def insert_new(tx: "Tx", table: sa.Table) -> "postgresql.Insert | sqlite.Insert":
    """Begin an insert that leaves out what is there already; both dialects spell it alike, but share no base."""
    fresh = postgresql.insert(table) if tx.postgres else sqlite.insert(table)
    return fresh.on_conflict_do_nothing()


class Tx:
    """An open transaction: the connection, the store's clock and the bells to ring after commit."""

    def __init__(self, connection: sa.Connection, clock: Clock) -> None:
        self.connection = connection
        self.postgres = connection.dialect.name == "postgresql"
        self.bells: set[str] = set()
        self._clock = clock
        self._now: datetime | None = None

    def now(self) -> datetime:
        """Tell the store's time: PostgreSQL's own clock, for SQLite the process's. One instant a transaction."""
        if self._now is None:
            self._now = self._read_clock()
        return self._now

    def ring(self, *topics: str) -> None:
        self.bells.update(topics)

    @contextmanager
    def attempt(self) -> Generator[None]:
        """Do something that may fail, without losing what this transaction did and locked before it."""
        with self.connection.begin_nested():
            yield

    def _read_clock(self) -> datetime:
        if not self.postgres:
            return self._clock.now()
        micros = self.connection.scalar(sa.text("select (extract(epoch from clock_timestamp()) * 1000000)::bigint"))
        return _EPOCH + timedelta(microseconds=int(micros or 0))

    def rows(self, statement: sa.Executable, many: Sequence[Mapping[str, Any]] | None = None) -> list[Row]:
        """Execute, once or for each of many, and read all rows."""
        if many is None:
            return list(self.connection.execute(statement).all())
        return list(self.connection.execute(statement, many).all()) if many else []

    def run(self, statement: sa.Executable, many: Sequence[Mapping[str, Any]] | None = None) -> int:
        """Execute, once or for each of many, and say how many rows changed."""
        if many is None:
            return self.connection.execute(statement).rowcount
        return self.connection.execute(statement, many).rowcount if many else 0


class Store:
    """The memory of one Homing: hands out transactions on one database."""

    def __init__(self, url: str, clock: Clock, *, fsync: bool = True) -> None:
        self.url = read_url(url)
        self.postgres = self.url.get_backend_name() == "postgresql"
        self.clock = clock
        self.engine = _engine(self.url, fsync=fsync)
        if self.postgres:
            self._writers = self._readers = ThreadPoolExecutor(_PG_CONNECTIONS, thread_name_prefix="store")
        else:
            self._writers = ThreadPoolExecutor(1, thread_name_prefix="store-writer")
            self._readers = ThreadPoolExecutor(_READERS, thread_name_prefix="store-reader")
        self._file = None if self.postgres else _identity(self.url.database)
        self.outdated: str | None = None
        """Why this process takes no new work: the database's schema became newer than the one it knows."""
        self._recognisers = ThreadPoolExecutor(_RECOGNISERS, thread_name_prefix="store-recogniser")
        # Computing holds the interpreter; one at a time, so that the event loop has its turn.
        self._computers = ThreadPoolExecutor(1, thread_name_prefix="store-computer")
        self._read_slots: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        self.bell = _bell(self.url)
        self.look_seconds = _PG_LOOK_SECONDS if self.postgres else _LOOK_SECONDS
        """After this long, waiters look even without a ring."""

    async def write(self, work: Callable[[Tx], T]) -> T:
        """Run one transaction. It is finished even when the asking task is cancelled."""
        return await self._in_thread(self._writers, self._write, work)

    async def read(self, work: Callable[[Tx], T]) -> T:
        """Run one read-only look at a single state of the database."""
        return await self._in_thread(self._readers, self._read, work)

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        return None if self.postgres or not self.url.database else Path(self.url.database)

    def check_file(self) -> None:
        """Refuse to go on when the file that we have open is not the one at its path any more.

        SQLite would go on writing into a file that nobody finds again. A look costs a microsecond or two.
        """
        if self._file is not None and _identity(self.url.database) != self._file:
            raise NotReady(
                f"The database file {self.url.database} was removed or replaced while Homing ran; what is written now"
                " would be lost.",
                public="Its database file was removed or replaced while it ran: stop Homing, put the right file in its"
                " place (`homing db restore`), and start again.",
            )

    async def recognise(self, work: Callable[[Tx], T]) -> T:
        """Run a short look that must not wait behind others' long ones."""
        return await self._in_thread(self._recognisers, self._read, work)

    async def read_for(self, user_id: str, work: Callable[[Tx], T], then: Callable[[T], R] | None = None) -> T | R:
        """Read for a user, who has two readers at most; what is left to compute is computed outside of them."""
        slots = self._read_slots.setdefault(user_id, asyncio.Semaphore(_READS_PER_USER))
        async with slots:
            found = await self.read(work)
            if then is None:
                return found
            return await asyncio.get_running_loop().run_in_executor(self._computers, then, found)

    async def close(self) -> None:
        await self.bell.close()
        self._recognisers.shutdown(wait=True)
        self._computers.shutdown(wait=True)
        self._writers.shutdown(wait=True)
        self._readers.shutdown(wait=True)
        self.engine.dispose()

    def write_now(self, work: Callable[[Tx], T]) -> T:
        """Run one transaction in the calling thread: for start-up and the command line, never inside the loop."""
        result, _ = self._write(work)
        return result

    async def _in_thread(
        self, pool: ThreadPoolExecutor, run: Callable[[Callable[[Tx], T]], tuple[T, set[str]]], work: Callable[[Tx], T]
    ) -> T:
        future = asyncio.get_running_loop().run_in_executor(pool, run, work)
        future.add_done_callback(self._ring_after)
        return (await asyncio.shield(future))[0]

    def _ring_after(self, future: "asyncio.Future[tuple[T, set[str]]]") -> None:
        if future.cancelled() or future.exception() is not None:
            return
        if bells := future.result()[1]:
            self.bell.ring(bells)

    def _write(self, work: Callable[[Tx], T]) -> tuple[T, set[str]]:
        self.check_file()
        for attempt in range(1, _TRIES + 1):
            try:
                with self.engine.begin() as connection:
                    tx = Tx(connection, self.clock)
                    result = work(tx)
                # Again: what was written to a removed file is lost, and must not be reported as kept.
                self.check_file()
                return result, tx.bells
            except LookAgain:
                # More than once: others are at the same rows, and go on while this one waits.
                threading.Event().wait(0.005 * (attempt - 1))
            except exc.DBAPIError as error:
                if not _means_look_again(error) or attempt == _TRIES:
                    raise _named(error) from error
                # A refusal by the lock manager means: look again, after the other has gone on.
                threading.Event().wait(0.005 * attempt)
        raise NotReady("Too many others change the same thing at this moment; try again.")

    def _read(self, work: Callable[[Tx], T]) -> tuple[T, set[str]]:
        # One look at one state: PostgreSQL needs to be told; SQLite must not ask for the write lock.
        options = (
            {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
            if self.postgres
            else {"homing_read": True}
        )
        self.check_file()
        try:
            with self.engine.connect() as fresh:
                # Leaving the block rolls back.
                return work(Tx(fresh.execution_options(**options), self.clock)), set()
        except exc.DBAPIError as error:
            raise _named(error) from error


def _bell(url: URL) -> Bell:
    if url.get_backend_name() != "postgresql":
        return LocalBell()
    # The driver is an extra: a Homing on SQLite lives without it.
    from homing.store.postgres_bell import PostgresBell  # noqa: PLC0415

    return PostgresBell(url)


def read_url(url: str) -> URL:
    """Read a database setting; only SQLite and PostgreSQL are known."""
    parsed = make_url(url)
    match parsed.get_backend_name():
        case "sqlite":
            return parsed.set(drivername="sqlite+pysqlite")
        case "postgresql" | "postgres":
            return parsed.set(drivername="postgresql+psycopg")
        case other:
            raise Invalid(
                f"HOMING_DATABASE_URL names {other!r}; use sqlite:///path/to/file or postgresql://user@host/database.",
                field="HOMING_DATABASE_URL",
            )


def _means_look_again(error: exc.DBAPIError) -> bool:
    state = getattr(error.orig, "sqlstate", None)
    if state in _LOOK_AGAIN:
        return True
    return error.orig.__class__.__name__ == "OperationalError" and "database is locked" in str(error.orig)


def _named(error: exc.DBAPIError) -> Exception:
    """A database that cannot be reached, or only read just now, is somebody's to start, not a bug."""
    away = isinstance(error, exc.OperationalError) or error.connection_invalidated
    if away or getattr(error.orig, "sqlstate", None) == _READ_ONLY:
        return NotReady(f"The database did not answer: {str(error.orig).strip().splitlines()[0]}")
    if is_damage(error):
        return NotReady(f"The database is damaged: {error.orig}. Stop Homing. {RESTORE}")
    return error


def _identity(database: str | None) -> tuple[int, int] | None:
    try:
        found = Path(database or "").stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def is_damage(error: exc.DBAPIError) -> bool:
    """SQLite's own word for a file that is not a database, or a broken one, is the plain class; its heirs are bugs."""
    return type(error.orig) is sqlite3.DatabaseError


def keep_private(database: Path) -> None:
    """Make the file of a database if it is missing; it and its logs are for its owner only.

    Conversations and secrets stand in them. SQLite gives new logs the mode of the file.
    """
    database.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.suppress(OSError):
        os.close(os.open(database, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE))
    for path in (database, *(database.with_name(database.name + log) for log in _LOGS)):
        with contextlib.suppress(OSError):
            if path.stat().st_mode & 0o077:
                path.chmod(_PRIVATE)


def _bound_idle_transactions(connection: Any, _record: object) -> None:
    """A process that stands still inside a transaction holds locks: the server ends it, so that others can go on."""
    connection.execute(f"set idle_in_transaction_session_timeout = '{_PG_IDLE_SECONDS}s'")
    connection.commit()


def _keep_wal(connection: Any) -> None:
    """Let a new database have its log. SQLite does not wait for others who do the same at this moment; we do."""
    for _ in range(_WAL_TRIES):
        try:
            connection.execute("pragma journal_mode=wal")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            threading.Event().wait(0.02)
    connection.execute("pragma journal_mode=wal")


def _engine(url: URL, *, fsync: bool) -> sa.Engine:
    if url.get_backend_name() == "postgresql":
        engine = sa.create_engine(
            url,
            pool_size=_PG_CONNECTIONS + _RECOGNISERS,
            max_overflow=2,
            pool_pre_ping=False,
            # A transaction pooler gives each transaction another server connection: prepared statements would dangle.
            connect_args={"prepare_threshold": None, "connect_timeout": 5},
            isolation_level="READ COMMITTED",
            # What people wrote is in the parameters; an error with them would reach the log.
            hide_parameters=True,
        )
        event.listen(engine, "connect", _bound_idle_transactions)
        return engine
    if url.database and url.database != ":memory:":
        keep_private(Path(url.database))
    engine = sa.create_engine(
        url,
        connect_args={"timeout": 30.0, "check_same_thread": False},
        pool_size=_READERS + _RECOGNISERS + 2,
        max_overflow=4,
        poolclass=sa.QueuePool,
        hide_parameters=True,
    )

    def on_connect(connection: object, _record: object) -> None:
        # The driver's own transactions begin late and without the write lock; we say BEGIN ourselves.
        connection.isolation_level = None  # type: ignore[attr-defined]
        _keep_wal(connection)
        for pragma in (
            f"synchronous={'full' if fsync else 'off'}",
            "foreign_keys=on",
            # 16 MB, in each of up to twelve connections.
            "cache_size=-16384",
            "temp_store=memory",
        ):
            connection.execute(f"pragma {pragma}")  # type: ignore[attr-defined]

    def on_begin(connection: sa.Connection) -> None:
        reading = connection.get_execution_options().get("homing_read", False)
        connection.exec_driver_sql("begin" if reading else "begin immediate")

    event.listen(engine, "connect", on_connect)
    event.listen(engine, "begin", on_begin)
    return engine
