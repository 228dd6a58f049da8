"""Compression by Accept-Encoding. Only whole JSON answers to GET are compressed here; a stream passes untouched.

No answer to GET holds a secret: what is shown once (a token, a signing secret) answers a POST (ADR 0063).
"""

import asyncio
import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

AT_LEAST_BYTES = 1024
"""Below this a compressed answer takes as many packets as a plain one."""
_IN_THREAD_BYTES = 64 * 1024
_LEVEL = 5


def accepted(header: str) -> frozenset[str]:
    """Name which of `br` and `gzip` a reader takes; a weight of 0 means not at all."""
    weights: dict[str, float] = {}
    for part in header.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        weights[name] = min((_weight(parameter) for parameter in parameters), default=1.0)
    other = weights.get("*", 0.0)
    return frozenset(name for name in ("br", "gzip") if weights.get(name, other) > 0)


def _weight(parameter: str) -> float:
    name, _, value = parameter.partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0


class CompressionMiddleware:
    """Gzips whole JSON answers to GET."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        takes_gzip = "gzip" in accepted(Headers(scope=scope).get("accept-encoding", ""))
        held: Message | None = None

        async def answer(message: Message) -> None:
            nonlocal held
            if message["type"] == "http.response.start" and _is_json(message):
                # Its headers wait for the body, which follows at once: it is whole.
                held = message
                return
            if held is not None:
                start, held = held, None
                if message["type"] == "http.response.body" and not message.get("more_body", False):
                    message = await _compressed(start, message, takes_gzip)
                await send(start)
            await send(message)

        await self.app(scope, receive, answer)


def _is_json(start: Message) -> bool:
    """Say whether it is a JSON answer whose length is known: of a stream it is not."""
    headers = Headers(raw=start["headers"])
    kind = headers.get("content-type", "").partition(";")[0]
    return (
        start["status"] == 200
        and kind == "application/json"
        and "content-encoding" not in headers
        and int(headers.get("content-length", "0")) >= AT_LEAST_BYTES
    )


async def _compressed(start: Message, message: Message, takes_gzip: bool) -> Message:
    headers = MutableHeaders(raw=start["headers"])
    headers.add_vary_header("Accept-Encoding")
    if not takes_gzip:
        return message
    body: bytes = message["body"]
    if len(body) < _IN_THREAD_BYTES:
        packed = _pack(body)
    else:
        # Milliseconds that other requests and streams would wait for.
        packed = await asyncio.to_thread(_pack, body)
    headers["Content-Encoding"] = "gzip"
    headers["Content-Length"] = str(len(packed))
    return {**message, "body": packed}


def _pack(body: bytes) -> bytes:
    return gzip.compress(body, compresslevel=_LEVEL, mtime=0)
