"""Finds the function of each operation in the contract's table, and runs it under the rules that all share."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any, get_type_hints

from homing.model.contract import Operation
from homing.operations.context import Context
from homing.operations.shapes.base import Answer, Ask
from homing.store import Store, Tx


@dataclass(frozen=True, kw_only=True)
class BoundOperation:
    """A row of the contract with its function, and the types that the function's signature names."""

    row: Operation
    function: Callable[[Context, Any], Any]
    request: type[Ask]
    answer: type[Answer]
    finish: Callable[[Any], Answer] | None
    """Computes the answer of what the function found, after the transaction."""

    @property
    def summary(self) -> str:
        return (self.function.__doc__ or "").strip().splitlines()[0]

    def run(self, ctx: Context, ask: Ask) -> Any:
        """Run the function in one transaction, if the caller may."""
        if self.row.who == "admin":
            ctx.admin()
        return self.function(ctx, ask)

    def answered(self, found: Any) -> Answer:
        """Make the answer of what the function found."""
        return found if self.finish is None else self.finish(found)

    async def perform(self, store: Store, user_id: str, context: Callable[[Tx], Context], ask: Ask) -> Answer:
        """Answer in one transaction of its own: reading, or writing."""
        if self.row.kind == "read":
            return await store.read_for(user_id, lambda tx: self.run(context(tx), ask), self.finish)
        return await store.write(lambda tx: self.run(context(tx), ask))


@cache
def bind(row: Operation) -> BoundOperation:
    """Find the function of an operation; its module is imported only now."""
    function = getattr(import_module(f"homing.operations.{row.module}"), row.name)
    types = get_type_hints(function)
    answer, finish = types["return"], None
    if not issubclass(answer, Answer):
        finish = answer.finish
        answer = get_type_hints(finish)["return"]
    return BoundOperation(row=row, function=function, request=types["ask"], answer=answer, finish=finish)
