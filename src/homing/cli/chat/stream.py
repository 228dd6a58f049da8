"""A session's stream of events over plain HTTP, resumed where it broke off."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from homing.cli.problems import answered
from homing.cli.server import Json, part, spelled

# The server says something every 15 s, if only a comment.
_SILENCE_SECONDS = 40.0
_RETRY_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event: a noun and the object, as CONTRACT has them."""

    noun: str
    data: Json
    id: str | None


class Stream:
    """Follows one session until told to leave."""

    def __init__(self, url: str, token: str | None, key: str) -> None:
        self._url = url
        self._token = token
        self._path = f"/api/sessions/{part(key)}/events"
        self._last: str | None = None
        self._left = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def events(self) -> Iterator[Event]:
        """Give events for as long as nobody leaves; a lost connection is made again."""
        while not self._left.is_set():
            with suppress(OSError, http.client.HTTPException):
                for event in self._connected():
                    self._last = event.id or self._last
                    yield event
            self._left.wait(_RETRY_SECONDS)

    def leave(self) -> None:
        """End the stream; whoever waits for its next event is released."""
        self._left.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(2)

    def _connected(self) -> Iterator[Event]:
        at = urlsplit(self._url)
        kind = http.client.HTTPSConnection if at.scheme == "https" else http.client.HTTPConnection
        connection = kind(at.hostname or "", at.port, timeout=_SILENCE_SECONDS)
        headers = {"Accept": "text/event-stream", "User-Agent": "homing-cli"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request("GET", at.path + spelled(self._path, {"after": self._last}), headers=headers)
        response = connection.getresponse()
        self._connection = connection
        try:
            if response.status != 200:
                raise answered(response.status, _parsed(response.read()))
            yield from _read(response)
        finally:
            self._connection = None
            connection.close()


def _read(response: http.client.HTTPResponse) -> Iterator[Event]:
    noun, data, id_ = "message", list[str](), None
    while line := response.readline():
        text = line.decode("utf-8").rstrip("\r\n")
        if not text:
            if data:
                yield Event(noun=noun, data=json.loads("\n".join(data)), id=id_)
            noun, data, id_ = "message", [], None
            continue
        name, _, value = text.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                noun = value
            case "data":
                data.append(value)
            case "id":
                id_ = value
            case _:
                pass


def _parsed(raw: bytes) -> Any:
    with suppress(ValueError):
        return json.loads(raw)
    return None
