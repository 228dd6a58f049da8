"""Files in and out: streamed, never whole in memory, and given back so that no browser takes one for a page."""

import json
from collections.abc import AsyncIterator
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from homing.files import gather
from homing.model.errors import NoFiles, TooLarge
from homing.model.files import INLINE, MAX_FILE, FileStore
from homing.operations.binding import BoundOperation
from homing.operations.context import Context
from homing.operations.shapes.base import read
from homing.operations.shapes.file import FileShape
from homing.operations.transcripts import MEDIA_TYPES, ExportShape, write_out
from homing.store import Tx
from homing.web.endpoint import Made, Once, idempotency_key, let_in, queried
from homing.web.multipart import read_form
from homing.web.state import AppState

CACHED = "private, max-age=86400, immutable"
# Nothing in it may run, load or reach out, whatever it is taken for.
POLICY = "default-src 'none'; sandbox"
# What a form has around its file.
_FORM = 16 << 10


async def add_file(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Take in a file."""
    caller = await let_in(state, request)
    key = idempotency_key(request)
    queried(operation, request)
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and int(declared) > MAX_FILE + _FORM:
        raise TooLarge(f"A file has at most {MAX_FILE >> 20} MB. Send a smaller one, or in parts.")

    def ctx(tx: Tx) -> Context:
        return Context(tx=tx, caller=caller, instance=state.instance)

    async with gather((await _store(state)).incoming) as gathering:
        name = await read_form(request.headers.get("content-type", ""), request.stream(), gathering)
        upload = await gathering.finish()
        ask = read(operation.request, {"name": name})
        given = {"name": name, "sha256": upload.sha256}
        once = Once(operation=operation, user_id=caller.user_id, path=request.url.path, key=key or "", given=given)
        if key is not None and (again := await state.store.read(once.answered_before)) is not None:
            return again.response()
        assert operation.prepare
        file = await operation.prepare(operation.desk(state.store, state.instance, ctx), ask, upload)
    if key is None:
        shown = await state.store.write(lambda tx: operation.run(ctx(tx), ask, file))
        return Made(status=operation.row.status, text=shown.model_dump_json()).response()
    made = await state.store.write(lambda tx: once.answer(tx, lambda: operation.run(ctx(tx), ask, file)))
    return made.response()


async def get_file(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Give a file back: a safe picture to be shown in place, everything else as a download."""
    caller = await let_in(state, request)
    ask = read(operation.request, queried(operation, request))
    file: FileShape = await state.store.read(
        lambda tx: operation.run(Context(tx=tx, caller=caller, instance=state.instance), ask)
    )
    pieces = (await _store(state)).read(file.id)
    # Before the head goes out: a store that is away, or lost it, is a problem document and not half a file.
    first = await anext(pieces, b"")
    headers = {
        "Content-Disposition": disposition(file),
        "Content-Length": str(file.bytes),
        "Content-Security-Policy": POLICY,
        "Cache-Control": CACHED,
        "ETag": json.dumps(file.sha256),
    }
    return StreamingResponse(_all(first, pieces), media_type=_media_type(file), headers=headers)


async def export_session(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Give a conversation as a file."""
    caller = await let_in(state, request)
    ask = read(operation.request, queried(operation, request))

    def ctx(tx: Tx) -> Context:
        return Context(tx=tx, caller=caller, instance=state.instance)

    export: ExportShape = await state.store.read(lambda tx: operation.run(ctx(tx), ask))
    headers = {
        "Content-Disposition": _named("attachment", export.file_name),
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
    }
    media_type = f"{MEDIA_TYPES[export.format]}; charset=utf-8"
    return StreamingResponse(write_out(state.store, ctx, export), media_type=media_type, headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


def disposition(file: FileShape) -> str:
    """Say whether a browser may show a file in place, and the name to save it under."""
    return _named("inline" if file.media_type in INLINE else "attachment", file.name)


def _named(how: str, name: str) -> str:
    plain = name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_").replace("\\", "_")
    return f"{how}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _media_type(file: FileShape) -> str:
    # Without a charset a browser may guess one.
    return f"{file.media_type}; charset=utf-8" if file.media_type.startswith("text/") else file.media_type


async def _store(state: AppState) -> FileStore:
    if state.instance.hands is None:
        raise NoFiles("Files need a running server: start `homing up`.")
    return await state.instance.hands.file_store()
