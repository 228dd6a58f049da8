"""A session's stream of events over plain HTTP, resumed where it broke off."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

from homing.client.problems import answered
from homing.client.remote import Client, connection_to, parsed
from homing.model.contract import STREAMS, Json, filled

# The server says something every 15 s, if only a comment.
_SILENCE_SECONDS = 40.0
_RETRY_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event: a noun and the object, as CONTRACT has them."""

    noun: str
    data: Json
    id: str | None


PING = Event(noun="ping", data={}, id=None)
"""The server says that it is still there."""


class Stream:
    """Follows one session, or everything of a person, until told to leave."""

    def __init__(self, server: Client, key: str | None) -> None:
        self._server = server
        self._path = filled(STREAMS["watch_session"], {"session_key": key}) if key else STREAMS["watch_events"]
        self._last: str | None = None
        self._left = threading.Event()
        self._connection: http.client.HTTPConnection | None = None

    def events(self) -> Iterator[Event]:
        """Give events for as long as nobody leaves; a lost connection is made again."""
        while not self._left.is_set():
            with suppress(OSError, http.client.HTTPException):
                for event in self.connected():
                    self._last = event.id or self._last
                    yield event
            self._left.wait(_RETRY_SECONDS)

    def leave(self) -> None:
        """End the stream and release anyone who waits for its next event."""
        self._left.set()
        connection = self._connection
        if connection is not None and connection.sock is not None:
            with suppress(OSError):
                connection.sock.shutdown(2)

    def connected(self) -> Iterator[Event]:
        """Give events, and a ping now and then, until the connection is lost."""
        connection = connection_to(self._server.url, _SILENCE_SECONDS)
        headers = {"Accept": "text/event-stream"} | self._server.headers
        path = urlsplit(self._server.url).path.rstrip("/") + self._path
        connection.request("GET", f"{path}?after={self._last}" if self._last else path, headers=headers)
        response = connection.getresponse()
        self._connection = connection
        try:
            if response.status != 200:
                raise answered(response.status, parsed(response.read()))
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
        if text.startswith(":"):
            yield PING
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
