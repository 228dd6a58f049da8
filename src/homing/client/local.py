"""No server runs: the operations answer in this process. No engine, no scheduler: nothing fires."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

from homing.client.base import BaseClient
from homing.model.contract import Operation
from homing.model.people import Caller
from homing.operations import Context, bind, read
from homing.store import Tx
from homing.web.params import whole_list
from homing.wiring import Homing


class LocalClient(BaseClient):
    """Asks the operations of a wired Homing as `caller`, who is looked up for each; closes its store."""

    alive = False

    def __init__(self, homing: Homing, caller: Callable[[Tx], Caller]) -> None:
        self._homing = homing
        self._caller = caller
        self._loop = asyncio.Runner()

    def close(self) -> None:
        self._loop.run(self._homing.store.close())
        self._loop.close()

    def _answer(self, operation: Operation, fields: Mapping[str, Any]) -> Any:
        bound = bind(operation)
        ask = read(bound.request, whole_list(bound, operation.given(fields)))
        answer = self._loop.run(bound.perform(self._homing.store, self._homing.instance, "", self._context, ask))
        return json.loads(answer.model_dump_json())

    def _context(self, tx: Tx) -> Context:
        return Context(tx=tx, caller=self._caller(tx), instance=self._homing.instance)
