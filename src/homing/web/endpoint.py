"""The one endpoint of all plain operations: proof, then ask, then one transaction, then the answer."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from homing.model.contract import Operation
from homing.model.errors import Conflict, Invalid, Refused
from homing.model.people import Caller
from homing.operations.binding import BoundOperation
from homing.operations.context import Context
from homing.operations.shapes.base import Answer, read
from homing.store import Tx, maintenance
from homing.store.maintenance import KeptAnswer
from homing.web.bodies import read_body, read_object
from homing.web.params import gathered, only_of_body
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


async def perform(state: AppState, operation: BoundOperation, request: Request) -> Response:
    """Answer one request."""
    caller = await let_in(state, request)
    made = await make(state, operation, request, caller, await asked(operation, request))
    return made.response()


async def let_in(state: AppState, request: Request) -> Caller:
    """Find out who asks, and that they do not ask too often."""
    caller = await state.authenticator.admit(request)
    state.requests.take(caller.user_id)
    return caller


def queried(operation: BoundOperation, request: Request) -> dict[str, Any]:
    """Gather what the path and the query say."""
    return gathered(operation, request.query_params.multi_items(), request.path_params)


async def asked(operation: BoundOperation, request: Request) -> dict[str, Any]:
    """Gather what the path, the query and the body say; only POST and PATCH have a body."""
    given = queried(operation, request)
    if operation.row.has_body:
        body = read_object(await read_body(request), request.headers.get("content-type", ""))
        given |= only_of_body(operation, body)
    return given


async def make(
    state: AppState, operation: BoundOperation, request: Request, caller: Caller, given: Mapping[str, Any]
) -> Made:
    """Ask the operation, once for each Idempotency-Key, in one transaction with what is kept of it."""
    row = operation.row
    ask = read(operation.request, given)
    key = idempotency_key(request) if row.method == "POST" else None

    def ctx(tx: Tx) -> Context:
        return Context(tx=tx, caller=caller, instance=state.instance)

    if key is None:
        return _answered(operation, await operation.perform(state.store, state.instance, caller.user_id, ctx, ask))
    kept = {name: value for name, value in given.items() if name not in row.query}
    once = Once(operation=operation, user_id=caller.user_id, path=request.url.path, key=key, given=kept)
    if row.kind in ("prepared", "work") and (again := await state.store.read(once.answered_before)) is not None:
        return again
    done = await operation.work_outside(state.store, state.instance, ctx, ask)
    # What is kept of an answer is written, also of one that only reads.
    return await state.store.write(lambda tx: once.answer(tx, lambda: operation.run(ctx(tx), ask, done)))


def idempotency_key(request: Request) -> str | None:
    """Read the key under which a request is done once."""
    key = request.headers.get("idempotency-key")
    if key is not None and not 1 <= len(key) <= _LONGEST_KEY:
        detail = f"An Idempotency-Key has 1 to {_LONGEST_KEY} characters."
        raise Invalid(detail, field="Idempotency-Key", code="out_of_range")
    return key


@dataclass(frozen=True, kw_only=True)
class Once:
    """A request that is done once under its key."""

    operation: BoundOperation
    user_id: str
    path: str
    key: str
    given: Mapping[str, Any]

    def answered_before(self, tx: Tx) -> Made | None:
        """Give the first answer, if there was one."""
        kept = maintenance.kept_answer(tx, user_id=self.user_id, path=self.path, key=self.key)
        return None if kept is None else _again(self.operation.row, kept, self._asked)

    def answer(self, tx: Tx, run: Callable[[], Any]) -> Made:
        """Give the first answer again, or run the operation and keep what it answers."""
        if (again := self.answered_before(tx)) is not None:
            return again
        made = _answered(self.operation, self.operation.answered(run()))
        once = self.operation.row.once
        text = made.text if once is None else _without(made.text, once)
        answer = KeptAnswer(body_sha256=self._asked, status=made.status, answer=text)
        maintenance.keep_answer(tx, user_id=self.user_id, path=self.path, key=self.key, kept=answer)
        return made

    @property
    def _asked(self) -> str:
        return hashlib.sha256(json.dumps(self.given, sort_keys=True).encode()).hexdigest()


def _again(row: Operation, kept: KeptAnswer, asked: str) -> Made:
    if kept.body_sha256 != asked:
        raise key_reused()
    if row.once is not None:
        made = json.loads(kept.answer)
        if "id" not in made:
            raise Conflict(
                f"The {row.once} of the first request was shown once and is not kept. Ask with a fresh Idempotency-Key."
            )
        raise Conflict(
            f"The first request made {made['id']}, and its {row.once} was shown once and is not kept. Remove it,"
            " then ask with a fresh Idempotency-Key.",
            extra={"id": made["id"]},
        )
    return Made(status=kept.status, text=kept.answer, replayed=True)


def _answered(operation: BoundOperation, answer: Answer) -> Made:
    at_once = getattr(answer, "deduped", False) or getattr(answer, "verified", False)
    status = 200 if at_once else operation.row.status
    return Made(status=status, text=answer.model_dump_json())


def _without(text: str, member: str) -> str:
    """Leave out a secret, and what else holds it, such as an address that was made with it."""
    answer = json.loads(text)
    secret = str(answer[member])
    return json.dumps({name: value for name, value in answer.items() if secret not in str(value)})


def key_reused() -> "KeyReused":
    """Refuse a key that came with another body before."""
    return KeyReused("This Idempotency-Key came with another request before. Use a fresh one for each request.")


class KeyReused(Refused):
    """The key of one request came with another."""

    status = 422
    code = "key_reused"
