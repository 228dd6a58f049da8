"""Codes that were sent to mail addresses. Kept as hashes, used once, counted for an hour."""

from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.store import tables as t
from homing.store.base import Tx
from homing.store.people import hash_secret

KEPT_FOR = timedelta(hours=1)
_c = t.address_code.c


def sent_of_late(tx: Tx, *, user_id: str, address: str) -> tuple[int, int]:
    """Count the codes of the last hour: those a user asked for, and those that went to an address."""
    since = tx.now() - KEPT_FOR

    def count(which: sa.ColumnElement[bool]) -> int:
        return int(tx.rows(sa.select(sa.func.count()).where(which, _c.created_at > since))[0][0])

    return count(_c.user_id == user_id), count(_c.address == address)


def add(tx: Tx, code: str, *, user_id: str, channel: str, address: str, expires_at: datetime) -> None:
    """Keep a new code instead of the user's older ones for the address; those of more than an hour ago go."""
    now = tx.now()
    tx.run(sa.delete(t.address_code).where(_c.created_at <= now - KEPT_FOR))
    mine = (_c.user_id == user_id, _c.channel == channel, _c.address == address)
    tx.run(sa.update(t.address_code).where(*mine).values(expires_at=None))
    tx.run(
        sa.insert(t.address_code).values(
            user_id=user_id,
            channel=channel,
            address=address,
            hash=_hash(user_id, channel, address, code),
            tries=0,
            created_at=now,
            expires_at=expires_at,
        )
    )


def is_right(tx: Tx, code: str, *, user_id: str, channel: str, address: str, tries: int) -> bool:
    """Say whether a code would count now; nothing is changed."""
    right = (_c.hash == _hash(user_id, channel, address, code), _c.expires_at > tx.now(), _c.tries < tries)
    return bool(tx.rows(sa.select(_c.n).where(*right)))


def enter(tx: Tx, code: str, *, user_id: str, channel: str, address: str, tries: int) -> bool:
    """Count a try, and use the code up if it is right; False if it is wrong, used, too old or tried too often."""
    living = (
        _c.user_id == user_id,
        _c.channel == channel,
        _c.address == address,
        _c.expires_at > tx.now(),
        _c.tries < tries,
    )
    # Counted first: of many at once, no more than `tries` are compared.
    if tx.run(sa.update(t.address_code).where(*living).values(tries=_c.tries + 1)) == 0:
        return False
    right = (
        _c.user_id == user_id,
        _c.expires_at.is_not(None),
        _c.hash == _hash(user_id, channel, address, code),
    )
    return tx.run(sa.update(t.address_code).where(*right).values(expires_at=None)) == 1


def _hash(user_id: str, channel: str, address: str, code: str) -> str:
    return hash_secret(f"{user_id}\n{channel}\n{address}\n{code}")
