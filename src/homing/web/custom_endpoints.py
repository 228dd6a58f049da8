"""The endpoints that are not like the others: sign in and out, hooks, both streams."""

from collections.abc import AsyncIterator
from datetime import timedelta

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from homing.model.brakes import DEPTH_HEADER
from homing.model.errors import Invalid, NotFound, NotReady, SlowDown, Unauthenticated
from homing.model.people import Caller
from homing.operations.binding import BoundOperation
from homing.operations.context import Context
from homing.operations.shapes.base import read
from homing.operations.shapes.people_asks import SignedOutShape
from homing.store import Tx
from homing.store.people import find_hook
from homing.web.bodies import read_body, read_hook
from homing.web.callers import NOBODY, address_of, key_of, until
from homing.web.changes import read_place
from homing.web.endpoint import Made, asked, idempotency_key, key_reused, let_in, queried
from homing.web.hosts import check_origin
from homing.web.limits import shadow
from homing.web.state import AppState
from homing.web.stream import PING

EVENTS = "text/event-stream"
_DIGITS = 9


async def sign_in(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Take a code or a token; the cookie goes out as a header, never in the body."""
    # Another site's page must not use up the owner's tries.
    check_origin(request, state.settings)
    state.sign_ins.take(address_of(request))
    ask = read(operation.request, await asked(operation, request))
    signed, now = await state.store.write(lambda tx: (operation.run(_context(state, tx), ask), tx.now()))
    request.state.user_id = signed.user_id
    state.authenticator.give_cookie(request, signed.cookie.get_secret_value(), until(signed.expires_at, now))
    return Made(status=operation.row.status, text=signed.model_dump_json()).response()


async def sign_out(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """End the browser's cookie, here and there."""
    check_origin(request, state.settings)
    queried(operation, request)
    cookie, key = state.authenticator.cookie_of(request), key_of(request)
    if cookie is not None and key is not None:
        ask = read(operation.request, {"cookie": cookie, "key": key})
        await state.store.write(lambda tx: operation.run(_context(state, tx), ask))
    state.authenticator.give_cookie(request, "", timedelta())
    return Made(status=operation.row.status, text=SignedOutShape().model_dump_json()).response()


async def call_hook(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Take in what another program says. The token in the path is all the proof there is."""
    # Another site's page needs no permission to send such a request, and no hook is meant for pages.
    check_origin(request, state.settings)
    token = request.path_params["token"]
    # Before the body: one who has no hook must not hold a connection with a body that never ends.
    if await state.store.recognise(lambda tx: find_hook(tx, token)) is None:
        state.hook_proofs.wrong(address_of(request))
        raise NotFound("There is no such hook.")
    request.state.proven = True
    # Only a hook that exists has a bucket: made-up ones would push out those of others.
    state.requests.take(shadow(token))
    given = queried(operation, request)
    body = await read_body(request)
    given["body"] = read_hook(body, request.headers.get("content-type", ""))
    key = idempotency_key(request)
    given["external_id"] = key or request.headers.get("webhook-id") or None
    given["depth"] = _depth(request)
    ask = read(operation.request, given)
    called = await state.store.write(lambda tx: operation.run(_context(state, tx), ask))
    # Senders of webhooks write each later attempt again, with its own time in it: their id alone decides.
    if key is not None and called.repeats == "other":
        raise key_reused()
    replayed = called.repeats is not None
    return Made(status=operation.row.status, text=called.model_dump_json(), replayed=replayed).response()


async def watch_session(state: AppState, request: Request) -> Response:
    """Stream the events of one session, from where the client was."""
    caller = await let_in(state, request)
    given = dict(request.query_params)
    after = given.pop("after", None)
    _refuse_others(given, "after")
    if after is not None and read_place(after) is None:
        raise Invalid("after is the id of an event of this stream.", field="after", code="wrong_type")
    # A browser that comes back asks for the same address as at first, and says in the header how far it got since.
    place = read_place(request.headers.get("last-event-id")) or read_place(after)
    key = request.path_params["key"]
    session = await state.store.read(lambda tx: Context(tx=tx, caller=caller, instance=state.instance).session(key))
    return _Streamed(state, caller, _kept_in(state, request, state.streams.of_session(caller, session, place)))


async def watch_events(state: AppState, request: Request) -> Response:
    """Stream the events of all your sessions, live."""
    caller = await let_in(state, request)
    _refuse_others(dict(request.query_params))
    return _Streamed(state, caller, _kept_in(state, request, state.streams.of_user(caller)))


class _Streamed(StreamingResponse):
    """A stream that counts among its user's for as long as it is sent."""

    def __init__(self, state: AppState, caller: Caller, events: AsyncIterator[bytes]) -> None:
        # A proxy that gathers events before it passes them on would make a live stream a slow one.
        super().__init__(events, media_type=EVENTS, headers={"X-Accel-Buffering": "no"})
        self._door = state
        self._caller = caller

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._door.streams.counted(self._caller.user_id):
            await super().__call__(scope, receive, send)


async def _kept_in(state: AppState, request: Request, stream: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Pass a stream on for as long as its listener may hear it and the database answers."""
    try:
        async for chunk in stream:
            if chunk is PING:
                await state.authenticator.admit(request)
            if chunk:
                yield chunk
    except (NotReady, SlowDown, Unauthenticated):
        # The client comes back by itself, and is then told what is wrong.
        return


def _refuse_others(given: dict[str, str], *known: str) -> None:
    if given:
        name = min(given)[:100]
        hint = f"Known are: {', '.join(known)}." if known else "Leave it out."
        raise Invalid(f"There is no field {name}. {hint}", field=name, code="unknown_field")


def _depth(request: Request) -> int:
    """Read how deep the call is: our own webhooks say so, and have counted themselves already."""
    given = request.headers.get(DEPTH_HEADER)
    if given is None:
        return 0
    if not (given.isascii() and given.isdigit() and len(given) <= _DIGITS):
        raise Invalid(
            f"{DEPTH_HEADER} says how many turns led to this call: a whole number. Leave it out if you do not know.",
            field=DEPTH_HEADER,
            code="wrong_type",
        )
    return int(given)


def _context(state: AppState, tx: Tx, caller: Caller = NOBODY) -> Context:
    return Context(tx=tx, caller=caller, instance=state.instance)
