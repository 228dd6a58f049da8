"""Questions of agents. Each change names the state it leaves; the sessions that show a question are locked before."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

import sqlalchemy as sa

from homing.model.approvals import Question, QuestionEnded
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Tx

_pending = t.question.c.state == "pending"


def add(tx: Tx, question: Question) -> None:
    values = {name: value for name, value in asdict(question).items() if name not in ("n", "session_key")}
    values["options"] = None if question.options is None else list(question.options)
    tx.run(sa.insert(t.question).values(values))


def get(tx: Tx, question_id: str) -> Question | None:
    rows = tx.rows(r.questions.where(t.question.c.id == question_id))
    return r.question_of(rows[0]) if rows else None


def get_many(tx: Tx, question_ids: list[str]) -> dict[str, Question]:
    rows = tx.rows(r.questions.where(t.question.c.id.in_(question_ids))) if question_ids else []
    return {question.id: question for question in map(r.question_of, rows)}


def pending_in(tx: Tx, session_id: int) -> list[Question]:
    """List the open questions of a session, oldest first."""
    rows = tx.rows(r.questions.where(t.question.c.session_id == session_id, _pending).order_by(t.question.c.n))
    return [r.question_of(row) for row in rows]


def answer(tx: Tx, question_id: str, *, by: str, text: str) -> bool:
    """Write the answer, if the question is still open."""
    c, now = t.question.c, tx.now()
    return _end(
        tx,
        c.id == question_id,
        c.expires_at > now,
        state="answered",
        ended="answered",
        answered_by=by,
        answered_at=now,
        answer=text,
    )


def expire(tx: Tx, question_id: str, *, ended: QuestionEnded) -> bool:
    """End an open question without an answer."""
    return _end(tx, t.question.c.id == question_id, state="expired", ended=ended)


def overdue(tx: Tx, now: datetime, limit: int) -> list[Question]:
    """List open questions whose time is over."""
    c = t.question.c
    rows = tx.rows(r.questions.where(_pending, c.expires_at <= now).order_by(c.expires_at).limit(limit))
    return [r.question_of(row) for row in rows]


def listed(
    tx: Tx, *, user_id: str, state: str | None, session_id: int | None, before_n: int | None, limit: int
) -> list[Question]:
    """List a user's questions, newest first."""
    c = t.question.c
    where: list[sa.ColumnElement[bool]] = [c.user_id == user_id]
    where += [c.state == state] if state is not None else []
    where += [c.session_id == session_id] if session_id is not None else []
    where += [c.n < before_n] if before_n is not None else []
    return [r.question_of(row) for row in tx.rows(r.questions.where(*where).order_by(c.n.desc()).limit(limit))]


def _end(tx: Tx, *which: sa.ColumnElement[bool], **values: Any) -> bool:
    return tx.run(sa.update(t.question).where(_pending, *which).values(finished_at=tx.now(), **values)) == 1
