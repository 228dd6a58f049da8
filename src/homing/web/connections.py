"""One connection, and how long it may stay silent: uvicorn waits forever, and descriptors are few.

A head comes within seconds, a body does not stall, an answer is read, and there are fewer connections than descriptors:
when all are taken, the one that waited longest without asking anything makes room, strangers first; then the one whose
body has been coming in longest without a proof of who sends it.
"""

import asyncio
import json
import math
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import chain
from typing import Any

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from homing.model.ids import new_id
from homing.model.problem_document import spelled

BACKLOG = 128
"""How many connections the system keeps for us until we accept them."""
ACCEPTED_AT_ONCE = 16
"""How many of them asyncio accepts in one round of its loop."""
# A connection is accepted in one round, made in the next, seen to be too many in the third, and its descriptor is free
# after the fourth, while each round accepts more. Newer Pythons accept one more than they are asked to.
_ABOVE_THE_CAP = 4 * (ACCEPTED_AT_ONCE + 1)
# Databases, logs, models, receivers, programs and imports need some.
_FOR_OTHERS = 96
_MOST = 4096
_FEWEST = 32


@dataclass(frozen=True, kw_only=True)
class Patience:
    """How long a client may take for each part of a request."""

    head_seconds: float = 10.0
    stall_seconds: float = 30.0
    body_seconds: float = 300.0
    unread_seconds: float = 60.0
    """How long an answer may lie there unread."""
    linger_seconds: float = 5.0
    """How long a body may go on that nobody wants any more, and how long the last bytes of an answer may take."""


@dataclass(kw_only=True)
class UnprovenConnections:
    """What the connections of one server share."""

    cap: int
    patience: Patience = field(default_factory=Patience)
    idle: "dict[Connection, None]" = field(default_factory=dict["Connection", None])
    """Strangers that ask nothing at the moment, the one that has waited longest first."""
    kept: "dict[Connection, None]" = field(default_factory=dict["Connection", None])
    """The same of those whose last request showed who they are: a client is about to use such a connection again."""
    receiving: "dict[Connection, None]" = field(default_factory=dict["Connection", None])
    """Those whose body still comes in, the oldest first."""

    def make_room(self) -> bool:
        """Close the connection that is missed least; False when all are in use."""
        longest = next(chain(self.idle, self.kept, (one for one in self.receiving if not one.proven)), None)
        if longest is None:
            return False
        self.forget(longest)
        longest.transport.abort()
        return True

    def forget(self, connection: "Connection") -> None:
        for known in (self.idle, self.kept, self.receiving):
            known.pop(connection, None)


def connection_cap(descriptors: int) -> int:
    """Say how many connections there may be in a process with so many descriptors."""
    return max(_FEWEST, min(_MOST, descriptors - _ABOVE_THE_CAP - _FOR_OTHERS))


class Connection(H11Protocol):
    """uvicorn's connection, with an end to its patience."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        unproven: UnprovenConnections,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._doorstep = unproven
        self._patience = unproven.patience
        self._timer: asyncio.TimerHandle | None = None
        self._unread_timer: asyncio.TimerHandle | None = None
        self._body_ends = math.inf
        """When a body that is still coming in must be whole."""

    @property
    def proven(self) -> bool:
        """Whether the last request has shown who sends it; the doorman notes it there."""
        return self.scope is not None and bool(self.scope.get("state", {}).get("proven"))  # type: ignore[redundant-expr]

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self._doorstep.cap and not self._doorstep.make_room():
            self._refuse(503, "not_ready", "This server has too many open connections. Try again soon.")
            return
        self._doorstep.idle[self] = None
        self._expire_in(self._patience.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._doorstep.forget(self)
        self._stop(self._timer)
        self._stop(self._unread_timer)
        # Without this a connection that broke keeps its timer, and the timer the connection.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            self._body_ends = self.loop.time() + self._patience.linger_seconds
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread_timer = self.loop.call_later(self._patience.unread_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop(self._unread_timer)

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._abort_soon()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "malformed", "This is not an HTTP request that can be read.")

    def _watch(self) -> None:
        """Set the timer for what the client owes now."""
        if self.transport.is_closing():
            return
        if self.conn.their_state is h11.IDLE:
            self._body_ends = math.inf
            self._doorstep.receiving.pop(self, None)
            (self._doorstep.kept if self.proven else self._doorstep.idle).setdefault(self)
            if self.timeout_keep_alive_task is not None:
                # Nothing is owed: the next request may come or not, and uvicorn's own timer ends the wait.
                self._stop(self._timer)
                self._timer = None
            elif self._timer is None:
                self._expire_in(self._patience.head_seconds)
            return
        self._doorstep.idle.pop(self, None)
        self._doorstep.kept.pop(self, None)
        self._stop(self._timer)
        self._timer = None
        if self.conn.their_state is h11.SEND_BODY:
            self._doorstep.receiving.setdefault(self)
            now = self.loop.time()
            self._body_ends = min(self._body_ends, now + self._patience.body_seconds)
            self._expire_in(min(self._patience.stall_seconds, self._body_ends - now))
        else:
            self._doorstep.receiving.pop(self, None)

    def _expire_in(self, seconds: float) -> None:
        self._stop(self._timer)
        self._timer = self.loop.call_later(max(0.0, seconds), self._expire)

    def _expire(self) -> None:
        self._timer = None
        if self.transport.is_closing():
            return
        in_body = self.conn.their_state is h11.SEND_BODY
        if in_body and self.flow.read_paused and not self.cycle.response_started:
            # The server itself has paused reading.
            self._expire_in(self._patience.stall_seconds)
        elif in_body and self.cycle.response_started:
            self._close()
        elif in_body or self.conn.trailing_data[0]:
            self._refuse(408, "malformed", "The request took too long to arrive. Send it again, whole.")
        else:
            self._close()

    def _refuse(self, status: int, code: str, detail: str) -> None:
        """Answer what never became a request, and close."""
        body = json.dumps(spelled(status, code, detail, new_id("req"))).encode()
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/problem+json\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._abort_soon()

    def _abort_soon(self) -> None:
        # Closing waits until everything is written, and a client that does not read would keep it waiting.
        self.loop.call_later(self._patience.linger_seconds, self.transport.abort)

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()
