"""Outbounds and their deliveries: what people are owed, and how far it got."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, TypeAlias

import sqlalchemy as sa

from homing.model.ids import new_id
from homing.model.messages import SENDING_TURN, SENT_TO, SKIPPED, Delivery, NewMessage
from homing.model.sessions import SCREENS, channel_of
from homing.model.turns import Turn
from homing.store import parts
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.bulk import insert_rows
from homing.store.sessions import Revision, addresses, append_messages, is_screen, places

Cause = Literal["closing", "note", "sent", "question"]
Party: TypeAlias = tuple[str, str]
"""Whose deliveries, and by which channel."""

# How long an attempt may take before somebody else may make the next one.
ATTEMPT = timedelta(seconds=45)
# A page that shows the conversation says within this time that its user has read the message: then nothing is pushed.
READ_FIRST = timedelta(seconds=3)
_AT_ONCE = timedelta()


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
    without: Mapping[int, Collection[str]] | None = None,
) -> tuple[list[int], dict[int, Revision]]:
    """The only road out: write messages into locked sessions, each with its outbound and a delivery per address.

    On a screen the message itself is the delivery, sent at once; a status line goes nowhere else (rule 26). What nobody
    asked for is also pushed to the browsers of the session's user, unless it is read before (rule 61). `also` names
    sessions that change visibly without a message, `only` the addresses to use instead of the sessions' own, `without`
    those outside that the n-th message does not go to, because they got what it says already. Returns what
    `append_messages` does.
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
    own, pushed = _where_to(tx, messages, only)
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
            "next_attempt_at": None if screen else now + (READ_FIRST if push else _AT_ONCE),
            "sent_at": now if screen else None,
            "created_at": now,
        }
        for nth, (m, seq, n) in enumerate(zip(messages, seqs, _add_outbounds(tx, owed), strict=True))
        for address, push in [
            *((address, False) for address in (own[m.session_id] if only is None else only)),
            *((address, True) for address in (pushed[m.session_id] if _is_news(m) else ())),
        ]
        if (screen := is_screen(address)) or (m.kind != "status" and address not in (without or {}).get(nth, ()))
    ]
    _DELIVER.run(tx, rows)
    if any(row["state"] == "pending" for row in rows):
        tx.ring("deliveries")
    return seqs, revisions


def sent_since(tx: Tx, session_id: int, since: datetime) -> int:
    """Count what tools sent in a locked session of late."""
    c = t.outbound.c
    sent = sa.select(sa.func.count()).where(c.session_id == session_id, c.cause == "sent", c.created_at > since)
    return int(tx.rows(sent)[0][0])


def sent_by_turn(tx: Tx, session_id: int, turn: Turn) -> list[str]:
    """Name the addresses to which a turn sent something with a tool, and that have it or get it yet."""
    c, message = t.outbound.c, t.message.c
    rows = tx.rows(
        sa.select(t.delivery.c.address)
        .join(t.outbound, t.delivery.c.outbound_n == c.n)
        .join(t.message, sa.and_(message.session_id == c.session_id, message.seq == c.seq))
        .where(c.session_id == session_id, c.cause == "sent", c.created_at >= turn.opened_at)
        .where(message.meta[SENDING_TURN].as_string() == turn.id, message.meta[SENT_TO].as_string().is_not(None))
        .where(t.delivery.c.state != "dead")
        .distinct()
    )
    return sorted(address for (address,) in rows)


def _is_news(message: NewMessage) -> bool:
    return message.unasked and not message.folded


def _where_to(
    tx: Tx, messages: Sequence[NewMessage], only: Sequence[str] | None
) -> tuple[dict[int, list[str]], dict[int, list[str]]]:
    """Read where messages go, and to which browsers: with one statement, so that users without any pay for none."""
    if news := {m.session_id for m in messages if _is_news(m)}:
        return places(tx, news if only is not None else {m.session_id for m in messages})
    return addresses(tx, {m.session_id for m in messages}) if only is None else {}, {}


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
    tx: Tx,
    limit: int,
    *,
    share: int | None = None,
    busy: Mapping[Party, int] | None = None,
    paused: Collection[str] = (),
) -> list[Delivery]:
    """Take deliveries whose time has come, at most one an address, and count the attempt before it is made.

    `share` is the most that one user may have under way by one channel, `busy` what is under way already. So receivers
    that hang hold up nobody but their own user. `paused` names channels that are left alone. What was taken before and
    has no end is marked: that attempt may have arrived.
    """
    now, under_way = tx.now(), Counter(busy or {})
    share = limit if share is None else share
    numbers: list[int] = []
    broken_off: list[str] = []
    # Each round fills the free slots, or finds one more that has its share and is left out from then on.
    while wanted := limit - len(numbers):
        found = _due(tx, now, wanted, but=numbers, full=full_parties(under_way, share), paused=paused)
        for n, delivery_id, user_id, address, attempting in found:
            party = party_of(user_id, address)
            if under_way[party] < share:
                under_way[party] += 1
                numbers.append(n)
                broken_off += [delivery_id] if attempting else []
        if len(found) < wanted:
            break
    if not numbers:
        return []
    # The rows are locked by now; a taker who waited for them finds the next attempt set and looks elsewhere.
    tx.run(
        sa.update(t.delivery)
        .where(t.delivery.c.n.in_(numbers), t.delivery.c.state == "pending", t.delivery.c.next_attempt_at <= now)
        .values(attempts=t.delivery.c.attempts + 1, next_attempt_at=now + ATTEMPT, attempting=True)
    )
    if broken_off:
        parts.doubt(tx, broken_off)
    return [r.delivery_of(row) for row in tx.rows(r.deliveries.where(t.delivery.c.n.in_(numbers)))]


def party_of(user_id: str, address: str) -> Party:
    """Name those who share slots: one user's deliveries by one channel."""
    return user_id, channel_of(address)


def full_parties(under_way: Mapping[Party, int], share: int) -> list[Party]:
    """Name those who have their share of the slots."""
    return [party for party, count in under_way.items() if count >= share]


def _due(
    tx: Tx, now: datetime, limit: int, *, but: Sequence[int], full: Sequence[Party], paused: Collection[str]
) -> list[tuple[int, str, str, str, bool]]:
    c = t.delivery.c
    statement = (
        sa.select(c.n, c.id, c.user_id, c.address, c.attempting)
        .where(c.state == "pending", c.next_attempt_at <= now, _first_of_address(), *_not_of(full), *_not_by(paused))
        .order_by(c.next_attempt_at, c.n)
        .limit(limit)
    )
    if but:
        statement = statement.where(c.n.not_in(but))
    if tx.postgres:
        statement = statement.with_for_update(skip_locked=True)
    return [tuple(row) for row in tx.rows(statement)]


def _not_of(full: Sequence[Party]) -> list[sa.ColumnElement[bool]]:
    c = t.delivery.c
    return [
        sa.or_(c.user_id != user_id, ~c.address.startswith(f"{channel}:", autoescape=True)) for user_id, channel in full
    ]


def _not_by(channels: Collection[str]) -> list[sa.ColumnElement[bool]]:
    return [~t.delivery.c.address.startswith(f"{channel}:", autoescape=True) for channel in channels]


def _first_of_address() -> sa.ColumnElement[bool]:
    """A later message waits for an earlier one to the same address that is still tried."""
    earlier = t.delivery.alias("earlier")
    return ~sa.exists().where(
        earlier.c.address == t.delivery.c.address, earlier.c.state == "pending", earlier.c.n < t.delivery.c.n
    )


def finish_part(
    tx: Tx,
    delivery: Delivery,
    *,
    rev: int,
    receipt: Mapping[str, object] | None = None,
    external_id: str | None = None,
    unsure: bool = False,
    buttons: bool = False,
) -> bool:
    """Write that the next part was taken. It beats every failure of that part; the last one makes the delivery sent.

    `unsure`: it may have come twice. `buttons`: it has some.
    """
    c, now, sent = t.delivery.c, tx.now(), delivery.parts_sent + 1
    values: dict[str, object] = {"parts_sent": sent, "receipt": dict(receipt or {}), "error": None, "attempting": False}
    if sent < delivery.parts:
        values |= {"state": "pending", "attempts": 0, "next_attempt_at": now}
    else:
        values |= {"state": "sent", "sent_at": now, "next_attempt_at": None}
    changed = _end_attempt(tx, delivery, values, [c.state != "sent"], rev=rev, unsure=unsure)
    if changed:
        parts.finish(
            tx, delivery.id, delivery.parts_sent, receipt=receipt or {}, external_id=external_id, buttons=buttons
        )
        if buttons:
            # What they ask may be over by now.
            tx.ring("cards")
    return changed


def fail_attempt(
    tx: Tx,
    delivery: Delivery,
    *,
    rev: int,
    error: str,
    next_attempt_at: datetime | None = None,
    counted: bool = True,
    unsure: bool = False,
    doubt: bool = False,
) -> bool:
    """Write that an attempt failed; an older one's failure changes nothing of a newer one. Without a next attempt the
    delivery is dead. `doubt`: this part may have arrived. `unsure`: so it may come twice.
    """
    c = t.delivery.c
    values: dict[str, object] = {
        "state": "pending" if next_attempt_at else "dead",
        "error": error,
        "next_attempt_at": next_attempt_at,
        "attempting": False,
    }
    if not counted:
        values["attempts"] = delivery.attempts - 1
    newest = [c.state == "pending", c.attempts == delivery.attempts]
    changed = _end_attempt(tx, delivery, values, newest, rev=rev, unsure=unsure)
    if changed and doubt:
        parts.doubt(tx, [delivery.id])
    return changed


def settle(tx: Tx, delivery: Delivery, *, rev: int, why: str) -> bool:
    """Write that a taken delivery is not needed any more: it counts as sent, and its receipt says why nothing was."""
    values = {**_settled(why), "sent_at": tx.now()}
    return _end_attempt(tx, delivery, values, [t.delivery.c.state == "pending"], rev=rev, unsure=False)


def settle_all(tx: Tx, address: str, revisions: Mapping[int, Revision], *, why: str) -> None:
    """Settle what is still to be sent to an address, from locked sessions with these new revisions."""
    c = t.delivery.c
    for session_id, revision in revisions.items():
        tx.run(
            sa.update(t.delivery)
            .where(c.session_id == session_id, c.address == address, c.state == "pending")
            .values({**_settled(why), "sent_at": tx.now(), "rev": revision.rev})
        )


def _settled(why: str) -> dict[str, object]:
    receipt = {SKIPPED: why}
    return {"state": "sent", "receipt": receipt, "error": None, "next_attempt_at": None, "attempting": False}


def sessions_owing(tx: Tx, address: str) -> list[int]:
    """Name the sessions from which something is still to be sent to an address."""
    c = t.delivery.c
    pending = sa.select(c.session_id).where(c.address == address, c.state == "pending")
    return [session_id for (session_id,) in tx.rows(pending.distinct().order_by(c.session_id))]


def _end_attempt(
    tx: Tx,
    delivery: Delivery,
    values: Mapping[str, object],
    where: Sequence[sa.ColumnElement[bool]],
    *,
    rev: int,
    unsure: bool,
) -> bool:
    c = t.delivery.c
    tx.ring("deliveries", f"session:{delivery.session_id}", f"user:{delivery.user_id}")
    same_part = (c.id == delivery.id, c.parts_sent == delivery.parts_sent)
    marks = {"unsure": True} if unsure else {}
    return tx.run(sa.update(t.delivery).where(*same_part, *where).values({**values, **marks, "rev": rev})) == 1


def question_arrived(tx: Tx, question_id: str, place: str) -> bool:
    """Say whether a question was sent to a place, or to a thread in it."""
    c, card = t.delivery.c, t.card.c
    shown = sa.and_(card.session_id == c.session_id, card.seq == c.seq, card.question_id == question_id)
    there = sa.or_(c.address == place, c.address.startswith(f"{place}/", autoescape=True))
    return bool(tx.rows(sa.select(c.id).join(t.card, shown).where(c.state == "sent", there).limit(1)))


def give_up(tx: Tx, address: str, revs: Mapping[int, int], *, error: str, threads: bool = False) -> None:
    """End what is still to be sent to an address, or with `threads` also in it, from sessions with these new revs."""
    c = t.delivery.c
    there = c.address == address
    if threads:
        there = sa.or_(there, c.address.startswith(f"{address}/", autoescape=True))
    for session_id, rev in revs.items():
        tx.run(
            sa.update(t.delivery)
            .where(c.session_id == session_id, c.state == "pending", there)
            .values(state="dead", error=error, next_attempt_at=None, rev=rev)
        )


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


def next_attempt(tx: Tx, *, full: Sequence[Party] = (), paused: Collection[str] = ()) -> datetime | None:
    """Tell when the next delivery is to be tried; one that waits for an earlier one, for a slot of those who have
    their share, or for a paused channel has no time of its own."""
    rows = tx.rows(
        sa.select(t.delivery.c.next_attempt_at)
        .where(t.delivery.c.state == "pending", _first_of_address(), *_not_of(full), *_not_by(paused))
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
    tx: Tx,
    *,
    user_id: str,
    state: str | None,
    session_id: int | None,
    outside: bool = False,
    before_n: int | None,
    limit: int,
) -> list[tuple[int, Delivery]]:
    """List deliveries, newest first, each with its number for paging."""
    where: list[sa.ColumnElement[bool]] = [t.delivery.c.user_id == user_id]
    if state is not None:
        where.append(t.delivery.c.state == state)
    if session_id is not None:
        where.append(t.delivery.c.session_id == session_id)
    if outside:
        where += [t.delivery.c.address.not_like(f"{screen}:%") for screen in SCREENS]
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
