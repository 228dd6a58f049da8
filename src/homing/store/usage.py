"""Sums of what model calls used, by user, day, job, session, agent and model. A call is added with its step."""

from collections.abc import Collection
from datetime import date
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from homing.model.turns import CallUsage
from homing.model.usage import CallKey, Sums
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.bulk import names_of

By = Literal["day", "job", "session", "agent", "model"]

_COLUMNS = {
    "day": t.usage_sum.c.day,
    "job": t.usage_sum.c.job_id,
    "session": t.usage_sum.c.session_id,
    "agent": t.usage_sum.c.agent_id,
    "model": t.usage_sum.c.model,
}
_COUNTED = names_of(Sums)


def _add(postgres: bool) -> sa.Insert:
    insert = (postgresql.insert if postgres else sqlite.insert)(t.usage_sum)
    more = {name: t.usage_sum.c[name] + insert.excluded[name] for name in _COUNTED}
    return insert.on_conflict_do_update(index_elements=list(t.usage_sum.primary_key), set_=more)


# Built once: every model call adds.
_ADD = {postgres: _add(postgres) for postgres in (False, True)}


def add_call(tx: Tx, key: CallKey, day: date, used: CallUsage, *, first: bool, run: bool) -> None:
    """Add a model call to its sums, in the transaction that keeps its step; `first` is that of its turn."""
    unpriced = used.cost_nano_usd is None
    values = {
        "turns": int(first),
        "runs": int(first and run),
        "calls": 1,
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cached_tokens": used.cached_tokens,
        "thinking_tokens": used.thinking_tokens,
        "cost_nano_usd": used.cost_nano_usd or 0,
        "unpriced_calls": int(unpriced),
    }
    tx.run(_ADD[tx.postgres].values({**vars(key), **values, "day": day.isoformat()}))


def _total() -> list[sa.ColumnElement[Any]]:
    # As whole numbers: PostgreSQL adds up big integers to decimals.
    return [
        sa.cast(sa.func.coalesce(sa.func.sum(t.usage_sum.c[name]), 0), sa.BigInteger).label(name) for name in _COUNTED
    ]


def summed(tx: Tx, user_id: str, *, by: By, since: date, until: date, limit: int) -> list[tuple[Any, Sums]]:
    """Sum a user's calls of these days: days in their order, everything else the dearest first."""
    c, column = t.usage_sum.c, _COLUMNS[by]
    between = c.day.between(since.isoformat(), until.isoformat())
    asked = sa.select(column, *_total()).where(c.user_id == user_id, between).group_by(column)
    dearest = (sa.func.sum(c.cost_nano_usd).desc(), sa.func.sum(c.input_tokens + c.output_tokens).desc())
    rows = tx.rows(asked.order_by(*(() if by == "day" else dearest), column).limit(limit))
    return [(row[0], r.noun_of(Sums, tuple(row)[1:])) for row in rows]


def spent(tx: Tx, user_id: str, *, since: date, until: date, job_id: str | None = None) -> Sums:
    """Sum a user's calls of these days, or those that one job caused."""
    c = t.usage_sum.c
    where = [c.user_id == user_id, c.day.between(since.isoformat(), until.isoformat())]
    if job_id is not None:
        where.append(c.job_id == job_id)
    return r.noun_of(Sums, tuple(tx.rows(sa.select(*_total()).where(*where))[0]))


def spent_by_jobs(tx: Tx, job_ids: Collection[str], *, since: date) -> dict[str, Sums]:
    """Sum what jobs caused since a day."""
    c = t.usage_sum.c
    where = (c.job_id.in_(list(job_ids)), c.day >= since.isoformat())
    rows = tx.rows(sa.select(c.job_id, *_total()).where(*where).group_by(c.job_id))
    return {row[0]: r.noun_of(Sums, tuple(row)[1:]) for row in rows}


def announce(tx: Tx, user_id: str, day: date, about: str) -> bool:
    """Write down that something was announced; False when it was before. The session that shows it is locked."""
    values = {"user_id": user_id, "day": day.isoformat(), "about": about, "given_at": tx.now()}
    # PostgreSQL counts no rows of such an insert: what came back was written.
    return bool(tx.rows(insert_new(tx, t.budget_note).values(values).returning(t.budget_note.c.about)))
