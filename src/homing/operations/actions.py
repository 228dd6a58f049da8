"""What a person approved, as the machine that carries it out sees it."""

from typing import Any, Protocol

from homing.model.actions import ActionResult
from homing.store import Tx


class WorkAgain(Exception):
    """What the work was based on has changed before its end could be written: work again, on what is there now."""


class Action(Protocol):
    """One thing that was approved: work outside any transaction, then an end inside one."""

    @property
    def repeatable(self) -> bool: ...

    @property
    def seconds(self) -> float: ...

    async def work(self) -> Any: ...

    def finish(self, tx: Tx, worked: Any, /) -> ActionResult: ...
