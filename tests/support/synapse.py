"""A real Matrix server, Synapse, on loopback: started, killed and started again by tests. And people who use it.

People in plain rooms speak HTTP; people in encrypted rooms use matrix-nio's own client, which nobody here wrote.
"""

import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from support.ports import free_port
from support.published_servers import installed

PATIENCE = 120.0
CLIENT = "/_matrix/client/v3"
_MANY = {"per_second": 10000, "burst_count": 10000}


@dataclass(frozen=True, kw_only=True)
class Login:
    """One device of one account."""

    user_id: str
    token: str
    device_id: str


class Synapse:
    """One server with its own folder."""

    def __init__(self, python: Path, folder: Path) -> None:
        self._python = python
        self._folder = folder
        self._port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}"
        seed = base64.b64encode(os.urandom(32)).decode().rstrip("=")
        (folder / "signing.key").write_text(f"ed25519 a_test {seed}\n")
        logging = {"version": 1, "handlers": {"none": {"class": "logging.NullHandler"}}, "root": {"handlers": ["none"]}}
        (folder / "log.yaml").write_text(json.dumps({**logging, "disable_existing_loggers": True}))
        limits = ("rc_message", "rc_registration", "rc_joins_per_room", "rc_key_requests")
        # JSON is YAML, too.
        config: dict[str, Any] = {
            "server_name": "localhost",
            "report_stats": False,
            "listeners": [
                {
                    "port": self._port,
                    "type": "http",
                    "bind_addresses": ["127.0.0.1"],
                    "resources": [{"names": ["client"]}],
                }
            ],
            "database": {"name": "sqlite3", "args": {"database": str(folder / "homeserver.db")}},
            "log_config": str(folder / "log.yaml"),
            "media_store_path": str(folder / "media"),
            "signing_key_path": str(folder / "signing.key"),
            "macaroon_secret_key": "of a test",
            "enable_registration": True,
            "enable_registration_without_verification": True,
            "bcrypt_rounds": 4,
            "trusted_key_servers": [],
            "suppress_key_server_warning": True,
            "presence": {"enabled": False},
            "federation_domain_whitelist": [],
            "rc_login": {"address": _MANY, "account": _MANY, "failed_attempts": _MANY},
            "rc_joins": {"local": _MANY, "remote": _MANY},
            "rc_invites": {"per_room": _MANY, "per_user": _MANY, "per_issuer": _MANY},
            **dict.fromkeys(limits, _MANY),
        }
        (folder / "homeserver.yaml").write_text(json.dumps(config))

    def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [str(self._python), "-m", "synapse.app.homeserver", "--config-path", "homeserver.yaml"]
        said = (self._folder / "said.txt").open("ab")
        with said:
            self._process = subprocess.Popen(command, cwd=self._folder, stdout=said, stderr=said)
        end = time.monotonic() + PATIENCE
        while True:
            with suppress(httpx2.HTTPError):
                if httpx2.get(f"{self.url}/_matrix/client/versions", timeout=2, trust_env=False).status_code == 200:
                    return
            if self._process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"Synapse did not start: {(self._folder / 'said.txt').read_text()[-2000:]}")
            time.sleep(0.05)

    def kill(self) -> None:
        """End it as a power cut does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def register(self, name: str) -> Login:
        ask = {"username": name, "password": "secret", "auth": {"type": "m.login.dummy"}}
        made = httpx2.post(f"{self.url}{CLIENT}/register", json=ask, timeout=30, trust_env=False).json()
        return Login(user_id=made["user_id"], token=made["access_token"], device_id=made["device_id"])


@contextmanager
def running_synapse() -> Iterator[Synapse]:
    """Run a server; skip where it is not installed."""
    place = installed()
    if place is None:
        if os.environ.get("HOMING_CI"):
            pytest.fail("Synapse is not installed: run `make test-servers`.")
        pytest.skip("Synapse is not installed: run `make test-servers`.")
    memory = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="synapse-", dir=memory if os.access(memory, os.W_OK) else None))
    server = Synapse(place / "python/bin/python", folder)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class Person:
    """Somebody with a client of their own, in one room with the account of Homing."""

    http: httpx2.AsyncClient
    login: Login
    room: str = ""
    since: str = ""
    seen: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What the account of Homing said in the room, as clients get it."""
    bot: str = ""
    _count: int = 0

    async def call(self, method: str, path: str, body: Any = None, **params: str) -> Any:
        for attempt in range(200):
            try:
                answer = await self.http.request(method, path, json=body, params=params)
                break
            except httpx2.TransportError:
                # It was killed, and comes back.
                if attempt == 199:
                    raise
                await asyncio.sleep(0.1)
        else:
            raise AssertionError
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def invite(self, bot: str, *others: str, **more: Any) -> str:
        """Make a room, and ask the account of Homing in."""
        ask = {"is_direct": not others, "preset": "trusted_private_chat", "invite": [bot, *others], **more}
        self.room, self.bot = (await self.call("POST", f"{CLIENT}/createRoom", ask))["room_id"], bot
        return self.room

    async def write(self, text: str, **more: Any) -> str:
        return await self.put({"msgtype": "m.text", "body": text, **more})

    async def put(self, content: Mapping[str, Any]) -> str:
        self._count += 1
        path = f"{CLIENT}/rooms/{quote(self.room)}/send/m.room.message/{self.login.device_id}{self._count}"
        return (await self.call("PUT", path, content))["event_id"]

    async def upload(self, data: bytes, media_type: str) -> dict[str, Any]:
        headers = {"content-type": media_type}
        answer = await self.http.post("/_matrix/media/v3/upload", content=data, headers=headers)
        return {"url": answer.json()["content_uri"]}

    async def download(self, content: Mapping[str, Any]) -> bytes:
        place = content["url"].removeprefix("mxc://")
        return (await self.http.get(f"/_matrix/client/v1/media/download/{place}")).content

    async def look(self) -> None:
        """Read what the account of Homing said in the room, first message first."""
        self.seen = await self.said("m.room.message")

    async def said(self, event_type: str) -> list[dict[str, Any]]:
        """Read the events of one type that the account of Homing sent, as the server has them."""
        path, token = f"{CLIENT}/rooms/{quote(self.room)}/messages", ""
        found: list[dict[str, Any]] = []
        while True:
            page = await self.call("GET", path, dir="f", limit="100", **({"from": token} if token else {}))
            found += [one for one in page["chunk"] if one["sender"] == self.bot and one["type"] == event_type]
            token = page.get("end", "")
            if not token:
                return found

    async def came(self, text: str) -> dict[str, Any]:
        """Wait until the account of Homing has said something there."""
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.look()
                for one in self.seen:
                    if text in str(one["content"].get("body")):
                        return one
                await asyncio.sleep(0.05)

    async def is_in(self, user: str) -> bool:
        return user in (await self.call("GET", f"{CLIENT}/rooms/{quote(self.room)}/joined_members"))["joined"]

    async def until_in(self, user: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await self.is_in(user):  # noqa: ASYNC110 - the server does it
                await asyncio.sleep(0.05)


class NioPerson(Person):
    """Somebody in an encrypted room, with matrix-nio's client."""

    unreadable: list[Any]

    async def open(self, url: str, store: Path) -> None:
        await asyncio.to_thread(store.mkdir, parents=True, exist_ok=True)
        who = self.login
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "support.nio_client", url, who.user_id, who.device_id, who.token, str(store),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, limit=10_000_000,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        )  # fmt: skip
        self.unreadable = []
        self._sent: asyncio.Queue[str] = asyncio.Queue()
        self._ready = asyncio.Event()
        self._task = asyncio.create_task(self._follow())
        async with asyncio.timeout(PATIENCE):
            await self._ready.wait()

    async def close(self) -> None:
        self._process.kill()
        await self._process.wait()
        await self._task

    async def _follow(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            told = json.loads(line)
            if "ready" in told:
                self._ready.set()
            elif "sent" in told:
                self._sent.put_nowait(told["sent"])
            elif told["room"] == self.room and told["event"]["sender"] == self.bot:
                (self.unreadable if told["sealed"] else self.seen).append(told["event"])

    async def invite(self, bot: str, *others: str, **more: Any) -> str:
        rules = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
        return await super().invite(bot, *others, initial_state=[rules], **more)

    async def put(self, content: Mapping[str, Any]) -> str:
        self._count += 1
        ask = {"room": self.room, "content": content, "member": self.bot, "tx_id": f"nio{self._count}"}
        assert self._process.stdin is not None
        self._process.stdin.write(f"{json.dumps(ask)}\n".encode())
        async with asyncio.timeout(PATIENCE):
            return await self._sent.get()

    async def upload(self, data: bytes, media_type: str) -> dict[str, Any]:
        from nio.crypto import encrypt_attachment

        sealed, keys = encrypt_attachment(data)
        return {"file": {**keys, **await super().upload(sealed, "application/octet-stream")}}

    async def download(self, content: Mapping[str, Any]) -> bytes:
        from nio.crypto import decrypt_attachment

        keys = content["file"]
        sealed = await super().download(keys)
        return decrypt_attachment(sealed, keys["key"]["k"], keys["hashes"]["sha256"], keys["iv"])

    async def look(self) -> None:
        """Wait until everything that is on the server was read here."""
        sealed = {one["event_id"] for one in await self.said("m.room.encrypted")}
        assert not await self.said("m.room.message"), "nothing is said in the clear there"
        async with asyncio.timeout(PATIENCE):
            while not sealed <= {one["event_id"] for one in self.seen}:
                assert not self.unreadable, "she has the keys of everything that she gets"
                await asyncio.sleep(0.02)


@asynccontextmanager
async def nio_person(server: Synapse, name: str, store: Path) -> AsyncIterator[NioPerson]:
    login = await asyncio.to_thread(server.register, name)
    headers = {"Authorization": f"Bearer {login.token}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30, trust_env=False) as http:
        made = NioPerson(http=http, login=login)
        await made.open(server.url, store)
        try:
            yield made
        finally:
            await made.close()


@asynccontextmanager
async def person(server: Synapse, name: str) -> AsyncIterator[Person]:
    login = await asyncio.to_thread(server.register, name)
    headers = {"Authorization": f"Bearer {login.token}"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30, trust_env=False) as http:
        yield Person(http=http, login=login)
