"""The server's side of a WebSocket, for stubs of platforms that talk that way."""

import asyncio
import base64
import hashlib
import json
import zlib
from typing import Any

from wsproto.connection import Connection, ConnectionState, ConnectionType
from wsproto.events import BytesMessage, CloseConnection, Ping, TextMessage

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


def accept_key(key: str) -> str:
    """Answer the key of a client that asks for a WebSocket."""
    return base64.b64encode(hashlib.sha1(f"{key}{_GUID}".encode(), usedforsecurity=False).digest()).decode()


class LoopbackSocket:
    """JSON frames to and from one client."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.Transport) -> None:
        self._reader = reader
        self._transport = transport
        self._connection = Connection(ConnectionType.SERVER)
        self._texts: list[str] = []
        self._partial = ""
        self._deflate: Any = None
        self.close_code: int | None = None
        """What the client said when it left."""

    def compress(self) -> None:
        """Send all frames as one stream of zlib from now on, as Discord does for who asks for it."""
        self._deflate = zlib.compressobj()

    @property
    def open(self) -> bool:
        return self._connection.state is ConnectionState.OPEN and not self._transport.is_closing()

    def send(self, frame: Any) -> None:
        """Send a frame, unless the client has left."""
        if not self.open:
            return
        text = json.dumps(frame)
        if self._deflate is None:
            self._transport.write(self._connection.send(TextMessage(data=text)))
            return
        data = self._deflate.compress(text.encode()) + self._deflate.flush(zlib.Z_SYNC_FLUSH)
        self._transport.write(self._connection.send(BytesMessage(data=data)))

    def close(self, code: int = 1000, reason: str = "") -> None:
        """Say goodbye."""
        if self.open:
            self._transport.write(self._connection.send(CloseConnection(code=code, reason=reason)))

    def cut(self) -> None:
        """Drop the connection without a word."""
        self._transport.abort()

    async def receive(self) -> Any:
        """Give the next frame; None once the client has left."""
        while not self._texts:
            data = await self._reader.read(65536)
            if not data:
                return None
            self._connection.receive_data(data)
            for event in self._connection.events():
                match event:
                    case TextMessage():
                        self._partial += event.data
                        if event.message_finished:
                            self._texts.append(self._partial)
                            self._partial = ""
                    case Ping():
                        self._transport.write(self._connection.send(event.response()))
                    case CloseConnection():
                        self.close_code = event.code
                        if self._connection.state is ConnectionState.REMOTE_CLOSING:
                            self._transport.write(self._connection.send(event.response()))
                        return None
                    case _:
                        pass
        return json.loads(self._texts.pop(0))
