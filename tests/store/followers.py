"""Somebody who watches a session by its revisions, as a stream does, and remembers what it was shown."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from homing.store import Store, Tx, messages
from homing.store import tables as t

STATES: Mapping[str, list[sa.ColumnElement[Any]]] = {
    "run": [t.run.c.id, t.run.c.state, t.run.c.reason, t.run.c.turn_id],
    "job": [t.job.c.id, t.job.c.enabled, t.job.c.revision, t.job.c.next_run_at, t.job.c.removed_at],
    "delivery": [t.delivery.c.id, t.delivery.c.state],
}


@dataclass
class Follower:
    """Looks again and again at what changed after the last revision it saw."""

    session_id: int
    limit: int = 100
    rev: int = 0
    seq: int = 0
    seqs: list[int] = field(default_factory=list[int])
    states: dict[tuple[str, str], tuple[Any, ...]] = field(default_factory=dict[tuple[str, str], tuple[Any, ...]])

    def look(self, tx: Tx) -> bool:
        """See one stretch; say whether there is more."""
        seen = messages.changes(tx, self.session_id, self.rev, self.limit, after_seq=self.seq)
        assert seen.rev >= self.rev, "a stream never goes back"
        for kind, ids in (("run", seen.run_ids), ("job", seen.job_ids), ("delivery", seen.delivery_ids)):
            if ids:
                columns = STATES[kind]
                for row in tx.rows(sa.select(*columns).where(columns[0].in_(ids))):
                    self.states[kind, row[0]] = tuple(row)
        self.seqs += [message.seq for message in seen.messages]
        self.seq = max([self.seq, *self.seqs[-1:]])
        self.rev = seen.rev
        return seen.more

    async def follow(self, store: Store) -> None:
        """Look until all is seen."""
        while await store.read(self.look):
            pass

    def catch_up(self, store: Store) -> None:
        """Look until all is seen, in this thread."""
        while store.write_now(self.look):
            pass


def newest(tx: Tx, session_id: int) -> dict[tuple[str, str], tuple[Any, ...]]:
    """Read what a follower of the session must know in the end."""
    found: dict[tuple[str, str], tuple[Any, ...]] = {}
    for kind, columns in STATES.items():
        table = t.metadata.tables[kind]
        for row in tx.rows(sa.select(*columns).where(table.c.session_id == session_id)):
            found[kind, row[0]] = tuple(row)
    return found
