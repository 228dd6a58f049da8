"""Files of people and agents: kept under an id of their own, at most 25 MB, with a checked name and a sniffed type."""

from collections.abc import Callable, Sequence
from datetime import timedelta

from homing.model.errors import Conflict, Invalid, NotFound
from homing.model.files import File, FileStore, Upload, safe_name, sniff
from homing.model.messages import SENDING_TURN, NewMessage
from homing.model.sessions import Session
from homing.operations.context import Context
from homing.operations.hands import Desk
from homing.operations.shapes.file import AddFile, FileShape, GetFile
from homing.store import Store, Tx, deliveries, kept_files, lanes

# What a killed upload left behind is surely nobody's by then.
LEFT_BEHIND = timedelta(days=1)


async def prepare_add_file(desk: Desk, ask: AddFile, upload: Upload) -> File:
    """Write the row, then keep the bytes. Until `add_file` nothing can refer to it, and the sweeper knows it."""
    store = await desk.hands.file_store()
    if not upload.size:
        raise Invalid("The file is empty. Send one that has at least one byte.", field="file", code="out_of_range")
    name = safe_name(ask.name)
    file = await desk.write(
        lambda ctx: _begin(ctx.tx, name, upload, user_id=ctx.caller.user_id, most_mb=ctx.settings.max_files_mb)
    )
    await store.put(file.id, upload)
    return file


async def keep_file(store: Store, files: FileStore, name: str, upload: Upload, *, user_id: str, most_mb: int) -> File:
    """Keep a file that nothing refers to yet: its row, then its bytes."""
    file = await store.write(lambda tx: _begin(tx, safe_name(name), upload, user_id=user_id, most_mb=most_mb))
    await files.put(file.id, upload)
    stored = await store.write(lambda tx: kept_files.mark_stored(tx, file.id))
    if stored is None:
        raise Conflict("The upload took longer than a day. Send the file again.")
    return stored


def _begin(tx: Tx, name: str, upload: Upload, *, user_id: str, most_mb: int) -> File:
    if kept_files.used_bytes(tx, user_id) + upload.size > most_mb << 20:
        raise Conflict(
            f"Your files would take more than {most_mb:,} MB together (HOMING_MAX_FILES_MB). Delete conversations whose"
            " files you do not need any more.",
            code="quota_reached",
        )
    return kept_files.add(
        tx,
        user_id=user_id,
        name=name,
        media_type=sniff(upload.head, name),
        size=upload.size,
        sha256=upload.sha256,
    )


def add_file(ctx: Context, ask: AddFile, file: File) -> FileShape:
    """Keep a file. What no message refers to within a day is removed."""
    stored = kept_files.mark_stored(ctx.tx, file.id)
    if stored is None:
        raise Conflict("The upload took longer than a day. Send the file again.")
    return FileShape.of(stored)


def get_file(ctx: Context, ask: GetFile) -> FileShape:
    """Read one of your files."""
    return FileShape.of(own_file(ctx, ask.file_id))


def own_file(ctx: Context, file_id: str) -> File:
    """Find one of the caller's own files whose bytes are there."""
    file = kept_files.get_many(ctx.tx, [file_id]).get(file_id)
    if file is None or file.user_id != ctx.caller.user_id or file.stored_at is None or file.gone_at is not None:
        raise NotFound(f"There is no file {file_id:.64}. It may have been removed with its conversation.")
    return file


def attach_files(tx: Tx, session: Session, ids: Sequence[str], *, user_id: str) -> list[dict[str, object]]:
    """Let a locked session refer to a user's files; give them as an inbound or a message keeps them."""
    if not ids:
        return []
    usable = kept_files.lock_usable(tx, ids, user_id=user_id)
    if missing := [file_id for file_id in ids if file_id not in usable]:
        raise Invalid(
            f"There is no file {missing[0]:.64} of yours. Upload it with add_file first; a file that no message refers"
            " to is removed after a day.",
            field="files",
            code="out_of_range",
        )
    kept_files.refer(tx, {session.id: ids})
    return [usable[file_id].plain() for file_id in dict.fromkeys(ids)]


def send_kept_file(ctx: Context, home: Session, file: File, text: str) -> None:
    """Write a message of an agent's with a file, owed to the conversation's addresses (rule 55)."""
    turn, tx = ctx.caller.turn, ctx.tx
    assert turn is not None
    lane_id = lanes.enter(tx, home, unified=ctx.settings.unified_session)
    message = NewMessage(
        session_id=home.id,
        lane_id=lane_id,
        role="assistant",
        kind="chat",
        text=text,
        meta={SENDING_TURN: turn.id},
        files=attach_files(tx, home, [file.id], user_id=home.user_id),
        unasked=turn.source != "person",
    )
    deliveries.post(tx, [message], cause="sent")


async def sweep_files(store: Store, files: FileStore) -> int:
    """Remove a batch of files that nothing refers to, bytes before rows, and what killed uploads left; say how many
    files. There may be more: the caller has something else to do in between.
    """
    gone = await store.write(kept_files.take_unreferred)
    for file_id in gone:
        await files.delete(file_id)
        await store.write(_dropping(file_id))
    await files.tidy(store.clock.now() - LEFT_BEHIND)
    return len(gone)


def _dropping(file_id: str) -> Callable[[Tx], None]:
    return lambda tx: kept_files.drop(tx, file_id)
