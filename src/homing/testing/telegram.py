"""A strict Telegram on loopback: limits and errors of the published Bot API, long polls, offsets, one poller.

`with TelegramStub() as telegram:` people write with `write`, press with `press`; `sent` is what the bot sent. As a
process, `python -m homing.testing.telegram` is a chat: each line that you type is a message, `#2` presses the second
button that was shown last, and what the bot sends is printed.
"""

import argparse
import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Self
from urllib.parse import parse_qsl, unquote

from homing.testing.loopback import Exchange, LoopbackServer
from homing.testing.process import run_until_told

TOKEN = "4664:stub-token"  # noqa: S105 - of a bot that does not exist
BOT = {"id": 4664, "is_bot": True, "first_name": "Homing", "username": "homing_bot"}
_MOST_UTF16 = 4096
_MOST_RICH = 32_768
_MOST_CALLBACK = 64
_MOST_FETCHED, _MOST_PHOTO, _MOST_DOCUMENT = 20_000_000, 10_000_000, 50_000_000
_NUMBERS = {"chat_id", "message_id", "message_thread_id", "offset", "timeout", "limit"}
_OBJECTS = {"reply_markup", "rich_message", "reply_parameters", "allowed_updates", "link_preview_options", "entities"}


class _No(Exception):
    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


class TelegramStub:
    """One bot with its chats. A chat is known once somebody wrote in it."""

    def __init__(self, *, token: str = TOKEN, rich: bool = True, port: int = 0) -> None:
        self.token = token
        self.bot = {**BOT, "id": int(token.partition(":")[0])}
        self.holds_presses = False
        """Whether it takes presses' answers without ever replying."""
        self.delay_seconds = 0.0
        """How long it takes to answer after it has taken a message."""
        self.rich = rich
        """Whether it knows rich messages (Bot API 10.1)."""
        self.sent: list[dict[str, Any]] = []
        """Messages that the bot sent and people see."""
        self.actions: list[dict[str, Any]] = []
        self.answered: list[str] = []
        self.edits: list[dict[str, Any]] = []
        """What the bot put in the place of its messages."""
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.files: dict[str, bytes] = {}
        """The bytes of what people and the bot sent, by Telegram's id."""
        self.lost_files: set[str] = set()
        """Ids of files that nobody can fetch any more."""
        self.confirmed = 0
        """The offset below which updates are forgotten."""
        self._updates: list[dict[str, Any]] = []
        self._chats: dict[int, dict[str, Any]] = {}
        self._blocked: set[int] = set()
        self._moved: dict[int, int] = {}
        self._faults: list[tuple[str, dict[str, Any]]] = []
        self._next_update = self._next_message = self._next_press = 1
        self._poll: asyncio.Event | None = None
        self._heard = threading.Condition()
        self._server = LoopbackServer(self._serve, port=port)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def polling(self) -> bool:
        """Whether a long poll waits."""
        return self._poll is not None

    def write(self, text: str | None = None, *, chat: int = 7, sender: int = 7, **more: Any) -> int:
        """Let a person write; return the message's id. `more` are fields of Telegram's Message."""
        words = {} if text is None else {"text": text}
        message: dict[str, Any] = {**self._message(chat, sender), **words, **more}
        self._server.call(lambda: self._tell({"message": message}))
        return message["message_id"]

    def write_file(self, kind: str, data: bytes, *, size: int | None = None, name: str = "", **more: Any) -> int:
        """Let a person send a photo, document, voice, video or audio; return the message's id."""
        file_id = f"file{len(self.files) + 1}"
        self.files[file_id] = data
        found: dict[str, Any] = {"file_id": file_id, "file_unique_id": file_id, "file_size": size or len(data)}
        found |= {"file_name": name} if name else {}
        if kind == "photo":
            found |= {"width": 1, "height": 1}
            return self.write(photo=[{**found, "file_id": f"{file_id}-small"}, found], **more)
        found |= {"duration": 3} if kind in ("voice", "video", "audio") else {}
        return self.write(**{kind: found}, **more)

    def edit(self, message_id: int, text: str, *, chat: int = 7, sender: int = 7) -> None:
        """Let a person change what they wrote."""
        message = self._message(chat, sender) | {"message_id": message_id, "text": text, "edit_date": int(time.time())}
        self._server.call(lambda: self._tell({"edited_message": message}))

    def press(self, message: dict[str, Any], number: int, *, sender: int = 7) -> str:
        """Let somebody press a button of a message that the bot sent; return the id of the press."""
        button = [b for row in message["reply_markup"]["inline_keyboard"] for b in row][number - 1]
        press, self._next_press = f"press{self._next_press}", self._next_press + 1
        query = {"id": press, "from": _person(sender), "message": message, "data": button["callback_data"]}
        query["chat_instance"] = str(message["chat"]["id"])
        self._server.call(lambda: self._tell({"callback_query": query}))
        return press

    def block(self, chat: int = 7) -> None:
        """Let the person block the bot."""
        self._blocked.add(chat)

    def upgrade(self, chat: int, to: int) -> None:
        """Let a group become a supergroup."""
        self._moved[chat] = to

    def limit(self, retry_after: int, *, times: int = 1) -> None:
        """Answer the next sends with 429."""
        body = {"error_code": 429, "description": f"Too Many Requests: retry after {retry_after}"}
        self._faults += [("answer", {**body, "parameters": {"retry_after": retry_after}})] * times

    def fail(self, how: str, *, times: int = 1) -> None:
        """Break the next sends: `lose` takes the message and never answers, `close` cuts, `500` answers so."""
        self._faults += [(how, {})] * times

    def wait_for(self, enough: Callable[["TelegramStub"], bool], *, seconds: float = 20.0) -> None:
        """Wait until something was called that makes it enough for you."""
        with self._heard:
            assert self._heard.wait_for(lambda: enough(self), seconds), "Telegram was not asked for it in time."

    async def _serve(self, exchange: Exchange) -> None:
        if exchange.request.path.startswith("/file/bot"):
            self._download(exchange)
            return
        token, _, method = exchange.request.path.removeprefix("/bot").partition("/")
        fields = _fields_of(exchange)
        self.calls.append((method, {name: given for name, given in fields.items() if not isinstance(given, _Upload)}))
        try:
            if token != self.token:
                raise _No(401 if ":" in token else 404, "Unauthorized" if ":" in token else "Not Found")
            result = await self._perform(method, fields, exchange)
        except _No as no:
            exchange.answer_json(no.body["error_code"], no.body)
        else:
            if result is not _BROKEN:
                exchange.answer_json(200, {"ok": True, "result": result})
        finally:
            with self._heard:
                self._heard.notify_all()

    async def _perform(self, method: str, fields: dict[str, Any], exchange: Exchange) -> Any:
        match method:
            case "getMe":
                return self.bot
            case "getUpdates":
                return await self._get_updates(fields)
            case "sendMessage":
                return await self._send(fields, self._checked(fields), exchange)
            case "sendRichMessage" if self.rich:
                return await self._send(fields, self._checked_rich(fields), exchange)
            case "sendPhoto" | "sendDocument":
                return await self._send_file(method, fields, exchange)
            case "getFile":
                return self._get_file(fields)
            case "sendChatAction":
                self.actions.append(fields)
                return True
            case "editMessageText":
                return self._edit(fields)
            case "answerCallbackQuery":
                if self.holds_presses:
                    with self._heard:
                        self._heard.notify_all()
                    await asyncio.sleep(3600)
                self.answered.append(fields["callback_query_id"])
                return True
            case _:
                raise _No(404, "Not Found")

    async def _get_updates(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        if self._poll is not None:
            # A new poll ends the one before it, as Telegram does.
            self._poll.set()
        offset = fields.get("offset", 0)
        if offset < 0:
            self._updates = self._updates[offset:]
        else:
            self.confirmed = max(self.confirmed, offset)
            self._updates = [update for update in self._updates if update["update_id"] >= offset]
        if self._updates or not fields.get("timeout"):
            return self._updates[: fields.get("limit", 100)]
        mine = self._poll = asyncio.Event()
        with self._heard:
            self._heard.notify_all()
        try:
            await asyncio.wait_for(mine.wait(), fields["timeout"])
        except TimeoutError:
            return []
        finally:
            taken_over = self._poll is not mine
            if not taken_over:
                self._poll = None
        if taken_over or not self._updates:
            raise _No(
                409,
                "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
            )
        return self._updates[: fields.get("limit", 100)]

    async def _send(self, fields: dict[str, Any], text: str | None, exchange: Exchange, **shown: Any) -> Any:
        how, body = self._faults.pop(0) if self._faults else ("", {})
        if how == "answer":
            raise _No(body["error_code"], body["description"], **body["parameters"])
        if how == "500":
            exchange.answer_json(502, {"ok": False, "error_code": 502, "description": "Bad Gateway"})
            return _BROKEN
        chat = self._chats.get(fields["chat_id"])
        if chat is None:
            raise _No(400, "Bad Request: chat not found")
        if (moved_to := self._moved.get(chat["id"])) is not None:
            said = "Bad Request: group chat was upgraded to a supergroup chat"
            raise _No(400, said, migrate_to_chat_id=moved_to)
        if chat["id"] in self._blocked:
            raise _No(403, "Forbidden: bot was blocked by the user")
        message = {
            "message_id": self._take_id(),
            "from": self.bot,
            "chat": chat,
            "date": int(time.time()),
            **({} if text is None else {"text": text}),
            **shown,
        }
        kept = ("message_thread_id", "reply_markup", "rich_message", "reply_parameters")
        message |= {name: fields[name] for name in kept if name in fields}
        if "message_thread_id" in fields:
            message["is_topic_message"] = True
        self.sent.append(message)
        if how == "lose":
            with self._heard:
                self._heard.notify_all()
            await asyncio.sleep(3600)
        if how == "close":
            exchange.cut()
            return _BROKEN
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        return message

    async def _send_file(self, method: str, fields: dict[str, Any], exchange: Exchange) -> Any:
        kind = method.removeprefix("send").lower()
        upload = fields.get(kind)
        if not isinstance(upload, _Upload) or not upload.data:
            raise _No(400, f"Bad Request: there is no {kind} in the request")
        if len(upload.data) > (_MOST_PHOTO if kind == "photo" else _MOST_DOCUMENT):
            raise _No(413, "Request Entity Too Large")
        if kind == "photo" and not upload.data.startswith((b"\x89PNG", b"\xff\xd8", b"RIFF")):
            raise _No(400, "Bad Request: IMAGE_PROCESS_FAILED")
        self._check_buttons(fields)
        file_id = f"file{len(self.files) + 1}"
        self.files[file_id] = upload.data
        found = {"file_id": file_id, "file_unique_id": file_id, "file_size": len(upload.data), "file_name": upload.name}
        shown = {"photo": [{**found, "width": 1, "height": 1}]} if kind == "photo" else {"document": found}
        return await self._send(fields, None, exchange, **shown)

    def _get_file(self, fields: dict[str, Any]) -> dict[str, Any]:
        file_id = fields.get("file_id", "")
        if file_id not in self.files:
            raise _No(400, "Bad Request: invalid file_id")
        if len(self.files[file_id]) > _MOST_FETCHED:
            raise _No(400, "Bad Request: file is too big")
        size = len(self.files[file_id])
        return {"file_id": file_id, "file_unique_id": file_id, "file_size": size, "file_path": f"photos/{file_id}.bin"}

    def _download(self, exchange: Exchange) -> None:
        # Clients may escape the colon of the token.
        token, _, path = unquote(exchange.request.path).removeprefix("/file/bot").partition("/")
        file_id = path.removeprefix("photos/").removesuffix(".bin")
        if token != self.token or file_id not in self.files or file_id in self.lost_files:
            exchange.answer(404, b"")
        else:
            exchange.answer(200, self.files[file_id], {"content-type": "application/octet-stream"})

    def _edit(self, fields: dict[str, Any]) -> dict[str, Any]:
        text = self._checked(fields)
        where = (fields.get("chat_id"), fields.get("message_id"))
        found = next((one for one in self.sent if (one["chat"]["id"], one["message_id"]) == where), None)
        if found is None:
            raise _No(400, "Bad Request: message to edit not found")
        if (found.get("text"), found.get("reply_markup")) == (text, fields.get("reply_markup")):
            raise _No(400, "Bad Request: message is not modified")
        for name in ("reply_markup", "rich_message"):
            found.pop(name, None)
        found |= {"text": text, "edit_date": int(time.time())}
        found |= {"reply_markup": fields["reply_markup"]} if "reply_markup" in fields else {}
        self.edits.append(fields)
        return found

    def _checked(self, fields: dict[str, Any]) -> str:
        text = fields.get("text")
        if not isinstance(text, str) or not text.strip():
            raise _No(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > _MOST_UTF16:
            raise _No(400, "Bad Request: message is too long")
        self._check_buttons(fields)
        return text

    def _checked_rich(self, fields: dict[str, Any]) -> str:
        markdown = fields.get("rich_message", {}).get("markdown")
        if not isinstance(markdown, str) or not markdown.strip():
            raise _No(400, "Bad Request: rich message must be non-empty")
        if len(markdown) > _MOST_RICH:
            raise _No(400, "Bad Request: RICH_MESSAGE_TOO_LONG")
        if "\u0000" in markdown:
            raise _No(400, "Bad Request: can't parse rich message")
        self._check_buttons(fields)
        return markdown

    def _check_buttons(self, fields: dict[str, Any]) -> None:
        for row in fields.get("reply_markup", {}).get("inline_keyboard", ()):
            for button in row:
                if not 1 <= len(button["callback_data"].encode()) <= _MOST_CALLBACK:
                    raise _No(400, "Bad Request: BUTTON_DATA_INVALID")
                if not button["text"].strip():
                    raise _No(400, "Bad Request: text buttons are unallowed in the inline keyboard")

    def _message(self, chat: int, sender: int) -> dict[str, Any]:
        self._chats[chat] = {"id": chat, "type": "private" if chat > 0 else "supergroup"}
        now = int(time.time())
        return {"message_id": self._take_id(), "date": now, "from": _person(sender), "chat": self._chats[chat]}

    def _take_id(self) -> int:
        self._next_message += 1
        return self._next_message - 1

    def _tell(self, what: dict[str, Any]) -> None:
        self._updates.append({"update_id": self._next_update, **what})
        self._next_update += 1
        if self._poll is not None:
            self._poll.set()


_BROKEN = object()


@dataclass(frozen=True)
class _Upload:
    name: str
    data: bytes


def _fields_of(exchange: Exchange) -> dict[str, Any]:
    """Read a request's fields in each form that Telegram takes: JSON, a URL-encoded form, a form with files."""
    body, kind = exchange.request.body, exchange.request.headers.get("content-type", "")
    if kind.startswith("multipart/form-data"):
        form = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
        return dict(_field_of(part) for part in form.iter_parts())
    if kind.startswith("application/x-www-form-urlencoded"):
        return {name: _value_of(name, value) for name, value in parse_qsl(body.decode())}
    return json.loads(body or b"{}")


def _field_of(part: Any) -> tuple[str, Any]:
    name = str(part.get_param("name", header="content-disposition"))
    data: bytes = part.get_payload(decode=True) or b""
    filename = part.get_filename()
    return name, _Upload(filename, data) if filename else _value_of(name, data.decode())


def _value_of(name: str, value: str) -> Any:
    return json.loads(value) if name in _NUMBERS | _OBJECTS else value


def _person(number: int) -> dict[str, Any]:
    return {"id": number, "is_bot": False, "first_name": "Ada", "last_name": f"No{number}"}


def _print_sent(telegram: TelegramStub) -> None:
    shown = 0
    while True:
        for message in telegram.sent[shown:]:
            shown += 1
            rows = message.get("reply_markup", {}).get("inline_keyboard", [])
            buttons = [button["text"] for row in rows for button in row]
            lines = [str(message.get("text") or "(a file)"), *(f"#{n} {text}" for n, text in enumerate(buttons, 1))]
            sys.stdout.write("bot: " + "\n     ".join("\n".join(lines).splitlines()) + "\n")
            sys.stdout.flush()
        telegram.wait_for(lambda stub, seen=shown: len(stub.sent) > seen, seconds=threading.TIMEOUT_MAX)


def _read_typed(telegram: TelegramStub) -> None:
    for line in map(str.strip, sys.stdin):
        with_buttons = [message for message in telegram.sent if "reply_markup" in message]
        if line.startswith("#") and line[1:].isdigit() and with_buttons:
            telegram.press(with_buttons[-1], int(line[1:]))
        elif line:
            telegram.write(line)


def main() -> None:
    """Run the stub until it is told to end; print one line that says where it is and which token it knows."""
    parser = argparse.ArgumentParser(prog="python -m homing.testing.telegram", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    options = parser.parse_args()
    with TelegramStub(port=options.port) as telegram:
        for task in (_print_sent, _read_typed):
            threading.Thread(target=task, args=(telegram,), daemon=True).start()
        run_until_told({"url": telegram.url, "token": telegram.token})


if __name__ == "__main__":
    main()
