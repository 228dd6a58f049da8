"""One way to ask: an operation's name and its fields in, JSON out. Whether a server runs or not, it is the same API."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Self

from homing.client.problems import Problem, worded
from homing.model.contract import Json, Operation, named
from homing.model.errors import Invalid, Refused, TooLarge
from homing.model.files import MAX_FILE, size_words
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
            raise self._problem(error) from None

    @staticmethod
    def _problem(error: Refused) -> Problem:
        from homing.model.ids import new_id

        return Problem(refused(error, new_id("req")))

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

    def add_file(self, path: Path) -> Json:
        """Keep a file; give what is known of it. Its id goes into `files` of `send_message`."""
        try:
            size = path.stat().st_size
            if not path.is_file():
                raise Invalid(f"{path} is not a file.", field="file", code="wrong_type")
            if size > MAX_FILE:
                raise TooLarge(f"{path} has {size_words(size)}; a file has at most {MAX_FILE >> 20} MB.")
            with path.open("rb") as file:
                return self._send_file(named("add_file"), path.name, file)
        except OSError as error:
            raise Problem(worded(f"{path} cannot be read: {error.strerror}.", "unreadable", "Failed")) from error
        except Refused as error:
            raise self._problem(error) from None

    def get_file(self, file_id: str, into: BinaryIO) -> str:
        """Write the bytes of a file into another one; give its name."""
        try:
            return self._fetch(named("get_file"), {"file_id": file_id}, into)
        except Refused as error:
            raise self._problem(error) from None

    def export_session(self, session_key: str, into: BinaryIO, *, format: str = "markdown") -> str:  # noqa: A002 - as in the API
        """Write a whole conversation into a file; give the name that fits it."""
        try:
            return self._fetch(named("export_session"), {"session_key": session_key, "format": format}, into)
        except Refused as error:
            raise self._problem(error) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def _answer(self, operation: Operation, fields: Mapping[str, Any]) -> Any: ...

    @abstractmethod
    def _send_file(self, operation: Operation, name: str, file: BinaryIO) -> Json: ...

    @abstractmethod
    def _fetch(self, operation: Operation, fields: Mapping[str, Any], into: BinaryIO) -> str: ...
