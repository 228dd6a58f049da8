"""Looks at the database: whether it answers, is whole, has the right schema, and whether anybody works on it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from homing.cli.doctor.findings import Finding, noted, ok, wrong
from homing.cli.home import sqlite_file
from homing.cli.house import UNMARKED_FIX, unmarked_words
from homing.model.clock import SystemClock
from homing.model.errors import Error
from homing.settings import Settings
from homing.store import Store, files, maintenance, people, schema
from homing.store.maintenance import Worker

_APART = timedelta(seconds=2)
_ALIVE = timedelta(seconds=60)


def look_at_store(settings: Settings) -> list[Finding]:
    """Look at the database; what needs it is left out when it does not answer."""
    if (file := sqlite_file(settings)) is not None and not file.exists():
        # Looking makes no file: a server may be running on the one that was there.
        return [noted("Database", f"SQLite, {file}: not there", "`homing up` makes it, or `homing db restore FILE`.")]
    store = Store(settings.database_url, SystemClock())
    try:
        return _look(store, settings)
    except Error as error:
        return [wrong("Database", str(error), "Start it, or correct HOMING_DATABASE_URL.")]
    finally:
        store.engine.dispose()


def _look(store: Store, settings: Settings) -> list[Finding]:
    name = "PostgreSQL" if store.postgres else f"SQLite, {store.url.database}"
    if not store.postgres and (damage := files.check(Path(store.url.database or ""))) is not None:
        return [wrong("Database", f"{name} is damaged: {damage}.", f"Stop Homing. {files.RESTORE}")]
    version, newest = schema.current(store)
    if version is None:
        return [noted("Database", f"{name}: empty", "`homing up` makes its tables.")]
    if version != newest:
        return [ok("Database", f"{name} answers"), _migrations(version, newest)]
    now, beats, unmarked = store.write_now(
        lambda tx: (tx.now(), maintenance.workers(tx, _ALIVE), people.count_unmarked_admins(tx))
    )
    found = [_database(name, now, postgres=store.postgres), ok("Migrations", f"schema {version}, the newest")]
    tokens = [noted("Tokens", unmarked_words(unmarked), UNMARKED_FIX)] if unmarked else []
    return [*found, *tokens, _engine(beats, settings), *_notes(beats)]


def _notes(beats: list[Worker]) -> list[Finding]:
    """What workers report: that they are too old for the database, or do not trust the clock."""
    fix = "Upgrade and restart it if it is too old; check the clock and its NTP if that leapt."
    return [wrong("Engine", f"{worker.name}: {worker.note}.", fix) for worker in beats if worker.note]


def _database(name: str, now: datetime, *, postgres: bool) -> Finding:
    apart = abs(datetime.now(UTC) - now)
    if postgres and apart > _APART:
        fix = "Let NTP keep both clocks: jobs fire by the database's."
        return wrong("Database", f"Its clock is {apart.total_seconds():.0f} s away from this machine's.", fix)
    return ok("Database", f"{name} answers and is whole")


def _migrations(version: str, newest: str) -> Finding:
    if version > newest:
        fix = "Install the newer Homing, or go back to a backup."
        return wrong("Migrations", f"schema {version} was made by a newer Homing; this one knows {newest}.", fix)
    return wrong("Migrations", f"schema {version}, the newest is {newest}.", "homing db upgrade")


def _engine(beats: list[Worker], settings: Settings) -> Finding:
    if not beats:
        return wrong("Engine", "No engine is running: nothing fires.", "homing up")
    if not settings.scheduler_enabled or not any(worker.schedules for worker in beats):
        fix = "Set HOMING_SCHEDULER_ENABLED=on and start again."
        return wrong("Engine", "An engine runs, but its scheduler is switched off: nothing fires by itself.", fix)
    age = (datetime.now(UTC) - max(worker.beat_at for worker in beats)).total_seconds()
    return ok("Engine", f"{len(beats)} at work, last beat {max(0, age):.0f} s ago")
