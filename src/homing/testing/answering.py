"""How the stub plays a reply: its pace, its gate and its fault, in whole or as a stream."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from homing.testing.loopback import Exchange
from homing.testing.replies import Fault, Reply
from homing.testing.wires import Wire

_JSON = {"content-type": "application/json"}
_EVENTS = {"content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache"}


async def answer(exchange: Exchange, wire: Wire, body: Mapping[str, Any], reply: Reply, gate: asyncio.Event) -> str:
    """Answer one model call as its reply says, and tell how it ended."""
    await asyncio.sleep(reply.first_byte_seconds)
    if not reply.hold_after_chunks:
        await gate.wait()
    match reply.fault:
        case Fault(kind=int(status)) as fault:
            exchange.answer_json(status, wire.error(status, fault), _retry_after(fault))
            return f"status {status}"
        case Fault(kind="drop"):
            exchange.cut()
            return "dropped"
        case Fault(kind="hang"):
            await asyncio.Event().wait()
        case _:
            pass
    if body.get("stream"):
        return await _stream(exchange, wire, body, reply, gate)
    return await _whole(exchange, wire, body, reply, gate)


async def _whole(exchange: Exchange, wire: Wire, body: Mapping[str, Any], reply: Reply, gate: asyncio.Event) -> str:
    await gate.wait()
    await asyncio.sleep(reply.delay_seconds * len(reply.pieces))
    answer = json.dumps(wire.whole(reply, body)).encode()
    match reply.fault:
        case None:
            exchange.answer(200, answer, _JSON)
            return "answered"
        case Fault(kind="malformed" | "truncated" as kind):
            exchange.answer(200, answer[: len(answer) // 2], _JSON)
            return kind
        case Fault(kind="stream_error") as fault:
            exchange.answer_json(500, wire.error(500, fault))
            return "status 500"
        case _:
            exchange.cut_answer(answer, _JSON)
            return "cut"


async def _stream(exchange: Exchange, wire: Wire, body: Mapping[str, Any], reply: Reply, gate: asyncio.Event) -> str:
    start, *chunks, end = wire.stream(reply, body)
    exchange.start(_EVENTS)
    exchange.send(start)
    for sent, chunk in enumerate(chunks):
        if sent == reply.hold_after_chunks:
            await gate.wait()
        await asyncio.sleep(reply.delay_seconds)
        exchange.send(chunk)
    await gate.wait()
    return _end_stream(exchange, wire, reply.fault, end)


def _end_stream(exchange: Exchange, wire: Wire, fault: Fault | None, end: bytes) -> str:
    match fault:
        case None:
            exchange.send(end)
            exchange.finish()
            return "answered"
        case Fault(kind="malformed"):
            exchange.send(wire.broken_event())
            exchange.finish()
            return "malformed"
        case Fault(kind="stream_error"):
            exchange.send(wire.stream_error(fault))
            exchange.finish()
            return "stream_error"
        case Fault(kind="truncated"):
            exchange.finish()
            return "truncated"
        case _:
            exchange.cut()
            return "cut"


def _retry_after(fault: Fault) -> dict[str, str]:
    if fault.retry_after_seconds is None:
        return {}
    return {"retry-after": f"{fault.retry_after_seconds:g}"}
