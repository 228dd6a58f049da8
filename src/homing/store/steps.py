"""Steps of a turn. Each write first holds the turn under its fence; the holder of the fence numbers the steps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from homing.model.turns import MODEL_CALLS, NOTHING_USED, USAGE, Step, Turn, Usage
from homing.store import tables as t
from homing.store.base import Tx
from homing.store.rows import step_columns, step_of


@dataclass(frozen=True, kw_only=True)
class Done:
    """What one of our own operations gave: words for the model, and cards for the closing."""

    text: str
    cards: Sequence[Mapping[str, object]] = ()


def kept(tx: Tx, turn_id: str) -> list[Step]:
    """Read a turn's steps in order. A take-over reads them only after its own fence is committed."""
    rows = tx.rows(sa.select(*step_columns).where(t.step.c.turn_id == turn_id).order_by(t.step.c.n))
    return [step_of(row) for row in rows]


def shown(tx: Tx, turn_id: str, *, most: int) -> list[Step]:
    """Read a turn's steps to show them: of what tools were given and gave, no more than `most` characters.

    Whole are a model's responses and the waits of retries, which are JSON.
    """
    c = t.step.c
    cut = {c.args: sa.func.substr(c.args, 1, most), c.result: sa.func.substr(c.result, 1, most)}
    columns = [sa.case((c.kind == "tool", cut[one]), else_=one) if one in cut else one for one in step_columns]
    return [step_of(row) for row in tx.rows(sa.select(*columns).where(c.turn_id == turn_id).order_by(c.n))]


def used_by(tx: Tx, turn_ids: Collection[str]) -> dict[str, Usage]:
    """Add up what the model calls of open turns have used so far; a turn without one has used nothing."""
    if not turn_ids:
        return {}
    c = t.step.c
    rows = tx.rows(
        sa.select(c.turn_id, *(c[name] for name in USAGE)).where(
            c.turn_id.in_(sorted(turn_ids)), c.kind.in_(MODEL_CALLS)
        )
    )
    used = dict.fromkeys(turn_ids, NOTHING_USED)
    for turn_id, *usage in rows:
        used[turn_id] += Usage(**dict(zip(USAGE, usage, strict=True)))
    return used


def find(tx: Tx, turn_id: str, *, kind: str, key: str) -> Step | None:
    """Read one step of a turn."""
    rows = tx.rows(
        sa.select(*step_columns).where(t.step.c.turn_id == turn_id, t.step.c.kind == kind, t.step.c.key == key)
    )
    return step_of(rows[0]) if rows else None


def begin_step(tx: Tx, turn_id: str, n: int, *, kind: str, name: str, key: str, args: str | None) -> None:
    """Record that a call is about to be made, before it is made."""
    tx.run(
        sa.insert(t.step).values(
            turn_id=turn_id, n=n, kind=kind, name=name, key=key, state="begun", args=args, begun_at=tx.now()
        )
    )


def finish_step(tx: Tx, turn_id: str, *, kind: str, key: str, result: str, failed: bool, duration_ms: int) -> bool:
    """Record what a begun call gave; False when no such step was begun."""
    done = tx.run(
        sa.update(t.step)
        .where(t.step.c.turn_id == turn_id, t.step.c.kind == kind, t.step.c.key == key, t.step.c.state == "begun")
        .values(state="done", result=result, failed=failed, duration_ms=duration_ms, done_at=tx.now())
    )
    return done == 1


def add_step(
    tx: Tx,
    turn_id: str,
    n: int,
    *,
    kind: str,
    name: str,
    key: str,
    args: str | None = None,
    result: str,
    failed: bool = False,
    duration_ms: int = 0,
    usage: Usage = NOTHING_USED,
    cards: Sequence[Mapping[str, object]] = (),
) -> None:
    """Record a call that was made and done in one, or that does no harm when made again."""
    now = tx.now()
    tx.run(
        sa.insert(t.step).values(
            turn_id=turn_id,
            n=n,
            kind=kind,
            name=name,
            key=key,
            state="done",
            args=args,
            result=result,
            failed=failed,
            cards=list(cards) or None,
            duration_ms=duration_ms,
            **{name: getattr(usage, name) for name in USAGE},
            begun_at=now - timedelta(milliseconds=duration_ms),
            done_at=now,
        )
    )


def made_progress(tx: Tx, turn: Turn, *, outside: str | None = None) -> None:
    """A held turn has a new step: attempts are counted from zero again, and what it brought from outside is marked."""
    held, again = t.turn.c.id == turn.id, t.turn.c.attempts > 1
    if outside is None and turn.attempts <= 1:
        return
    if outside is None:
        tx.run(sa.update(t.turn).where(held, again).values(attempts=1))
        return
    mark = sa.func.coalesce(t.turn.c.outside, outside)
    tx.run(sa.update(t.turn).where(held, sa.or_(again, t.turn.c.outside.is_(None))).values(attempts=1, outside=mark))
