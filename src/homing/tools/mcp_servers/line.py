"""A line to a server: MCP messages both ways, and what can be said when they stop."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from homing.model.errors import ToolFailed

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_MESSAGE = 8 << 20
TOO_LONG = f"It sent a message of more than {MAX_MESSAGE >> 20} MB, so the connection was closed."

CHATTER = "It printed very many lines that are not messages, so the connection was closed."


class ServerFailed(ToolFailed):
    """A server cannot be used, or a call of it did not succeed. `said` are the server's own words."""

    def __init__(self, detail: str, *, said: str = "") -> None:
        super().__init__(detail)
        self.said = said

    @property
    def for_people(self) -> str:
        """One text for a row and a screen."""
        return self.detail if not self.said else f"{self.detail} It said: {self.said[-1000:]}"


@dataclass(kw_only=True)
class LineState:
    """What a transport noticed below the messages."""

    redact: Callable[[str], str] = str
    """Takes the server's secrets out of its words; before anything is cut, or a part of one could be left."""
    ended: bool = False
    why: str | None = None
    """Our sentence for what went wrong."""
    unreadable: str | None = None
    """The first thing on stdout that was not a message."""
    unreadable_lines: int = 0
    errors: Callable[[], bytes] = bytes
    """The end of stderr, as far as it has been read."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """An open line."""

    streams: "TransportStreams"
    state: LineState
