"""What came in, whole: in memory for the test, and as JSON lines for a checker that reads after the fact.

A line is written when a request arrives and another when it is finished, so a kill -9 of anybody else loses nothing.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from homing.testing.replies import WireMessage, last_user_text

_SECRET = frozenset({"authorization", "proxy-authorization", "x-api-key", "api-key", "cookie"})


@dataclass(frozen=True, kw_only=True)
class LoggedRequest:
    """One request: all of it, but without its keys. `outcome` and `finished_at` are None while it is being answered."""

    number: int
    protocol: str
    path: str
    headers: Mapping[str, str]
    text: str
    messages: Sequence[WireMessage] = ()
    arrived_at: datetime
    finished_at: datetime | None = None
    outcome: str | None = None

    @property
    def body(self) -> Any:
        """The body read as JSON, or None if it is none."""
        try:
            return json.loads(self.text)
        except ValueError:
            return None

    @property
    def last_user_text(self) -> str:
        return last_user_text(self.messages)

    def texts(self) -> list[str]:
        """Give the texts of the messages, in order."""
        return [message.text for message in self.messages]


class RequestLog:
    """The requests so far; anyone may wait for more."""

    def __init__(self, path: Path | None = None) -> None:
        self._changed = threading.Condition()
        self._requests: list[LoggedRequest] = []
        # Unbuffered and append-only: a line is in the file as soon as it is written.
        self._file = path.open("ab", buffering=0) if path else None

    def arrive(
        self, *, protocol: str, path: str, headers: Mapping[str, str], text: str, messages: Sequence[WireMessage] = ()
    ) -> int:
        """Take a request down and give it its number, from 1."""
        shown = {name: "***" if name in _SECRET else value for name, value in headers.items()}
        with self._changed:
            request = LoggedRequest(
                number=len(self._requests) + 1,
                protocol=protocol,
                path=path,
                headers=shown,
                text=text,
                messages=messages,
                arrived_at=datetime.now(UTC),
            )
            self._requests.append(request)
            self._write(arrival_line(request))
            self._changed.notify_all()
        return request.number

    def finish(self, number: int, outcome: str) -> None:
        """Note how a request ended."""
        with self._changed:
            request = replace(self._requests[number - 1], outcome=outcome, finished_at=datetime.now(UTC))
            self._requests[number - 1] = request
            self._write(finish_line(request))
            self._changed.notify_all()

    def snapshot(self) -> list[LoggedRequest]:
        with self._changed:
            return list(self._requests)

    def wait_for(
        self, enough: Callable[[list[LoggedRequest]], bool], *, timeout: float, what: str
    ) -> list[LoggedRequest]:
        """Wait until the requests so far are enough; say what was missing if they never are."""
        until = time.monotonic() + timeout
        with self._changed:
            while not enough(list(self._requests)):
                if not self._changed.wait(until - time.monotonic()):
                    seen = [f"#{request.number} {request.outcome or 'unfinished'}" for request in self._requests]
                    raise TimeoutError(f"Waited {timeout:g} s for {what}; seen: {', '.join(seen) or 'nothing'}.")
            return list(self._requests)

    def wait_for_count(self, count: int, *, timeout: float) -> list[LoggedRequest]:
        """Wait until that many requests have come in, answered or not."""
        return self.wait_for(lambda seen: len(seen) >= count, timeout=timeout, what=f"{count} requests")

    def close(self) -> None:
        with self._changed:
            if self._file:
                self._file.close()
                self._file = None

    def _write(self, line: Mapping[str, Any]) -> None:
        if self._file:
            self._file.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")


def arrival_line(request: LoggedRequest) -> dict[str, Any]:
    """Say that a request came, as the log file and the control endpoints do."""
    body = request.body
    return {
        "event": "arrived",
        "number": request.number,
        "at": request.arrived_at.isoformat(),
        "protocol": request.protocol,
        "path": request.path,
        "headers": dict(request.headers),
        "body": body,
        # A webhook's signature is made over the text, and what is not JSON has nothing else.
        **({"text": request.text} if body is None or request.protocol == "webhook" else {}),
    }


def finish_line(request: LoggedRequest) -> dict[str, Any]:
    """Say how a request ended."""
    at = request.finished_at
    return {
        "event": "finished",
        "number": request.number,
        "at": at.isoformat() if at else None,
        "outcome": request.outcome,
    }


def as_json(request: LoggedRequest) -> dict[str, Any]:
    """Give a request as one object, finished or not."""
    finish = finish_line(request)
    arrival = arrival_line(request)
    del arrival["event"]
    return {**arrival, "finished_at": finish["at"], "outcome": finish["outcome"]}
