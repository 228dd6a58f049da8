"""Picking: which lanes are worth a try, and for whom.

Locks nothing: all of it is a hint, old as soon as it is read. Opening decides, under the lane's lock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa

from homing.model.turns import OVERTAKEN_FOR
from homing.store import tables as t
from homing.store.base import Tx

# How many users with waiting runs one look considers.
USERS = 64


@dataclass(frozen=True, kw_only=True)
class Glance:
    """Whether a closer look is worth while, and at what."""

    people: bool
    machines: bool
    next_claim_end: datetime | None
    vouched: bool
    """Some turn has a claim without expiry: an outside engine vouches for it."""


@dataclass(frozen=True, kw_only=True)
class LaneState:
    """A lane and a key for its state, which changes with everything that happens in it."""

    lane_id: int
    key: str


_WAITING = sa.exists().where(t.inbound.c.state == "waiting")


def _glance(left_agents: Collection[str] = ()) -> sa.Select[bool, bool, datetime | None, bool]:
    claims = sa.select(sa.func.min(t.turn.c.claimed_until)).where(t.turn.c.state != "closed")
    vouched = sa.exists().where(t.turn.c.state != "closed", t.turn.c.claimed_until.is_(None))
    if left_agents:
        claims = claims.where(t.turn.c.agent_id.not_in(sorted(left_agents)))
        vouched = vouched.where(t.turn.c.agent_id.not_in(sorted(left_agents)))
    return sa.select(
        _WAITING.where(t.inbound.c.line == "people"),
        _WAITING.where(t.inbound.c.line == "machines"),
        claims.scalar_subquery(),
        vouched,
    )


_GLANCE = _glance()


def glance(tx: Tx, left_agents: Collection[str] = ()) -> Glance:
    """Say in one statement whether anybody waits anywhere, and when the next claim runs out, unless it is renewed.

    Claims on turns of `left_agents` are for other workers to look at.
    """
    people, machines, claim_end, vouched = tx.rows(_glance(left_agents) if left_agents else _GLANCE)[0]
    return Glance(people=bool(people), machines=bool(machines), next_claim_end=claim_end, vouched=bool(vouched))


def stale_lanes(
    tx: Tx, limit: int, *, line: str | None = None, left_agents: Collection[str] = (), vouched: bool = False
) -> list[tuple[int, str]]:
    """Find lanes whose open turn has nobody at work any more, and the line whose slots it needs. With `vouched` those
    with a claim without expiry too.
    """
    over: sa.ColumnElement[bool] = t.turn.c.claimed_until <= tx.now()
    if vouched:
        over = sa.or_(over, t.turn.c.claimed_until.is_(None))
    statement = (
        sa.select(t.turn.c.lane_id, t.turn.c.source)
        .where(t.turn.c.state != "closed", over)
        .order_by(t.turn.c.claimed_until)
        .limit(limit)
    )
    if line is not None:
        statement = statement.where((t.turn.c.source == "person") == (line == "people"))
    if left_agents:
        statement = statement.where(t.turn.c.agent_id.not_in(sorted(left_agents)))
    rows = tx.rows(statement)
    return [(lane_id, "people" if source == "person" else "machines") for lane_id, source in rows]


def pick_people(
    tx: Tx, limit: int, held: Collection[int] = (), *, alone: bool = False, left_agents: Collection[str] = ()
) -> list[int]:
    """Name free lanes in which a person waits and is next, longest first. A hint: opening decides.

    With `alone` no machine waits anywhere, so that nobody else can be next.
    """
    return _first_lanes(tx, "people", limit, held, *_not_of(left_agents), alone=alone)


def pick_machines(
    tx: Tx,
    limit: int,
    running: Mapping[str, int],
    held: Collection[int] = (),
    *,
    users: Mapping[str, int] | None = None,
    alone: bool = False,
    left_agents: Collection[str] = (),
) -> list[int]:
    """Name free lanes in which runs and their like wait: users with the fewest running first, then by arrival."""
    users = waiting_users(tx) if users is None else users
    lines: dict[str, list[int]] = {}
    for user_id in sorted(users, key=lambda user_id: (running.get(user_id, 0), users[user_id])):
        if len(lines) == limit:
            break
        conditions = (t.inbound.c.user_id == user_id, *_not_of(left_agents))
        lanes = _first_lanes(tx, "machines", limit, held, *conditions, alone=alone)
        if lanes:
            lines[user_id] = lanes
    return _deal(lines, running, limit)


def waiting_states(tx: Tx, lane_ids: Collection[int]) -> list[LaneState]:
    """Give each lane a key for what waits in it; lanes where nothing waits are left out."""
    if not lane_ids:
        return []
    c = t.inbound.c
    rows = tx.rows(
        sa.select(c.lane_id, sa.func.min(c.n), sa.func.max(c.n))
        .where(c.lane_id.in_(list(lane_ids)), c.state == "waiting")
        .group_by(c.lane_id)
    )
    return [LaneState(lane_id=lane_id, key=f"{lane_id}:i{first}-{last}") for lane_id, first, last in rows]


def open_states(tx: Tx, limit: int, *, vouched: bool) -> list[LaneState]:
    """Name lanes with an open turn whose claim ran out, or (`vouched`) has no expiry, with a key for that turn."""
    c = t.turn.c
    free = c.claimed_until.is_(None) if vouched else c.claimed_until <= tx.now()
    rows = tx.rows(sa.select(c.lane_id, c.n, c.fence).where(c.state != "closed", free).order_by(c.n).limit(limit))
    return [LaneState(lane_id=lane_id, key=f"{lane_id}:t{n}.{fence}") for lane_id, n, fence in rows]


def _not_of(agents: Collection[str]) -> list[sa.ColumnElement[bool]]:
    if not agents:
        return []
    theirs = sa.select(t.session.c.id).where(t.session.c.agent_id.in_(sorted(agents)))
    return [t.inbound.c.session_id.not_in(theirs)]


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

    Of very many only so many are named, those behind `after` first: going on from the last one starves nobody.
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
