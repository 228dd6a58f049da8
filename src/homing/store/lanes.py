"""Lanes: who waits, who is next, who is in. One open turn a lane, and the index says so too.

The caller locks the lane's session first (`sessions.lock`), then reads here: every verb repeats its condition on the
row it takes.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.errors import Lost
from homing.model.ids import new_id
from homing.model.messages import Message
from homing.model.people import Source
from homing.model.sessions import UNIFIED
from homing.model.turns import OVERTAKEN_FOR, Inbound, Outcome, Turn, choose_head
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.bulk import Bulk, insert_rows
from homing.store.fetch import Fetch, Spelling
from homing.store.rows import inbound_columns, inbound_of, message_of, messages, noun_of, turn_columns, turn_of

# How many users with waiting runs one look considers.
USERS = 64


@dataclass(frozen=True, kw_only=True)
class NewInbound:
    """Something about to enter a lane."""

    session_id: int
    lane_id: int
    user_id: str
    source: Source
    text: str
    line: str
    mode: str = "queue"
    run_id: str | None = None
    job_id: str | None = None
    sender_id: str | None = None
    address: str | None = None
    external_id: str | None = None
    meta: Mapping[str, object] | None = None


@dataclass(frozen=True, kw_only=True)
class Head:
    """The one that goes next, and the notes it takes along."""

    inbound: Inbound
    notes: Sequence[Inbound]


@dataclass(frozen=True, kw_only=True)
class NewTurn:
    """A turn about to open."""

    id: str
    head: Head
    agent_id: str
    worker_id: str
    claimed_until: datetime | None
    deadline_at: datetime | None
    model: str
    thinking: str | None
    prompt: str
    policy: Mapping[str, object]
    opening_seq: int


_ENQUEUE = insert_rows(
    t.inbound, "id", "session_id", "lane_id", "user_id", "source", "text", "line", "mode", "run_id", "job_id",
    "sender_id", "address", "external_id", "meta", "queued_at", state="waiting",
)  # fmt: skip


def enqueue(tx: Tx, items: Sequence[NewInbound]) -> list[str]:
    """Add to locked lanes; return the new ids in order."""
    if not items:
        return []
    now = tx.now()
    rows = [
        {
            "id": new_id("in"), "session_id": i.session_id, "lane_id": i.lane_id, "user_id": i.user_id,
            "source": i.source, "text": i.text, "line": i.line, "mode": i.mode, "run_id": i.run_id,
            "job_id": i.job_id, "sender_id": i.sender_id, "address": i.address, "external_id": i.external_id,
            "meta": dict(i.meta) if i.meta else None, "queued_at": now,
        }
        for i in items
    ]  # fmt: skip
    _ENQUEUE.run(tx, rows)
    tx.ring("lanes")
    return [str(row["id"]) for row in rows]


def find_external(tx: Tx, session_id: int, external_id: str) -> Inbound | None:
    """Find what a channel brought in before under the same message id."""
    rows = tx.rows(
        sa.select(*inbound_columns).where(t.inbound.c.session_id == session_id, t.inbound.c.external_id == external_id)
    )
    return inbound_of(rows[0]) if rows else None


def _first(line: str) -> sa.ScalarSelect[int]:
    return (
        sa.select(sa.func.min(t.inbound.c.n))
        .where(t.inbound.c.lane_id == t.session.c.id, t.inbound.c.line == line, t.inbound.c.state == "waiting")
        .scalar_subquery()
    )


_FIRSTS = Fetch(
    lambda spelling: sa.select(t.session.c.id, _first("people"), _first("machines")).where(
        spelling.among(t.session.c.id)
    )
)
_WAITING_BY_N = Fetch(
    lambda spelling: sa.select(*inbound_columns).where(spelling.among(t.inbound.c.n), t.inbound.c.state == "waiting")
)
_WAITING_NOTES = Fetch(
    lambda spelling: (
        sa.select(*inbound_columns)
        .where(spelling.among(t.inbound.c.lane_id), t.inbound.c.line == "note", t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.n)
    )
)


def take_heads(tx: Tx, lane_ids: Collection[int]) -> list[Head]:
    """Find who goes next in each free lane of those locked; `open_turns` takes them in the same transaction."""
    taken = busy(tx, lane_ids)
    free = [lane_id for lane_id in lane_ids if lane_id not in taken]
    firsts = _FIRSTS.rows(tx, free)
    numbers: list[int] = [n for _, person, machine in firsts for n in (person, machine) if n is not None]
    by_n = {inbound.n: inbound for inbound in map(inbound_of, _WAITING_BY_N.rows(tx, numbers))}
    if not by_n:
        return []
    notes: dict[int, list[Inbound]] = {}
    for note in map(inbound_of, _WAITING_NOTES.rows(tx, free)):
        notes.setdefault(note.lane_id, []).append(note)
    now = tx.now()
    heads: list[Head] = []
    for lane_id, person, machine in firsts:
        inbound = choose_head(by_n.get(person), by_n.get(machine), now)
        if inbound is not None:
            heads.append(Head(inbound=inbound, notes=notes.get(lane_id, ())))
    return heads


_OPEN = insert_rows(
    t.turn, "id", "lane_id", "session_id", "user_id", "agent_id", "source", "run_id", "job_id", "worker_id",
    "claimed_until", "deadline_at", "address", "sender_id", "model", "thinking", "prompt", "policy", "opening_seq",
    "opened_at", state="running",
)  # fmt: skip
_TAKE = Bulk(
    sa.update(t.inbound)
    .where(t.inbound.c.n == sa.bindparam("b_n"), t.inbound.c.state == "waiting")
    .values(state="taken", turn_id=sa.bindparam("b_turn"))
)


def open_turns(tx: Tx, turns: Sequence[NewTurn]) -> None:
    """Open turns on heads just taken. The index refuses a second one in a lane."""
    now = tx.now()
    _OPEN.run(
        tx,
        [
            {
                "id": n.id, "lane_id": n.head.inbound.lane_id, "session_id": n.head.inbound.session_id,
                "user_id": n.head.inbound.user_id, "agent_id": n.agent_id, "source": n.head.inbound.source,
                "run_id": n.head.inbound.run_id, "job_id": n.head.inbound.job_id,
                "worker_id": n.worker_id, "claimed_until": n.claimed_until, "deadline_at": n.deadline_at,
                "address": n.head.inbound.address, "sender_id": n.head.inbound.sender_id, "model": n.model,
                "thinking": n.thinking, "prompt": n.prompt, "policy": dict(n.policy) or None,
                "opening_seq": n.opening_seq, "opened_at": now,
            }
            for n in turns
        ],
    )  # fmt: skip
    taken = [{"b_n": inbound.n, "b_turn": n.id} for n in turns for inbound in (n.head.inbound, *n.head.notes)]
    if _TAKE.run(tx, taken) not in (-1, len(taken)):
        raise Lost("an inbound was taken by somebody else")


def get_turn(tx: Tx, turn_id: str) -> Turn | None:
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.id == turn_id))
    return turn_of(rows[0]) if rows else None


def open_turn_of(tx: Tx, lane_id: int) -> Turn | None:
    """Read the lane's open turn."""
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.lane_id == lane_id, t.turn.c.state != "closed"))
    return turn_of(rows[0]) if rows else None


def open_turn_ids(tx: Tx, user_id: str, *, session_id: int | None = None) -> list[str]:
    """Name the open turns of a user, or of one session."""
    where = [t.turn.c.user_id == user_id, t.turn.c.state != "closed"]
    if session_id is not None:
        where.append(t.turn.c.session_id == session_id)
    return [str(turn_id) for (turn_id,) in tx.rows(sa.select(t.turn.c.id).where(*where))]


def hold(tx: Tx, turn_id: str, fence: int) -> Turn:
    """Lock a running turn under its fence before writing for it; `Lost` when it is another's now."""
    statement = sa.select(*turn_columns).where(
        t.turn.c.id == turn_id, t.turn.c.fence == fence, t.turn.c.state == "running"
    )
    if tx.postgres:
        # Not shared: two steps at once that then count anew (`made_progress`) would wait for each other.
        statement = statement.with_for_update(key_share=True)
    rows = tx.rows(statement)
    if not rows:
        raise Lost(f"{turn_id} is not mine any more")
    return turn_of(rows[0])


@dataclass(frozen=True, kw_only=True)
class Held:
    """What may have changed in a turn since it was opened."""

    id: str
    fence: int
    cancel_requested_at: datetime | None
    cancel_reason: str | None


def _held(spelling: Spelling) -> sa.Select[*tuple[Any, ...]]:
    statement = (
        sa.select(t.turn.c.id, t.turn.c.fence, t.turn.c.cancel_requested_at, t.turn.c.cancel_reason)
        .where(spelling.among(t.turn.c.id), t.turn.c.state == "running")
        .order_by(t.turn.c.id)
    )
    return statement.with_for_update() if spelling.postgres else statement


_HOLD = Fetch(_held)


def hold_many(tx: Tx, fences: Mapping[str, int]) -> dict[str, Held]:
    """Lock many turns to close them, in id order; those that are another's now are left out."""
    held = [noun_of(Held, row) for row in _HOLD.rows(tx, fences.keys())]
    return {turn.id: turn for turn in held if turn.fence == fences[turn.id]}


@dataclass(frozen=True, kw_only=True)
class Closed:
    """How a held turn closes."""

    turn_id: str
    outcome: Outcome
    reason: str | None
    error: str | None
    history: str | None
    closing_seq: int | None
    input_tokens: int
    output_tokens: int


_CLOSE = Bulk(
    sa.update(t.turn)
    .where(t.turn.c.id == sa.bindparam("b_id"), t.turn.c.state == "running")
    .values(
        state="closed", worker_id=sa.null(), claimed_until=sa.null(), closed_at=sa.bindparam("b_now"),
        outcome=sa.bindparam("b_outcome"), reason=sa.bindparam("b_reason"), error=sa.bindparam("b_error"),
        history=sa.bindparam("b_history"), closing_seq=sa.bindparam("b_seq"), input_tokens=sa.bindparam("b_in"),
        output_tokens=sa.bindparam("b_out"),
    )
)  # fmt: skip


def close_turns(tx: Tx, closed: Sequence[Closed]) -> None:
    """Close turns that are held; the lane is free with the commit."""
    now = tx.now()
    _CLOSE.run(
        tx,
        [
            {
                "b_id": c.turn_id, "b_outcome": c.outcome, "b_reason": c.reason, "b_error": c.error,
                "b_history": c.history, "b_seq": c.closing_seq, "b_in": c.input_tokens, "b_out": c.output_tokens,
                "b_now": now,
            }
            for c in closed
        ],
    )  # fmt: skip
    tx.ring("lanes")


def renew(tx: Tx, worker_id: str, turn_ids: Collection[str], until: datetime) -> list[Turn]:
    """Prolong this worker's claims; return the turns that are still its own."""
    if not turn_ids:
        return []
    if tx.postgres:
        # An update takes its rows in any order; whoever closes or takes over many takes them by id, so we do too.
        mine = sa.select(t.turn.c.id).where(t.turn.c.id.in_(list(turn_ids))).order_by(t.turn.c.id)
        tx.rows(mine.with_for_update(key_share=True))
    rows = tx.rows(
        sa.update(t.turn)
        .where(t.turn.c.id.in_(sorted(turn_ids)), t.turn.c.worker_id == worker_id, t.turn.c.state == "running")
        .values(claimed_until=until)
        .returning(*turn_columns)
    )
    return [turn_of(row) for row in rows]


def watch(tx: Tx, worker_id: str) -> list[Turn]:
    """Read this worker's turns that somebody asked to cancel."""
    rows = tx.rows(
        sa.select(*turn_columns).where(
            t.turn.c.state != "closed", t.turn.c.worker_id == worker_id, t.turn.c.cancel_requested_at.is_not(None)
        )
    )
    return [turn_of(row) for row in rows]


def request_cancel(tx: Tx, turn_id: str, reason: str) -> bool:
    """Ask that a running turn be stopped; the first reason stays."""
    tx.ring("cancels", "lanes")
    return (
        tx.run(
            sa.update(t.turn)
            .where(t.turn.c.id == turn_id, t.turn.c.state == "running", t.turn.c.cancel_requested_at.is_(None))
            .values(cancel_requested_at=tx.now(), cancel_reason=reason)
        )
        == 1
    )


def request_cancels(tx: Tx, turn_ids: Collection[str], reason: str) -> None:
    """Ask that several turns be stopped. They are locked by id first, as by everybody who takes more than one."""
    if not turn_ids:
        return
    if tx.postgres:
        wanted = sa.select(t.turn.c.id).where(t.turn.c.id.in_(list(turn_ids))).order_by(t.turn.c.id)
        tx.rows(wanted.with_for_update(key_share=True))
    for turn_id in turn_ids:
        request_cancel(tx, turn_id, reason)


def take_over(tx: Tx, lane_id: int, worker_id: str, until: datetime | None) -> Turn | None:
    """Take up the lane's open turn whose claim ran out, under a new fence. The caller has locked the lane."""
    mine = (t.turn.c.lane_id == lane_id, t.turn.c.state == "running", t.turn.c.claimed_until <= tx.now())
    if tx.postgres:
        tx.rows(sa.select(t.turn.c.id).where(*mine).with_for_update())
    rows = tx.rows(
        sa.update(t.turn)
        .where(*mine)
        .values(
            worker_id=worker_id, claimed_until=until, fence=t.turn.c.fence + 1, attempts=t.turn.c.attempts + 1
        )
        .returning(*turn_columns)
    )  # fmt: skip
    return turn_of(rows[0]) if rows else None


def hand_back(tx: Tx, turn_id: str, fence: int) -> bool:
    """Give a turn back at a graceful stop: anybody may take it up at once, and the attempt is not counted."""
    tx.ring("lanes")
    return (
        tx.run(
            sa.update(t.turn)
            .where(t.turn.c.id == turn_id, t.turn.c.fence == fence, t.turn.c.state == "running")
            # Once: the attempt is taken back with the first, and with no other.
            .where(t.turn.c.worker_id.is_not(None))
            # Nobody's: a renewal that is still under way must not bind it again.
            .values(worker_id=None, claimed_until=tx.now(), attempts=t.turn.c.attempts - 1)
        )
        == 1
    )


def stale_lanes(tx: Tx, limit: int, *, line: str | None = None) -> list[tuple[int, str]]:
    """Find lanes whose open turn has nobody at work any more, and the line whose slots it needs."""
    statement = (
        sa.select(t.turn.c.lane_id, t.turn.c.source)
        .where(t.turn.c.state != "closed", t.turn.c.claimed_until <= tx.now())
        .order_by(t.turn.c.claimed_until)
        .limit(limit)
    )
    if line is not None:
        statement = statement.where((t.turn.c.source == "person") == (line == "people"))
    rows = tx.rows(statement)
    return [(lane_id, "people" if source == "person" else "machines") for lane_id, source in rows]


@dataclass(frozen=True, kw_only=True)
class Glance:
    """Whether a closer look is worth while, and at what."""

    people: bool
    machines: bool
    next_claim_end: datetime | None


_WAITING = sa.exists().where(t.inbound.c.state == "waiting")
_GLANCE = sa.select(
    _WAITING.where(t.inbound.c.line == "people"),
    _WAITING.where(t.inbound.c.line == "machines"),
    sa.select(sa.func.min(t.turn.c.claimed_until)).where(t.turn.c.state != "closed").scalar_subquery(),
)


def glance(tx: Tx) -> Glance:
    """Say in one statement whether anybody waits anywhere, and when the next claim runs out, unless it is renewed."""
    people, machines, claim_end = tx.rows(_GLANCE)[0]
    return Glance(people=bool(people), machines=bool(machines), next_claim_end=claim_end)


def anything_waits(tx: Tx) -> bool:
    """Say whether anybody waits in any lane."""
    seen = glance(tx)
    return seen.people or seen.machines


_STALE = Fetch(
    lambda spelling: sa.select(t.turn.c.lane_id)
    .where(
        spelling.among(t.turn.c.lane_id), t.turn.c.state != "closed",
        t.turn.c.claimed_until <= sa.bindparam("b_now", type_=t.Instant),
    )
    .order_by(t.turn.c.id)
)  # fmt: skip


def stale_among(tx: Tx, lane_ids: Collection[int]) -> list[int]:
    """Name those of some lanes whose open turn has nobody at work any more, in the order in which turns are locked."""
    return [lane_id for (lane_id,) in _STALE.rows(tx, lane_ids, b_now=tx.now())]


def next_claim_end(tx: Tx) -> datetime | None:
    """Tell when the next claim of anybody runs out, unless it is renewed."""
    return glance(tx).next_claim_end


def _first_lanes(
    tx: Tx, line: str, limit: int, held: Collection[int], *conditions: sa.ColumnElement[bool], alone: bool
) -> list[int]:
    """Name free lanes in which somebody of a line waits and is next, longest first.

    A full lane fills a whole look by itself, so what was seen is left out of the next one. One statement for it all
    would need a join of the table with itself, and PostgreSQL, as long as it has no statistics, makes that quadratic.
    """
    c = t.inbound.c
    seen, found = list(held), list[int]()
    busy = sa.exists().where(t.turn.c.lane_id == c.lane_id, t.turn.c.state != "closed")
    while len(found) < limit:
        statement = (
            sa.select(c.lane_id, c.n, c.queued_at)
            .where(c.line == line, c.state == "waiting", ~busy, *conditions)
            .order_by(c.n)
            .limit(limit)
        )
        if seen:
            statement = statement.where(c.lane_id.not_in(seen))
        rows = tx.rows(statement)
        first: dict[int, tuple[int, datetime]] = {}
        for lane_id, n, queued_at in rows:
            first.setdefault(lane_id, (n, queued_at))
        found += first if alone else _next_in_line(tx, line, first)
        seen += first
        if len(rows) < limit:
            break
    return found[:limit]


def _next_in_line(tx: Tx, line: str, first: Mapping[int, tuple[int, datetime]]) -> list[int]:
    """Leave out lanes whose head will be of the other line, as `choose_head` decides: it needs a slot of its own."""
    c = t.inbound.c
    other = "machines" if line == "people" else "people"
    rows = tx.rows(
        sa.select(c.lane_id, sa.func.min(c.n), sa.func.min(c.queued_at))
        .where(c.lane_id.in_(list(first)), c.line == other, c.state == "waiting")
        .group_by(c.lane_id)
    )
    rivals: dict[int, tuple[int, datetime]] = {lane_id: (n, queued_at) for lane_id, n, queued_at in rows}
    old = tx.now() - OVERTAKEN_FOR

    def goes(lane_id: int) -> bool:
        if lane_id not in rivals:
            return True
        person, machine = (first, rivals) if line == "people" else (rivals, first)
        overtaken = machine[lane_id][0] < person[lane_id][0] and machine[lane_id][1] <= old
        return overtaken == (line == "machines")

    return [lane_id for lane_id in first if goes(lane_id)]


def pick_people(tx: Tx, limit: int, held: Collection[int] = (), *, alone: bool = False) -> list[int]:
    """Name free lanes in which a person waits and is next, longest first. A hint: opening decides.

    With `alone` no machine waits anywhere, so that nobody else can be next.
    """
    return _first_lanes(tx, "people", limit, held, alone=alone)


def pick_machines(
    tx: Tx,
    limit: int,
    running: Mapping[str, int],
    held: Collection[int] = (),
    *,
    users: Mapping[str, int] | None = None,
    alone: bool = False,
) -> list[int]:
    """Name free lanes in which runs and their like wait: users with the fewest running first, then by arrival."""
    users = waiting_users(tx) if users is None else users
    lines: dict[str, list[int]] = {}
    for user_id in sorted(users, key=lambda user_id: (running.get(user_id, 0), users[user_id])):
        if len(lines) == limit:
            break
        lanes = _first_lanes(tx, "machines", limit, held, t.inbound.c.user_id == user_id, alone=alone)
        if lanes:
            lines[user_id] = lanes
    return _deal(lines, running, limit)


def _deal(lines: Mapping[str, Sequence[int]], running: Mapping[str, int], limit: int) -> list[int]:
    """Give each free slot to the user with the fewest running, in turn."""
    busy = {user_id: running.get(user_id, 0) for user_id in lines}
    given = dict.fromkeys(lines, 0)
    dealt: list[int] = []
    while len(dealt) < limit and lines:
        open_users = [u for u in lines if given[u] < len(lines[u])]
        if not open_users:
            break
        user_id = min(open_users, key=lambda u: busy[u])
        dealt.append(lines[user_id][given[user_id]])
        given[user_id] += 1
        busy[user_id] += 1
    return dealt


def waiting_users(tx: Tx, after: str = "") -> dict[str, int]:
    """Name users for whom runs and their like wait, each with the first one's number.

    Of very many only so many are named, those behind `after` first: whoever goes on from the last lets nobody starve.
    """
    users = _walk_users(tx, after, limit=USERS)
    if after and len(users) < USERS:
        users |= _walk_users(tx, "", until=after, limit=USERS - len(users))
    return users


def _walk_users(tx: Tx, after: str, *, until: str | None = None, limit: int) -> dict[str, int]:
    """Go from user to user by the index, instead of reading every waiting row."""
    c = t.inbound.c
    waiting = [c.line == "machines", c.state == "waiting"]
    if until is not None:
        waiting.append(c.user_id <= until)
    found = sa.select(sa.func.min(c.user_id).label("user_id")).where(*waiting, c.user_id > after)
    found = found.cte("found", recursive=True)
    following = sa.select(sa.func.min(c.user_id)).where(*waiting, c.user_id > found.c.user_id).scalar_subquery()
    found = found.union_all(sa.select(following).where(found.c.user_id.is_not(None)))
    first = sa.select(sa.func.min(c.n)).where(*waiting, c.user_id == found.c.user_id).scalar_subquery()
    rows = tx.rows(sa.select(found.c.user_id, first).where(found.c.user_id.is_not(None)).limit(limit))
    return dict(rows)


def running_by_user(tx: Tx) -> dict[str, int]:
    """Count open machine turns of each user."""
    rows = tx.rows(
        sa.select(t.turn.c.user_id, sa.func.count())
        .where(t.turn.c.state != "closed", t.turn.c.source != "person")
        .group_by(t.turn.c.user_id)
    )
    return dict(rows)


def waiting(tx: Tx, lane_id: int, limit: int) -> list[Inbound]:
    """List what waits in a lane, first in line first."""
    rows = tx.rows(
        sa.select(*inbound_columns)
        .where(t.inbound.c.lane_id == lane_id, t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.line != "people", t.inbound.c.n)
        .limit(limit)
    )
    return [inbound_of(row) for row in rows]


_PARENTS = Fetch(
    lambda spelling: sa.select(t.session.c.parent_id).where(
        spelling.among(t.session.c.id), t.session.c.parent_id.is_not(None)
    )
)
_CHATS = Fetch(
    lambda spelling: sa.select(t.inbound.c.session_id)
    .join(t.session, t.session.c.id == t.inbound.c.lane_id)
    .where(
        spelling.among(t.session.c.id), t.session.c.key.startswith(UNIFIED, autoescape=True),
        t.inbound.c.state == "waiting",
    )
    .distinct()
)  # fmt: skip


def touched_by_opening(tx: Tx, lane_ids: Collection[int]) -> set[int]:
    """Name the other sessions that opening some lanes touches: a look before the lock, so that all lock in order.

    An isolated run is a row of its bound session; in a shared lane several chats wait,
    also after sharing was switched off.
    """
    bound = {parent_id for (parent_id,) in _PARENTS.rows(tx, lane_ids)}
    return bound | {session_id for (session_id,) in _CHATS.rows(tx, lane_ids)}


_BUSY = Fetch(
    lambda spelling: sa.select(t.turn.c.lane_id).where(spelling.among(t.turn.c.lane_id), t.turn.c.state != "closed")
)


def busy(tx: Tx, lane_ids: Collection[int]) -> set[int]:
    """Name the lanes that have an open turn."""
    return {lane_id for (lane_id,) in _BUSY.rows(tx, lane_ids)}


def opening_of(tx: Tx, turn: Turn) -> Message:
    """Read a turn's opening."""
    rows = tx.rows(messages.where(t.message.c.session_id == turn.session_id, t.message.c.seq == turn.opening_seq))
    return message_of(rows[0])


def with_notes(tx: Tx, session_ids: Collection[int]) -> set[int]:
    """Name the sessions into which something was laid that no turn has seen."""
    rows = tx.rows(
        sa.select(t.inbound.c.session_id)
        .where(
            t.inbound.c.session_id.in_(list(session_ids)), t.inbound.c.line == "note", t.inbound.c.state == "waiting"
        )
        .distinct()
    )
    return {session_id for (session_id,) in rows}


def waiting_count(tx: Tx, lane_ids: Collection[int]) -> dict[int, int]:
    rows = tx.rows(
        sa.select(t.inbound.c.lane_id, sa.func.count())
        .where(t.inbound.c.lane_id.in_(list(lane_ids)), t.inbound.c.state == "waiting")
        .group_by(t.inbound.c.lane_id)
    )
    return dict(rows)


def injectable(tx: Tx, turn: Turn) -> list[Inbound]:
    """List what people said meanwhile in this turn's lane. Only people stand in that line; `may_inject` judges each."""
    rows = tx.rows(
        sa.select(*inbound_columns)
        .where(t.inbound.c.lane_id == turn.lane_id, t.inbound.c.line == "people", t.inbound.c.state == "waiting")
        .order_by(t.inbound.c.n)
    )
    return [inbound_of(row) for row in rows]


def take_into(tx: Tx, turn: Turn, inbound: Inbound) -> bool:
    """Take one waiting message into a running turn."""
    return (
        tx.run(
            sa.update(t.inbound)
            .where(t.inbound.c.n == inbound.n, t.inbound.c.state == "waiting", t.inbound.c.line == "people")
            .values(state="taken", turn_id=turn.id, injected=True)
        )
        == 1
    )


def withdraw(tx: Tx, *conditions: sa.ColumnElement[bool]) -> list[Inbound]:
    """Take waiting inbound out of locked lanes."""
    rows = tx.rows(
        sa.update(t.inbound)
        .where(t.inbound.c.state == "waiting", *conditions)
        .values(state="withdrawn")
        .returning(*inbound_columns)
    )
    return [inbound_of(row) for row in rows]


def withdraw_runs(tx: Tx, run_ids: Iterable[str]) -> list[Inbound]:
    return withdraw(tx, t.inbound.c.run_id.in_(list(run_ids)))


def withdraw_all(tx: Tx, session_id: int) -> list[Inbound]:
    return withdraw(tx, t.inbound.c.session_id == session_id)


def withdraw_reports(tx: Tx, session_id: int, job_id: str) -> list[Inbound]:
    """Take out a waiting report of the same job, which a newer one replaces."""
    return withdraw(
        tx, t.inbound.c.session_id == session_id, t.inbound.c.source == "report", t.inbound.c.job_id == job_id
    )


def inbound_by_id(tx: Tx, inbound_id: str) -> Inbound | None:
    rows = tx.rows(sa.select(*inbound_columns).where(t.inbound.c.id == inbound_id))
    return inbound_of(rows[0]) if rows else None


def inbound_of_turn(tx: Tx, turn_id: str) -> list[Inbound]:
    rows = tx.rows(sa.select(*inbound_columns).where(t.inbound.c.turn_id == turn_id).order_by(t.inbound.c.n))
    return [inbound_of(row) for row in rows]


def open_turns_of(tx: Tx, lane_ids: Collection[int]) -> dict[int, Turn]:
    """Read the open turns of lanes."""
    rows = tx.rows(sa.select(*turn_columns).where(t.turn.c.lane_id.in_(list(lane_ids)), t.turn.c.state != "closed"))
    return {turn.lane_id: turn for turn in map(turn_of, rows)}


def waiting_sizes(tx: Tx, lane_ids: Collection[int], session_ids: Collection[int]) -> dict[int, int]:
    """Count what waits for each session in its own lane or a shared one."""
    c = t.inbound.c
    rows = tx.rows(
        sa.select(c.session_id, sa.func.count())
        .where(c.lane_id.in_(list(lane_ids)), c.state == "waiting", c.session_id.in_(list(session_ids)))
        .group_by(c.session_id)
    )
    return {int(session_id): int(count) for session_id, count in rows}


def waiting_of(tx: Tx, lane_ids: Collection[int], session_ids: Collection[int], limit: int) -> dict[int, list[Inbound]]:
    """Read what waits for each session, first in line first, at most so much of each."""
    c = t.inbound.c
    place = sa.func.row_number().over(partition_by=c.session_id, order_by=(c.line != "people", c.n)).label("place")
    ranked = (
        sa.select(*inbound_columns, place)
        .where(c.lane_id.in_(list(lane_ids)), c.state == "waiting", c.session_id.in_(list(session_ids)))
        .subquery()
    )
    rows = tx.rows(sa.select(ranked).where(ranked.c.place <= limit).order_by(ranked.c.session_id, ranked.c.place))
    found: dict[int, list[Inbound]] = {}
    for inbound in map(inbound_of, rows):
        found.setdefault(inbound.session_id, []).append(inbound)
    return found
