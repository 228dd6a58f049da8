"""A server on loopback that keeps every request whole; a test can wait for more of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Self

from homing.testing.gates import Gates
from homing.testing.loopback import LoopbackServer, Serve
from homing.testing.request_log import LoggedRequest, RequestLog


class LoggedServer:
    """What the stub of models and the receiver of webhooks have in common."""

    def __init__(self, serve: Serve, *, port: int, log: Path | None) -> None:
        self._log = RequestLog(log)
        self._gates = Gates()
        self._server = LoopbackServer(serve, port=port)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> None:
        """Begin to listen."""
        self._server.start()

    def close(self) -> None:
        """End everything, what is held or hangs included."""
        self._server.close()
        self._log.close()

    @property
    def requests(self) -> list[LoggedRequest]:
        """The requests so far, first one first."""
        return self._log.snapshot()

    def wait_for_requests(self, count: int, *, timeout: float = 30.0) -> list[LoggedRequest]:
        """Wait until that many requests have come in, answered or not."""
        return self._log.wait_for_count(count, timeout=timeout)

    def wait_for(
        self, enough: Callable[[list[LoggedRequest]], bool], *, timeout: float = 30.0, what: str = "the requests"
    ) -> list[LoggedRequest]:
        """Wait until the requests so far are enough for you."""
        return self._log.wait_for(enough, timeout=timeout, what=what)
