"""One way to ask: an operation's name and its fields in, JSON out. Whether a server runs or not, it is the same API."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Self

from homing.client.problems import Problem
from homing.model.contract import Json, Operation, named
from homing.model.errors import Refused
from homing.model.problem_document import refused

PAGE = 200


class BaseClient(ABC):
    """What answers a command: a running server, or the operations in this process."""

    alive: bool
    """Whether anything fires: a server runs."""

    def ask(self, name: str, /, **fields: Any) -> Any:
        """Ask an operation; give its answer's JSON, or raise a Problem.

        None is null in a body, which asks for the default; in a query, and in a path, it is nothing.
        """
        try:
            return self._answer(named(name), fields)
        except Refused as error:
            from homing.model.ids import new_id

            raise Problem(refused(error, new_id("req"))) from None

    def pages(self, name: str, /, *, limit: int | None = None, **fields: Any) -> Iterator[Json]:
        """Read a list page by page, up to `limit` items or all."""
        cursor: str | None = None
        left = limit
        while True:
            size = PAGE if left is None else min(PAGE, left)
            page = self.ask(name, **fields, limit=size, cursor=cursor)
            yield from page["items"]
            cursor = page.get("next_cursor")
            left = None if left is None else left - len(page["items"])
            if not cursor or (left is not None and left <= 0):
                return

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _answer(self, operation: Operation, fields: Mapping[str, Any]) -> Any: ...
