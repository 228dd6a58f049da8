"""Telegram as a person uses it, against the strict stub: link, reminder, reply, schedule, question, files."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai.messages import BinaryContent, ModelMessage, UserPromptPart

from behaviour.approvals.scenes import until
from homing.testing import TelegramStub, tool_call
from homing.testing.scripted import wire_messages
from support.sandboxes import need_bubblewrap
from support.whole import Whole, open_whole

KEY = "telegram:7"
PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100


async def arrives(telegram: TelegramStub, text: str) -> dict[str, Any]:
    """Wait until the bot has shown something there."""

    async def look() -> dict[str, Any] | None:
        return next((one for one in telegram.sent if text in str(one.get("text"))), None)

    return await until(look, f"Telegram shows {text!r}")


async def page(whole: Whole) -> list[dict[str, Any]]:
    return (await whole.ask("GET", f"/sessions/{KEY}/messages?limit=100"))["items"]


async def on_page(whole: Whole, text: str) -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        return next((one for one in await page(whole) if text in one["text"]), None)

    return await until(look, f"the page shows {text!r}")


async def test_a_person_lives_in_telegram_and_on_the_page_alike(database: str, tmp_path: Path) -> None:
    need_bubblewrap()
    with TelegramStub() as telegram:
        settings: dict[str, Any] = {"CHANNEL_TELEGRAM_TOKEN": telegram.token, "CHANNEL_TELEGRAM_BASE_URL": telegram.url}
        async with open_whole(database, tmp_path / "home", **settings) as whole:
            await asyncio.to_thread(telegram.wait_for, lambda stub: stub.polling)
            link = await whole.ask("POST", "/channels/telegram/link", {}, code=201)
            telegram.write(f"/start {link['code']}")
            await arrives(telegram, "This chat is linked")

            # "Remind me in 1 minute to stretch": it is scheduled by the tool, and arrives there and on the page.
            remind = {"when": "in 1 minute", "message": "Stretch now", "kind": "reminder"}
            whole.model.reply([tool_call("schedule_task", remind)])
            whole.model.reply("I will remind you.")
            telegram.write("remind me in 1 minute to stretch")
            await arrives(telegram, "I will remind you.")
            [job] = (await whole.ask("GET", "/jobs"))["items"]
            await whole.ask("POST", f"/jobs/{job['id']}/run", {}, code=202)
            reminder = await arrives(telegram, "Stretch now")
            await on_page(whole, "Stretch now")

            # A reply there is a turn of the same conversation.
            whole.model.reply("Well done.")
            telegram.write("did it", reply_to_message=reminder)
            await arrives(telegram, "Well done.")
            said = await on_page(whole, "did it")
            assert said["role"] == "user"

            # A scheduled answer arrives there.
            report = {"session_key": KEY, "when": "every day at 9:00", "message": "Say what the day brings"}
            daily = await whole.ask("POST", "/jobs", report, code=201)
            whole.model.reply("The day brings pears.")
            await whole.ask("POST", f"/jobs/{daily['id']}/run", {}, code=202)
            await arrives(telegram, "The day brings pears.")
            await on_page(whole, "The day brings pears.")

            # A question answered by button goes on.
            whole.model.reply([tool_call("ask_question", {"title": "Which fruit?", "options": ["Apple", "Pear"]})])
            whole.model.reply("I asked you.")
            telegram.write("what shall I eat?")
            card = await arrives(telegram, "Which fruit?")
            # Messages go in order, so the receipt of the card is written: from then on it can be answered (rule 56).
            await arrives(telegram, "I asked you.")
            whole.model.reply("A pear it is.")
            telegram.press(card, 2)
            await arrives(telegram, "A pear it is.")

            async def edited() -> bool:
                return "Answer: Pear" in card["text"] and "reply_markup" not in card

            await until(edited, "the card says what was answered")

            # A picture in, seen in the model's request.
            whole.model.reply("A cat.")
            telegram.write_file("photo", PNG, caption="what is this?")
            await arrives(telegram, "A cat.")
            shown = [message for message in wire_messages(whole.model.seen[-1]) if message.role == "user"][-1]
            assert "what is this?" in shown.text
            picture = (await on_page(whole, "what is this?"))["files"][0]
            assert (picture["name"], picture["media_type"], picture["bytes"]) == ("photo.jpg", "image/png", len(PNG))
            assert PNG in pictures_in(whole.model.seen[-1])

            # A file out, which the agent wrote.
            whole.model.reply([tool_call("write_file", {"path": "prices.txt", "text": "pears 2.99"})])
            whole.model.reply([tool_call("send_file", {"path": "prices.txt"})])
            whole.model.reply("There they are.")
            telegram.write("send me the prices")
            await arrives(telegram, "There they are.")

            async def carried() -> bool:
                return any(
                    telegram.files[one["document"]["file_id"]] == b"pears 2.99"
                    for one in telegram.sent
                    if "document" in one
                )

            await until(carried, "the file arrives there")


def pictures_in(request: Sequence[ModelMessage]) -> list[bytes]:
    """Give the bytes of the pictures that a request to the model holds."""
    contents = [part.content for message in request for part in message.parts if isinstance(part, UserPromptPart)]
    pieces = [piece for content in contents if not isinstance(content, str) for piece in content]
    return [piece.data for piece in pieces if isinstance(piece, BinaryContent)]
