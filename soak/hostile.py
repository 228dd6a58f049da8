"""Those who misbehave, in a process of their own: big bodies, silence, guesses, hanging receivers, hostile hooks."""

import asyncio
import itertools
import json
import sys
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2

JSON = {"Content-Type": "application/json"}
MEMBERS = json.dumps({f"{number:05x}": 1 for number in range(75_000)}).encode()
LISTS = b'{"text": [' + b",".join([b"[]"] * 300_000) + b"]}"
DEEP = b'{"text": ' + b"[" * 500_000
MANY_NAMES = json.dumps({f"unknown_{number}": 1 for number in range(199)}).encode()
BODIES = (MEMBERS, LISTS, DEEP, MANY_NAMES)
_UPCOMING_JOBS = 100
_IDLE_SECONDS = 20.0
_BURST_EVERY_SECONDS = 15.0
TOO_LONG = "answers that are too long"
TOO_PATIENT = "silent for longer than allowed"
# How the counts of what each attack did begin: a soak in which one of them is missing proves nothing about it.
ATTACKS = ("bodies", "sign-ins", "guesses", "origins", "hooks", "made-up hooks", "upcoming", "silent", "bursts",
           "receivers that hang")  # fmt: skip

done: Counter[str] = Counter()


async def main(url: str, token: str, seconds: float, descriptors: int) -> None:
    authorized = {"Authorization": f"Bearer {token}"}
    receiver = await asyncio.start_server(_hang, "127.0.0.1", 0)
    async with (
        httpx2.AsyncClient(base_url=url, headers=authorized, timeout=60, trust_env=False) as eve,
        httpx2.AsyncClient(base_url=url, timeout=60, trust_env=False) as nobody,
    ):
        hook = await _set_up(eve, receiver.sockets[0].getsockname()[1])
        # Only now does the time count that was asked for.
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        attacks: list[Callable[[], Awaitable[None]]] = [
            lambda: _big_bodies(eve, nobody),
            lambda: _guesses(nobody),
            lambda: _hostile_hooks(nobody, hook),
            *([lambda: _upcoming(eve)] * 6),
            *([lambda: _silence(url)] * (descriptors // 2)),
            lambda: _burst(url, descriptors),
        ]
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(_for_ever(attack) for attack in attacks))
    receiver.close()
    sys.stdout.write(json.dumps(done) + "\n")


async def _set_up(eve: httpx2.AsyncClient, port: int) -> str:
    """Jobs of every second, whose reminders go to receivers that hang; and a hook."""
    await eve.post("/api/sessions", json={"key": "web:eve"})
    webhooks = [
        (await eve.post("/api/webhooks", json={"url": f"http://127.0.0.1:{port}/{n}"})).json() for n in range(8)
    ]
    addresses = [f"webhook:{one['id']}" for one in webhooks if "id" in one]
    await eve.patch("/api/sessions/web:eve", json={"addresses": ["web:eve", *addresses]})
    reminder = {"session_key": "web:eve", "payload": {"kind": "reminder", "message": "x"}}
    await eve.post("/api/jobs", json={**reminder, "schedule": {"every_ms": 2000}, "name": "to hanging receivers"})
    for number in range(_UPCOMING_JOBS):
        # They fire in a month, and are computed today.
        await eve.post("/api/jobs", json={**reminder, "schedule": {"every_ms": 1000}, "name": f"every second {number}",
                                          "starts_at": "in 20 days"})  # fmt: skip
    made = (await eve.post("/api/sessions/web:eve/hooks", json={"name": "hostile"})).json()
    return urlsplit(made["url"]).path


async def _for_ever(attack: Callable[[], Awaitable[None]]) -> None:
    while True:
        try:
            await attack()
        except (httpx2.HTTPError, OSError):
            done["refused connections"] += 1
            await asyncio.sleep(0.5)


async def _post(client: httpx2.AsyncClient, path: str, body: bytes, kind: str) -> None:
    response = await client.post(path, content=body, headers=JSON)
    done[f"{kind} {response.status_code}"] += 1
    if len(response.content) > len(body) + 16_384:
        done[TOO_LONG] += 1
    await asyncio.sleep(0.1)


async def _big_bodies(eve: httpx2.AsyncClient, nobody: httpx2.AsyncClient) -> None:
    for body in BODIES:
        for path in ("/api/jobs", "/api/sessions/web:eve/messages", "/api/schedules/preview", "/mcp"):
            await _post(eve, path, body, "bodies")
        await _post(nobody, "/api/auth/sign-in", body, "sign-ins")


async def _guesses(nobody: httpx2.AsyncClient) -> None:
    for number in range(20):
        guess = {"Authorization": f"Bearer hom_guess_{number}", "X-Forwarded-For": f"10.0.0.{number}"}
        response = await nobody.get("/api/me", headers=guess)
        done[f"guesses {response.status_code}"] += 1
        await asyncio.sleep(0.02)
    response = await nobody.post("/api/auth/sign-in", content=b"x", headers={"Origin": "http://["})
    done[f"origins {response.status_code}"] += 1


async def _hostile_hooks(nobody: httpx2.AsyncClient, hook: str) -> None:
    for number, body in enumerate(itertools.chain(BODIES, (b">" * 16_000, b"\x1b]0;pwn\x07"))):
        await _post(nobody, hook, body, "hooks")
        await _post(nobody, f"/api/hooks/made-up-{number}", body, "made-up hooks")


async def _upcoming(eve: httpx2.AsyncClient) -> None:
    response = await eve.get("/api/upcoming", params={"from": "in 20 days", "to": "in 80 days"})
    done[f"upcoming {response.status_code}"] += 1


async def _silence(url: str) -> None:
    """Say half a request and wait until the server has had enough."""
    at = urlsplit(url)
    reader, writer = await asyncio.open_connection(at.hostname, at.port)
    try:
        writer.write(b"POST /api/jobs HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        with suppress(TimeoutError):
            async with asyncio.timeout(_IDLE_SECONDS):
                closed: Any = await reader.read()
                done["silent, closed with 408" if b"408" in closed else "silent, closed"] += 1
                await asyncio.sleep(0.5)
                return
        done[TOO_PATIENT] += 1
    finally:
        writer.close()


async def _burst(url: str, count: int) -> None:
    """Open more connections than there are descriptors, and go."""
    at = urlsplit(url)
    opened = await asyncio.gather(
        *(asyncio.open_connection(at.hostname, at.port) for _ in range(count)), return_exceptions=True
    )
    done["bursts"] += 1
    for one in opened:
        if not isinstance(one, BaseException):
            one[1].close()
    await asyncio.sleep(_BURST_EVERY_SECONDS)


async def _hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    done["receivers that hang"] += 1
    with suppress(asyncio.CancelledError):
        await asyncio.sleep(60)
    writer.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])))
