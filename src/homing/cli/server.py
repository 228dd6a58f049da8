"""One way to ask: a method, a path, JSON in and JSON out. Whether a server runs or not, it is the same API."""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol
from urllib.parse import quote, urlencode

Json = dict[str, Any]

PAGE = 200


class Server(Protocol):
    """Whoever answers: a running server, or the same app in this process."""

    @property
    def alive(self) -> bool:
        """Say whether anything fires: a server runs."""
        ...

    def ask(self, method: str, path: str, body: Json | None = None) -> Any:
        """Ask, and return the answer's JSON; a refusal is raised as a Problem."""
        ...

    def close(self) -> None: ...


def spelled(path: str, query: Mapping[str, object] | None = None) -> str:
    """Add a query to a path, leaving out what is not asked for."""
    given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def part(text: str) -> str:
    """Spell an id or a session key as part of a path."""
    return quote(text, safe=":@")


def pages(server: Server, path: str, query: Mapping[str, object], limit: int | None = None) -> Iterator[Json]:
    """Read a list page by page, up to `limit` items or all."""
    cursor: str | None = None
    left = limit
    while True:
        size = PAGE if left is None else min(PAGE, left)
        page = server.ask("GET", spelled(path, {**query, "limit": size, "cursor": cursor}))
        yield from page["items"]
        cursor = page.get("next_cursor")
        left = None if left is None else left - len(page["items"])
        if not cursor or (left is not None and left <= 0):
            return


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
