"""WebSockets that a channel listens to: JSON frames in and out, and failures as ChannelFailed.

Frames are read as they come and kept until they are asked for, so pings are answered while messages are being written.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, TypeVar

import httpx2
from httpx2.websockets import AsyncWebSocketSession, HTTPXWSException, WebSocketDisconnect, WebSocketUpgradeError
from wsproto.utilities import LocalProtocolError

from homing.model.errors import ChannelFailed

T = TypeVar("T")
# Of one frame. Discord describes a whole server in one.
_MOST_BYTES = 16 << 20
# That wait to be asked for; with more, the other side has to wait.
_MOST_FRAMES = 1_000
_END = object()


class SocketClosed(Exception):
    """The other side closed, or the connection broke off: then the code is None."""

    def __init__(self, code: int | None, reason: str = "") -> None:
        super().__init__(reason or "the connection broke off")
        self.code = code
        self.reason = reason


class Socket:
    """An open WebSocket."""

    def __init__(self, session: AsyncWebSocketSession, notice: Callable[[Any], None] | None) -> None:
        self._session = session
        self._notice = notice
        self._frames: asyncio.Queue[Any] = asyncio.Queue(_MOST_FRAMES)
        self._closed: SocketClosed | None = None

    async def receive(self) -> Any:
        """Give the next frame; raise SocketClosed after the last."""
        if self._closed is not None and self._frames.empty():
            raise self._closed
        frame = await self._frames.get()
        if frame is _END:
            raise self._closed or SocketClosed(None)
        return frame

    async def send(self, frame: Any) -> None:
        """Send a frame; raise SocketClosed if that is not possible any more."""
        try:
            await self._session.send_text(json.dumps(frame))
        except (HTTPXWSException, LocalProtocolError) as error:
            raise SocketClosed(None) from error

    def end(self, code: int | None, reason: str = "") -> None:
        """Let `receive` say that it is over, after the frames that have come."""
        self._closed = self._closed or SocketClosed(code, reason)
        # Where it is full, nobody waits in `receive`.
        with suppress(asyncio.QueueFull):
            self._frames.put_nowait(_END)

    async def read(self) -> None:
        """Keep what comes until the end."""
        try:
            while True:
                frame = json.loads(await self._session.receive_text())
                if self._notice is not None:
                    self._notice(frame)
                await self._frames.put(frame)
        except WebSocketDisconnect as error:
            self.end(error.code, error.reason or "")
        except (HTTPXWSException, ValueError):
            self.end(None)
        except Exception as error:  # noqa: BLE001 - the rim of a task: without an end `receive` would wait forever
            self.end(None, f"a frame could not be read ({type(error).__name__})")


async def converse(
    client: httpx2.AsyncClient,
    url: str,
    work: Callable[[Socket], Awaitable[T]],
    *,
    platform: str,
    notice: Callable[[Any], None] | None = None,
    leave_code: int = 1000,
) -> T:
    """Open a WebSocket, let `work` talk on it, and close it; `notice` sees each frame as it comes."""
    try:
        # What leaves the block is wrapped into a group there, so nothing may.
        async with client.websocket(url, max_message_size_bytes=_MOST_BYTES) as session:
            socket = Socket(session, notice)
            reading = asyncio.create_task(socket.read())
            try:
                return await work(socket)
            except Exception as error:  # noqa: BLE001 - raised again below
                failure = error
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
                await session.close(leave_code)
    except WebSocketUpgradeError as error:
        code = error.response.status_code
        raise ChannelFailed(f"{platform} refused to open a connection: it answered {code}.") from None
    except httpx2.HTTPError as error:
        # Not its words: an address may hold a ticket.
        raise ChannelFailed(f"{platform} could not be reached ({type(error).__name__}).") from None
    except BaseExceptionGroup as error:
        raise ChannelFailed(f"The connection to {platform} broke off.") from error
    raise failure
