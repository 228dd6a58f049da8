"""A wire across the database's path: whoever makes the n-th matching statement (or its commit) gets a signal.

A process that kills itself there has died exactly at that place, as often as one likes.
"""

import os
import re
import signal
from dataclasses import dataclass, field
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import event

Place = Literal["before", "after", "commit", "committed"]


@dataclass(frozen=True, kw_only=True)
class Trip:
    """Where the wire hangs: `before` or `after` the statement, before the `commit` of its transaction, or after it."""

    statement: str
    place: Place = "before"
    nth: int = 1
    signal: Literal["SIGKILL", "SIGSTOP"] = "SIGKILL"


@dataclass(kw_only=True)
class _Wire:
    trip: Trip
    seen: int = 0
    # Connections whose open transaction made the statement that counts.
    armed: set[int] = field(default_factory=set[int])

    def pull(self) -> None:
        os.kill(os.getpid(), signal.Signals[self.trip.signal])

    def matches(self, statement: str) -> bool:
        if not re.search(self.trip.statement, statement, re.IGNORECASE | re.DOTALL):
            return False
        self.seen += 1
        return self.seen == self.trip.nth


def hang(engine: sa.Engine, trip: Trip) -> None:
    """Hang a wire into an engine."""
    wire = _Wire(trip=trip)

    def before(connection: sa.Connection, cursor: Any, statement: str, *_: Any) -> None:
        if trip.place == "after" or not wire.matches(statement):
            return
        if trip.place == "before":
            wire.pull()
        wire.armed.add(id(connection.connection.dbapi_connection))

    def after(connection: sa.Connection, cursor: Any, statement: str, *_: Any) -> None:
        if trip.place == "after" and wire.matches(statement):
            wire.pull()

    def commit(connection: sa.Connection) -> None:
        me = id(connection.connection.dbapi_connection)
        if me not in wire.armed:
            return
        wire.armed.discard(me)
        if trip.place == "committed":
            # The event comes before the deed: do it here, then die.
            connection.connection.dbapi_connection.commit()  # type: ignore[union-attr]
        wire.pull()

    event.listen(engine, "before_cursor_execute", before)
    event.listen(engine, "after_cursor_execute", after)
    event.listen(engine, "commit", commit)
