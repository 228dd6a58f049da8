"""Cards: which sessions show an approval or a question. Their sessions are locked before anything here is written."""

from collections.abc import Collection

import sqlalchemy as sa

from homing.store import tables as t
from homing.store.base import Tx
from homing.store.sessions import bump_rev


def add_card(
    tx: Tx, *, session_id: int, seq: int, rev: int, approval_id: str | None = None, question_id: str | None = None
) -> None:
    """Record that a message shows an approval or a question."""
    tx.run(
        sa.insert(t.card).values(
            session_id=session_id, seq=seq, rev=rev, approval_id=approval_id, question_id=question_id
        )
    )


def sessions_showing(
    tx: Tx, *, approval_ids: Collection[str] = (), question_ids: Collection[str] = ()
) -> dict[str, set[int]]:
    """Name the sessions that show each of these; they are to be locked before a change of it."""
    c = t.card.c
    found: dict[str, set[int]] = {}
    for column, ids in ((c.approval_id, approval_ids), (c.question_id, question_ids)):
        if ids:
            for ref, session_id in tx.rows(sa.select(column, c.session_id).where(column.in_(list(ids)))):
                found.setdefault(ref, set()).add(session_id)
    return found


def places_of(tx: Tx, approval_id: str) -> set[int]:
    """Name the sessions that show one approval."""
    return sessions_showing(tx, approval_ids=[approval_id]).get(approval_id, set())


def touch_cards(tx: Tx, *, approval_id: str | None = None, question_id: str | None = None) -> None:
    """Give every card of a changed approval or question the next revision of its locked session."""
    c = t.card.c
    same = c.approval_id == approval_id if approval_id is not None else c.question_id == question_id
    places = [session_id for (session_id,) in tx.rows(sa.select(c.session_id).where(same))]
    tx.ring("cards")
    for session_id, revision in bump_rev(tx, dict.fromkeys(places, 0)).items():
        tx.run(sa.update(t.card).where(same, c.session_id == session_id).values(rev=revision.rev))
