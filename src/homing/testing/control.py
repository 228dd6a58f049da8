"""What a test server in another process can be asked, whichever server it is."""

import asyncio

from homing.testing.loopback import Exchange
from homing.testing.request_log import RequestLog, as_json


async def show_log(exchange: Exchange, log: RequestLog) -> None:
    """Answer with the requests so far; with `?wait_for=N&timeout=S` only when that many have come."""
    query = exchange.request.query
    count, timeout = int(query.get("wait_for", "0")), float(query.get("timeout", "10"))
    try:
        seen = await asyncio.to_thread(log.wait_for_count, count, timeout=timeout)
    except TimeoutError as error:
        exchange.answer_json(408, {"detail": str(error)})
    else:
        exchange.answer_json(200, {"requests": [as_json(request) for request in seen]})


def refuse_unknown(exchange: Exchange, *known: str) -> None:
    """Say what could have been asked instead."""
    request = exchange.request
    exchange.answer_json(404, {"detail": f"Ask for one of {', '.join(known)}; not {request.method} {request.path}."})
