"""Loop stalls: for how long one hostile body at each door keeps everybody else waiting; one process, real sockets.

The bodies are those of FAULTS D-H1: a megabyte of members, of lists, of levels, and as many unknown names as are read.
The clients are threads of the same process, so a stall is never measured too small.
"""

import argparse
import asyncio
import http.client
import json
import socket
import statistics
from collections.abc import Mapping
from contextlib import nullcontext
from urllib.parse import urlsplit

from benchmarks._instance import database, instance, say
from benchmarks._witness import watched_loop
from homing.cli.serving import make_doors
from homing.model.people import OWNER
from homing.store import people
from homing.web.server import make_server
from homing.wiring import Homing

TOKEN = "hom_of_the_benchmark_and_long_enough"
SESSION = "web:stalls"
BODIES: Mapping[str, bytes] = {
    "small": b'{"text": "hello"}',
    "members": json.dumps({f"{number:05x}": 1 for number in range(75_000)}).encode(),
    "lists": b'{"text": [' + b",".join([b"[]"] * 300_000) + b"]}",
    "commas": b'{"text": [' + b",".join([b"[]"] * 8000) + b"]}",
    "levels": b'{"text": ' + b"[" * 500_000,
    "names": json.dumps({f"unknown_{number}": 1 for number in range(199)}).encode(),
}
DOORS: Mapping[str, str] = {
    "add_job": "/api/jobs",
    "send_message": f"/api/sessions/{SESSION}/messages",
    "preview_schedule": "/api/schedules/preview",
    "sign_in": "/api/auth/sign-in",
    "call_hook": "",
    "mcp": "/mcp",
}


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks stalls")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--times", type=int, default=9, help="requests per door and body")
    ask = parser.parse_args(argv)
    with database(ask.database) as url, instance(url) as homing:
        asyncio.run(_measure(homing, ask.times, ask.database))


async def _measure(homing: Homing, times: int, kind: str) -> None:
    homing.store.write_now(
        lambda tx: people.add_token(tx, user_id=OWNER, role="admin", kind="token", secret=TOKEN, expires_at=None)
    )
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = make_server(make_doors(homing), host="127.0.0.1", port=port)
        server.capture_signals = nullcontext  # type: ignore[assignment]
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        await asyncio.to_thread(_post, port, DOORS["send_message"], BODIES["small"])
        made = json.loads((await asyncio.to_thread(_post, port, f"/api/sessions/{SESSION}/hooks", b"{}"))[1])
        paths = {**DOORS, "call_hook": urlsplit(made["url"]).path}
        for door, path in paths.items():
            for body, raw in BODIES.items():
                await _stall(port, path, raw, times, database=kind, door=door, body=body)
        server.should_exit = True
        await serving


async def _stall(port: int, path: str, raw: bytes, times: int, **more: object) -> None:
    await asyncio.to_thread(_post, port, path, raw)
    worst: list[float] = []
    status, answer = 0, b""
    for _ in range(times):
        async with watched_loop() as gaps:
            status, answer = await asyncio.to_thread(_post, port, path, raw)
            await asyncio.sleep(0.02)
        worst.append(max(gaps))
    say("stall", statistics.median(worst), "ms", max_ms=round(max(worst), 1), status=status, answer=len(answer), **more)


def _post(port: int, path: str, body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if not path.startswith(("/api/auth", "/api/hooks")):
        headers["Authorization"] = f"Bearer {TOKEN}"
    try:
        connection.request("POST", path, body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()
