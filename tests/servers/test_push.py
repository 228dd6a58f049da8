"""Web Push against web-push-testing, which nobody here wrote: it decrypts our body and verifies our token.

It speaks plain HTTP on loopback, where nothing is pushed to: the way to it is the seam that stands for the internet.
"""

import json
import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from homing.channels import Part
from homing.channels.pinned import Network
from homing.channels.push import PushChannel, Target
from homing.channels.vapid import VapidKey, new_key, read_key
from homing.model.clock import SystemClock
from homing.model.errors import ChannelFailed
from homing.model.push import PushDevice, check_auth, check_endpoint, check_public_point
from support.internet import ADDRESS
from support.ports import free_port
from support.published_servers import installed
from support.push import KEY, SERVICE
from unit.channels.sample_parts import message, part


class WayThere(httpx2.AsyncBaseTransport):
    """Leads from the public address that was judged to the server on loopback."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._inner = httpx2.AsyncHTTPTransport(trust_env=False)

    @property
    def network(self) -> Network:
        return Network(connect=lambda: self, look_up=self._look_up)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert request.url.host == ADDRESS
        url = request.url.copy_with(scheme="http", host="127.0.0.1", port=self._port)
        there = httpx2.Request(request.method, url, headers=request.headers, stream=request.stream)
        return await self._inner.handle_async_request(there)

    async def aclose(self) -> None:
        await self._inner.aclose()

    def _look_up(self, host: str, port: int, **_: object) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ADDRESS, port))]


class Service:
    """The server, as its test client sees it."""

    def __init__(self, port: int) -> None:
        self.port = port

    def post(self, path: str, **body: object) -> Any:
        answer = httpx2.post(f"http://127.0.0.1:{self.port}{path}", json=body, trust_env=False)
        assert answer.status_code == 200, answer.text
        return answer.json()["data"] if path in ("/subscribe", "/get-notifications") else None

    def subscribe(self, key: VapidKey = KEY) -> tuple[str, PushDevice]:
        """Be a browser that subscribes; its endpoint and keys pass what a person's must pass."""
        # It compares the flag as text.
        made = self.post("/subscribe", userVisibleOnly="true", applicationServerKey=key.public)
        device = PushDevice(
            id="push_abc",
            user_id="default",
            name="phone",
            endpoint=check_endpoint(f"{SERVICE}/notify/{made['clientHash']}"),
            p256dh=check_public_point(made["keys"]["p256dh"]),
            auth=check_auth(made["keys"]["auth"]),
            public_key=key.public,
            created_at=datetime(2026, 11, 16, 8, 0, tzinfo=UTC),
            last_at=None,
        )
        return made["clientHash"], device

    def shown(self, client: str) -> list[Any]:
        return [json.loads(text) for text in self.post("/get-notifications", clientHash=client)["messages"]]

    def channel(self, device: PushDevice, key: VapidKey = KEY) -> PushChannel:
        async def find(_: Part) -> Target | None:
            return Target(device=device, title="Fruit")

        return PushChannel(
            find,
            key=lambda: key,
            subject="https://homing.example.org",
            clock=SystemClock(),
            network=WayThere(self.port).network,
        )


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    published = installed()
    if published is None:
        pytest.skip("need the published servers: make test-servers installs them")
    binaries, port = published / "node_modules/.bin", free_port()
    node = binaries / "node" if (binaries / "node").exists() else Path(shutil.which("node") or "node")
    program = published / "node_modules/web-push-testing/src/bin/server.js"
    with subprocess.Popen(
        [str(node), str(program), str(port)], stdout=subprocess.PIPE, env={"PATH": "/usr/bin:/bin"}
    ) as process:
        assert process.stdout is not None
        assert b"Server running" in process.stdout.readline()
        yield Service(port)
        process.kill()


async def test_it_decrypts_our_notification_and_verifies_our_token(service: Service) -> None:
    client, device = service.subscribe()
    receipt = await service.channel(device).send(part("push:push_abc", "Guten Morgen ☀"))
    assert receipt.detail == {"status": 201}
    assert service.shown(client) == [
        {"title": "Fruit", "body": "Guten Morgen ☀", "url": "/chat/web:fruit?at=2", "tag": "dlv_k3v9x2mq7a.0"}
    ]


async def test_the_longest_notification_is_read_whole(service: Service) -> None:
    client, device = service.subscribe()
    told = replace(part("push:push_abc", "☀" * 20_000), message=replace(message(""), meta={"cron_job_name": "𝄞" * 500}))
    await service.channel(device).send(told)
    [shown] = service.shown(client)
    assert (len(shown["body"]), len(shown["title"])) == (240, 100)


async def test_a_token_of_another_key_is_refused_for_good(service: Service) -> None:
    client, device = service.subscribe()
    forged = VapidKey(private=read_key(new_key()).private, public=KEY.public)
    with pytest.raises(ChannelFailed, match="400") as refused:
        await service.channel(device, forged).send(part("push:push_abc"))
    assert (refused.value.permanent, refused.value.blocked) == (True, False)
    await service.channel(device).send(part("push:push_abc", "Only this."))
    assert [shown["body"] for shown in service.shown(client)] == ["Only this."]


async def test_an_expired_subscription_is_gone(service: Service) -> None:
    client, device = service.subscribe()
    service.post(f"/expire-subscription/{client}")
    with pytest.raises(ChannelFailed) as refused:
        await service.channel(device).send(part("push:push_abc"))
    assert (refused.value.permanent, refused.value.blocked) == (True, True)
