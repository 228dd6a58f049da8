"""slack-sdk, which nobody here wrote, and our own channel go through the same scenario against the stub.

So the stub cannot drift to what our channel happens to do, nor our channel to what the stub happens to take.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

import pytest

from homing.channels import File, IncomingMessage, PartQuestion
from homing.channels.slack import SlackChannel
from homing.testing import SlackStub
from unit.channels.sample_parts import part

pytest.importorskip("slack_sdk", reason="slack-sdk is not installed")
import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.web.async_client import AsyncWebClient


class Client(Protocol):
    """What the scenario does with a client of Slack."""

    async def start(self) -> None: ...
    async def who(self) -> str: ...
    async def say(self, text: str) -> str: ...
    async def ask(self, text: str, options: list[str]) -> str: ...
    async def send(self, data: bytes, name: str) -> None: ...
    async def replace_words(self, ts: str, text: str) -> None: ...
    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        """Give the next thing that somebody did: words, the value of a button, a file."""
        ...


class Foreign:
    """slack-sdk."""

    def __init__(self, stub: SlackStub) -> None:
        self.stub = stub
        self.web = AsyncWebClient(token=stub.bot_token, base_url=f"{stub.url}/api/")
        self.socket = SocketModeClient(app_token=stub.app_token, web_client=self.web)
        self.socket.socket_mode_request_listeners.append(self._take)  # type: ignore[arg-type]
        self.requests: asyncio.Queue[Any] = asyncio.Queue()

    async def _take(self, client: Any, request: Any) -> None:
        await client.send_socket_mode_response({"envelope_id": request.envelope_id})
        event = request.payload.get("event", {})
        if not event.get("bot_id"):
            await self.requests.put(request)

    async def start(self) -> None:
        await self.socket.connect_to_new_endpoint()

    async def who(self) -> str:
        me = await self.web.auth_test()
        return f"@{me['user']} in {me['team']}"

    async def say(self, text: str) -> str:
        blocks = [{"type": "markdown", "text": text}]
        return str((await self.web.chat_postMessage(channel="D1", text=text, blocks=blocks))["ts"])

    async def ask(self, text: str, options: list[str]) -> str:
        buttons = [
            {
                "type": "button",
                "action_id": f"a{n}",
                "text": {"type": "plain_text", "text": option},
                "value": f"q_1:{n}",
            }
            for n, option in enumerate(options, 1)
        ]
        blocks = [{"type": "markdown", "text": text}, {"type": "actions", "elements": buttons}]
        return str((await self.web.chat_postMessage(channel="D1", text=text, blocks=blocks))["ts"])

    async def send(self, data: bytes, name: str) -> None:
        await self.web.files_upload_v2(channel="D1", content=data, filename=name)

    async def replace_words(self, ts: str, text: str) -> None:
        await self.web.chat_update(channel="D1", ts=ts, text=text, blocks=[])

    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        async with asyncio.timeout(20):
            request = await self.requests.get()
        if request.type == "interactive":
            return "", request.payload["actions"][0]["value"], None
        event = request.payload["event"]
        for file in event.get("files", ()):
            headers = {"Authorization": f"Bearer {self.stub.bot_token}"}
            async with aiohttp.ClientSession() as web, web.get(file["url_private_download"], headers=headers) as got:
                return event["text"], None, await got.read()
        return event["text"], None, None

    async def close(self) -> None:
        await self.socket.close()


class Ours:
    """Our own channel, with an intake in memory."""

    def __init__(self, stub: SlackStub) -> None:
        self.stub = stub
        self.channel = SlackChannel(
            name="slack", app_token=stub.app_token, bot_token=stub.bot_token, base_url=stub.url, timeout_seconds=10
        )
        self.cursor: str | None = None
        self.heard: asyncio.Queue[IncomingMessage] = asyncio.Queue()
        self.listening: asyncio.Task[None] | None = None

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return False

    async def take(self, messages: Any, cursor: str | None, *, unread: int = 0, strangers: int = 0) -> None:
        for message in messages:
            await self.heard.put(message)
        self.cursor = cursor

    async def start(self) -> None:
        self.listening = asyncio.create_task(self.channel.listen(self))

    async def who(self) -> str:
        return await self.channel.check()

    async def _send(self, what: Any) -> str:
        return str((await self.channel.send(what)).external_id).partition(":")[2]

    async def say(self, text: str) -> str:
        return await self._send(part("slack:D1", text))

    async def ask(self, text: str, options: list[str]) -> str:
        return await self._send(replace(part("slack:D1", text), question=PartQuestion(id="q_1", options=options)))

    async def send(self, data: bytes, name: str) -> None:
        async def read() -> AsyncIterator[bytes]:
            yield data

        file = File(id="file_1", name=name, media_type="application/pdf", size=len(data), read=read)
        await self.channel.send(replace(part("slack:D1", ""), file=file))

    async def replace_words(self, ts: str, text: str) -> None:
        await self.channel.edit("slack:D1", f"D1:{ts}", text)

    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        async with asyncio.timeout(20):
            heard = await self.heard.get()
        pressed = f"{heard.answer[0]}:{heard.answer[1]}" if heard.answer else None
        data = b""
        for file in heard.files:
            data += b"".join([piece async for piece in file.read()])
        return heard.text if pressed is None else "", pressed, data or None

    async def close(self) -> None:
        if self.listening is not None:
            self.listening.cancel()
            with suppress(asyncio.CancelledError):
                await self.listening


@asynccontextmanager
async def using(client: "Foreign | Ours") -> AsyncIterator[Client]:
    try:
        await client.start()
        await asyncio.to_thread(client.stub.wait_for, lambda stub: stub.listening)
        yield client
    finally:
        await client.close()


@pytest.fixture
def stub() -> Iterator[SlackStub]:
    with SlackStub() as made:
        made.write("hello")
        made.forget_events()
        yield made


@pytest.mark.parametrize("make", [Foreign, Ours])
async def test_both_go_through_the_same_scenario(stub: SlackStub, make: "type[Foreign | Ours]") -> None:
    async with using(make(stub)) as client:
        assert await client.who() == "@homing in Acme"
        stub.write("hello 🍎 שלום")
        assert await client.hear() == ("hello 🍎 שלום", None, None)
        ts = await client.say("It is **nine**. 🍎")
        assert (stub.sent[-1]["ts"], stub.sent[-1]["blocks"][0]["text"]) == (ts, "It is **nine**. 🍎")
        asked = await client.ask("Which fruit?", ["Apple", "Pear"])
        stub.press(stub.sent[-1], 2)
        assert await client.hear() == ("", "q_1:2", None)
        await client.replace_words(asked, "Which fruit?\nAnswer: Pear")
        assert (stub.sent[-1]["text"], stub.sent[-1]["blocks"]) == ("Which fruit?\nAnswer: Pear", [])
        stub.write_file(b"pixels", "cat.png", text="my cat")
        assert await client.hear() == ("my cat", None, b"pixels")
        await client.send(b"%PDF-1.7 whole", "report.pdf")
        [file] = stub.sent[-1]["files"]
        assert (file["name"], stub.files[file["id"]]["data"]) == ("report.pdf", b"%PDF-1.7 whole")
        stub.refresh()
        await asyncio.to_thread(stub.wait_for, lambda seen: not seen.listening)
        stub.write("still there?")
        assert await client.hear() == ("still there?", None, None)
        await asyncio.to_thread(stub.wait_for, lambda seen: not seen.waiting)


async def test_the_stub_refuses_the_foreign_client_what_slack_refuses(stub: SlackStub) -> None:
    web = AsyncWebClient(token=stub.bot_token, base_url=f"{stub.url}/api/")

    async def refusal(**fields: Any) -> str:
        with pytest.raises(SlackApiError) as caught:
            await web.chat_postMessage(**{"channel": "D1", "text": "hello", **fields})
        return str(caught.value.response["error"])

    assert await refusal(channel="C404") == "channel_not_found"
    with pytest.warns(UserWarning, match="`text` argument is missing"):
        assert await refusal(text="  ") == "no_text"
    assert await refusal(blocks=[{"type": "markdown", "text": "x" * 12_001}]) == "msg_blocks_too_long"
    button = {"type": "button", "action_id": "a", "text": {"type": "plain_text", "text": "x" * 76}, "value": "v"}
    assert await refusal(blocks=[{"type": "actions", "elements": [button]}]) == "invalid_blocks"
    assert await refusal(thread_ts="1.1") == "thread_not_found"
    stub.limit(3)
    with pytest.raises(SlackApiError) as caught:
        await web.chat_postMessage(channel="D1", text="slow")
    assert (caught.value.response.status_code, caught.value.response.headers["Retry-After"]) == (429, "3")
    wrong = AsyncWebClient(token="xoxb-wrong", base_url=f"{stub.url}/api/")
    with pytest.raises(SlackApiError, match="invalid_auth"):
        await wrong.auth_test()
