"""The index of search: filled after the fact in small batches, read by one statement. Nobody finds another's words.

A row knows how far it is indexed. Messages get their numbers under their session's lock, so one number per session says
which of them are in; a change of that number from what was read decides between two who index at once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa

from homing.model.search_terms import LONGEST_INDEXED, Query, index_terms
from homing.store import tables as t
from homing.store.base import Row, Tx

Kind = Literal["message", "job", "memory", "session"]

BATCH = 200
_SESSIONS, _JOBS, _MEMORIES = (
    # In brackets, because other conditions are put next to it.
    sa.text("(searched_seq < seq or searched_revision < revision)"),
    sa.text("searched_revision < revision"),
    sa.text("not searched"),
)
_FTS = sa.table("search_fts", sa.column("rowid", sa.Integer))
# Lines that give way to others, and checks without news, are nothing to find.
_UNFOUND = ("status",)


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Rows to write, and the marks that say so; each mark is written only if it is still what was read."""

    marks: Sequence[tuple[sa.Update, str, int | None]]
    """The update, the kind, and the session whose messages it is about."""
    entries: Sequence[Mapping[str, Any]]
    """Entries, each with its `mark`: which of the marks it belongs to."""
    gone: Sequence[int] = ()
    """Entries to drop: what they are about was deleted."""

    def __bool__(self) -> bool:
        return bool(self.marks or self.gone)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One thing that was found."""

    n: int
    kind: Kind
    id: str
    session_key: str | None
    seq: int | None
    title: str | None
    text: str
    at: datetime


def unindexed(tx: Tx) -> Batch:
    """Read what search does not know yet, one small batch of it; nothing when it knows everything."""
    for look in (_sessions, _jobs, _memories):
        if batch := look(tx):
            return batch
    return Batch(marks=(), entries=())


def _sessions(tx: Tx) -> Batch:
    c = t.session.c
    rows = tx.rows(
        sa.select(c.id, c.key, c.user_id, c.title, c.parent_id, c.deleted_at, c.created_at, c.seq, c.revision,
                  c.searched_seq, c.searched_revision)
        .where(_SESSIONS).order_by(c.id).limit(BATCH)
    )  # fmt: skip
    marks: list[tuple[sa.Update, str, int | None]] = []
    entries: list[dict[str, Any]] = []
    for row in rows:
        room = BATCH - len(entries)
        if room <= 0:
            break
        # Isolated runs report to the conversation where they are read; what was deleted is never found.
        gone = row.parent_id is not None or row.deleted_at is not None
        # A deleted one is behind until its entries are dropped, some at a time.
        if row.deleted_at is not None and (left := _entries_of(tx, row.id)):
            return Batch(marks=(), entries=(), gone=left)
        until = row.seq if gone else min(row.seq, row.searched_seq + room)
        mark = len(marks)
        marks.append(
            (
                sa.update(t.session)
                .where(c.id == row.id, c.searched_seq == row.searched_seq, c.searched_revision == row.searched_revision)
                .values(searched_seq=until, searched_revision=row.revision),
                "session",
                row.id,
            )
        )
        if gone:
            continue
        if row.searched_revision < row.revision and row.title:
            entries.append(_entry(mark, row.user_id, "session", str(row.id), row.title, row.created_at, row.id))
        entries += _messages(tx, row, until, mark)
    return Batch(marks=marks, entries=entries)


def _entries_of(tx: Tx, session_id: int) -> list[int]:
    c = t.search_entry.c
    return [n for (n,) in tx.rows(sa.select(c.n).where(c.session_id == session_id).limit(BATCH))]


def _messages(tx: Tx, session: Row, until: int, mark: int) -> list[dict[str, Any]]:
    c = t.message.c
    found = tx.rows(
        sa.select(c.seq, sa.func.substr(c.text, 1, LONGEST_INDEXED).label("text"), c.created_at)
        .where(
            c.session_id == session.id,
            c.seq > session.searched_seq,
            c.seq <= until,
            c.kind.not_in(_UNFOUND),
            ~c.folded,
        )
        # Entries are numbered as they are written, and shown the newest first.
        .order_by(c.seq)
    )
    return [
        _entry(
            mark, session.user_id, "message", f"{session.id}:{row.seq}", row.text, row.created_at, session.id, row.seq
        )
        for row in found
    ]


def _jobs(tx: Tx) -> Batch:
    c = t.job.c
    columns = (
        c.id, c.user_id, c.session_id, c.name, c.message, c.kind, c.created_at, c.revision, c.searched_revision,
        c.removed_at,
    )  # fmt: skip
    rows = tx.rows(sa.select(*columns).where(_JOBS).order_by(c.n).limit(BATCH))
    marks = [
        (
            sa.update(t.job)
            .where(c.id == row.id, c.searched_revision == row.searched_revision)
            .values(searched_revision=row.revision),
            "job",
            None,
        )
        for row in rows
    ]
    entries = [
        # What a system job asks of the model is hidden, so only its name is found.
        _entry(
            mark, row.user_id, "job", row.id, _job_text(row.name, row.message, row.kind), row.created_at, row.session_id
        )
        for mark, row in enumerate(rows)
        if row.removed_at is None
    ]
    removed = [row.id for row in rows if row.removed_at is not None]
    e = t.search_entry.c
    found = tx.rows(sa.select(e.n).where(e.kind == "job", e.ref.in_(removed))) if removed else []
    return Batch(marks=marks, entries=entries, gone=[n for (n,) in found])


def _job_text(name: str, message: str, kind: str) -> str:
    return name if kind == "system" else f"{name}\n{message}"


def _memories(tx: Tx) -> Batch:
    c = t.memory.c
    rows = tx.rows(sa.select(c.id, c.user_id, c.text, c.created_at).where(_MEMORIES).order_by(c.n).limit(BATCH))
    marks = [
        (sa.update(t.memory).where(c.id == row.id, ~c.searched).values(searched=True), "memory", None) for row in rows
    ]
    entries = [
        _entry(mark, row.user_id, "memory", row.id, row.text, row.created_at, None) for mark, row in enumerate(rows)
    ]
    return Batch(marks=marks, entries=entries)


def _entry(
    mark: int,
    user_id: str,
    kind: Kind,
    ref: str,
    text: str,
    at: datetime,
    session_id: int | None,
    seq: int | None = None,
) -> dict[str, Any]:
    return {
        "mark": mark, "user_id": user_id, "kind": kind, "ref": ref, "session_id": session_id, "seq": seq,
        "text": text, "at": at,
    }  # fmt: skip


def spelled(batch: Batch) -> Batch:
    """Work out the terms: no transaction waits meanwhile."""
    entries = [{**entry, "grams": index_terms(entry["text"])} for entry in batch.entries]
    return Batch(marks=batch.marks, entries=entries, gone=batch.gone)


def index(tx: Tx, batch: Batch) -> int:
    """Write a batch whose terms are worked out; what somebody else indexed or changed meanwhile is left to the next."""
    if batch.gone:
        tx.run(sa.delete(t.search_entry).where(t.search_entry.c.n.in_(batch.gone)))
    held = {mark for mark, (update, _, _) in enumerate(batch.marks) if tx.run(update) == 1}
    rows = [
        {name: value for name, value in entry.items() if name not in ("mark", "text")}
        for entry in batch.entries
        if entry["mark"] in held
    ]
    changed = [(row["kind"], row["ref"]) for row in rows if row["kind"] != "message"]
    if changed:
        c = t.search_entry.c
        tx.run(sa.delete(t.search_entry).where(sa.tuple_(c.kind, c.ref).in_(changed)))
    if rows:
        tx.run(sa.insert(t.search_entry), rows)
    return len(held)


def pending(tx: Tx, *, user_id: str) -> int:
    """Count the messages, automations and memories of a user that search does not know yet, in one statement."""
    s, j, m = t.session.c, t.job.c, t.memory.c
    messages = sa.select(sa.func.coalesce(sa.func.sum(s.seq - s.searched_seq), 0)).where(
        _SESSIONS, s.user_id == user_id, s.parent_id.is_(None), s.deleted_at.is_(None)
    )
    jobs = sa.select(sa.func.count(j.n)).where(_JOBS, j.user_id == user_id, j.removed_at.is_(None))
    memories = sa.select(sa.func.count(m.n)).where(_MEMORIES, m.user_id == user_id)
    [(count,)] = tx.rows(sa.select(messages.scalar_subquery() + jobs.scalar_subquery() + memories.scalar_subquery()))
    return int(count)


def find(tx: Tx, query: Query, *, user_id: str, kind: Kind | None, before_n: int | None, limit: int) -> list[Hit]:
    """Find what has all of the terms, the newest entry first."""
    return [
        _hit(row) for row in tx.rows(statement(tx, query, user_id=user_id, kind=kind, before_n=before_n).limit(limit))
    ]


def statement(
    tx: Tx, query: Query, *, user_id: str, kind: Kind | None, before_n: int | None
) -> sa.Select[*tuple[Any, ...]]:
    """Spell the one statement of a search: the full-text index gives the entries, and each is still what it was."""
    e, s, m, j, k = t.search_entry, t.session, t.message, t.job, t.memory
    # SQLite: the index drives, newest first, and stops at the limit. Asked for by `in`, it would give every hit of a
    # common word before the first is looked at. The plus keeps the planner from beginning with the user's entries.
    newest = e.c.n if tx.postgres else _FTS.c.rowid
    found = e if tx.postgres else _FTS.join(e, e.c.n == _FTS.c.rowid)
    owner = e.c.user_id if tx.postgres else sa.literal_column("+search_entry.user_id", sa.Text)
    joined = (
        found.outerjoin(s, s.c.id == e.c.session_id)
        .outerjoin(m, sa.and_(e.c.kind == "message", m.c.session_id == e.c.session_id, m.c.seq == e.c.seq))
        .outerjoin(j, sa.and_(e.c.kind == "job", j.c.id == e.c.ref))
        .outerjoin(k, sa.and_(e.c.kind == "memory", k.c.id == e.c.ref))
    )
    lives = sa.case(
        (e.c.kind == "message", sa.and_(s.c.deleted_at.is_(None), ~m.c.folded)),
        (e.c.kind == "session", s.c.deleted_at.is_(None)),
        (e.c.kind == "job", j.c.removed_at.is_(None) & j.c.id.is_not(None)),
        else_=k.c.id.is_not(None),
    )
    where: list[sa.ColumnElement[bool] | sa.TextClause] = [owner == user_id, sa.cast(lives, sa.Boolean)]
    where += [e.c.kind == kind] if kind else []
    where += [newest < before_n] if before_n is not None else []
    if tx.postgres:
        # PostgreSQL: lexemes joined by "and"; the last one may be the beginning of one.
        terms = [f"'{term}'" for term in query.terms] + ([f"'{query.begun}':*"] if query.begun else [])
        where.append(sa.func.to_tsvector("simple", e.c.grams).op("@@")(sa.func.to_tsquery("simple", " & ".join(terms))))
    else:
        # SQLite: the same terms, quoted for FTS5.
        terms = [f'"{term}"' for term in query.terms] + ([f'"{query.begun}"*'] if query.begun else [])
        where.append(sa.text("search_fts match :wanted").bindparams(wanted=" AND ".join(terms)))
    return (
        sa.select(
            e.c.n, e.c.kind, e.c.ref, e.c.seq, e.c.at, s.c.key, s.c.title.label("session_title"), m.c.text,
            j.c.name, j.c.message, j.c.kind.label("job_kind"), k.c.text.label("memory_text"),
        )
        .select_from(joined).where(*where).order_by(newest.desc())
    )  # fmt: skip


def _hit(row: Row) -> Hit:
    told: Mapping[str, Callable[[], tuple[str, str | None, str]]] = {
        "message": lambda: (f"{row.key}:{row.seq}", row.session_title, row.text),
        "session": lambda: (row.key, row.session_title, row.session_title or row.key),
        "job": lambda: (row.ref, row.name, _job_text(row.name, row.message, row.job_kind)),
        "memory": lambda: (row.ref, None, row.memory_text),
    }
    id_, title, text = told[row.kind]()
    return Hit(n=row.n, kind=row.kind, id=id_, session_key=row.key, seq=row.seq, title=title, text=text, at=row.at)


def forget(tx: Tx, kind: Kind, refs: Sequence[str]) -> None:
    """Drop the entries of what was removed for good."""
    c = t.search_entry.c
    tx.run(sa.delete(t.search_entry).where(c.kind == kind, c.ref.in_(refs)))
