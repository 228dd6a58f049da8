"""Alerts: one open row for each thing of a job that does not work. The row is written where the trouble is
seen; whether it is told, and when, is decided by one step under the job's lock.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.alerts import APART, AWAY_AFTER, NAMED, Alert, AlertKind
from homing.model.messages import Delivery
from homing.model.push import PUSH
from homing.model.runs import ACTIVE
from homing.model.sessions import channel_of
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import LookAgain, Tx, insert_new

_BATCH = 50
_COLUMNS = [t.alert.c[field.name] for field in fields(Alert)]


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Something of a job that does not work."""

    job_id: str
    user_id: str
    kind: AlertKind
    count: int
    run_id: str | None
    line: str | None = None
    address: str | None = None
    rev: int = 0


def note_trouble(tx: Tx, trouble: Trouble, *, fresh: bool = False) -> None:
    """Write that something does not work, once for as long as it lasts; `fresh` is a trouble that begins now, so one
    that was told before is another.
    """
    c = t.alert.c
    same = (c.job_id == trouble.job_id, c.kind == trouble.kind)
    if fresh:
        tx.run(sa.update(t.alert).where(*same, c.state == "given").values(state="over", over_at=tx.now()))
    news = {name: getattr(trouble, name) for name in ("count", "run_id", "line", "address", "rev")}
    if not tx.run(sa.update(t.alert).where(*same, c.state != "over").values(news)):
        tx.run(insert_new(tx, t.alert).values({**vars(trouble), "state": "pending", "since_at": tx.now()}))


def note_away(tx: Tx, user_id: str, names: Sequence[str], first: datetime) -> None:
    """Add jobs that came due while nobody looked to what their user is told of it, in one message."""
    c = t.alert.c
    key = {"user_id": user_id, "kind": "away", "state": "pending"}
    fresh = insert_new(tx, t.alert).values({**key, "since_at": first, "count": 0, "names": []})
    tx.run(fresh)
    held = sa.select(c.n, c.count, c.names, c.since_at).where(*(c[name] == value for name, value in key.items()))
    rows = tx.rows(held.with_for_update() if tx.postgres else held)
    if not rows:
        # It was told between our insert and our look.
        raise LookAgain
    [(n, count, known, since_at)] = rows
    news = {"count": count + len(names), "names": [*known, *names][:NAMED], "since_at": min(since_at, first)}
    tx.run(sa.update(t.alert).where(c.n == n).values(news))


def note_dead(tx: Tx, delivery: Delivery, *, rev: int) -> None:
    """Write that the messages of a run's job do not arrive, once there were as many in a row as its alerts wait for;
    the message of a one-shot has no other. What no run wrote, such as an alert, raises none; nor does a push, which is
    a sign beside the message and goes to no address of its session.
    """
    if channel_of(delivery.address) == PUSH:
        return
    d, o, j = t.delivery.c, t.outbound.c, t.job.c
    behind = (
        sa.select(j.id, j.user_id, j.alert_after, j.schedule_kind, t.run.c.id.label("run_id"))
        .join(t.run, t.run.c.job_id == j.id)
        .join(t.outbound, o.run_id == t.run.c.id)
        .join(t.delivery, d.outbound_n == o.n)
        .where(d.id == delivery.id, j.kind != "system", j.removed_at.is_(None), j.alert_after > 0)
    )
    for job in tx.rows(behind):
        wanted = 1 if job.schedule_kind == "at" else job.alert_after
        last = (
            sa.select(d.state)
            .join(t.outbound, o.n == d.outbound_n)
            .join(t.run, t.run.c.id == o.run_id)
            .where(d.session_id == delivery.session_id, d.address == delivery.address, t.run.c.job_id == job.id)
            .where(d.state != "pending")
            .order_by(d.seq.desc())
            .limit(wanted)
        )
        states = [state for (state,) in tx.rows(last)]
        if len(states) == wanted and set(states) == {"dead"}:
            dead = Trouble(
                job_id=job.id,
                user_id=job.user_id,
                kind="undelivered",
                count=wanted,
                run_id=job.run_id,
                address=delivery.address,
                rev=rev,
            )
            note_trouble(tx, dead)


@dataclass(frozen=True, kw_only=True)
class Found:
    """An open alert, with how things are now."""

    alert: Alert
    works: bool
    """What did not work does again."""
    gone: bool
    """It is nobody's trouble any more: its job was removed, or the address where nothing arrives taken away."""
    waits: bool
    """It is not to be told now: the job had an alert lately, or more of what stayed away is still being found."""


def waiting(tx: Tx, *, after_n: int = 0) -> list[tuple[int, str | None, str]]:
    """Name alerts that there may be something to tell about, with their jobs and users; so many after a number."""
    c = t.alert.c
    told = sa.and_(c.state == "pending", ~_waits(tx))
    asked = (
        sa.select(c.n, c.job_id, c.user_id)
        .join(t.job, t.job.c.id == c.job_id, isouter=True)
        .where(c.n > after_n, c.state != "over", sa.or_(told, _works(), _gone()))
        .order_by(c.n)
        .limit(_BATCH)
    )
    return [(n, job_id, user_id) for n, job_id, user_id in tx.rows(asked)]


def hold(tx: Tx, n: int) -> Found | None:
    """Lock an open alert, after its job and the session that will show it; None when it is over by now."""
    c = t.alert.c
    if tx.postgres:
        tx.rows(sa.select(c.n).where(c.n == n).with_for_update())
    asked = (
        sa.select(*_COLUMNS, _works().label("works"), _waits(tx).label("waits"), _gone().label("gone"))
        .join(t.job, t.job.c.id == c.job_id, isouter=True)
        .where(c.n == n, c.state != "over")
    )
    for row in tx.rows(asked):
        *values, works, waits, gone = row
        alert = r.noun_of(Alert, tuple(values))
        return Found(alert=alert, works=bool(works), waits=bool(waits), gone=bool(gone))
    return None


def _works() -> sa.ColumnElement[bool]:
    c, j = t.alert.c, t.job.c
    arrived = sa.exists().where(
        t.delivery.c.session_id == j.session_id,
        t.delivery.c.rev > c.rev,
        t.delivery.c.address == c.address,
        t.delivery.c.state == "sent",
    )
    stuck = sa.exists().where(t.run.c.id == c.run_id, t.run.c.state.in_(ACTIVE))
    return sa.case(
        (c.kind == "failing", sa.and_(j.consecutive_failures == 0, sa.func.coalesce(j.last_status, "") != "error")),
        (c.kind == "undelivered", arrived),
        (c.kind == "left_out", ~stuck),
        else_=sa.false(),
    )


def _gone() -> sa.ColumnElement[bool]:
    c, j = t.alert.c, t.job.c
    there = sa.exists().where(t.address.c.session_id == j.session_id, t.address.c.address == c.address)
    return sa.or_(j.removed_at.is_not(None), sa.and_(c.kind == "undelivered", ~there))


def _waits(tx: Tx) -> sa.ColumnElement[bool]:
    c, now = t.alert.c, tx.now()
    before, late = t.alert.alias("before"), t.job.alias("late")
    had_one = sa.exists().where(before.c.job_id == c.job_id, before.c.given_at > now - APART)
    more = sa.exists().where(
        late.c.user_id == c.user_id, late.c.kind != "system", late.c.next_run_at <= now - AWAY_AFTER
    )
    return sa.case((c.kind == "away", more), else_=had_one)


def give(tx: Tx, alert: Alert, to: Sequence[str], *, session_id: int, seq: int) -> None:
    """Note that an alert was told, by which message and to which addresses."""
    told = {"given_to": list(to), "session_id": session_id, "seq": seq}
    values: dict[str, Any] = {"given_at": tx.now(), "state": "given", **told}
    if alert.kind == "away":
        values |= {"state": "over", "over_at": tx.now()}
    changed = tx.run(sa.update(t.alert).where(t.alert.c.n == alert.n, t.alert.c.state == "pending").values(values))
    assert changed == 1, "it is locked"


def end(tx: Tx, alert: Alert) -> None:
    """Note that a trouble is over."""
    c = t.alert.c
    tx.run(sa.update(t.alert).where(c.n == alert.n, c.state == alert.state).values(state="over", over_at=tx.now()))


def of_job(tx: Tx, job_id: str) -> list[Alert]:
    """Read the open alerts of a job."""
    c = t.alert.c
    rows = tx.rows(sa.select(*_COLUMNS).where(c.job_id == job_id, c.state != "over").order_by(c.n))
    return [r.noun_of(Alert, tuple(row)) for row in rows]


def prune(tx: Tx, before: datetime, limit: int) -> int:
    """Drop alerts that were over long ago."""
    c = t.alert.c
    gone: Collection[int] = [n for (n,) in tx.rows(sa.select(c.n).where(c.over_at < before).limit(limit))]
    return tx.run(sa.delete(t.alert).where(c.n.in_(gone))) if gone else 0
