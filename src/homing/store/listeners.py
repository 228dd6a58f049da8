"""Listeners: one worker in the cluster hears a channel account, under a claim; how far it heard is kept with the rows.

Who writes for a listener holds its row under the fence (`hold`), after the sessions are locked.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.model.errors import Lost
from homing.store import tables as t
from homing.store.base import Tx, columns, insert_new

_c = t.listener.c
LISTENERS_BELL = "listeners"


@dataclass(frozen=True, kw_only=True)
class Listener:
    """How a channel account is heard."""

    channel: str
    cursor: str | None
    worker_id: str | None
    claimed_until: datetime | None
    fence: int
    error: str | None
    beat_at: datetime | None
    account: str | None
    link_url: str | None
    strangers: int
    stranger_at: datetime | None
    unstored: int

    def is_free(self, now: datetime) -> bool:
        return self.claimed_until is None or self.claimed_until <= now


def get(tx: Tx, channel: str) -> Listener | None:
    return get_many(tx, [channel]).get(channel)


def get_many(tx: Tx, channels: Collection[str]) -> dict[str, Listener]:
    rows = tx.rows(sa.select(t.listener).where(_c.channel.in_(list(channels))))
    return {row.channel: Listener(**columns(row)) for row in rows}


def names(tx: Tx) -> set[str]:
    """Name the channels that people talk through."""
    return {name for (name,) in tx.rows(sa.select(_c.channel))}


def claim(tx: Tx, channel: str, worker_id: str, seconds: float) -> Listener | None:
    """Take a channel that nobody listens to, under a new fence; None when somebody does."""
    now = tx.now()
    tx.run(insert_new(tx, t.listener).values(channel=channel))
    rows = tx.rows(
        sa.update(t.listener)
        .where(_c.channel == channel, sa.or_(_c.claimed_until.is_(None), _c.claimed_until <= now))
        .values(worker_id=worker_id, claimed_until=now + timedelta(seconds=seconds), fence=_c.fence + 1, beat_at=now)
        .returning(*_c)
    )
    return Listener(**columns(rows[0])) if rows else None


def renew(tx: Tx, channel: str, fence: int, seconds: float) -> bool:
    """Prolong a claim; False when it is another's now, or was handed back."""
    now = tx.now()
    mine = (_c.channel == channel, _c.fence == fence, _c.worker_id.is_not(None))
    until = now + timedelta(seconds=seconds)
    return tx.run(sa.update(t.listener).where(*mine).values(claimed_until=until, beat_at=now)) == 1


def release(tx: Tx, channel: str, fence: int) -> bool:
    """Hand a claim back: another worker may listen at once."""
    tx.ring(LISTENERS_BELL)
    return _change(tx, channel, fence, worker_id=None, claimed_until=None)


def hold(tx: Tx, channel: str, fence: int) -> None:
    """Lock a listener's row under its fence before writing what was heard; `Lost` when it is another's now."""
    statement = sa.select(_c.channel).where(_c.channel == channel, _c.fence == fence, _c.worker_id.is_not(None))
    if not tx.rows(statement.with_for_update() if tx.postgres else statement):
        raise Lost(f"{channel} is listened to by another worker now")


def advance(tx: Tx, channel: str, *, cursor: str | None, strangers: int = 0, unstored: int = 0) -> None:
    """Write how far a held listener has heard, and how much of it came from strangers or could not be stored."""
    counted = {"strangers": _c.strangers + strangers, "stranger_at": tx.now()} if strangers else {}
    values = {"cursor": cursor, "error": None, "unstored": _c.unstored + unstored, **counted}
    tx.run(sa.update(t.listener).where(_c.channel == channel).values(values))


def introduce(tx: Tx, channel: str, fence: int, *, account: str | None, link_url: str | None) -> None:
    """Keep as whom a channel listens; nothing is written where that is known."""
    known = get(tx, channel)
    if known is not None and (known.account, known.link_url) != (account, link_url):
        _change(tx, channel, fence, account=account, link_url=link_url)


def fail(tx: Tx, channel: str, fence: int, error: str | None) -> bool:
    """Keep why a channel does not listen, or that it does again."""
    tx.ring("channels")
    return _change(tx, channel, fence, error=error)


def forget_error(tx: Tx, channel: str, *, account: str) -> None:
    """Note that a channel was signed in to with new fields: as whom, and that the last failure was of the old ones."""
    tx.run(sa.update(t.listener).where(_c.channel == channel).values(error=None, account=account))


def _change(tx: Tx, channel: str, fence: int, **values: object) -> bool:
    mine = (_c.channel == channel, _c.fence == fence, _c.worker_id.is_not(None))
    return tx.run(sa.update(t.listener).where(*mine).values(values)) == 1
