"""Outbounds and their deliveries: what people are owed, and how far it got."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.messages import Delivery, NewMessage
from homing.model.sessions import channel_of
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.bulk import insert_rows
from homing.store.sessions import Revision, addresses, append_messages, is_screen

Cause = Literal["closing", "note"]
Party: TypeAlias = tuple[str, str]
"""Whose deliveries, and by which channel."""

# How long an attempt may take before somebody else may make the next one.
ATTEMPT = timedelta(seconds=45)


_OWE = insert_rows(t.outbound, "n", "session_id", "seq", "cause", "turn_id", "run_id", "created_at")
_DELIVER = insert_rows(
    t.delivery,
    "id",
    "outbound_n",
    "session_id",
    "user_id",
    "seq",
    "address",
    "state",
    "rev",
    "attempts",
    "next_attempt_at",
    "sent_at",
    "created_at",
)


def post(
    tx: Tx,
    messages: Sequence[NewMessage],
    *,
    cause: Cause = "note",
    also: Collection[int] = (),
    only: Sequence[str] | None = None,
) -> tuple[list[int], dict[int, Revision]]:
    """The only road out: write messages into locked sessions, each with its outbound and a delivery per address.

    On a screen the message itself is the delivery, sent at once; a status line goes nowhere else (rule 26). `also`
    names sessions that change visibly without a message, `only` the addresses to use instead of the sessions' own.
    Returns what `append_messages` does.
    """
    seqs, revisions = append_messages(tx, messages, also=also)
    if not messages:
        return seqs, revisions
    now = tx.now()
    owed = [
        {
            "session_id": m.session_id,
            "seq": seq,
            "cause": cause,
            "turn_id": m.turn_id,
            "run_id": m.run_id,
            "created_at": now,
        }
        for m, seq in zip(messages, seqs, strict=True)
    ]
    places = addresses(tx, {m.session_id for m in messages}) if only is None else {}
    rows = [
        {
            "id": new_id("dlv"),
            "outbound_n": n,
            "session_id": m.session_id,
            "user_id": revisions[m.session_id].user_id,
            "seq": seq,
            "address": address,
            "state": "sent" if screen else "pending",
            "rev": revisions[m.session_id].rev,
            "attempts": 1 if screen else 0,
            "next_attempt_at": None if screen else now,
            "sent_at": now if screen else None,
            "created_at": now,
        }
        for m, seq, n in zip(messages, seqs, _add_outbounds(tx, owed), strict=True)
        for address in (places[m.session_id] if only is None else only)
        if (screen := is_screen(address)) or m.kind != "status"
    ]
    _DELIVER.run(tx, rows)
    if any(row["state"] == "pending" for row in rows):
        tx.ring("deliveries")
    return seqs, revisions


def _add_outbounds(tx: Tx, rows: Sequence[dict[str, Any]]) -> list[int]:
    if tx.postgres:
        statement = sa.insert(t.outbound).returning(t.outbound.c.n, sort_by_parameter_order=True)
        return [n for (n,) in tx.rows(statement, rows)]
    # SQLite returns nothing from many inserts at once; but it has one writer, who may number the rows itself.
    last = tx.rows(sa.select(sa.func.coalesce(sa.func.max(t.outbound.c.n), 0)))[0][0]
    numbers = list(range(last + 1, last + 1 + len(rows)))
    _OWE.run(tx, [{**row, "n": n} for row, n in zip(rows, numbers, strict=True)])
    return numbers


def take_deliveries(
    tx: Tx, limit: int, *, share: int | None = None, busy: Mapping[Party, int] | None = None
) -> list[Delivery]:
    """Take deliveries whose time has come, at most one an address, and count the attempt before it is made.

    `share` is the most that one user may have under way by one channel, `busy` what is under way already. So receivers
    that hang hold up nobody but their own user.
    """
    now, under_way = tx.now(), Counter(busy or {})
    share = limit if share is None else share
    numbers: list[int] = []
    # Each round fills the free slots, or finds one more that has its share and is left out from then on.
    while wanted := limit - len(numbers):
        found = _due(tx, now, wanted, but=numbers, full=full_parties(under_way, share))
        for n, user_id, address in found:
            party = party_of(user_id, address)
            if under_way[party] < share:
                under_way[party] += 1
                numbers.append(n)
        if len(found) < wanted:
            break
    if not numbers:
        return []
    # The rows are locked by now; a taker who waited for them finds the next attempt set and looks elsewhere.
    tx.run(
        sa.update(t.delivery)
        .where(t.delivery.c.n.in_(numbers), t.delivery.c.state == "pending", t.delivery.c.next_attempt_at <= now)
        .values(attempts=t.delivery.c.attempts + 1, next_attempt_at=now + ATTEMPT)
    )
    return [r.delivery_of(row) for row in tx.rows(r.deliveries.where(t.delivery.c.n.in_(numbers)))]


def party_of(user_id: str, address: str) -> Party:
    """Name those who share slots: one user's deliveries by one channel."""
    return user_id, channel_of(address)


def full_parties(under_way: Mapping[Party, int], share: int) -> list[Party]:
    """Name those who have their share of the slots."""
    return [party for party, count in under_way.items() if count >= share]


def _due(tx: Tx, now: datetime, limit: int, *, but: Sequence[int], full: Sequence[Party]) -> list[tuple[int, str, str]]:
    c = t.delivery.c
    statement = (
        sa.select(c.n, c.user_id, c.address)
        .where(c.state == "pending", c.next_attempt_at <= now, _first_of_address(), *_not_of(full))
        .order_by(c.next_attempt_at, c.n)
        .limit(limit)
    )
    if but:
        statement = statement.where(c.n.not_in(but))
    if tx.postgres:
        statement = statement.with_for_update(skip_locked=True)
    return [(n, user_id, address) for n, user_id, address in tx.rows(statement)]


def _not_of(full: Sequence[Party]) -> list[sa.ColumnElement[bool]]:
    c = t.delivery.c
    return [
        sa.or_(c.user_id != user_id, ~c.address.startswith(f"{channel}:", autoescape=True)) for user_id, channel in full
    ]


def _first_of_address() -> sa.ColumnElement[bool]:
    """A later message waits for an earlier one to the same address that is still tried."""
    earlier = t.delivery.alias("earlier")
    return ~sa.exists().where(
        earlier.c.address == t.delivery.c.address, earlier.c.state == "pending", earlier.c.n < t.delivery.c.n
    )


def finish_delivery(
    tx: Tx,
    delivery: Delivery,
    *,
    rev: int,
    sent: bool,
    receipt: Mapping[str, object] | None = None,
    error: str | None = None,
    next_attempt_at: datetime | None = None,
) -> bool:
    """Write how an attempt ended. `sent` beats all; an older attempt's failure changes nothing of a newer one."""
    where = [t.delivery.c.id == delivery.id]
    if sent:
        where.append(t.delivery.c.state != "sent")
        values: dict[str, object] = {
            "state": "sent",
            "sent_at": tx.now(),
            "receipt": dict(receipt or {}),
            "next_attempt_at": None,
            "error": None,
        }
    else:
        where += [t.delivery.c.state == "pending", t.delivery.c.attempts == delivery.attempts]
        values = {"state": "pending" if next_attempt_at else "dead", "error": error, "next_attempt_at": next_attempt_at}
    tx.ring("deliveries", f"session:{delivery.session_id}", f"user:{delivery.user_id}")
    return tx.run(sa.update(t.delivery).where(*where).values({**values, "rev": rev})) == 1


def retry(tx: Tx, delivery_id: str, *, rev: int) -> bool:
    """Try a dead delivery again from the start."""
    tx.ring("deliveries")
    return (
        tx.run(
            sa.update(t.delivery)
            .where(t.delivery.c.id == delivery_id, t.delivery.c.state == "dead")
            .values(state="pending", attempts=0, next_attempt_at=tx.now(), rev=rev)
        )
        == 1
    )


def next_attempt(tx: Tx, *, full: Sequence[Party] = ()) -> datetime | None:
    """Tell when the next delivery is to be tried; one that waits for an earlier one, or for a slot of those who have
    their share, has no time of its own."""
    rows = tx.rows(
        sa.select(t.delivery.c.next_attempt_at)
        .where(t.delivery.c.state == "pending", _first_of_address(), *_not_of(full))
        .order_by(t.delivery.c.next_attempt_at)
        .limit(1)
    )
    return rows[0][0] if rows else None


def replace_note(tx: Tx, session_id: int, address: str) -> int:
    """Take the waiting note about an address out of a locked lane; say how many messages it told of."""
    c = t.inbound.c
    rows = tx.rows(
        sa.select(c.n, c.meta).where(
            c.session_id == session_id, c.line == "note", c.source == "system", c.state == "waiting"
        )
    )
    told = {n: meta["count"] for n, meta in rows if meta and meta.get("undelivered") == address}
    if told:
        tx.run(sa.update(t.inbound).where(c.n.in_(list(told)), c.state == "waiting").values(state="withdrawn"))
    return sum(told.values())


def get(tx: Tx, delivery_id: str) -> Delivery | None:
    rows = tx.rows(r.deliveries.where(t.delivery.c.id == delivery_id))
    return r.delivery_of(rows[0]) if rows else None


def get_many(tx: Tx, delivery_ids: Collection[str]) -> dict[str, Delivery]:
    rows = tx.rows(r.deliveries.where(t.delivery.c.id.in_(list(delivery_ids))))
    return {delivery.id: delivery for delivery in map(r.delivery_of, rows)}


def of_messages(tx: Tx, session_id: int, seqs: Collection[int]) -> dict[int, list[Delivery]]:
    """Read the deliveries of some messages of a session."""
    found: dict[int, list[Delivery]] = {}
    if seqs:
        rows = tx.rows(
            r.deliveries.where(
                t.delivery.c.session_id == session_id, t.delivery.c.seq >= min(seqs), t.delivery.c.seq <= max(seqs)
            ).order_by(t.delivery.c.n)
        )
        for delivery in map(r.delivery_of, rows):
            found.setdefault(delivery.seq, []).append(delivery)
    return found


def listed(
    tx: Tx, *, user_id: str, state: str | None, session_id: int | None, before_n: int | None, limit: int
) -> list[tuple[int, Delivery]]:
    """List deliveries, newest first, each with its number for paging."""
    where: list[sa.ColumnElement[bool]] = [t.delivery.c.user_id == user_id]
    if state is not None:
        where.append(t.delivery.c.state == state)
    if session_id is not None:
        where.append(t.delivery.c.session_id == session_id)
    if before_n is not None:
        where.append(t.delivery.c.n < before_n)
    rows = tx.rows(r.deliveries.add_columns(t.delivery.c.n).where(*where).order_by(t.delivery.c.n.desc()).limit(limit))
    return [(row.n, r.delivery_of(row)) for row in rows]


def count_by_state(tx: Tx, user_id: str | None) -> dict[str, int]:
    statement = (
        sa.select(t.delivery.c.state, sa.func.count())
        .where(t.delivery.c.state.in_(("pending", "dead")))
        .group_by(t.delivery.c.state)
    )
    if user_id is not None:
        statement = statement.where(t.delivery.c.user_id == user_id)
    return {"pending": 0, "dead": 0} | dict(tx.rows(statement))
