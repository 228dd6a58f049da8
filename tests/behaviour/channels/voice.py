"""The scenario of a person who lives in a chat and on the page alike, for any double of a platform."""

from pathlib import Path
from typing import Any, Protocol

from behaviour.approvals.scenes import until
from behaviour.channels.test_telegram_scenario import pictures_in
from homing.testing import tool_call
from homing.testing.scripted import wire_messages
from support.whole import Whole, open_whole

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100


class Chat(Protocol):
    """A direct chat of one person with the bot, on a double of its platform."""

    settings: dict[str, Any]
    """What makes the channel."""
    channel: str
    place: str

    async def listening(self) -> None:
        """Wait until the bot listens."""
        ...

    def write(self, text: str, *, answers: dict[str, Any] | None = None) -> None: ...
    def write_as_a_stranger(self, text: str) -> None: ...
    def write_file(self, data: bytes, name: str, text: str) -> None: ...
    def press(self, message: dict[str, Any], number: int) -> None: ...

    def sent(self) -> list[dict[str, Any]]:
        """Give what the bot sent, whoever sees it."""
        ...

    def text_of(self, message: dict[str, Any]) -> str: ...
    def has_buttons(self, message: dict[str, Any]) -> bool: ...

    def carried(self) -> list[bytes]:
        """Give the bytes of the files that the bot sent."""
        ...


async def live_there_and_on_the_page(chat: Chat, database: str, home: Path) -> None:
    """Link, remind, reply, schedule, ask, and send files both ways."""
    key = f"{chat.channel}:{chat.place}"

    async def arrives(text: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            return next((one for one in chat.sent() if text in chat.text_of(one)), None)

        return await until(look, f"{chat.channel} shows {text!r}")

    async def on_page(whole: Whole, text: str) -> dict[str, Any]:
        async def look() -> dict[str, Any] | None:
            shown = (await whole.ask("GET", f"/sessions/{key}/messages?limit=100"))["items"]
            return next((one for one in shown if text in one["text"]), None)

        return await until(look, f"the page shows {text!r}")

    async with open_whole(database, home, **chat.settings) as whole:
        await chat.listening()

        # A stranger gets no byte back, and is counted.
        chat.write_as_a_stranger("who are you?")
        chat.write_as_a_stranger("link hm-aaaaaaaaaaaaaaaa")

        async def counted() -> bool:
            [shown] = (await whole.ask("GET", "/channels"))["items"]
            return shown["strangers"]["count"] >= 1 and shown["state"] == "listening"

        await until(counted, "the stranger is counted")
        assert chat.sent() == []

        link = await whole.ask("POST", f"/channels/{chat.channel}/link", {}, code=201)
        chat.write(f"link {link['code']}")
        await arrives("This chat is linked")

        # "Remind me in 1 minute to stretch": it is scheduled by the tool, and arrives there and on the page.
        remind = {"when": "in 1 minute", "message": "Stretch now", "kind": "reminder"}
        whole.model.reply([tool_call("schedule_task", remind)])
        whole.model.reply("I will remind you.")
        chat.write("remind me in 1 minute to stretch")
        await arrives("I will remind you.")
        [job] = (await whole.ask("GET", "/jobs"))["items"]
        await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)
        reminder = await arrives("Stretch now")
        await on_page(whole, "Stretch now")

        # A reply there is a turn of the same conversation.
        whole.model.reply("Well done.")
        chat.write("did it", answers=reminder)
        await arrives("Well done.")
        assert (await on_page(whole, "did it"))["role"] == "user"

        # A scheduled answer arrives there.
        report = {"session_key": key, "when": "every day at 9:00", "message": "Say what the day brings"}
        daily = await whole.ask("POST", "/jobs", report, code=201)
        whole.model.reply("The day brings pears.")
        await whole.ask("POST", f"/jobs/{daily['id']}/run", {}, code=202)
        await arrives("The day brings pears.")
        await on_page(whole, "The day brings pears.")

        # A question answered by button goes on.
        whole.model.reply([tool_call("ask_question", {"title": "Which fruit?", "options": ["Apple", "Pear"]})])
        whole.model.reply("I asked you.")
        chat.write("what shall I eat?")
        card = await arrives("Which fruit?")
        # Messages go in order, so the receipt of the card is written: from then on it can be answered (rule 56).
        await arrives("I asked you.")
        whole.model.reply("A pear it is.")
        chat.press(card, 2)
        await arrives("A pear it is.")

        async def edited() -> bool:
            return "Answer: Pear" in chat.text_of(card) and not chat.has_buttons(card)

        await until(edited, "the card says what was answered")

        # A picture in, seen in the model's request.
        whole.model.reply("A cat.")
        chat.write_file(PNG, "cat.png", "what is this?")
        await arrives("A cat.")
        shown = [message for message in wire_messages(whole.model.seen[-1]) if message.role == "user"][-1]
        assert "what is this?" in shown.text
        picture = (await on_page(whole, "what is this?"))["files"][0]
        assert (picture["name"], picture["media_type"], picture["bytes"]) == ("cat.png", "image/png", len(PNG))
        assert PNG in pictures_in(whole.model.seen[-1])

        # A file out, which the agent wrote.
        whole.model.reply([tool_call("write_file", {"path": "prices.txt", "text": "pears 2.99"})])
        whole.model.reply([tool_call("send_file", {"path": "prices.txt"})])
        whole.model.reply("There they are.")
        chat.write("send me the prices")
        await arrives("There they are.")

        async def carried() -> bool:
            return b"pears 2.99" in chat.carried()

        await until(carried, "the file arrives there")
