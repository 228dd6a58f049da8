"""What Telegram tells, as messages of people. Pure: updates in, messages out; bots and service notes are dropped."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from homing.channels import File, IncomingMessage

Fetch = Callable[[str], AsyncIterator[bytes]]
"""Downloads a file by Telegram's id of it."""


@dataclass(frozen=True, kw_only=True)
class Bot:
    """Who we are there."""

    id: int
    username: str


def read_update(update: Mapping[str, Any], bot: Bot, name: str, fetch: Fetch | None = None) -> IncomingMessage | None:
    """Read one update; None for what no person wrote. Without `fetch` a file is only named."""
    if (pressed := update.get("callback_query")) is not None:
        return _press(pressed, bot, name)
    if (written := update.get("message")) is not None:
        return _message(written, bot, name, fetch, edited=False)
    if (written := update.get("edited_message")) is not None:
        # Its files came with it the first time.
        return _message(written, bot, name, None, edited=True)
    return None


def _message(
    written: Mapping[str, Any], bot: Bot, name: str, fetch: Fetch | None, *, edited: bool
) -> IncomingMessage | None:
    sender = written.get("from")
    # Posts of channels have no sender; anonymous admins write as a bot of Telegram's.
    if sender is None or sender.get("is_bot") or sender["id"] == bot.id or "sender_chat" in written:
        return None
    file = _file(written, fetch) if fetch is not None else None
    text = _text(written, file)
    # A live location is edited every few seconds.
    if text is None or (edited and "location" in written):
        return None
    chat, answered = written["chat"], written.get("reply_to_message")
    direct = chat["type"] == "private"
    return IncomingMessage(
        external_id=_id(bot, chat, written["message_id"]),
        address=_address(name, written),
        sender=str(sender["id"]),
        sender_name=_name(sender),
        direct=direct,
        addressed=direct or _names(written, bot) or _is_ours(answered, bot),
        text=text,
        at=datetime.fromtimestamp(written.get("edit_date" if edited else "date", written["date"]), UTC),
        files=[file] if file is not None else (),
        replies_to=_id(bot, chat, answered["message_id"]) if answered else None,
        edited=edited,
    )


def _press(pressed: Mapping[str, Any], bot: Bot, name: str) -> IncomingMessage | None:
    sender, card = pressed["from"], pressed.get("message")
    question_id, _, number = str(pressed.get("data", "")).rpartition(":")
    if card is None or sender.get("is_bot") or not question_id or not number.isdecimal():
        return None
    direct = card["chat"]["type"] == "private"
    return IncomingMessage(
        external_id=_id(bot, card["chat"], f"press-{pressed['id']}"),
        address=_address(name, card),
        sender=str(sender["id"]),
        sender_name=_name(sender),
        direct=direct,
        addressed=True,
        text=_label(card, pressed["data"]),
        # Telegram does not say when a button was pressed; its card's date is 0 once it is too old to be shown.
        at=datetime.fromtimestamp(card.get("date", 0), UTC),
        answer=(question_id, int(number)),
        replies_to=_id(bot, card["chat"], card["message_id"]),
    )


def _id(bot: Bot, chat: Mapping[str, Any], message_id: object) -> str:
    """Name a message over all bots: each bot numbers the messages of its direct chats itself."""
    return f"{bot.id}:{chat['id']}:{message_id}"


def _address(name: str, written: Mapping[str, Any]) -> str:
    thread = written.get("message_thread_id") if written.get("is_topic_message") else None
    return f"{name}:{written['chat']['id']}" + (f"/{thread}" if thread else "")


def _name(person: Mapping[str, Any]) -> str:
    whole = " ".join(str(person[part]) for part in ("first_name", "last_name") if person.get(part))
    return whole or str(person.get("username") or person["id"])


def _names(written: Mapping[str, Any], bot: Bot) -> bool:
    """Say whether we are named: as @bot, by a mention of a bot without one, or in a command such as /help@bot."""
    text = str(written.get("text") or written.get("caption") or "")
    units = text.encode("utf-16-le")
    for entity in [*written.get("entities", ()), *written.get("caption_entities", ())]:
        start, end = entity["offset"] * 2, (entity["offset"] + entity["length"]) * 2
        said = units[start:end].decode("utf-16-le", "replace").casefold()
        if entity["type"] == "mention" and said == f"@{bot.username}".casefold():
            return True
        if entity["type"] == "bot_command" and said.endswith(f"@{bot.username}".casefold()):
            return True
        if entity["type"] == "text_mention" and entity.get("user", {}).get("id") == bot.id:
            return True
    return False


def _is_ours(answered: Mapping[str, Any] | None, bot: Bot) -> bool:
    return answered is not None and answered.get("from", {}).get("id") == bot.id


def _text(written: Mapping[str, Any], file: File | None = None) -> str | None:
    """Give the words; what is not words becomes a line in brackets. None: a note of Telegram's own."""
    if "text" in written:
        return str(written["text"])
    line = _line(written)
    if line is None:
        return None
    caption = str(written.get("caption") or "")
    if file is not None and ("photo" in written or "document" in written):
        # The file itself says what it is.
        return caption
    return f"[{line}]\n{caption}" if caption else f"[{line}]"


def _file(written: Mapping[str, Any], fetch: Fetch) -> File | None:
    """Give the file of a message. A sticker is its emoji, and is not fetched."""
    match written:
        case {"photo": [*_, largest]}:
            found, name = largest, "photo.jpg"
        case {"document": found}:
            name = found.get("file_name") or "file"
        case {"voice": found}:
            name = "voice.ogg"
        case {"audio": found}:
            name = found.get("file_name") or "audio.mp3"
        case {"video": found} | {"video_note": found}:
            name = found.get("file_name") or "video.mp4"
        case _:
            return None
    if "file_id" not in found:
        return None
    file_id = str(found["file_id"])
    return File(
        id=file_id,
        name=str(name),
        media_type=str(found.get("mime_type") or ""),
        size=int(found.get("file_size") or 0),
        read=partial(fetch, file_id),
    )


def _line(written: Mapping[str, Any]) -> str | None:
    match written:
        case {"sticker": sticker}:
            return f"sticker {sticker.get('emoji') or ''}".strip()
        case {"photo": _}:
            return "photo"
        case {"voice": voice}:
            return f"voice message, {voice.get('duration', 0)} s"
        case {"video_note": video} | {"video": video}:
            return f"video, {video.get('duration', 0)} s"
        case {"audio": audio}:
            return f"audio, {audio.get('title') or audio.get('file_name') or 'no title'}"
        case {"document": document}:
            return f"file {document.get('file_name') or 'without a name'}"
        case {"location": place}:
            return f"location {place['latitude']}, {place['longitude']}"
        case {"contact": contact}:
            number = contact.get("phone_number", "")
            return f"contact {_name({**contact, 'id': 'without a name'})}, {number}"
        case {"poll": poll}:
            return f"poll: {poll.get('question', '')}"
        case {"dice": dice}:
            return f"dice {dice.get('emoji', '')} {dice.get('value', '')}"
        case _:
            return None


def _label(card: Mapping[str, Any], data: str) -> str:
    rows = card.get("reply_markup", {}).get("inline_keyboard", ())
    return next((str(button["text"]) for row in rows for button in row if button.get("callback_data") == data), "")
