"""Tools answered in this process: one call, one transaction, as the caller who was let in."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog
from mcp_types import CallToolResult, Tool

from homing.mcp.results import NOT_READY, failed, refused, shown, text_result
from homing.mcp.tool_list import BY_NAME, SCHEDULE, offered, request_of
from homing.model.bounds import check_bounds, nearest
from homing.model.contract import Operation
from homing.model.errors import NotFound, NotReady, Refused
from homing.model.people import Caller
from homing.model.sessions import Session
from homing.operations.binding import bind
from homing.operations.context import Context, Instance
from homing.operations.hands import Desk
from homing.operations.shapes.base import Answer, clean_text, cleaned, read
from homing.operations.shapes.session_asks import SendMessage, SentShape, SessionRef
from homing.store import Store, Tx
from homing.tools.schedule_task import prepare_schedule_task

log = structlog.get_logger(__name__)

Closed = Callable[[Caller, str, float], Awaitable[Answer | None]]
"""Wait until the turn that took an inbound closes, at most so many seconds."""


@dataclass(frozen=True, kw_only=True)
class LocalBackend:
    """The operations of this process."""

    store: Store
    instance: Instance
    caller: Caller
    every: bool
    closed: Closed | None = None
    """None where no engine runs: then nobody waits for an answer that cannot come."""

    async def tools(self) -> list[Tool]:
        return list(offered(every=self.every))

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Do what a tool is asked; whatever goes wrong becomes a result that says what to do."""
        try:
            return await self._call(clean_text(name), _clean(arguments))
        except Refused as refusal:
            return refused(refusal)
        except NotReady as error:
            log.warning("not_ready", tool=name, reason=str(error))
            return failed("not_ready", NOT_READY)
        except Exception:
            log.exception("tool_broke", tool=name)
            return failed("internal", "This is our fault, not yours. The log of this Homing says more.")

    async def _call(self, name: str, given: dict[str, Any]) -> CallToolResult:
        known = [tool.name for tool in await self.tools()]
        if name not in known:
            raise _unknown(name, known)
        if name == SCHEDULE:
            return text_result(await self._schedule(given))
        answer = await self._operate(BY_NAME[name], given)
        return shown(answer.model_dump_json(), answer.plain())

    async def _operate(self, operation: Operation, given: dict[str, Any]) -> Answer:
        bound = bind(operation)
        ask = read(request_of(operation), given)
        answer = await bound.perform(self.store, self.instance, self.caller.user_id, self._context, ask)
        if self.closed is None or not isinstance(ask, SendMessage) or ask.wait is None:
            return answer
        assert isinstance(answer, SentShape)
        return await self.closed(self.caller, answer.inbound_id, ask.wait) or answer

    async def _schedule(self, given: dict[str, Any]) -> str:
        """The agent's own tool, for the session that the caller names."""
        key = read(SessionRef, {name: given[name] for name in given if name == "session_key"}).session_key
        arguments = {name: given[name] for name in given if name != "session_key"}

        def home(ctx: Context) -> Session:
            try:
                return ctx.session(key)
            except NotFound:
                raise NotFound(f"There is no session {key}. Name one of yours; send_message makes a new one.") from None

        def work(tx: Tx) -> str:
            ctx = self._context(tx)
            return function(ctx, home(ctx), arguments).text

        desk = Desk(store=self.store, context=self._context, hands_or_none=self.instance.hands)
        function = await prepare_schedule_task(desk, arguments, home)
        return await self.store.write(work)

    def _context(self, tx: Tx) -> Context:
        return Context(tx=tx, caller=self.caller, instance=self.instance)


def _clean(arguments: Mapping[str, Any]) -> dict[str, Any]:
    check_bounds(arguments, "arguments")
    return cleaned(dict(arguments))


def _unknown(name: str, known: list[str]) -> NotFound:
    if name in BY_NAME:
        return NotFound(f"{name} is not offered here. Use `homing mcp --tools all` or /mcp?tools=all.")
    near = nearest(name, known)
    hint = f"Did you mean {near}?" if near else f"Available: {', '.join(known)}."
    return NotFound(f"There is no tool {name:.100}. {hint}")
