"""Messages read back: pages for people, history for models, changes for streams."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import sqlalchemy as sa

from homing.model.messages import SENDING_TURN, Message
from homing.store import rows as r
from homing.store import tables as t
from homing.store.base import Row, Tx


def page(tx: Tx, session_id: int, *, after: int | None, before: int | None, limit: int) -> list[Message]:
    """Read messages oldest first: the newest page, what follows a seq, or what comes before one."""
    where = [t.message.c.session_id == session_id, ~t.message.c.folded]
    if after is not None:
        rows = tx.rows(r.messages.where(*where, t.message.c.seq > after).order_by(t.message.c.seq).limit(limit))
    else:
        if before is not None:
            where.append(t.message.c.seq < before)
        rows = tx.rows(r.messages.where(*where).order_by(t.message.c.seq.desc()).limit(limit))
        rows.reverse()
    return [r.message_of(row) for row in rows]


def first_words(tx: Tx, which: Collection[tuple[int, int]], longest: int) -> dict[tuple[int, int], str]:
    """Read how some messages begin, each named by session and seq."""
    c = t.message.c
    if not which:
        return {}
    among = sa.tuple_(c.session_id, c.seq).in_(list(which))
    rows = tx.rows(sa.select(c.session_id, c.seq, sa.func.substr(c.text, 1, longest)).where(among))
    return {(session_id, seq): text for session_id, seq, text in rows}


def get(tx: Tx, session_id: int, seq: int) -> Message | None:
    """Read one message of a session."""
    rows = tx.rows(r.messages.where(t.message.c.session_id == session_id, t.message.c.seq == seq))
    return r.message_of(rows[0]) if rows else None


def last_of(tx: Tx, session_ids: Collection[int]) -> dict[int, Message]:
    """Read the newest visible message of each session."""
    newest = (
        sa.select(t.message.c.session_id, sa.func.max(t.message.c.seq).label("seq"))
        .where(t.message.c.session_id.in_(list(session_ids)), ~t.message.c.folded)
        .group_by(t.message.c.session_id)
        .subquery()
    )
    rows = tx.rows(
        r.messages.join(newest, sa.and_(newest.c.session_id == t.message.c.session_id, newest.c.seq == t.message.c.seq))
    )
    return {message.session_id: message for message in map(r.message_of, rows)}


def unread(tx: Tx, session_ids: Collection[int]) -> dict[int, int]:
    """Count what arrived unasked in each session behind what its user has read; sessions without any are left out."""
    found = (
        sa.select(t.message.c.session_id, sa.func.count())
        .join(t.session, t.session.c.id == t.message.c.session_id)
        .where(t.message.c.session_id.in_(list(session_ids)), *UNREAD)
        .group_by(t.message.c.session_id)
    )
    return {int(session_id): int(count) for session_id, count in tx.rows(found)}


UNREAD = (t.message.c.unasked, ~t.message.c.folded, t.message.c.seq > t.session.c.read_seq)
"""Of messages joined with their sessions: what counts as unread."""


def last_own_turn(tx: Tx, session_id: int) -> str | None:
    """Name the turn of the newest message that a conversation's user wrote themselves."""
    c = t.message.c
    rows = tx.rows(sa.select(c.turn_id).where(c.session_id == session_id, c.own).order_by(c.n.desc()).limit(1))
    return rows[0][0] if rows else None


def last_from_outside(tx: Tx, turn_id: str) -> Message | None:
    """Read the newest message in a turn's lane that another program, an agent, an event, a report, an approved call or
    a guest brought there, or that has a file.

    All of a lane is shown to its model, the older part as a summary.
    """
    lane = sa.select(t.turn.c.lane_id).where(t.turn.c.id == turn_id).scalar_subquery()
    source, job_id = t.message.c.meta["source"].as_string(), t.message.c.meta["cron_job_id"].as_string()
    # Of an approved call that gave words of others.
    outside = t.message.c.meta["outside"].as_string()
    told = sa.or_(source.in_(["hook", "agent"]), job_id.is_not(None), outside.is_not(None))
    note = sa.and_(t.message.c.role == "user", told)
    of_guest = sa.and_(t.message.c.role == "user", t.message.c.meta["guest"].as_boolean().is_(sa.true()))
    rows = tx.rows(
        r.messages.where(
            t.message.c.lane_id == lane,
            t.session.c.deleted_at.is_(None),
            sa.or_(
                t.message.c.kind == "report",
                sa.and_(t.message.c.kind == "note", note),
                of_guest,
                sa.and_(t.message.c.role == "user", t.message.c.files.is_not(None)),
            ),
        )
        .order_by(t.message.c.n.desc())
        .limit(1)
    )
    return r.message_of(rows[0]) if rows else None


@dataclass(frozen=True, kw_only=True)
class HistoryEntry:
    """One stretch of a lane's past as a model may see it: a closed turn's history, or a message no turn wrote."""

    n: int
    history: str | None
    messages: Sequence[Message]
    """What came into the turn, in order: notes, the opening, what was injected; or that one message."""


def _sent_here(lane_id: int) -> sa.ColumnElement[bool]:
    """What a turn of the same lane sent with a tool: its history has the call."""
    sender = t.turn.alias("sender")
    copied = sa.and_(sender.c.session_id == t.message.c.said_in, sender.c.closing_seq <= t.session.c.branch_seq)
    here = sa.or_(sender.c.lane_id == lane_id, copied)
    return sa.exists().where(sender.c.id == t.message.c.meta[SENDING_TURN].as_string(), here)


def history(tx: Tx, lane_id: int, *, after_n: int, limit: int, job_id: str | None = None) -> list[HistoryEntry]:
    """Read a lane's past after a message number, oldest first, at most the newest so many stretches.

    With `job_id`, only what was said since that job's last closing ("since_last").
    """
    if job_id is not None:
        last = tx.rows(
            sa.select(sa.func.max(t.message.c.n)).where(
                t.message.c.lane_id == lane_id, t.message.c.job_id == job_id, t.message.c.role == "assistant"
            )
        )[0][0]
        after_n = max(after_n, last or 0)
    # Numbers count in each chat by themselves: in a shared lane a note's may be the opening's as well. Those of a
    # branch's copies are their originals'.
    said_in = sa.func.coalesce(t.message.c.said_in, t.message.c.session_id)
    opens = sa.and_(said_in == t.turn.c.session_id, t.message.c.seq == t.turn.c.opening_seq)
    rows = tx.rows(
        r.messages.add_columns(sa.case((opens, t.turn.c.history)).label("history"))
        .outerjoin(t.turn, t.turn.c.id == t.message.c.turn_id)
        .where(
            t.message.c.lane_id == lane_id,
            t.message.c.n > after_n,
            ~t.message.c.folded,
            # In a shared lane the words of a deleted chat stay behind as rows, and nobody is to see them.
            t.session.c.deleted_at.is_(None),
            # A turn's history holds all its answers; what no turn wrote stands for itself, and so does the line that
            # a quiet turn left instead of an answer.
            sa.or_(t.message.c.turn_id.is_(None), t.message.c.role == "user", t.message.c.kind == "status"),
            ~_sent_here(lane_id),
        )
        .order_by(t.message.c.n.desc())
        .limit(limit)
    )
    of_turn: dict[str, list[Message]] = {}
    found: list[HistoryEntry] = []
    for row in reversed(rows):
        message = r.message_of(row)
        if message.turn_id is None or message.kind == "status":
            found.append(HistoryEntry(n=message.n, history=None, messages=[message]))
            continue
        came = of_turn.setdefault(message.turn_id, [])
        came.append(message)
        if row.history is not None:
            # Of a turn only its opening is told; what else came into it is found there.
            found.append(HistoryEntry(n=message.n, history=row.history, messages=came))
    return found


def fold(tx: Tx, session_id: int, seqs: Collection[int]) -> None:
    """Put messages behind the newest status line of their job."""
    if seqs:
        tx.run(
            sa.update(t.message)
            .where(t.message.c.session_id == session_id, t.message.c.seq.in_(list(seqs)))
            .values(folded=True)
        )


def detach_notes(tx: Tx, turn_id: str) -> None:
    """Let the notes that a turn took along stand for themselves: its own history will not be told."""
    tx.run(sa.update(t.message).where(t.message.c.turn_id == turn_id, t.message.c.kind == "note").values(turn_id=None))


def last_visible(tx: Tx, session_id: int, before_seq: int) -> Message | None:
    """Read the visible message that stands before a seq."""
    rows = tx.rows(
        r.messages.where(t.message.c.session_id == session_id, t.message.c.seq < before_seq, ~t.message.c.folded)
        .order_by(t.message.c.seq.desc())
        .limit(1)
    )
    return r.message_of(rows[0]) if rows else None


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What changed in a session after a revision."""

    rev: int
    """Up to here this look saw everything; messages may reach into the revision after it."""
    more: bool
    messages: list[Message]
    run_ids: list[str]
    job_ids: list[str]
    delivery_ids: list[str]
    approval_ids: list[str]
    question_ids: list[str]


def changes(tx: Tx, session_id: int, after_rev: int, limit: int, *, after_seq: int = 0) -> Changes:
    """Read the rows of a session with a greater revision, in one look, about `limit` of each kind at most.

    Numbers are given under the session's lock, so seq and rev grow together: `after_seq` goes on inside a revision.
    """
    newest = rev = tx.rows(sa.select(t.session.c.rev).where(t.session.c.id == session_id))[0][0]
    for table in (t.run, t.job, t.delivery):
        rev = min(rev, _whole_revs(tx, table, session_id, after_rev, limit) or rev)
    shown = _cards(tx, session_id, after_rev, limit)
    rev = min(rev, shown[-1].rev) if len(shown) == limit else rev
    rows = tx.rows(
        r.messages.where(
            t.message.c.session_id == session_id,
            t.message.c.rev > after_rev,
            t.message.c.rev <= rev,
            t.message.c.seq > after_seq,
        )
        .order_by(t.message.c.seq)
        .limit(limit)
    )
    messages = [r.message_of(row) for row in rows]
    if len(messages) == limit:
        # The last message's revision may go on beyond it: only those before it are surely complete.
        rev = messages[-1].rev - 1

    def ids(table: sa.Table) -> list[str]:
        found = tx.rows(
            sa.select(table.c.id)
            .where(table.c.session_id == session_id, table.c.rev > after_rev, table.c.rev <= rev)
            .order_by(table.c.rev, table.c.n)
        )
        return [str(row[0]) for row in found]

    return Changes(
        rev=rev,
        more=rev < newest,
        messages=messages,
        run_ids=ids(t.run),
        job_ids=ids(t.job),
        delivery_ids=ids(t.delivery),
        approval_ids=[card.approval_id for card in shown if card.approval_id and card.rev <= rev],
        question_ids=[card.question_id for card in shown if card.question_id and card.rev <= rev],
    )


def _cards(tx: Tx, session_id: int, after_rev: int, limit: int) -> list[Row]:
    """Read the cards of a session that changed. They are few, and each change has a revision of its own."""
    c = t.card.c
    changed = sa.select(c.rev, c.approval_id, c.question_id).where(c.session_id == session_id, c.rev > after_rev)
    return tx.rows(changed.order_by(c.rev, c.n).limit(limit))


def _whole_revs(tx: Tx, table: sa.Table, session_id: int, after_rev: int, limit: int) -> int | None:
    """Say up to which revision about `limit` rows lie, never splitting one; None when there are no more than that."""
    found = sa.select(table.c.rev).where(table.c.session_id == session_id, table.c.rev > after_rev)
    beyond = tx.rows(found.order_by(table.c.rev).offset(limit).limit(1))
    if not beyond:
        return None
    first = tx.rows(found.order_by(table.c.rev).limit(1))[0][0]
    return max(first, beyond[0][0] - 1)
