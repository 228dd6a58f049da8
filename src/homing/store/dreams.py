"""Memory upkeep: what a user wrote since the last time, what was changed then, and what is left of removed facts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa

from homing.model.dreams import Said
from homing.store import search
from homing.store import tables as t
from homing.store.base import Tx, columns
from homing.store.sessions import direct

_PAGE = 500
_BYTES = 96 * 1024
_MESSAGE_CHARACTERS = 2_000
# A long history, or one that grew while upkeep was off, is not read in one go.
_WITHIN = timedelta(days=30)


@dataclass(frozen=True, kw_only=True)
class Dream:
    """One time that memories were looked after: what was added, and the rows that were there before."""

    id: str
    user_id: str
    session_id: int
    seq: int | None
    """Of the line that tells it."""
    until_n: int
    added: Sequence[str]
    before: Sequence[Mapping[str, Any]]
    created_at: datetime
    undone_at: datetime | None


def newest(tx: Tx, user_id: str) -> Dream | None:
    rows = tx.rows(sa.select(t.dream).where(t.dream.c.user_id == user_id).order_by(t.dream.c.n.desc()).limit(1))
    if not rows:
        return None
    found = columns(rows[0])
    return Dream(**{name: found[name] for name in Dream.__dataclass_fields__})


def said_since(tx: Tx, user_id: str, after_n: int, *, until_n: int | None = None) -> tuple[list[Said], int]:
    """Read what a user wrote in direct conversations after a message, oldest first, as much as fits one look.

    Also say up to which message that is everything. With `until_n` at least the words of an earlier look are given.
    """
    m, s = t.message.c, t.session.c
    where = _said(tx, user_id, after_n, _WITHIN)
    if until_n is not None:
        # The window moved on since that look.
        where = [*_said(tx, user_id, after_n, _WITHIN + timedelta(days=1)), m.n <= until_n]
    asked = (
        sa.select(m.n, m.session_id, s.key, m.created_at, sa.func.substr(m.text, 1, _MESSAGE_CHARACTERS))
        .join(t.session, s.id == m.session_id)
        .where(*where)
        .order_by(m.n)
    )
    found: list[Said] = []
    size, until = 0, after_n
    for n, session_id, key, at, text in tx.rows(asked.limit(_PAGE) if until_n is None else asked):
        size += len(text.encode())
        if until_n is None and found and size > _BYTES:
            break
        found.append(Said(n=n, session_id=session_id, session_key=key, at=at, text=text))
        until = n
    return found, until


def has_said(tx: Tx, user_id: str, after_n: int) -> bool:
    """Say whether a user wrote anything after a message that the next look would read."""
    # Session by session: each has its own words in order, and only those of late are asked.
    s, (of_message, of_session) = t.session.c, _conditions(tx, user_id, after_n, _WITHIN)
    some = sa.exists().where(t.message.c.session_id == s.id, *of_message)
    return bool(tx.rows(sa.select(s.id).where(*of_session, some).limit(1)))


def _said(tx: Tx, user_id: str, after_n: int, within: timedelta) -> list[sa.ColumnElement[bool]]:
    of_message, of_session = _conditions(tx, user_id, after_n, within)
    return [*of_message, *of_session]


def _conditions(
    tx: Tx, user_id: str, after_n: int, within: timedelta
) -> tuple[list[sa.ColumnElement[bool]], list[sa.ColumnElement[bool]]]:
    m, s, since = t.message.c, t.session.c, tx.now() - within
    return [m.own, m.n > after_n, m.created_at >= since], [s.user_id == user_id, s.updated_at >= since, *direct()]


def add(
    tx: Tx,
    dream_id: str,
    *,
    user_id: str,
    session_id: int,
    seq: int | None,
    until_n: int,
    added: Sequence[str],
    before: Sequence[Mapping[str, Any]],
) -> None:
    tx.run(
        sa.insert(t.dream).values(
            id=dream_id,
            user_id=user_id,
            session_id=session_id,
            seq=seq,
            until_n=until_n,
            added=list(added),
            before=[dict(row) for row in before],
            created_at=tx.now(),
        )
    )


def is_of(tx: Tx, user_id: str, dream_id: str) -> bool:
    """Say whether a user has a dream of this id."""
    return bool(tx.rows(sa.select(t.dream.c.n).where(t.dream.c.user_id == user_id, t.dream.c.id == dream_id)))


def note_undone(tx: Tx, dream_id: str) -> bool:
    """Write down that a dream was undone; False when it was before."""
    open_ = (t.dream.c.id == dream_id, t.dream.c.undone_at.is_(None))
    return tx.run(sa.update(t.dream).where(*open_).values(undone_at=tx.now(), before=[])) == 1


def marks(tx: Tx, user_id: str) -> list[list[str]]:
    """Read what is left of the facts that a person removed."""
    return [mark for (mark,) in tx.rows(sa.select(t.memory_mark.c.words).where(t.memory_mark.c.user_id == user_id))]


def add_mark(tx: Tx, user_id: str, words: Sequence[str]) -> None:
    if list(words) not in marks(tx, user_id):
        tx.run(sa.insert(t.memory_mark).values(user_id=user_id, words=list(words), removed_at=tx.now()))


def drop_mark(tx: Tx, user_id: str, words: Sequence[str]) -> None:
    """Let a fact be learned again: the person said it themselves."""
    c = t.memory_mark.c
    same = [n for n, kept in tx.rows(sa.select(c.n, c.words).where(c.user_id == user_id)) if kept == list(words)]
    if same:
        tx.run(sa.delete(t.memory_mark).where(c.n.in_(same)))


def take_out(tx: Tx, user_id: str, memory_ids: Collection[str]) -> list[dict[str, Any]]:
    """Delete memories of a user; give their rows, whole, as JSON keeps them."""
    mine = (t.memory.c.user_id == user_id, t.memory.c.id.in_(list(memory_ids)))
    rows = tx.rows(sa.select(*_whole()).where(*mine).order_by(t.memory.c.n))
    tx.run(sa.delete(t.memory).where(*mine))
    search.forget(tx, "memory", [row.id for row in rows])
    return [dict(columns(row)) for row in rows]


def put_back(tx: Tx, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows again exactly as they were."""
    for row in rows:
        at = sa.literal(row["created_at"], sa.BigInteger)
        # Its search entry went when it did: it is to be indexed again.
        tx.run(sa.insert(t.memory).values({**row, "created_at": at, "searched": False}))


def _whole() -> list[sa.ColumnElement[Any]]:
    # Instants as the numbers they are: JSON has no other.
    return [
        sa.type_coerce(column, sa.BigInteger).label(column.name) if isinstance(column.type, t.Instant) else column
        for column in t.memory.c
    ]
