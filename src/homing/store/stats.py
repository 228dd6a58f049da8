"""Figures for watching a Homing from outside, counted from its rows: the same whichever process is asked."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa

from homing.store import tables as t
from homing.store.base import Tx

Counts = dict[tuple[str, ...], int]
_NEWEST = 50_000


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How many of something there were, how long they took together, and how long the longest took."""

    count: int
    total_seconds: float
    longest_seconds: float


@dataclass(frozen=True, kw_only=True)
class Stats:
    """A Homing in numbers. What came and went is counted over the window, so that a scrape reads little."""

    window: timedelta
    waiting: Counts
    """Inbound in lanes, by line."""
    oldest_waiting_seconds: float
    open_turns: Counts
    """By source."""
    jobs_due: int
    active_runs: Counts
    finished_runs: Counts
    """By state and reason."""
    lateness: Spread
    turns: dict[str, Spread]
    """By source."""
    tokens: Counts
    """By model and direction."""
    deliveries: Counts
    workers: int
    oldest_beat_seconds: float


def with_own_model(tx: Tx) -> tuple[int, int]:
    """Count the conversations and the automations that have a model of their own."""
    session, job = t.session.c, t.job.c
    sessions = sa.select(sa.func.count()).where(
        session.model.is_not(None), session.deleted_at.is_(None), session.parent_id.is_(None)
    )
    jobs = sa.select(sa.func.count()).where(job.model.is_not(None), job.removed_at.is_(None))
    return tx.rows(sessions)[0][0], tx.rows(jobs)[0][0]


def gather(tx: Tx, *, window: timedelta = timedelta(hours=1), alive_within: timedelta) -> Stats:
    """Count everything in one look."""
    now = tx.now()
    since = now - window
    recent_turns = sa.and_(_newest(t.turn), t.turn.c.closed_at >= since)
    waiting = _counts(tx, t.inbound.c.line, where=t.inbound.c.state == "waiting")
    oldest = tx.rows(sa.select(sa.func.min(t.inbound.c.queued_at)).where(t.inbound.c.state == "waiting"))[0][0]
    beats = tx.rows(sa.select(t.worker.c.beat_at).where(t.worker.c.beat_at >= now - alive_within))
    return Stats(
        window=window,
        waiting=waiting,
        oldest_waiting_seconds=_since(now, oldest),
        open_turns=_counts(tx, t.turn.c.source, where=t.turn.c.state != "closed"),
        jobs_due=_counts(tx, where=t.job.c.next_run_at <= now, table=t.job).get((), 0),
        active_runs=_counts(tx, t.run.c.state, where=t.run.c.state.in_(("queued", "running"))),
        finished_runs=_counts(
            tx, t.run.c.state, sa.func.coalesce(t.run.c.reason, ""), where=t.run.c.finished_at >= since
        ),
        lateness=_spread(tx, t.run.c.lateness_ms * 1000, where=t.run.c.finished_at >= since).get("", _NONE),
        turns=_spread(
            tx, _micros(t.turn.c.closed_at) - _micros(t.turn.c.opened_at), where=recent_turns, by=t.turn.c.source
        ),
        tokens=_tokens(tx, recent_turns),
        deliveries=_counts(tx, t.delivery.c.state, where=t.delivery.c.state != "sent")
        | _counts(tx, t.delivery.c.state, where=sa.and_(_newest(t.delivery), t.delivery.c.sent_at >= since)),
        workers=len(beats),
        oldest_beat_seconds=max((_since(now, beat_at) for (beat_at,) in beats), default=0.0),
    )


_NONE = Spread(count=0, total_seconds=0.0, longest_seconds=0.0)


def _newest(table: sa.Table) -> sa.ColumnElement[bool]:
    """What came in the window lies at the end of the table: a scrape need not read it all."""
    return table.c.n > sa.select(sa.func.max(table.c.n) - _NEWEST).scalar_subquery()


def _counts(tx: Tx, *by: sa.ColumnElement[str], where: sa.ColumnElement[bool], table: sa.Table | None = None) -> Counts:
    statement = sa.select(*by, sa.func.count()).where(where).group_by(*by)
    rows = tx.rows(statement if table is None else statement.select_from(table))
    return {tuple(str(value) for value in row[:-1]): int(row[-1]) for row in rows}


def _spread(
    tx: Tx,
    micros: sa.ColumnElement[int],
    *,
    where: sa.ColumnElement[bool],
    by: sa.ColumnElement[str] | None = None,
) -> dict[str, Spread]:
    figures = (sa.func.count(micros), sa.func.sum(micros), sa.func.max(micros))
    named = sa.literal("") if by is None else by
    rows = tx.rows(sa.select(named, *figures).where(where).group_by(named))
    return {
        str(name): Spread(count=count, total_seconds=float(total or 0) / 1e6, longest_seconds=float(longest or 0) / 1e6)
        for name, count, total, longest in rows
    }


def _tokens(tx: Tx, where: sa.ColumnElement[bool]) -> Counts:
    c = t.turn.c
    rows = tx.rows(
        sa.select(c.model, sa.func.sum(c.input_tokens), sa.func.sum(c.output_tokens)).where(where).group_by(c.model)
    )
    return {
        (model, direction): int(tokens or 0)
        for model, given, made in rows
        for direction, tokens in (("input", given), ("output", made))
    }


def _micros(instant: sa.Column[datetime]) -> sa.ColumnElement[int]:
    return sa.type_coerce(instant, sa.BigInteger)


def _since(now: datetime, then: datetime | None) -> float:
    return 0.0 if then is None else (now - then).total_seconds()
