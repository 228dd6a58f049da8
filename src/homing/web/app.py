"""Makes the app: every address, one guard around all, and the page for whatever is left."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from functools import cache, partial
from http import HTTPStatus
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from homing.model.clock import Clock
from homing.model.contract import OPERATIONS, SECOND_ADDRESSES, STREAMS, Operation, public
from homing.model.errors import Error, Forbidden
from homing.operations.binding import BoundOperation, bind
from homing.operations.context import Instance
from homing.store import Store
from homing.web import custom_endpoints, files, metrics, waiting
from homing.web.compression import CompressionMiddleware
from homing.web.endpoint import perform
from homing.web.health import check_ready
from homing.web.hosts import is_local
from homing.web.limits import Limits
from homing.web.middleware import SecurityMiddleware
from homing.web.openapi import document
from homing.web.page import Page
from homing.web.problems import problem, problem_of
from homing.web.state import AppState, make_state

Endpoint = Callable[[Request], Awaitable[Response]]
_HANDLERS: Mapping[str, Callable[[AppState, BoundOperation, Request], Awaitable[Response]]] = {
    "send_message": waiting.send,
    "sign_in": custom_endpoints.sign_in,
    "sign_out": custom_endpoints.sign_out,
    "call_hook": custom_endpoints.call_hook,
    "add_file": files.add_file,
    "get_file": files.get_file,
    "export_session": files.export_session,
}
"""Those that are not like all others."""


def make_app(*, store: Store, instance: Instance, clock: Clock, limits: Limits | None = None) -> Starlette:
    """Make the app of one store. The caller runs it; `app.state.streams.leave()` ends its streams."""
    state = make_state(store, instance, clock, limits or Limits())
    app = Starlette(
        routes=[
            *(_route(state, row) for row in (*OPERATIONS, *SECOND_ADDRESSES)),
            *(_plain(public(path), partial(getattr(custom_endpoints, name), state)) for name, path in STREAMS.items()),
            *_house(state),
        ],
        lifespan=_lifespan(state),
        exception_handlers={Error: _refuse, HTTPException: _refuse_by_router},
        middleware=[
            Middleware(SecurityMiddleware, store=store, settings=instance.settings, clock=clock),
            Middleware(CompressionMiddleware),
        ],
    )
    app.state.streams = state.streams
    # For code that mounts another door beside this one.
    app.state.homing = state
    app.router.redirect_slashes = False
    app.router.default = Page()
    return app


def _route(state: AppState, row: Operation) -> Route:
    """Put an operation at its address."""
    return _plain(row.public_path, partial(_HANDLERS.get(row.name, perform), state, bind(row)), row.method)


def _plain(path: str, endpoint: Endpoint, *methods: str) -> Route:
    route = Route(path, endpoint, methods=methods or ["GET"])
    # The library answers HEAD wherever it answers GET; here that is said.
    route.methods = set(methods or ["GET"])
    return route


def _house(state: AppState) -> Iterator[Route]:
    """What machines ask: alive, ready, figures, the document. No operations, and so not in the document."""

    async def healthz(_: Request) -> Response:
        return Response('{"status":"ok"}', media_type="application/json")

    async def readyz(_: Request) -> Response:
        notes = await check_ready(state.store, state.instance)
        body = {"status": "ready"} | ({"notes": notes} if notes else {})
        return Response(json.dumps(body, separators=(",", ":")), media_type="application/json")

    async def figures(request: Request) -> Response:
        if not is_local(request, state.settings) and not (await state.authenticator.admit(request)).admin:
            raise Forbidden("Figures are for this machine, or for an admin's token.")
        return Response(await metrics.scrape(state.store, state.instance.version), media_type=metrics.MEDIA)

    async def openapi(_: Request) -> Response:
        return Response(_document(), media_type="application/json")

    yield _plain("/healthz", healthz, "GET", "HEAD")
    yield _plain("/readyz", readyz, "GET", "HEAD")
    yield _plain("/metrics", figures)
    yield _plain("/api/openapi.json", openapi, "GET", "HEAD")


@cache
def _document() -> str:
    return json.dumps(document())


def _lifespan(state: AppState) -> Any:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        await state.store.bell.open()
        board = asyncio.create_task(state.streams.board.listen())
        try:
            yield
        finally:
            state.streams.leave()
            board.cancel()
            await state.authenticator.close()

    return lifespan


def _request_id(request: Request) -> str:
    return request.state.request_id


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Error)
    return problem_of(error, _request_id(request))


def _methods_at(request: Request) -> set[str]:
    """Gather what an address takes; the router names only its first route there."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return {method for route in here for method in route.methods or ()}


async def _refuse_by_router(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        # The router says only that; other routes of the address may know more.
        if error.detail != HTTPStatus.METHOD_NOT_ALLOWED.phrase:
            headers = dict(error.headers or {})
            return problem(405, "wrong_method", error.detail, _request_id(request), headers=headers)
        allow = ", ".join(sorted(_methods_at(request)))
        detail = f"{request.method} cannot be used here. Use {allow}."
        return problem(405, "wrong_method", detail, _request_id(request), headers={"Allow": allow})
    code = {404: "not_found", 413: "too_large"}.get(error.status_code, "malformed")
    return problem(error.status_code, code, str(error.detail), _request_id(request))
