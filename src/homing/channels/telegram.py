"""Telegram: a bot that reads by long polling, so it needs no public address, and sends one part per call.

Updates are confirmed by the next poll's offset, which is asked for only after they were written. A repeat of a part is
shown twice there, since no key exists for it: only a definite refusal is followed by another call.

Telegram numbers messages and updates for each bot, so ids and the cursor carry the bot's id: another bot under the same
channel name is another account.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, cast
from urllib.parse import quote

import httpx2
import structlog

from homing.channels import Capabilities, Channel, File, IncomingMessage, Intake, Part, Receipt, Sign
from homing.channels.forms import Form
from homing.channels.http_log import hide_in_http_log
from homing.channels.kinds import ChannelKind
from homing.channels.platform import Platform, read_base_url
from homing.channels.telegram_updates import Bot, read_update
from homing.model.errors import ChannelFailed
from homing.settings import CHANNEL_FIELDS

log = structlog.get_logger(__name__)

BASE_URL = "https://api.telegram.org"
# A token that was revoked is noticed by the next poll: within ten seconds.
_POLL_SECONDS = 8
# For all the buttons of a poll together: people who write meanwhile are not kept waiting.
_PRESSES_SECONDS = 2.0
_LONGEST_DESCRIPTION = 300
_UPDATES = ["message", "edited_message", "callback_query"]
_PLACE = re.compile(r"(-?[0-9]{1,19})(?:/([0-9]{1,19}))?")
_TOKEN = re.compile(r"[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")
_TOKEN_IN_URL = re.compile(r"/bot[0-9]{1,20}:[A-Za-z0-9_-]{1,100}")
_CURSOR = re.compile(r"([0-9]{1,20}):([0-9]{1,19})")
# What a plain message would show as marks: headings, lists, quotes, tables, code, bold, links.
_STRUCTURE = re.compile(
    r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,3}[.)] |> |\|.*\||```|~~~)|\*\*\S|`[^`\n]+`|\[[^\]\n]+\]\(", re.MULTILINE
)
_BAD_REQUEST, _NOT_FOUND = 400, 404
# What bots may send; what they may send as a picture; what they may fetch.
_MOST_BYTES, _MOST_PHOTO, _MOST_FETCHED = 50_000_000, 10_000_000, 20_000_000
_PHOTOS = ("image/jpeg", "image/png", "image/webp")
_FILE_PATH = re.compile(r"[\w-][\w.-]*(?:/[\w-][\w.-]*)*")


hide_in_http_log(partial(_TOKEN_IN_URL.sub, "/bot…"))


class TelegramRefused(Exception):
    """Telegram answered, and said no."""

    def __init__(
        self, code: int, description: str, *, retry_after: float | None = None, moved_to: int | None = None
    ) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after = retry_after
        self.moved_to = moved_to
        """The id of the supergroup that the group became."""


class TelegramChannel(Channel):
    """One bot. Addresses are `NAME:CHAT`, or `NAME:CHAT/THREAD` for a topic of a group."""

    capabilities = Capabilities(
        max_length=4096,
        length_unit="utf16",
        markdown=True,
        buttons=6,
        max_file_bytes=_MOST_BYTES,
        resend="duplicates",
    )

    def __init__(
        self,
        *,
        name: str,
        token: str,
        base_url: str = BASE_URL,
        timeout_seconds: float = 10.0,
        poll_seconds: int = _POLL_SECONDS,
    ) -> None:
        self.name = name
        self.link_url: str | None = None
        """What opens a chat with this bot and sends a code to it; known after `check`."""
        self._bot_id = token.partition(":")[0]
        self._url = f"{base_url.rstrip('/')}/bot{token}/"
        self._files_url = f"{base_url.rstrip('/')}/file/bot{token}/"
        self._poll_seconds = poll_seconds
        self._platform = Platform("Telegram", base_url=base_url, secret=token, timeout_seconds=timeout_seconds)

    async def check(self) -> str:
        """Ask who this bot is."""
        bot = await self._who()
        self.link_url = f"https://t.me/{bot.username}?start={{code}}"
        return f"@{bot.username}"

    async def send(self, part: Part) -> Receipt:
        """Send one part: as a rich message where it has structure, else, or if Telegram refuses that, as plain text; a
        file as a picture where it is one, else, or if Telegram refuses that, as a document.
        """
        fields = _where(part)
        if part.question:
            fields["reply_markup"] = _keyboard(part.question.id, part.question.options)
        async with self._client() as client:
            try:
                if part.file is not None:
                    sent = await self._send_file(client, fields, part.file)
                else:
                    sent = await self._send_text(client, fields, part.text)
            except TelegramRefused as error:
                raise self._failure(error) from None
        chat_id, message_id = sent["chat"]["id"], sent["message_id"]
        detail = {"chat_id": chat_id, "message_id": message_id}
        return Receipt(detail=detail, external_id=f"{self._bot_id}:{chat_id}:{message_id}")

    async def listen(self, intake: Intake) -> None:
        """Poll for updates; what was written in the database is confirmed by the next poll."""
        async with self._client() as client:
            try:
                bot = await self._who(client)
                offset = self._offset_in(intake.cursor)
                if offset is None:
                    offset = await self._begin(client, intake)
                while True:
                    offset = await self._poll(client, intake, bot, offset)
            except TelegramRefused as error:
                raise self._failure(error) from None

    async def show(self, address: str, sign: Sign) -> None:
        """Show that an answer is being written; Telegram takes it away after five seconds."""
        found = _PLACE.fullmatch(address.partition(":")[2])
        if found:
            async with self._client() as client:
                await self._call(client, "sendChatAction", {**_place(found), "action": sign})

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Put other words in the place of a message; its buttons go."""
        bot, chat, message = external_id.split(":")
        if bot == self._bot_id:
            fields = {"chat_id": int(chat), "message_id": int(message), "text": text}
            async with self._client() as client:
                await self._call(client, "editMessageText", fields)

    async def _send_text(self, client: httpx2.AsyncClient, fields: Mapping[str, Any], text: str) -> Any:
        if _STRUCTURE.search(text):
            try:
                return await self._call(client, "sendRichMessage", {**fields, "rich_message": {"markdown": text}})
            except TelegramRefused as error:
                # The text could not be read, or this server does not know rich messages: surely not sent.
                if error.code not in (_BAD_REQUEST, _NOT_FOUND):
                    raise
        return await self._call(client, "sendMessage", {**fields, "text": text or "…"})

    async def _send_file(self, client: httpx2.AsyncClient, fields: Mapping[str, Any], file: File) -> Any:
        if file.media_type in _PHOTOS and file.size <= _MOST_PHOTO:
            try:
                return await self._upload(client, "sendPhoto", fields, "photo", file)
            except TelegramRefused as error:
                # Too long and thin, or not what it seemed: surely not sent.
                if error.code != _BAD_REQUEST:
                    raise
        return await self._upload(client, "sendDocument", fields, "document", file)

    async def _upload(
        self, client: httpx2.AsyncClient, method: str, fields: Mapping[str, Any], field: str, file: File
    ) -> Any:
        form = Form(fields, field, file)
        return await self._call(client, method, form, seconds=15 + file.size / 1_000_000)

    async def _fetch(self, file_id: str) -> AsyncIterator[bytes]:
        """Download what somebody sent. No error shows the address, because the token is in it."""
        async with self._client() as client:
            try:
                found = await self._call(client, "getFile", {"file_id": file_id})
            except TelegramRefused as error:
                failed = self._failure(error)
                raise ChannelFailed(failed.detail, permanent=error.code == _BAD_REQUEST) from None
            path, size = str(found.get("file_path") or ""), int(found.get("file_size") or 0)
            if size > _MOST_FETCHED or not _FILE_PATH.fullmatch(path):
                raise ChannelFailed("Telegram gives bots files of at most 20 MB, by a path of its own.", permanent=True)
            async for piece in self._platform.download(client, self._files_url + quote(path)):
                yield piece

    async def _begin(self, client: httpx2.AsyncClient, intake: Intake) -> int:
        """The first listen to a bot starts at now: what was written before is not for us."""
        last = await self._call(client, "getUpdates", {"offset": -1, "limit": 1, "timeout": 0})
        offset = last[-1]["update_id"] + 1 if last else 0
        await intake.take([], self._cursor(offset))
        return offset

    def _cursor(self, offset: int) -> str:
        return f"{self._bot_id}:{offset}"

    def _offset_in(self, cursor: str | None) -> int | None:
        """Read how far this bot was heard; None for another bot's cursor, whose numbers mean nothing here."""
        found = _CURSOR.fullmatch(cursor or "")
        return int(found[2]) if found and found[1] == self._bot_id else None

    async def _poll(self, client: httpx2.AsyncClient, intake: Intake, bot: Bot, offset: int) -> int:
        asked = {"offset": offset, "timeout": self._poll_seconds, "limit": 100, "allowed_updates": _UPDATES}
        updates = await self._call(
            client, "getUpdates", asked, seconds=self._poll_seconds + self._platform.timeout_seconds
        )
        if not updates:
            return offset
        offset = max(update["update_id"] for update in updates) + 1
        heard, unread = self._read_all(updates, bot)
        await intake.take(heard, self._cursor(offset), unread=unread)
        await self._stop_spinning(
            client, [update["callback_query"] for update in updates if "callback_query" in update]
        )
        return offset

    def _read_all(self, updates: Sequence[Mapping[str, Any]], bot: Bot) -> tuple[list[IncomingMessage], int]:
        """Read updates; one that we do not understand is counted, and must not keep back all that follow."""
        heard: list[IncomingMessage] = []
        unread = 0
        for update in updates:
            try:
                message = read_update(update, bot, self.name, self._fetch)
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
                which = update["update_id"]
                log.warning("telegram_update_unreadable", channel=self.name, update_id=which, error=repr(error))
                unread += 1
            else:
                heard += [message] if message is not None else []
        return heard, unread

    async def _stop_spinning(self, client: httpx2.AsyncClient, pressed: Sequence[Mapping[str, Any]]) -> None:
        """Answer the presses. They are written: where this fails, a button's clock runs out by itself."""
        calls = [self._call(client, "answerCallbackQuery", {"callback_query_id": press["id"]}) for press in pressed]
        with suppress(TimeoutError):
            async with asyncio.timeout(_PRESSES_SECONDS):
                await asyncio.gather(*map(_try, calls))

    async def _who(self, client: httpx2.AsyncClient | None = None) -> Bot:
        if client is None:
            async with self._client() as own:
                try:
                    return await self._who(own)
                except TelegramRefused as error:
                    raise self._failure(error) from None
        me = await self._call(client, "getMe", {})
        return Bot(id=me["id"], username=me["username"])

    def _client(self) -> httpx2.AsyncClient:
        return self._platform.client()

    async def _call(
        self,
        client: httpx2.AsyncClient,
        method: str,
        fields: Mapping[str, Any] | Form,
        *,
        seconds: float | None = None,
    ) -> Any:
        """Call a method; raise TelegramRefused if Telegram said no, else ChannelFailed. No error shows the token."""
        response = await self._platform.request(client, "POST", self._url + method, seconds=seconds, body=fields)
        try:
            answer = cast("dict[str, Any]", response.json())
        except ValueError:
            raise ChannelFailed("Telegram's answer could not be read.", unsure=True) from None
        if answer.get("ok") is True:
            return answer["result"]
        more = cast("dict[str, Any]", answer.get("parameters") or {})
        code = int(answer.get("error_code", response.status_code))
        said = self._platform.without_secret(str(answer.get("description", "")), _LONGEST_DESCRIPTION)
        retry_after, moved_to = more.get("retry_after"), more.get("migrate_to_chat_id")
        raise TelegramRefused(code, said, retry_after=retry_after, moved_to=moved_to)

    def _failure(self, error: TelegramRefused) -> ChannelFailed:
        said = error.description.rstrip(".") or f"error {error.code}"
        if error.moved_to is not None:
            again = f"Link it again there (homing channels link {self.name} --group)."
            return ChannelFailed(
                f"This group became a supergroup with another address, {self.name}:{error.moved_to}. {again}",
                permanent=True,
            )
        match error.code:
            case 429:
                return ChannelFailed(f"Telegram says: {said}.", retry_after=error.retry_after, limited=True)
            case 401 | 404:
                # A broken channel, not a refused message: somebody may put it right before the last attempt.
                return ChannelFailed(f"Telegram does not accept the token of {self.name}: {said}. Check its setting.")
            case 409:
                return ChannelFailed(
                    f"Another program reads the messages of this bot: {said}. Stop it, or give Homing a bot of its own."
                )
            case 403:
                return ChannelFailed(f"Telegram refused it: {said}.", permanent=True, blocked=True)
            case _:
                return ChannelFailed(f"Telegram refused it: {said}.", permanent=True)


def make(name: str, fields: Mapping[str, str]) -> Channel:
    """Make the channel of one bot."""
    token = fields["token"]
    if not _TOKEN.fullmatch(token):
        raise ValueError("token must look as BotFather gives it, such as 123456:AbC-1_2")
    return TelegramChannel(name=name, token=token, base_url=read_base_url(fields, BASE_URL))


KIND = ChannelKind(fields=CHANNEL_FIELDS["telegram"], make=make)


async def _try(call: Awaitable[object]) -> None:
    with suppress(TelegramRefused, ChannelFailed):
        await call


def _where(part: Part) -> dict[str, Any]:
    found = _PLACE.fullmatch(part.place)
    if found is None:
        raise ChannelFailed(f"{part.place!r} is not a chat of Telegram such as 7 or -100123/4.", permanent=True)
    fields = _place(found)
    if part.replies_to and (answered := part.replies_to.rpartition(":")[2]).isdecimal():
        fields["reply_parameters"] = {"message_id": int(answered), "allow_sending_without_reply": True}
    return fields


def _place(found: re.Match[str]) -> dict[str, Any]:
    chat, thread = found.groups()
    return {"chat_id": int(chat)} | ({"message_thread_id": int(thread)} if thread else {})


def _keyboard(question_id: str, options: Any) -> dict[str, Any]:
    """One button per row. By number: the text of an option may be longer than the 64 bytes that come back."""
    rows = [[{"text": option, "callback_data": f"{question_id}:{n}"}] for n, option in enumerate(options, 1)]
    return {"inline_keyboard": rows}
