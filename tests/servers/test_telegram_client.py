"""python-telegram-bot, which nobody here wrote, and our own channel go through the same scenario against the stub.

So the stub cannot drift to what our channel happens to do, nor our channel to what the stub happens to take.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any, Protocol

import pytest

from homing.channels import File, IncomingMessage, PartQuestion
from homing.channels.telegram import TelegramChannel
from homing.model.errors import ChannelFailed
from homing.testing import TelegramStub
from unit.channels.sample_parts import part

telegram = pytest.importorskip("telegram", reason="python-telegram-bot is not installed")
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Update  # noqa: E402
from telegram.error import BadRequest, Conflict, Forbidden, InvalidToken, RetryAfter  # noqa: E402
from telegram.request import HTTPXRequest  # noqa: E402

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100


class Client(Protocol):
    """What the scenario does with a client of Telegram."""

    async def who(self) -> str: ...
    async def say(self, text: str) -> int: ...
    async def ask(self, text: str, options: list[str]) -> int: ...
    async def send(self, data: bytes, name: str) -> int: ...
    async def replace_words(self, message_id: int, text: str) -> None: ...
    async def typing(self) -> None: ...
    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        """Give the next thing that somebody did: words, the data of a button, a file."""
        ...


class Foreign:
    """python-telegram-bot."""

    def __init__(self, stub: TelegramStub, token: str | None = None) -> None:
        self.requests = [HTTPXRequest(connection_pool_size=4, read_timeout=5), HTTPXRequest()]
        self.bot = Bot(
            token or stub.token,
            base_url=f"{stub.url}/bot",
            base_file_url=f"{stub.url}/file/bot",
            request=self.requests[0],
            get_updates_request=self.requests[1],
        )
        self.offset = 0

    async def who(self) -> str:
        return f"@{(await self.bot.get_me()).username}"

    async def say(self, text: str) -> int:
        return (await self.bot.send_message(7, text)).message_id

    async def ask(self, text: str, options: list[str]) -> int:
        rows = [[InlineKeyboardButton(one, callback_data=f"q_1:{n}")] for n, one in enumerate(options, 1)]
        return (await self.bot.send_message(7, text, reply_markup=InlineKeyboardMarkup(rows))).message_id

    async def send(self, data: bytes, name: str) -> int:
        return (await self.bot.send_document(7, data, filename=name)).message_id

    async def replace_words(self, message_id: int, text: str) -> None:
        await self.bot.edit_message_text(text, chat_id=7, message_id=message_id)

    async def typing(self) -> None:
        await self.bot.send_chat_action(7, "typing")

    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        wanted = Update.ALL_TYPES
        [update] = await self.bot.get_updates(offset=self.offset, timeout=5, limit=1, allowed_updates=wanted)
        self.offset = update.update_id + 1
        if update.callback_query is not None:
            await self.bot.answer_callback_query(update.callback_query.id)
            return "", update.callback_query.data, None
        message = update.message
        assert message is not None
        if message.photo:
            file = await self.bot.get_file(message.photo[-1].file_id)
            return message.caption or "", None, bytes(await file.download_as_bytearray())
        return message.text or "", None, None


class Ours:
    """Our own channel, with an intake in memory."""

    def __init__(self, stub: TelegramStub, token: str | None = None) -> None:
        self.channel = TelegramChannel(
            name="telegram", token=token or stub.token, base_url=stub.url, timeout_seconds=5, poll_seconds=5
        )
        self.cursor: str | None = "4664:0"
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

    async def who(self) -> str:
        return await self.channel.check()

    async def _send(self, what: Any) -> int:
        return int(str((await self.channel.send(what)).external_id).rpartition(":")[2])

    async def say(self, text: str) -> int:
        return await self._send(part("telegram:7", text))

    async def ask(self, text: str, options: list[str]) -> int:
        return await self._send(replace(part("telegram:7", text), question=PartQuestion(id="q_1", options=options)))

    async def send(self, data: bytes, name: str) -> int:
        async def read() -> AsyncIterator[bytes]:
            yield data

        file = File(id="file_1", name=name, media_type="application/pdf", size=len(data), read=read)
        return await self._send(replace(part("telegram:7", ""), file=file))

    async def replace_words(self, message_id: int, text: str) -> None:
        await self.channel.edit("telegram:7", f"4664:7:{message_id}", text)

    async def typing(self) -> None:
        await self.channel.show("telegram:7", "typing")

    async def hear(self) -> "tuple[str, str | None, bytes | None]":
        self.listening = self.listening or asyncio.create_task(self.channel.listen(self))
        async with asyncio.timeout(10):
            heard = await self.heard.get()
        pressed = f"{heard.answer[0]}:{heard.answer[1]}" if heard.answer else None
        data = b""
        for file in heard.files:
            data += b"".join([piece async for piece in file.read()])
        return heard.text if pressed is None else "", pressed, data or None


@asynccontextmanager
async def using(client: "Foreign | Ours") -> AsyncIterator[Client]:
    try:
        yield client
    finally:
        if isinstance(client, Foreign):
            for request in client.requests:
                await request.shutdown()
        elif client.listening is not None:
            client.listening.cancel()
            with suppress(asyncio.CancelledError):
                await client.listening


@pytest.fixture
def stub() -> Iterator[TelegramStub]:
    with TelegramStub() as made:
        yield made


@pytest.mark.parametrize("make", [Foreign, Ours])
async def test_both_go_through_the_same_scenario(stub: TelegramStub, make: "type[Foreign | Ours]") -> None:
    async with using(make(stub)) as client:
        assert await client.who() == "@homing_bot"
        stub.write("hello 🍎 שלום")
        assert await client.hear() == ("hello 🍎 שלום", None, None)
        await client.typing()
        assert stub.actions[-1]["action"] == "typing"
        number = await client.say("It is nine. 🍎")
        assert (stub.sent[-1]["message_id"], stub.sent[-1]["text"]) == (number, "It is nine. 🍎")
        asked = await client.ask("Which fruit?", ["Apple", "Pear"])
        press = stub.press(stub.sent[-1], 2)
        assert await client.hear() == ("", "q_1:2", None)
        await asyncio.to_thread(stub.wait_for, lambda seen: press in seen.answered)
        await client.replace_words(asked, "Which fruit?\nAnswer: Pear")
        assert stub.sent[-1]["text"] == "Which fruit?\nAnswer: Pear"
        assert "reply_markup" not in stub.sent[-1]
        stub.write_file("photo", PNG, caption="my cat")
        assert await client.hear() == ("my cat", None, PNG)
        await client.send(b"%PDF-1.7 whole", "report.pdf")
        assert stub.files[stub.sent[-1]["document"]["file_id"]] == b"%PDF-1.7 whole"
        assert stub.sent[-1]["document"]["file_name"] == "report.pdf"


async def test_the_stub_refuses_the_foreign_client_what_telegram_refuses(
    stub: TelegramStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PTB_TIMEDELTA", "1")
    stub.write("hello")
    async with using(Foreign(stub)) as client:
        assert isinstance(client, Foreign)
        await client.say("🍎" * 2048)
        with pytest.raises(BadRequest, match="too long"):
            await client.say("🍎" * 2048 + "x")
        button = InlineKeyboardMarkup([[InlineKeyboardButton("Yes", callback_data="x" * 65)]])
        with pytest.raises(BadRequest, match=r"(?i)button_data_invalid"):
            await client.bot.send_message(7, "?", reply_markup=button)
        stub.limit(3)
        with pytest.raises(RetryAfter) as caught:
            await client.say("slow")
        assert caught.value.retry_after == timedelta(seconds=3)
        stub.files["big"] = b"x" * 20_000_001
        with pytest.raises(BadRequest, match=r"(?i)file is too big"):
            await client.bot.get_file("big")
        stub.block()
        with pytest.raises(Forbidden, match="blocked"):
            await client.say("hello?")
    async with using(Foreign(stub, token="4664:wrong")) as wrong:
        with pytest.raises(InvalidToken):
            await wrong.who()


async def test_of_two_pollers_the_first_is_told_409_whoever_they_are(stub: TelegramStub) -> None:
    async with using(Foreign(stub)) as client, using(Ours(stub)) as ours:
        assert isinstance(client, Foreign)
        assert isinstance(ours, Ours)
        polling = asyncio.create_task(client.bot.get_updates(timeout=5))
        await asyncio.to_thread(stub.wait_for, lambda seen: seen.polling)
        listening = asyncio.create_task(ours.channel.listen(ours))
        with pytest.raises(Conflict):
            await polling
        again = asyncio.create_task(client.bot.get_updates(timeout=5))
        with pytest.raises(ChannelFailed, match="Another program reads the messages of this bot"):
            await listening
        stub.write("hello")
        await again
