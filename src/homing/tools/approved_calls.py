"""Calls of tools that a person approved: the stored arguments, with the rights of the turn that asked."""

from collections.abc import Sequence
from dataclasses import dataclass

from homing.agent.sources import outside_result
from homing.model.actions import ActionResult, Asked
from homing.operations.actions import Action
from homing.operations.context import Context, Instance
from homing.operations.hands import Desk
from homing.store import Store, Tx
from homing.tools.tool import CallContext, OutsideTool, RequestTool, ToolFunction, ToolSpec
from homing.tools.toolbox import caller_of, home_session, own_tools


@dataclass(frozen=True, kw_only=True)
class OutsideCall:
    """A call that works outside the database."""

    tool: OutsideTool
    asked: Asked

    @property
    def repeatable(self) -> bool:
        return self.tool.repeatable

    @property
    def seconds(self) -> float:
        return self.tool.seconds

    async def work(self) -> str:
        asked = self.asked
        context = CallContext(turn=asked.turn, session_key=asked.approval.session_key, agent=asked.agent, approved=True)
        return await self.tool.run(context, asked.arguments)

    def finish(self, tx: Tx, worked: str) -> ActionResult:
        return ActionResult(text=worked, outside=outside_result(self.tool.name, worked))


@dataclass(frozen=True, kw_only=True)
class OwnCall:
    """A call that only writes our own rows: it happens together with the end of its approval."""

    tool: ToolSpec
    asked: Asked
    instance: Instance
    store: Store
    repeatable: bool = True

    @property
    def seconds(self) -> float:
        return self.tool.seconds

    async def work(self) -> ToolFunction:
        """Try what a call has to try first, as without an approval; it changes nothing."""
        if self.tool.prepare is None:
            return self.tool.function
        desk = Desk(store=self.store, context=self._context, hands_or_none=self.instance.hands)
        turn = self.asked.turn
        return await self.tool.prepare(desk, self.asked.arguments, lambda ctx: home_session(ctx.tx, turn))

    def finish(self, tx: Tx, worked: ToolFunction) -> ActionResult:
        done = worked(self._context(tx), home_session(tx, self.asked.turn), self.asked.arguments)
        return ActionResult(text=done.text, outside=outside_result(self.tool.name, done.text))

    def _context(self, tx: Tx) -> Context:
        asked = self.asked
        caller = caller_of(asked.turn, asked.approval.session_key, asked.approval.outside)
        return Context(tx=tx, caller=caller, instance=self.instance)


def find_call(
    asked: Asked,
    outside: Sequence[OutsideTool],
    instance: Instance,
    store: Store,
    requests: Sequence[RequestTool] = (),
    own: Sequence[ToolSpec] = (),
) -> Action | None:
    """Find what was asked for, as it was then; None if there is no such tool any more."""
    name = asked.approval.tool
    for request in requests:
        if request.name == name:
            return request.action(asked)
    if spec := own_tools(asked.agent, own).get(name):
        return OwnCall(tool=spec, asked=asked, instance=instance, store=store)
    for tool in outside:
        if tool.name == name and tool.sha256 == asked.approval.tool_sha256:
            return OutsideCall(tool=tool, asked=asked)
    return None
