"""Steps of a turn. Each write first holds the turn under its fence; the holder of the fence numbers the steps."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import sqlalchemy as sa

from homing.model.turns import NOTHING_USED, Step, Usage
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


def was_told(tx: Tx, turn_id: str, *, name: str, words: str) -> bool:
    """Say whether a tool's result in this turn, or an earlier one of its lane, has these words."""
    lane = sa.select(t.turn.c.lane_id).where(t.turn.c.id == turn_id).scalar_subquery()
    rows = tx.rows(
        sa.select(t.step.c.n)
        .join(t.turn, t.turn.c.id == t.step.c.turn_id)
        .where(
            t.turn.c.lane_id == lane,
            t.step.c.kind == "tool",
            t.step.c.name == name,
            t.step.c.result.contains(words, autoescape=True),
        )
        .limit(1)
    )
    return bool(rows)


def last_telling(tx: Tx, turn_id: str, *, words: str, but: Collection[str]) -> str | None:
    """Name the tool, other than `but`, that last told these words in this turn or an earlier one of its lane."""
    lane = sa.select(t.turn.c.lane_id).where(t.turn.c.id == turn_id).scalar_subquery()
    rows = tx.rows(
        sa.select(t.step.c.name)
        .join(t.turn, t.turn.c.id == t.step.c.turn_id)
        .where(
            t.turn.c.lane_id == lane,
            t.step.c.kind == "tool",
            t.step.c.name.not_in(sorted(but)),
            t.step.c.result.contains(words, autoescape=True),
        )
        .order_by(t.turn.c.opened_at.desc(), t.step.c.n.desc())
        .limit(1)
    )
    return rows[0].name if rows else None


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
            **vars(usage),
            begun_at=now - timedelta(milliseconds=duration_ms),
            done_at=now,
        )
    )


def made_progress(tx: Tx, turn_id: str) -> None:
    """A new step is there: attempts are counted from zero again."""
    tx.run(sa.update(t.turn).where(t.turn.c.id == turn_id, t.turn.c.attempts > 1).values(attempts=1))
