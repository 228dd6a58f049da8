"""Files: their rows, and which conversations refer to them. The order is row, bytes, reference (rule 55).

A file is removed the other way round: first it is marked as gone, under its lock and only if nothing refers to it; then
its bytes are dropped, then its row. Adding a reference locks the row first, so none meets a gone file.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from datetime import timedelta

import sqlalchemy as sa

from homing.model.files import File
from homing.model.ids import new_id
from homing.store import tables as t
from homing.store.base import Tx, insert_new
from homing.store.rows import noun_of

KEPT_UNREFERRED = timedelta(days=1)
_BATCH = 100
_COLUMNS = [t.file.c[field.name] for field in fields(File)]


def add(tx: Tx, *, user_id: str, name: str, media_type: str, size: int, sha256: str) -> File:
    """Write the row of a file whose bytes come next."""
    file_id = new_id("file")
    known = {"user_id": user_id, "name": name, "media_type": media_type, "bytes": size, "sha256": sha256}
    tx.run(sa.insert(t.file).values(id=file_id, created_at=tx.now(), **known))
    return get_many(tx, [file_id])[file_id]


def used_bytes(tx: Tx, user_id: str) -> int:
    """Count a user's files in bytes. The user is locked, so that uploads at once do not pass the limit together."""
    lock = sa.select(t.user.c.id).where(t.user.c.id == user_id)
    tx.rows(lock.with_for_update(key_share=True) if tx.postgres else lock)
    counted = sa.select(sa.func.coalesce(sa.func.sum(t.file.c.bytes), 0))
    return int(tx.rows(counted.where(t.file.c.user_id == user_id, t.file.c.gone_at.is_(None)))[0][0])


def mark_stored(tx: Tx, file_id: str) -> File | None:
    """Say that the bytes of a file are whole; None when the sweeper has taken it meanwhile."""
    c = t.file.c
    waits = (c.id == file_id, c.stored_at.is_(None), c.gone_at.is_(None))
    if not tx.run(sa.update(t.file).where(*waits).values(stored_at=tx.now())):
        return None
    return get_many(tx, [file_id])[file_id]


def get_many(tx: Tx, ids: Collection[str]) -> dict[str, File]:
    """Read files by their ids."""
    if not ids:
        return {}
    rows = tx.rows(sa.select(*_COLUMNS).where(t.file.c.id.in_(list(ids))))
    return {file.id: file for file in (noun_of(File, row) for row in rows)}


def lock_usable(tx: Tx, ids: Sequence[str], *, user_id: str) -> dict[str, File]:
    """Lock those of a user's files that may be referred to: their bytes are there, and nobody removes them."""
    c = t.file.c
    whole = (c.stored_at.is_not(None), c.gone_at.is_(None))
    usable = sa.select(*_COLUMNS).where(c.id.in_(list(ids)), c.user_id == user_id, *whole).order_by(c.id)
    rows = tx.rows(usable.with_for_update(key_share=True) if tx.postgres else usable)
    return {file.id: file for file in (noun_of(File, row) for row in rows)}


def refer(tx: Tx, uses: Mapping[int, Collection[str]]) -> None:
    """Let sessions refer to files that `lock_usable` has locked."""
    rows = [
        {"file_id": file_id, "session_id": session_id, "created_at": tx.now()}
        for session_id, ids in uses.items()
        for file_id in dict.fromkeys(ids)
    ]
    for row in rows:
        tx.run(insert_new(tx, t.file_reference).values(row))


def copy_references(tx: Tx, session_id: int, *, source_id: int, until: int) -> None:
    """Let a branch refer to the files of its source's messages up to a seq that are still there."""
    m = t.message.c
    rows = tx.rows(sa.select(m.files).where(m.session_id == source_id, m.seq <= until, m.files.is_not(None)))
    ids = {str(file["id"]) for (files,) in rows for file in files or ()}
    if not ids:
        return
    held = sa.select(t.file_reference.c.file_id).where(
        t.file_reference.c.session_id == source_id, t.file_reference.c.file_id.in_(ids)
    )
    refer(tx, {session_id: sorted(file_id for (file_id,) in tx.rows(held))})


def release(tx: Tx, session_id: int) -> None:
    """Let a session that is deleted refer to nothing."""
    tx.run(sa.delete(t.file_reference).where(t.file_reference.c.session_id == session_id))


def of_session(tx: Tx, session_id: int, limit: int) -> list[File]:
    """List the files of a conversation, the newest first."""
    c = t.file_reference.c
    found = sa.select(*_COLUMNS).join(t.file_reference, c.file_id == t.file.c.id)
    rows = tx.rows(
        found.where(c.session_id == session_id).order_by(c.created_at.desc(), t.file.c.n.desc()).limit(limit)
    )
    return [noun_of(File, row) for row in rows]


def of_lane(tx: Tx, lane_id: int, file_id: str) -> File | None:
    """Find a file that a conversation of a lane refers to."""
    c = t.file_reference.c
    said = sa.exists().where(t.message.c.lane_id == lane_id, t.message.c.session_id == c.session_id)
    referred = sa.exists().where(c.file_id == t.file.c.id, said)
    rows = tx.rows(sa.select(*_COLUMNS).where(t.file.c.id == file_id, referred))
    return noun_of(File, rows[0]) if rows else None


def take_unreferred(tx: Tx) -> list[str]:
    """Mark files that nothing has referred to for a day as gone; give all whose bytes and rows are to go."""
    c, referred = t.file.c, sa.exists().where(t.file_reference.c.file_id == t.file.c.id)
    old = (c.gone_at.is_(None), c.created_at < tx.now() - KEPT_UNREFERRED, ~referred)
    candidates = sa.select(c.n).where(*old).order_by(c.n).limit(_BATCH)
    if tx.postgres:
        candidates = candidates.with_for_update(skip_locked=True)
    if numbers := [n for (n,) in tx.rows(candidates)]:
        # Once more now that they are locked: a reference may have been committed since the first look.
        tx.run(sa.update(t.file).where(c.n.in_(numbers), c.gone_at.is_(None), ~referred).values(gone_at=tx.now()))
    return [
        file_id for (file_id,) in tx.rows(sa.select(c.id).where(c.gone_at.is_not(None)).order_by(c.n).limit(_BATCH))
    ]


def drop(tx: Tx, file_id: str) -> None:
    """Delete the row of a file that is gone, after its bytes."""
    tx.run(sa.delete(t.file).where(t.file.c.id == file_id, t.file.c.gone_at.is_not(None)))
