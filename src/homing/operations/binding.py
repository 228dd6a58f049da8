"""Finds the function of each operation in the contract's table, and runs it under the rules that all share."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from homing.model.contract import Operation
from homing.model.errors import Broken
from homing.operations.context import Context, Instance
from homing.operations.hands import Desk
from homing.operations.shapes.base import Answer, Ask
from homing.store import Store, Tx


@dataclass(frozen=True, kw_only=True)
class BoundOperation:
    """A row of the contract with its function, and the types that the function's signature names."""

    row: Operation
    function: Callable[..., Any]
    request: type[Ask]
    answer: type[Answer]
    finish: Callable[[Any], Answer] | None
    """Computes the answer of what the function found, after the transaction."""
    prepare: Callable[..., Awaitable[Any]] | None
    """Of a `prepared` operation: looks and tries, outside any transaction, and changes nothing. Of one that takes in
    `bytes`: keeps them, which nobody sees before its transaction."""

    @property
    def summary(self) -> str:
        return (self.function.__doc__ or "").strip().splitlines()[0]

    def run(self, ctx: Context, ask: Ask, done: Any = None) -> Any:
        """Run the function in one transaction, if the caller may; `done` is what `work_outside` gave."""
        self._check(ctx)
        match self.row.kind:
            case "read" | "write":
                return self.function(ctx, ask)
            case "prepared" | "bytes" if done is not None:
                return self.function(ctx, ask, done)
            case "bytes" if self.prepare is None:
                return self.function(ctx, ask)
            case "work" if done is not None:
                return done
            case kind:
                raise Broken(f"{self.row.name} is of the kind {kind}, which cannot be done in one transaction.")

    def _check(self, ctx: Context) -> Context:
        if self.row.who == "admin":
            ctx.admin()
        return ctx

    def answered(self, found: Any) -> Answer:
        """Make the answer of what the function found."""
        return found if self.finish is None else self.finish(found)

    def desk(self, store: Store, instance: Instance, context: Callable[[Tx], Context]) -> Desk:
        """Give what the operation works with outside its transaction."""
        return Desk(store=store, context=lambda tx: self._check(context(tx)), hands_or_none=instance.hands)

    async def work_outside(self, store: Store, instance: Instance, context: Callable[[Tx], Context], ask: Ask) -> Any:
        """Do what an operation does outside its transaction: prepare it, or all of its work."""
        desk = self.desk(store, instance, context)
        match self.row.kind:
            case "prepared":
                assert self.prepare
                return await self.prepare(desk, ask)
            case "work":
                return await self.function(desk, ask)
            case _:
                return None

    async def perform(
        self, store: Store, instance: Instance, user_id: str, context: Callable[[Tx], Context], ask: Ask
    ) -> Answer:
        """Answer in one transaction of its own, with the work outside of it first."""
        if self.row.kind == "read":
            return await store.read_for(user_id, lambda tx: self.run(context(tx), ask), self.finish)
        done = await self.work_outside(store, instance, context, ask)
        if self.row.kind == "work":
            return done
        return await store.write(lambda tx: self.run(context(tx), ask, done))


@cache
def bind(row: Operation) -> BoundOperation:
    """Find the function of an operation; its module is imported only now."""
    module = import_module(f"homing.operations.{row.module}")
    function = getattr(module, row.name)
    # Of a file that goes out nothing is prepared: its door reads the bytes.
    prepare = getattr(module, f"prepare_{row.name}", None) if row.kind in ("prepared", "bytes") else None
    types = get_type_hints(function)
    answer, finish = types["return"], None
    if not issubclass(answer, Answer):
        finish = answer.finish
        answer = get_type_hints(finish)["return"]
    return BoundOperation(
        row=row, function=function, request=types["ask"], answer=answer, finish=finish, prepare=prepare
    )
