"""Browsers that notifications are pushed to."""

from dataclasses import fields

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.push import PushDevice
from homing.store import tables as t
from homing.store.base import LookAgain, Row, Tx, columns, insert_new

_columns = [t.push.c[field.name] for field in fields(PushDevice)]
_devices = sa.select(*_columns)


def get(tx: Tx, device_id: str) -> PushDevice | None:
    rows = tx.rows(_devices.where(t.push.c.id == device_id))
    return _device_of(rows[0]) if rows else None


def of_user(tx: Tx, user_id: str) -> list[PushDevice]:
    """List a user's browsers, the oldest first."""
    return [_device_of(row) for row in tx.rows(_devices.where(t.push.c.user_id == user_id).order_by(t.push.c.n))]


def at_endpoint(tx: Tx, endpoint: str) -> PushDevice | None:
    """Find whose browser has an endpoint; it is one person's at a time."""
    rows = tx.rows(_devices.where(t.push.c.endpoint == endpoint))
    return _device_of(rows[0]) if rows else None


def lock_user(tx: Tx, user_id: str) -> None:
    """Hold a user while their browsers are counted and one is added."""
    tx.rows(sa.select(t.user.c.id).where(t.user.c.id == user_id).with_for_update(key_share=True))


def add(
    tx: Tx, *, user_id: str, name: str, endpoint: str, p256dh: str, auth: str, public_key: str, token_id: str | None
) -> PushDevice:
    """Add a browser whose endpoint nobody has; it ends with the token."""
    values = {"user_id": user_id, "name": name, "endpoint": endpoint, "p256dh": p256dh, "auth": auth}
    fresh = {**values, "id": new_id("push"), "public_key": public_key, "token_id": token_id, "created_at": tx.now()}
    rows = tx.rows(insert_new(tx, t.push).values(fresh).returning(*_columns))
    if not rows:
        # Somebody added it meanwhile.
        raise LookAgain
    return _device_of(rows[0])


def change(
    tx: Tx, device_id: str, *, name: str, p256dh: str, auth: str, public_key: str, token_id: str | None
) -> PushDevice:
    """Give a browser the name, the keys and the token that it has now."""
    values = {"name": name, "p256dh": p256dh, "auth": auth, "public_key": public_key, "token_id": token_id}
    rows = tx.rows(sa.update(t.push).where(t.push.c.id == device_id).values(values).returning(*_columns))
    if not rows:
        raise LookAgain
    return _device_of(rows[0])


def touch(tx: Tx, device_id: str) -> None:
    """Note that a browser's push service took something just now."""
    tx.run(sa.update(t.push).where(t.push.c.id == device_id).values(last_at=tx.now()))


def remove(tx: Tx, device_id: str) -> bool:
    return tx.run(sa.delete(t.push).where(t.push.c.id == device_id)) == 1


def count_by_key(tx: Tx) -> dict[str, int]:
    """Count all browsers by the server's key that they subscribed with."""
    key = t.push.c.public_key
    return dict(tx.rows(sa.select(key, sa.func.count()).group_by(key)))


def _device_of(row: Row) -> PushDevice:
    return PushDevice(**columns(row))
