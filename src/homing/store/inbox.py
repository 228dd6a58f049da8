"""The inbox of a user: what arrived unread, what waits for their answer, what failed, and what of it they have seen.

Each look reads at most `MOST` items of each kind, the newest.
"""

from datetime import timedelta

import sqlalchemy as sa

from homing.model.inbox import InboxItem, InboxKind
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.messages import UNREAD

MOST = 200
_SHOWN = 200
KEPT_FOR = timedelta(days=30)
"""How long a failure stays in the inbox."""


def inbox_topic(user_id: str) -> str:
    """Name the bell that rings when a user has seen or read something."""
    return f"user:{user_id}/inbox"


def items(tx: Tx, user_id: str, *, admin: bool) -> list[InboxItem]:
    """Read a user's inbox, newest first; `admin`: also with what administrators answer."""
    found = [
        *_approvals(tx, user_id, admin=admin),
        *_questions(tx, user_id),
        *_failed_runs(tx, user_id),
        *_dead_deliveries(tx, user_id),
        *_unread(tx, user_id),
    ]
    return sorted(found, key=lambda item: (item.at, item.kind, item.id), reverse=True)


def seen(tx: Tx, user_id: str) -> set[tuple[str, str]]:
    """Name the items that a user has seen; rows of items that left the inbox long ago are pruned."""
    c = t.inbox_seen.c
    return {(kind, ref) for kind, ref in tx.rows(sa.select(c.kind, c.ref).where(c.user_id == user_id))}


def see(tx: Tx, user_id: str, kind: InboxKind, ref: str) -> bool:
    """Note that a user has seen an item; says whether that is news."""
    fresh = insert_new(tx, t.inbox_seen).values(user_id=user_id, kind=kind, ref=ref, seen_at=tx.now())
    return tx.run(fresh) == 1


def count_unread(tx: Tx, user_id: str) -> int:
    """Count all that arrived in a user's conversations and is unread."""
    counted = (
        sa.select(sa.func.count()).select_from(t.session).join(t.message, t.message.c.session_id == t.session.c.id)
    )
    return tx.rows(counted.where(*_living(user_id), *UNREAD))[0][0]


def _living(user_id: str) -> tuple[sa.ColumnElement[bool], ...]:
    c = t.session.c
    return c.user_id == user_id, c.deleted_at.is_(None), c.parent_id.is_(None)


def _unread(tx: Tx, user_id: str) -> list[InboxItem]:
    """Read one item per conversation, without what has items of its own: what asks, and what failed."""
    m, s = t.message.c, t.session.c
    failed = sa.exists().where(t.run.c.id == m.run_id, t.run.c.state == "error")
    found = (
        sa.select(
            m.session_id,
            sa.func.count().label("count"),
            sa.func.min(m.seq).label("first"),
            sa.func.max(m.seq).label("last"),
        )
        .select_from(t.session)
        .join(t.message, m.session_id == s.id)
        .where(*_living(user_id), *UNREAD, m.kind.not_in(["question", "approval"]), ~failed)
        .group_by(m.session_id)
        .subquery()
    )
    rows = tx.rows(
        sa.select(s.key, s.title, m.text, m.created_at, found.c.count, found.c.first, found.c.last)
        .join(found, found.c.session_id == s.id)
        .join(t.message, sa.and_(m.session_id == s.id, m.seq == found.c.last))
        .order_by(m.n.desc())
        .limit(MOST)
    )
    return [
        InboxItem(
            kind="unread",
            id=key,
            session_key=key,
            session_title=name,
            title=_words(text),
            at=at,
            count=count,
            seq=first,
            last_seq=last,
        )
        for key, name, text, at, count, first, last in rows
    ]


def _words(text: str) -> str:
    line = " ".join(text[: 2 * _SHOWN].split())
    return line if len(line) <= _SHOWN else f"{line[: _SHOWN - 1]}…"


def _approvals(tx: Tx, user_id: str, *, admin: bool) -> list[InboxItem]:
    c = t.approval.c
    mine = sa.and_(c.user_id == user_id, c.audience == "owner")
    answerable = sa.or_(mine, c.audience == "admin") if admin else mine
    return _asked(tx, t.approval, "approval", user_id, answerable)


def _questions(tx: Tx, user_id: str) -> list[InboxItem]:
    return _asked(tx, t.question, "question", user_id, t.question.c.user_id == user_id)


def _asked(
    tx: Tx, table: sa.Table, kind: InboxKind, user_id: str, answerable: sa.ColumnElement[bool]
) -> list[InboxItem]:
    c = table.c
    rows = tx.rows(
        sa.select(c.id, t.session.c.key, t.session.c.title, t.session.c.user_id, c.title, c.asked_at)
        .join(t.session, t.session.c.id == c.session_id)
        .where(c.state == "pending", c.expires_at > tx.now(), answerable)
        .order_by(c.expires_at.desc())
        .limit(MOST)
    )
    # An administrator answers for others, and does not read what their conversations are called.
    return [
        InboxItem(
            kind=kind, id=ref, session_key=key, session_title=name if owner == user_id else None, title=title, at=at
        )
        for ref, key, name, owner, title, at in rows
    ]


def _failed_runs(tx: Tx, user_id: str) -> list[InboxItem]:
    """Read the newest failed run of each living job that has not gone well since."""
    job, run = t.job.c, t.run.c
    newest = (
        sa.select(run.n)
        .where(run.job_id == job.id, run.state == "error")
        .order_by(run.scheduled_for.desc(), run.n.desc())
        .limit(1)
        .correlate(t.job)
        .scalar_subquery()
    )
    failing = (
        sa.select(job.name, newest.label("run_n"))
        .where(
            job.user_id == user_id,
            job.removed_at.is_(None),
            job.last_status == "error",
            job.last_run_at > tx.now() - KEPT_FOR,
        )
        .order_by(job.last_run_at.desc())
        .limit(MOST)
        .subquery()
    )
    rows = tx.rows(
        sa.select(run.id, t.session.c.key, t.session.c.title, failing.c.name, run.finished_at, run.job_id, run.reason)
        .join(failing, failing.c.run_n == run.n)
        .join(t.session, t.session.c.id == run.session_id)
    )
    return [
        InboxItem(
            kind="failure",
            id=ref,
            session_key=key,
            session_title=title,
            title=name,
            at=at,
            job_id=job_id,
            reason=reason,
        )
        for ref, key, title, name, at, job_id, reason in rows
    ]


def _dead_deliveries(tx: Tx, user_id: str) -> list[InboxItem]:
    c = t.delivery.c
    rows = tx.rows(
        sa.select(c.id, t.session.c.key, t.session.c.title, c.address, c.created_at, c.error, t.session.c.deleted_at)
        .join(t.session, t.session.c.id == c.session_id)
        .where(c.user_id == user_id, c.state == "dead")
        .order_by(c.n.desc())
        .limit(MOST)
    )
    # Old ones are left out here: looked for by SQL, they would all be read each time.
    since = tx.now() - KEPT_FOR
    return [
        InboxItem(kind="failure", id=ref, session_key=key, session_title=name, title=address, at=at, reason=error)
        for ref, key, name, address, at, error, deleted_at in rows
        if at > since and deleted_at is None
    ]
