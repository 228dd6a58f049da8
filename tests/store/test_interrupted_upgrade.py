"""An upgrade that is killed, or finds the disk full, leaves the database as it was; the next one goes through."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from homing.model.clock import SystemClock
from homing.store import Store, schema
from homing.testing import PostgresServer
from store.test_upgrade import Rows, rows_of
from support.kept_homes import VERSIONS, load_home

pytestmark = pytest.mark.slow

# `homing db upgrade`, in which something happens before the n-th statement of the migrations that matches a pattern.
_UPGRADE = """
import os, re, signal, sys
import sqlalchemy as sa
from sqlalchemy import event, exc
from homing.cli.main import run

what, number = sys.argv[1], int(sys.argv[2])
seen = 0

@event.listens_for(sa.Engine, "before_cursor_execute")
def look(connection, cursor, statement, parameters, *_):
    global seen
    if not re.match(r"\\s*(create|alter|drop|insert|update|delete)\\b", statement, re.IGNORECASE):
        return
    seen += 1
    if seen == number and what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if seen == number and what == "full" and connection.dialect.name == "sqlite":
        # SQLite's own "database or disk is full": the file may not grow by one page more.
        [pages] = cursor.execute("pragma page_count").fetchone()
        cursor.execute(f"pragma max_page_count = {pages}")
    if seen >= number and what == "full" and connection.dialect.name == "postgresql":
        # Its disk is not ours to fill: say what it would say.
        import psycopg
        raise exc.OperationalError(statement, parameters, psycopg.errors.DiskFull("could not extend file: No space"))

code = run(["db", "upgrade"])
print("statements", seen)
sys.exit(code)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The database of an old home."""
    server: PostgresServer | None = None
    url = f"sqlite:///{tmp_path / 'homing.db'}"
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_server")
        assert server is not None
        url = server.fresh()
    load_home(VERSIONS[0], url)
    yield url
    if server is not None:
        server.drop(url)


def upgrade(database: str, home: Path, what: str, number: int) -> "subprocess.CompletedProcess[str]":
    env = os.environ | {"HOMING_HOME": str(home), "HOMING_DATABASE_URL": database, "HOMING_TIMEZONE": "UTC"}
    command = [sys.executable, "-c", _UPGRADE, what, str(number)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)


def look(database: str) -> tuple[str | None, list[str], Rows]:
    """Read the version, the tables and every row."""
    store = Store(database, SystemClock(), fsync=False)
    try:
        with store.engine.connect() as connection:
            tables = sorted(sa.inspect(connection).get_table_names())
        return schema.current(store)[0], tables, rows_of(store)
    finally:
        store.engine.dispose()


def test_killed_in_the_middle_the_old_schema_stands_and_the_next_upgrade_works(kept: str, tmp_path: Path) -> None:
    before = look(kept)
    # At its first change, far inside, and where hardly anything is left to do.
    for number in (1, 60, 150):
        assert upgrade(kept, tmp_path, "die", number).returncode == -signal.SIGKILL
        assert look(kept) == before, f"killed at statement {number}"
    done = upgrade(kept, tmp_path, "nothing", 0)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 150
    assert look(kept)[0] == schema._known()[-1]  # pyright: ignore[reportPrivateUsage]


def test_on_a_full_disk_the_old_schema_stands_and_the_next_upgrade_works(kept: str, tmp_path: Path) -> None:
    before = look(kept)
    full = upgrade(kept, tmp_path, "full", 20)
    assert full.returncode == 1, (full.stdout, full.stderr)
    assert "disk is full" in full.stderr or "No space" in full.stderr, full.stderr
    assert "Traceback" not in full.stderr
    assert look(kept) == before
    done = upgrade(kept, tmp_path, "nothing", 0)
    assert done.returncode == 0, done.stderr
    assert look(kept)[0] == schema._known()[-1]  # pyright: ignore[reportPrivateUsage]
