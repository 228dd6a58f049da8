"""Slack as a person uses it, against the strict stub: link, reminder, reply, schedule, question, files."""

import asyncio
from pathlib import Path
from typing import Any

from behaviour.channels.voice import live_there_and_on_the_page
from homing.testing import SlackStub
from support.sandboxes import need_bubblewrap


class SlackChat:
    """A direct chat in Slack."""

    channel, place = "slack", "D1"

    def __init__(self, stub: SlackStub) -> None:
        self.stub = stub
        self.settings: dict[str, Any] = {
            "CHANNEL_SLACK_APP_TOKEN": stub.app_token,
            "CHANNEL_SLACK_BOT_TOKEN": stub.bot_token,
            "CHANNEL_SLACK_BASE_URL": stub.url,
        }

    async def listening(self) -> None:
        await asyncio.to_thread(self.stub.wait_for, lambda stub: stub.listening)

    def write(self, text: str, *, answers: dict[str, Any] | None = None) -> None:
        self.stub.write(text, **({"thread_ts": answers["ts"]} if answers else {}))

    def write_as_a_stranger(self, text: str) -> None:
        self.stub.write(text, channel="D666", sender="U666")

    def write_file(self, data: bytes, name: str, text: str) -> None:
        self.stub.write_file(data, name, text=text)

    def press(self, message: dict[str, Any], number: int) -> None:
        self.stub.press(message, number)

    def sent(self) -> list[dict[str, Any]]:
        return self.stub.sent

    def text_of(self, message: dict[str, Any]) -> str:
        return message["text"]

    def has_buttons(self, message: dict[str, Any]) -> bool:
        return bool(message["blocks"])

    def carried(self) -> list[bytes]:
        return [self.stub.files[file["id"]]["data"] for one in self.stub.sent for file in one.get("files", ())]


async def test_a_person_lives_in_slack_and_on_the_page_alike(database: str, tmp_path: Path) -> None:
    need_bubblewrap()
    with SlackStub() as stub:
        await live_there_and_on_the_page(SlackChat(stub), database, tmp_path / "home")
