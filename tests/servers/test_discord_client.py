"""discord.py, which nobody here wrote, and our own channel go through the same scenario against the stub.

So the stub cannot drift to what our channel happens to do, nor our channel to what the stub happens to take.
"""

import asyncio
import io
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

import pytest

from homing.channels import File, IncomingMessage, PartQuestion
from homing.channels.discord import DiscordChannel
from homing.testing import DiscordStub
from unit.channels.sample_parts import part

discord: Any = pytest.importorskip("discord", reason="discord.py is not installed")
yarl: Any = pytest.importorskip("yarl", reason="discord.py is not installed")


class Client(Protocol):
    """What the scenario does with a client of Discord."""

    async def who(self) -> str: ...
    async def say(self, text: str, nonce: str) -> str: ...
    async def ask(self, text: str, options: list[str]) -> str: ...
    async def send(self, data: bytes, name: str) -> None: ...
    async def replace_words(self, message_id: str, text: str) -> None: ...
    async def typing(self) -> None: ...
    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        """Give the next thing that somebody did: words, the id of a button, a file."""
        ...


class Foreign:
    """discord.py."""

    def __init__(self, stub: DiscordStub) -> None:
        self.stub = stub
        intents = discord.Intents(guild_messages=True, dm_messages=True)
        self.client = discord.Client(intents=intents, allowed_mentions=discord.AllowedMentions.none())
        self.heard: asyncio.Queue[Any] = asyncio.Queue()
        self.client.event(self.on_message)
        self.client.event(self.on_interaction)
        self.running: asyncio.Task[None] | None = None

    async def on_message(self, message: Any) -> None:
        if message.author.id != self.client.user.id:
            await self.heard.put(message)

    async def on_interaction(self, interaction: Any) -> None:
        await interaction.response.defer()
        await self.heard.put(interaction)

    async def start(self) -> None:
        self.running = asyncio.create_task(self.client.start(self.stub.token))
        async with asyncio.timeout(30):
            while not self.client.is_ready():
                assert not self.running.done(), self.running.result()
                await asyncio.sleep(0.01)

    @property
    def chat(self) -> Any:
        return self.client.get_partial_messageable(70)

    async def who(self) -> str:
        return f"@{self.client.user.name}"

    async def say(self, text: str, nonce: str) -> str:
        return str((await self.chat.send(text, nonce=nonce)).id)

    async def ask(self, text: str, options: list[str]) -> str:
        view = discord.ui.View(timeout=None)
        for number, option in enumerate(options, 1):
            view.add_item(discord.ui.Button(label=option, custom_id=f"q_1:{number}"))
        return str((await self.chat.send(text, view=view)).id)

    async def send(self, data: bytes, name: str) -> None:
        await self.chat.send(file=discord.File(io.BytesIO(data), filename=name))

    async def replace_words(self, message_id: str, text: str) -> None:
        await self.chat.get_partial_message(int(message_id)).edit(content=text, view=None)

    async def typing(self) -> None:
        await self.client.http.send_typing(70)

    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        async with asyncio.timeout(20):
            heard = await self.heard.get()
        if isinstance(heard, discord.Interaction):
            return "", heard.data["custom_id"], None
        for attachment in heard.attachments:
            return heard.content, None, await attachment.read()
        return heard.content, None, None

    async def close(self) -> None:
        await self.client.close()
        if self.running is not None:
            await asyncio.gather(self.running, return_exceptions=True)


class Ours:
    """Our own channel, with an intake in memory."""

    def __init__(self, stub: DiscordStub) -> None:
        self.stub = stub
        self.channel = DiscordChannel(name="discord", token=stub.token, base_url=stub.url, pause_seconds=0)
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
        await asyncio.to_thread(self.stub.wait_for, lambda stub: stub.listening)

    async def who(self) -> str:
        return await self.channel.check()

    async def _send(self, what: Any) -> str:
        return str((await self.channel.send(what)).external_id).partition(":")[2]

    async def say(self, text: str, nonce: str) -> str:
        return await self._send(part("discord:70", text, delivery_id=nonce))

    async def ask(self, text: str, options: list[str]) -> str:
        question = PartQuestion(id="q_1", options=options)
        return await self._send(replace(part("discord:70", text, delivery_id="dlv_question"), question=question))

    async def send(self, data: bytes, name: str) -> None:
        async def read() -> AsyncIterator[bytes]:
            yield data

        file = File(id="file_1", name=name, media_type="application/pdf", size=len(data), read=read)
        await self.channel.send(replace(part("discord:70", "", delivery_id="dlv_file"), file=file))

    async def replace_words(self, message_id: str, text: str) -> None:
        await self.channel.edit("discord:70", f"70:{message_id}", text)

    async def typing(self) -> None:
        await self.channel.show("discord:70", "typing")

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
        yield client
    finally:
        await client.close()


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[DiscordStub]:
    with DiscordStub() as made:
        made.write("hello")
        monkeypatch.setattr(discord.http.Route, "BASE", f"{made.url}/api/v10")
        monkeypatch.setattr(discord.gateway.DiscordWebSocket, "DEFAULT_GATEWAY", yarl.URL(f"{made.gateway_url}/"))
        yield made


@pytest.mark.parametrize("make", [Foreign, Ours])
async def test_both_go_through_the_same_scenario(stub: DiscordStub, make: "type[Foreign | Ours]") -> None:
    async with using(make(stub)) as client:
        assert await client.who() == "@homing"
        stub.write("hello 🍎 שלום")
        assert await client.hear() == ("hello 🍎 שלום", None, None)
        await client.typing()
        assert stub.typing == ["70"]
        number = await client.say("It is **nine**. 🍎", "dlv_nine")
        assert (stub.sent[-1]["id"], stub.sent[-1]["content"]) == (number, "It is **nine**. 🍎")
        asked = await client.ask("Which fruit?", ["Apple", "Pear"])
        press = stub.press(stub.sent[-1], 2)
        assert await client.hear() == ("", "q_1:2", None)
        await asyncio.to_thread(stub.wait_for, lambda seen: press in seen.answered)
        await client.replace_words(asked, "Which fruit?\nAnswer: Pear")
        assert (stub.sent[-1]["content"], stub.sent[-1]["components"]) == ("Which fruit?\nAnswer: Pear", [])
        stub.write_file(b"pixels", "cat.png", text="my cat")
        assert await client.hear() == ("my cat", None, b"pixels")
        await client.send(b"%PDF-1.7 whole", "report.pdf")
        [file] = stub.sent[-1]["attachments"]
        assert stub.files[file["id"]] == ("report.pdf", b"%PDF-1.7 whole")
        stub.reconnect()
        await asyncio.to_thread(stub.wait_for, lambda seen: seen.resumed == 1)
        stub.write("still there?")
        assert await client.hear() == ("still there?", None, None)


async def test_the_stub_refuses_the_foreign_client_what_discord_refuses(stub: DiscordStub) -> None:
    async with using(Foreign(stub)) as client:
        assert isinstance(client, Foreign)
        with pytest.raises(discord.HTTPException, match="2000 or fewer"):
            await client.say("x" * 2001, "1")
        with pytest.raises(discord.HTTPException, match="empty message"):
            await client.chat.send("")
        with pytest.raises(discord.NotFound, match="Unknown Channel"):
            await client.client.get_partial_messageable(404).send("hello?")
        stub.fail("blocked")
        with pytest.raises(discord.Forbidden, match="Cannot send messages to this user"):
            await client.say("hello?", "2")
    stub.token = "another"
    wrong = discord.Client(intents=discord.Intents(dm_messages=True))
    with pytest.raises(discord.LoginFailure):
        await wrong.login("wrong")
    await wrong.close()
