"""Homes of released versions, kept as SQL text (`homes/`): what an upgrade has to carry over.

Each was filled by that version itself, through HTTP and the command line, and killed with SIGKILL in the middle of a
turn: jobs of every kind, an open turn with a finished tool call, a queued run, a waiting message, a delivery that
failed twice, memories, two users' tokens, a cookie, a hook. The `.json` beside it holds the secrets and ids that tests
need.
"""

import json
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import sqlalchemy as sa

from homing.store import tables

VERSIONS = ("0.1.0",)

_FOLDER = Path(__file__).with_name("homes")
_WEBHOOK_URL = "http://127.0.0.1:1/kept"


@dataclass(frozen=True, kw_only=True)
class KeptHome:
    """What a kept home has that only its makers know."""

    owner_token: str
    user_token: str
    cookie: str
    hook_token: str
    delivery: str
    queued_run: str
    open_turn: str


def load_home(version: str, database: str, *, webhook_url: str = _WEBHOOK_URL) -> KeptHome:
    """Fill an empty database with a kept home, as if it had been killed a minute ago."""
    kind = urlsplit(database).scheme
    script = (_FOLDER / f"{version}.{kind}.sql").read_text().replace(_WEBHOOK_URL, webhook_url)
    if kind == "sqlite":
        with sqlite3.connect(database.removeprefix("sqlite:///")) as connection:
            connection.executescript(script)
        connection.close()
    else:
        with psycopg.connect(database) as connection:
            connection.execute(script.encode())
    _move_to_now(database)
    return KeptHome(**json.loads((_FOLDER / f"{version}.{kind}.json").read_text()))


def _move_to_now(database: str) -> None:
    """Move every instant, so that deadlines, claims and attempts stand to now as they stood to the kill."""
    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        there = sa.inspect(connection)
        kept_at = connection.scalar(sa.select(sa.func.max(tables.worker.c.beat_at)))
        assert kept_at is not None
        by = (datetime.now(UTC) - timedelta(minutes=1) - kept_at) // timedelta(microseconds=1)
        for table in tables.metadata.sorted_tables:
            if not there.has_table(table.name):
                continue
            known = {column["name"] for column in there.get_columns(table.name)}
            for column in table.c:
                if column.name in known and isinstance(column.type, tables.Instant):
                    plain = sa.literal_column(f'"{column.name}"')
                    connection.execute(sa.text(f'update "{table.name}" set {plain} = {plain} + {by}'))
    engine.dispose()
