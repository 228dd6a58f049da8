"""No server runs: the operations answer in this process. No engine, no scheduler: nothing fires."""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from homing.client.base import BaseClient
from homing.files import gather
from homing.model.contract import Json, Operation
from homing.model.people import Caller
from homing.operations import Context, bind, read
from homing.operations.transcripts import ExportShape, write_out
from homing.store import Tx
from homing.web.params import whole_list
from homing.wiring import Homing, ServerHands

_PIECE = 256 << 10


class LocalClient(BaseClient):
    """Asks the operations of a wired Homing as `caller`, who is looked up for each; closes its store."""

    alive = False

    def __init__(self, homing: Homing, caller: Callable[[Tx], Caller]) -> None:
        self._homing = homing
        self._caller = caller
        self._loop = asyncio.Runner()

    def close(self) -> None:
        if isinstance(hands := self._homing.instance.hands, ServerHands):
            self._loop.run(hands.close())
        self._loop.run(self._homing.store.close())
        self._loop.close()

    def _answer(self, operation: Operation, fields: Mapping[str, Any]) -> Any:
        bound = bind(operation)
        ask = read(bound.request, whole_list(bound, operation.given(fields)))
        answer = self._loop.run(bound.perform(self._homing.store, self._homing.instance, "", self._context, ask))
        return json.loads(answer.model_dump_json())

    def _send_file(self, operation: Operation, name: str, file: BinaryIO) -> Json:
        return self._loop.run(self._keep(operation, name, file))

    async def _keep(self, operation: Operation, name: str, file: BinaryIO) -> Json:
        bound, homing = bind(operation), self._homing
        desk = bound.desk(homing.store, homing.instance, self._context)
        ask = read(bound.request, {"name": name})
        async with gather((await desk.hands.file_store()).incoming) as gathering:
            while piece := await asyncio.to_thread(file.read, _PIECE):
                await gathering.add(piece)
            assert bound.prepare
            kept = await bound.prepare(desk, ask, await gathering.finish())
        shown = await homing.store.write(lambda tx: bound.run(self._context(tx), ask, kept))
        return shown.plain()

    def _fetch(self, operation: Operation, fields: Mapping[str, Any], into: BinaryIO) -> str:
        return self._loop.run(self._write_into(operation, fields, into))

    async def _write_into(self, operation: Operation, fields: Mapping[str, Any], into: BinaryIO) -> str:
        bound, homing = bind(operation), self._homing
        ask = read(bound.request, dict(fields))
        found = await homing.store.read(lambda tx: bound.run(self._context(tx), ask))
        if isinstance(found, ExportShape):
            name, pieces = found.file_name, write_out(homing.store, self._context, found)
        else:
            desk = bound.desk(homing.store, homing.instance, self._context)
            name, pieces = found.name, (await desk.hands.file_store()).read(found.id)
        async for piece in pieces:
            await asyncio.to_thread(into.write, piece)
        return name

    def _context(self, tx: Tx) -> Context:
        return Context(tx=tx, caller=self._caller(tx), instance=self._homing.instance)
