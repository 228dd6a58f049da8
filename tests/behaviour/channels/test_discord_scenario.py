"""Discord as a person uses it, against the strict stub: link, reminder, reply, schedule, question, files."""

import asyncio
from pathlib import Path
from typing import Any

from behaviour.channels.voice import live_there_and_on_the_page
from homing.testing import DiscordStub
from support.sandboxes import need_bubblewrap


class DiscordChat:
    """A direct chat in Discord."""

    channel, place = "discord", "70"

    def __init__(self, stub: DiscordStub) -> None:
        self.stub = stub
        self.settings: dict[str, Any] = {"CHANNEL_DISCORD_TOKEN": stub.token, "CHANNEL_DISCORD_BASE_URL": stub.url}

    async def listening(self) -> None:
        await asyncio.to_thread(self.stub.wait_for, lambda stub: stub.listening)

    def write(self, text: str, *, answers: dict[str, Any] | None = None) -> None:
        if answers is None:
            self.stub.write(text)
        else:
            self.stub.reply(answers, text)

    def write_as_a_stranger(self, text: str) -> None:
        self.stub.write(text, channel="666", sender="666")

    def write_file(self, data: bytes, name: str, text: str) -> None:
        self.stub.write_file(data, name, text=text)

    def press(self, message: dict[str, Any], number: int) -> None:
        self.stub.press(message, number)

    def sent(self) -> list[dict[str, Any]]:
        return self.stub.sent

    def text_of(self, message: dict[str, Any]) -> str:
        return message["content"]

    def has_buttons(self, message: dict[str, Any]) -> bool:
        return bool(message["components"])

    def carried(self) -> list[bytes]:
        return [self.stub.files[file["id"]][1] for one in self.stub.sent for file in one["attachments"]]


async def test_a_person_lives_in_discord_and_on_the_page_alike(database: str, tmp_path: Path) -> None:
    need_bubblewrap()
    with DiscordStub() as stub:
        await live_there_and_on_the_page(DiscordChat(stub), database, tmp_path / "home")
