"""Makes the app: every address, one guard around all, and the page for whatever is left."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.routing import Route as StarletteRoute

from homing.model.clock import Clock
from homing.model.errors import Error, Forbidden
from homing.operations.context import Instance
from homing.store import Store
from homing.web import custom_endpoints, metrics, waiting
from homing.web.document import OPEN_TO_ALL, Json, asked, refusals, whole
from homing.web.endpoint import perform
from homing.web.health import check_ready
from homing.web.hosts import is_local
from homing.web.limits import Limits
from homing.web.middleware import SecurityMiddleware
from homing.web.page import Page
from homing.web.problems import problem, problem_of
from homing.web.routes import CALL_HOOK, ROUTES, SEND, SIGN_IN, SIGN_OUT, Route
from homing.web.state import AppState, make_state

Handler = Callable[[AppState, Request], Awaitable[Response]]

_DESCRIPTION = "AI agents that come back by themselves: sessions, jobs, runs, deliveries, and both live streams."


def make_app(*, store: Store, instance: Instance, clock: Clock, limits: Limits | None = None) -> FastAPI:
    """Make the app of one store. The caller runs it; `app.state.streams.leave()` ends its streams."""
    state = make_state(store, instance, clock, limits or Limits())
    app = FastAPI(
        title="Homing",
        version=instance.version,
        description=_DESCRIPTION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=_lifespan(state),
    )
    app.state.streams = state.streams
    # For whoever puts another door beside this one.
    app.state.homing = state
    schemas = [*(_add_plain(app, state, route) for route in ROUTES), *_add_others(app, state)]
    _add_house(app, state)
    app.openapi = lambda: _document(app, schemas)
    app.add_exception_handler(Error, _refuse)
    app.add_exception_handler(HTTPException, _refuse_by_router)
    app.add_middleware(SecurityMiddleware, store=store, settings=instance.settings, clock=clock)
    app.router.default = Page()
    return app


def _add(
    app: FastAPI,
    state: AppState,
    route: Route,
    handler: Handler,
    described: Json,
    answers: dict[int | str, Json] | None = None,
) -> None:
    """Put an operation at its address."""
    operation = route.operation
    responses = refusals(route.method, body=route.has_body)
    for status, sentence in route.also.items():
        responses[status] = {"model": operation.answer, "description": sentence}
    app.add_api_route(
        route.path,
        _endpoint(state, handler),
        methods=[route.method],
        operation_id=route.alias or route.name,
        summary=operation.summary,
        tags=[route.noun],
        status_code=operation.status,
        response_model=operation.answer,
        responses=responses | (answers or {}),
        openapi_extra=described,
    )


def _add_plain(app: FastAPI, state: AppState, route: Route) -> Json:
    described, schemas = asked(route)
    _add(app, state, route, lambda state, request: perform(state, route, request), described)
    return schemas


def _add_others(app: FastAPI, state: AppState) -> Iterator[Json]:
    sent, schemas = asked(SEND)
    sent["parameters"].append(_query("wait", {"type": "integer", "minimum": 1, "maximum": 120}))
    answered: Json = {"model": waiting.AnsweredShape, "description": SEND.also[200]}
    _add(app, state, SEND, waiting.send, sent, {200: answered})
    yield schemas
    entered, schemas = asked(SIGN_IN)
    _add(app, state, SIGN_IN, custom_endpoints.sign_in, entered | OPEN_TO_ALL)
    yield schemas
    # What it gives up stands in the cookie: there is no body.
    _add(app, state, SIGN_OUT, custom_endpoints.sign_out, OPEN_TO_ALL)
    called, _ = asked(CALL_HOOK)
    anything: Json = {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}
    _add(
        app, state, CALL_HOOK, custom_endpoints.call_hook, called | OPEN_TO_ALL | {"requestBody": {"content": anything}}
    )
    key = {"name": "key", "in": "path", "required": True, "schema": {"type": "string"}}
    after = _query("after", {"type": "string", "pattern": r"^\d{1,15}(\.\d{1,15})?$"})
    last = {"name": "Last-Event-ID", "in": "header", "schema": {"type": "string"}}
    _add_stream(
        app, state, "watch_session", "/api/sessions/{key}/events", custom_endpoints.watch_session, [key, after, last]
    )
    _add_stream(app, state, "watch_events", "/api/events", custom_endpoints.watch_events, [])


def _query(name: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "schema": schema}


def _add_stream(app: FastAPI, state: AppState, name: str, path: str, handler: Handler, parameters: list[Json]) -> None:
    app.add_api_route(
        path,
        _endpoint(state, handler),
        methods=["GET"],
        operation_id=name,
        summary=handler.__doc__,
        tags=["streams"],
        response_class=Response,
        responses=refusals("GET", body=False)
        | {200: {"content": {custom_endpoints.EVENTS: {"schema": {"type": "string"}}}}},
        openapi_extra={"parameters": parameters},
    )


def _add_house(app: FastAPI, state: AppState) -> None:
    """What machines ask: alive, ready, figures. No operations, and so not in the document."""

    async def healthz() -> Response:
        return Response('{"status":"ok"}', media_type="application/json")

    async def readyz() -> Response:
        notes = await check_ready(state.store, state.instance)
        body = {"status": "ready"} | ({"notes": notes} if notes else {})
        return Response(json.dumps(body, separators=(",", ":")), media_type="application/json")

    async def figures(request: Request) -> Response:
        if not is_local(request, state.settings) and not (await state.authenticator.admit(request)).admin:
            raise Forbidden("Figures are for this machine, or for an admin's token.")
        return Response(await metrics.scrape(state.store, state.instance.version), media_type=metrics.MEDIA)

    app.add_api_route("/healthz", healthz, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/readyz", readyz, methods=["GET", "HEAD"], include_in_schema=False)
    app.add_api_route("/metrics", figures, include_in_schema=False)


def _endpoint(state: AppState, handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await handler(state, request)

    return endpoint


def _lifespan(state: AppState) -> Any:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        await state.store.bell.open()
        board = asyncio.create_task(state.streams.board.listen())
        try:
            yield
        finally:
            state.streams.leave()
            board.cancel()
            await state.authenticator.close()

    return lifespan


def _document(app: FastAPI, schemas: list[Json]) -> Json:
    if app.openapi_schema is None:
        plain = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes, tags=app.openapi_tags
        )
        app.openapi_schema = whole(plain, schemas)
    return app.openapi_schema


def _request_id(request: Request) -> str:
    return request.state.request_id


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, Error)
    return problem_of(error, _request_id(request))


def _methods_at(request: Request) -> set[str]:
    """Gather what an address takes; the router names only its first route there."""
    routes = [route for route in request.app.routes if isinstance(route, StarletteRoute)]
    here = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return {method for route in here for method in route.methods or ()}


async def _refuse_by_router(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        # The router says only that; whoever stands at an address may know more.
        if error.detail != HTTPStatus.METHOD_NOT_ALLOWED.phrase:
            headers = dict(error.headers or {})
            return problem(405, "wrong_method", error.detail, _request_id(request), headers=headers)
        allow = ", ".join(sorted(_methods_at(request)))
        detail = f"{request.method} cannot be used here. Use {allow}."
        return problem(405, "wrong_method", detail, _request_id(request), headers={"Allow": allow})
    code = {404: "not_found", 413: "too_large"}.get(error.status_code, "malformed")
    return problem(error.status_code, code, str(error.detail), _request_id(request))
