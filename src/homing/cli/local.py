"""No server runs: the operations answer in this process, as the owner. No engine, no scheduler: nothing fires.

The same addresses and the same words as at the front door, without the framework that carries them there: importing it
would cost more than the whole answer.
"""

import asyncio
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from homing.cli.home import make_home
from homing.cli.logs import quiet_logs
from homing.cli.problems import answered
from homing.cli.server import Json
from homing.model.errors import NotFound, Refused
from homing.settings import Settings

if TYPE_CHECKING:
    from homing.model.contract import Operation
    from homing.store import Tx


class Local:
    """The API on this home's database."""

    alive = False

    def __init__(self, settings: Settings) -> None:
        from homing.cli.house import caller_here, open_instance

        quiet_logs()
        make_home(settings)
        self._homing = open_instance(settings)
        self._caller = caller_here(self._homing, "cli")
        self._loop = asyncio.Runner()

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        from homing.model.ids import new_id
        from homing.web.error_status import refusal_of

        try:
            return self._loop.run(self._answer(method, path, body or {}))
        except Refused as error:
            refusal = refusal_of(error, new_id("req"))
            raise answered(refusal.status, refusal.body) from None

    def close(self) -> None:
        self._loop.run(self._homing.store.close())
        self._loop.close()

    async def _answer(self, method: str, path: str, body: Json) -> Any:
        from homing.operations import Context, bind, read
        from homing.web.params import gathered, only_of_body

        where, _, query = path.partition("?")
        route, parts = _find(method, where)
        bound = bind(route)
        given = gathered(bound, parse_qsl(query, keep_blank_values=True), parts)
        ask = read(bound.request, given | only_of_body(bound, body))

        def context(tx: "Tx") -> Context:
            return Context(tx=tx, caller=self._caller(tx), instance=self._homing.instance)

        answer = await bound.perform(self._homing.store, "", context, ask)
        return json.loads(answer.model_dump_json())


def _find(method: str, path: str) -> "tuple[Operation, dict[str, str]]":
    from homing.model.contract import OPERATIONS, SECOND_ADDRESSES

    given = path.split("/")
    for route in (*OPERATIONS, *SECOND_ADDRESSES):
        parts = _matched(route.public_path.split("/"), given)
        if route.method == method and parts is not None:
            return route, parts
    raise NotFound(f"There is no {method} {path} without a server.")


def _matched(known: list[str], given: list[str]) -> dict[str, str] | None:
    """Name the parts of a path as its route does; None when it is another."""
    if len(known) != len(given):
        return None
    parts: dict[str, str] = {}
    for name, text in zip(known, given, strict=True):
        if name.startswith("{"):
            parts[name.strip("{}")] = unquote(text)
        elif name != text:
            return None
    return parts
