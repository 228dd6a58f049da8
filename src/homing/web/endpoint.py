"""The one endpoint of all plain operations: proof, then ask, then one transaction, then the answer."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request, Response

from homing.model.errors import Conflict, Invalid, Refused
from homing.model.people import Caller
from homing.operations.context import Context
from homing.operations.shapes.base import Answer, Ask, read
from homing.store import Tx, maintenance
from homing.store.maintenance import KeptAnswer
from homing.web.bodies import read_body, read_object
from homing.web.params import beside_path, gathered
from homing.web.routes import Route
from homing.web.state import AppState

REPLAYED = "Idempotency-Replayed"
_LONGEST_KEY = 256


@dataclass(frozen=True, kw_only=True)
class Made:
    """An answer as it goes out."""

    status: int
    text: str
    replayed: bool = False

    def response(self) -> Response:
        headers = {REPLAYED: "true"} if self.replayed else {}
        return Response(self.text, status_code=self.status, media_type="application/json", headers=headers)


async def perform(state: AppState, route: Route, request: Request) -> Response:
    """Answer one request."""
    caller = await let_in(state, request)
    given = queried(route, request)
    given |= await bodied(route, request)
    made = await make(state, route, request, caller, given)
    return made.response()


async def let_in(state: AppState, request: Request) -> Caller:
    """Find out who asks, and that they do not ask too often."""
    caller = await state.authenticator.admit(request)
    state.requests.take(caller.user_id)
    return caller


def queried(route: Route, request: Request, *, but: tuple[str, ...] = ()) -> dict[str, Any]:
    """Gather what the path and the query say."""
    return gathered(route, request.query_params.multi_items(), request.path_params, but=but)


async def bodied(route: Route, request: Request) -> dict[str, Any]:
    """Gather what the body says; only POST and PATCH have one."""
    if not route.has_body:
        return {}
    return beside_path(route, read_object(await read_body(request), request.headers.get("content-type", "")))


async def make(state: AppState, route: Route, request: Request, caller: Caller, given: Mapping[str, Any]) -> Made:
    """Ask the operation, once for each Idempotency-Key, in one transaction with what is kept of it."""
    operation = route.operation
    ask = read(operation.ask, given)
    key = idempotency_key(request) if route.method == "POST" else None

    def ctx(tx: Tx) -> Context:
        return Context(tx=tx, caller=caller, instance=state.instance)

    if key is not None:
        # What is kept of an answer is written, also of one that only reads.
        path = request.url.path
        return await state.store.write(lambda tx: _once(route, ctx(tx), ask, path=path, key=key, given=given))
    if operation.reads:
        found = await state.store.read_for(
            caller.user_id, lambda tx: operation.function(ctx(tx), ask), operation.finish
        )
        return _answered(route, found)
    return _answered(route, await state.store.write(lambda tx: operation.function(ctx(tx), ask)))


def idempotency_key(request: Request) -> str | None:
    """Read the key under which a request is done once."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= _LONGEST_KEY:
        detail = f"An Idempotency-Key has 1 to {_LONGEST_KEY} characters."
        raise Invalid(detail, field="Idempotency-Key", code="out_of_range")
    return key


def _once(route: Route, ctx: Context, ask: Ask, *, path: str, key: str, given: Mapping[str, Any]) -> Made:
    user_id = ctx.caller.user_id
    asked = hashlib.sha256(json.dumps(given, sort_keys=True).encode()).hexdigest()
    kept = maintenance.kept_answer(ctx.tx, user_id=user_id, path=path, key=key)
    if kept is not None:
        return _again(route, kept, asked)
    made = _answered(route, route.operation.answered(route.operation.function(ctx, ask)))
    text = made.text if route.once is None else _without(made.text, route.once)
    answer = KeptAnswer(body_sha256=asked, status=made.status, answer=text)
    maintenance.keep_answer(ctx.tx, user_id=user_id, path=path, key=key, kept=answer)
    return made


def _again(route: Route, kept: KeptAnswer, asked: str) -> Made:
    if kept.body_sha256 != asked:
        raise key_reused()
    if route.once is not None:
        made = json.loads(kept.answer)
        raise Conflict(
            f"The first request made {made['id']}, and its {route.once} was shown once and is not kept. Remove it,"
            " then ask with a fresh Idempotency-Key.",
            extra={"id": made["id"]},
        )
    return Made(status=kept.status, text=kept.answer, replayed=True)


def _answered(route: Route, answer: Answer) -> Made:
    status = 200 if getattr(answer, "deduped", False) else route.operation.status
    return Made(status=status, text=answer.model_dump_json())


def _without(text: str, member: str) -> str:
    return json.dumps({name: value for name, value in json.loads(text).items() if name != member})


def key_reused() -> "KeyReused":
    """Refuse a key that came with another body before."""
    return KeyReused("This Idempotency-Key came with another request before. Use a fresh one for each request.")


class KeyReused(Refused):
    """The key of one request came with another."""

    status = 422
    code = "key_reused"
