"""A strict Slack on loopback: the Web API with its limits and errors, Socket Mode with acknowledgements and repeats.

`with SlackStub() as slack:` people write with `write`, press with `press`; `sent` is what the app sent. An event that
was not acknowledged comes again on the next connection, until `forget_events`: Slack gives up after some minutes.
"""

import asyncio
import json
import secrets
import threading
import time
from collections.abc import Callable
from email.utils import formatdate
from typing import Any, Self
from urllib.parse import parse_qsl

from homing.testing.loopback import Exchange, LoopbackServer
from homing.testing.loopback_socket import LoopbackSocket

BOT_TOKEN, APP_TOKEN = "xoxb-stub-bot", "xapp-stub-app"
ME, TEAM = "UHOMING", "T1"
_MOST_TEXT, _MOST_MARKDOWN = 40_000, 12_000
_MOST_LABEL, _MOST_VALUE, _MOST_BUTTONS = 75, 2_000, 25
_JSON_FIELDS = ("blocks", "metadata", "files", "limit", "length", "include_all_metadata", "exclude_archived")


class _No(Exception):
    def __init__(self, error: str, **more: Any) -> None:
        super().__init__(error)
        self.body = {"ok": False, "error": error, **more}


class SlackStub:
    """One workspace with one app. A conversation is known once somebody wrote in it; the app is a member of all."""

    def __init__(self) -> None:
        self.bot_token, self.app_token = BOT_TOKEN, APP_TOKEN
        self.delay_seconds = 0.0
        """How long it takes to answer after it has taken a message."""
        self.sent: list[dict[str, Any]] = []
        """Messages that the app sent and people see."""
        self.edits: list[dict[str, Any]] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.acknowledged: list[str] = []
        """Ids of envelopes, in the order in which the app said that it has them."""
        self.files: dict[str, dict[str, Any]] = {}
        self.left: set[str] = set()
        """Conversations that the app is not in."""
        self._history: dict[str, list[dict[str, Any]]] = {}
        self._clock = int(time.time())
        self._pending: dict[str, dict[str, Any]] = {}
        self._tickets: set[str] = set()
        self._sockets: list[LoopbackSocket] = []
        self._faults: list[tuple[str, Any]] = []
        self._number = 0
        self._heard = threading.Condition()
        self._server = LoopbackServer(self._serve)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def listening(self) -> bool:
        """Whether a connection is open."""
        return any(socket.open for socket in self._sockets)

    @property
    def waiting(self) -> int:
        """How many events were not acknowledged."""
        return len(self._pending)

    def write(self, text: str = "", *, channel: str = "D1", sender: str = "U7", **more: Any) -> str:
        """Let a person write; return the message's `ts`. `more` are fields of Slack's message, such as thread_ts."""
        message: dict[str, Any] = {}
        self._server.call(lambda: message.update(self._write(channel, {"user": sender, "text": text, **more})))
        return message["ts"]

    def write_file(self, data: bytes, name: str, *, text: str = "", **more: Any) -> str:
        """Let a person send a file with words; return the message's `ts`."""
        file_id = self._next("F")
        self.files[file_id] = {"name": name, "data": data}
        shown = self._shown_file(file_id)
        return self.write(text, subtype="file_share", files=[shown], **more)

    def edit(self, ts: str, text: str, *, channel: str = "D1") -> None:
        """Let a person change what they wrote."""

        def change() -> None:
            [found] = [one for one in self._history[channel] if one["ts"] == ts]
            before = dict(found)
            found |= {"text": text, "edited": {"user": found["user"], "ts": self._tick()}}
            self._tell_event(
                {
                    "type": "message", "subtype": "message_changed", "channel": channel, "ts": self._tick(),
                    "channel_type": _kind(channel), "message": dict(found), "previous_message": before,
                }
            )  # fmt: skip

        self._server.call(change)

    def press(self, message: dict[str, Any], number: int, *, sender: str = "U7") -> None:
        """Let somebody press a button of a message that the app sent."""
        [actions] = [block for block in message["blocks"] if block["type"] == "actions"]
        button = actions["elements"][number - 1]
        container = {"type": "message", "message_ts": message["ts"], "channel_id": message["channel"]}
        container |= {"thread_ts": message["thread_ts"]} if "thread_ts" in message else {}

        def tell() -> None:
            payload = {
                "type": "block_actions",
                "user": {"id": sender, "username": f"ada_{sender}", "name": f"ada_{sender}"},
                "container": container,
                "channel": {"id": message["channel"]},
                "message": {key: value for key, value in message.items() if key != "channel"},
                "actions": [{**button, "block_id": "b1", "action_ts": self._tick()}],
                "trigger_id": self._next("trigger"),
            }
            self._tell("interactive", payload)

        self._server.call(tell)

    def tell(self, event: dict[str, Any]) -> None:
        """Give the app any event."""
        self._server.call(lambda: self._tell_event(event))

    def forget_events(self) -> None:
        """Give up on what was not acknowledged, as Slack does after some minutes: only the history has it now."""
        self._server.call(self._pending.clear)

    def refresh(self, reason: str = "refresh_requested") -> None:
        """Close all connections, and say so before."""

        def close() -> None:
            for socket in self._sockets:
                socket.send({"type": "disconnect", "reason": reason})
                socket.close()

        self._server.call(close)

    def cut(self) -> None:
        """Break all connections off."""
        self._server.call(lambda: [socket.cut() for socket in self._sockets])

    def limit(self, retry_after: int, *, times: int = 1) -> None:
        """Answer the next messages with 429."""
        self._faults += [("limit", retry_after)] * times

    def fail(self, how: str, *, times: int = 1) -> None:
        """Break the next messages: `lose` takes it and never answers, `close` cuts, `500`; or an error of Slack's."""
        self._faults += [(how, None)] * times

    def wait_for(self, enough: Callable[["SlackStub"], bool], *, seconds: float = 20.0) -> None:
        """Wait until something was called that makes it enough for you."""
        with self._heard:
            assert self._heard.wait_for(lambda: enough(self), seconds), "Slack was not asked for it in time."

    def _notify(self) -> None:
        with self._heard:
            self._heard.notify_all()

    async def _serve(self, exchange: Exchange) -> None:
        path = exchange.request.path
        try:
            if path == "/link/":
                await self._connect(exchange)
            elif path.startswith("/upload/"):
                self._upload(exchange, path.removeprefix("/upload/"))
            elif path.startswith("/files/"):
                self._download(exchange, path.removeprefix("/files/"))
            else:
                await self._method(exchange, path.removeprefix("/api/"))
        finally:
            self._notify()

    async def _method(self, exchange: Exchange, method: str) -> None:
        fields = _fields_of(exchange)
        self.calls.append((method, fields))
        headers = {"date": formatdate(self._clock, usegmt=True)}
        try:
            token = exchange.request.headers.get("authorization", "").removeprefix("Bearer ") or fields.get("token", "")
            wanted, other = self.bot_token, self.app_token
            if method == "apps.connections.open":
                wanted, other = other, wanted
            if token != wanted:
                raise _No("not_allowed_token_type" if token == other else "invalid_auth")
            result = await self._perform(method, fields, exchange)
        except _No as no:
            limited = no.body["error"] == "ratelimited"
            more = {"retry-after": str(no.body.pop("retry_after"))} if limited else {}
            exchange.answer_json(429 if limited else 200, no.body, headers | more)
        else:
            if result is not None:
                exchange.answer_json(200, {"ok": True, **result}, headers)

    async def _perform(self, method: str, fields: dict[str, Any], exchange: Exchange) -> dict[str, Any] | None:
        match method:
            case "auth.test":
                return {
                    "user_id": ME,
                    "user": "homing",
                    "team_id": TEAM,
                    "team": "Acme",
                    "bot_id": "B1",
                    "url": self.url,
                }
            case "apps.connections.open":
                ticket = secrets.token_hex(8)
                self._tickets.add(ticket)
                return {"url": f"{self.url.replace('http', 'ws', 1)}/link/?ticket={ticket}&app_id=A1"}
            case "chat.postMessage":
                return await self._post(fields, exchange)
            case "chat.update":
                return self._update(fields)
            case "users.conversations":
                mine = [self._conversation(one) for one in self._history if one not in self.left]
                return self._page(fields, mine, "channels")
            case "conversations.history":
                return self._page(fields, self._shown(fields), "messages")
            case "conversations.replies":
                return self._page(fields, self._replies(fields), "messages")
            case "users.info":
                user = fields["user"]
                return {"user": {"id": user, "name": f"ada_{user}", "profile": {"display_name": f"Ada {user}"}}}
            case "files.getUploadURLExternal":
                if not fields.get("filename") or int(fields.get("length") or 0) < 1:
                    raise _No("invalid_arguments")
                file_id = self._next("F")
                self.files[file_id] = {"name": fields["filename"], "length": int(fields["length"]), "data": b""}
                return {"upload_url": f"{self.url}/upload/{file_id}", "file_id": file_id}
            case "files.completeUploadExternal":
                return await self._complete(fields, exchange)
            case _:
                raise _No("unknown_method")

    async def _connect(self, exchange: Exchange) -> None:
        ticket = exchange.request.query.get("ticket", "")
        if ticket not in self._tickets:
            exchange.answer(404, b"")
            return
        self._tickets.discard(ticket)
        socket = exchange.upgrade()
        socket.send({"type": "hello", "num_connections": 1, "connection_info": {"app_id": "A1"}})
        self._sockets = [one for one in self._sockets if one.open] + [socket]
        for envelope in list(self._pending.values()):
            envelope["retry_attempt"] = envelope.get("retry_attempt", 0) + 1
            socket.send(envelope)
        self._notify()
        try:
            while (frame := await socket.receive()) is not None:
                if frame["envelope_id"] not in self._pending:
                    socket.close(1008, "an unknown envelope was acknowledged")
                    continue
                del self._pending[frame["envelope_id"]]
                self.acknowledged.append(frame["envelope_id"])
                self._notify()
        finally:
            socket.cut()
            self._notify()

    async def _post(self, fields: dict[str, Any], exchange: Exchange, **shown: Any) -> dict[str, Any] | None:
        channel = self._writable(str(fields.get("channel", "")))
        if not shown:
            _check_words(fields)
        how, more = self._faults.pop(0) if self._faults else ("", None)
        if how == "limit":
            raise _No("ratelimited", retry_after=more)
        if how == "500":
            exchange.answer(500, b"")
            return None
        if how not in ("", "lose", "close"):
            raise _No(how)
        thread = fields.get("thread_ts")
        if thread and not any(one["ts"] == thread for one in self._history[channel]):
            raise _No("thread_not_found")
        kept = {name: fields[name] for name in ("text", "blocks", "metadata", "thread_ts") if name in fields}
        message = self._keep(channel, {"user": ME, "bot_id": "B1", "text": "", **kept, **shown})
        self.sent.append(message)
        # The app hears its own words, too.
        self._tell_event({"type": "message", "channel_type": _kind(channel), **message})
        if how == "lose":
            self._notify()
            await asyncio.sleep(3600)
        if how == "close":
            exchange.cut()
            return None
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        return {"channel": channel, "ts": message["ts"], "message": message}

    def _update(self, fields: dict[str, Any]) -> dict[str, Any]:
        channel = self._writable(str(fields.get("channel", "")))
        found = next((one for one in self.sent if (one["channel"], one["ts"]) == (channel, fields.get("ts"))), None)
        if found is None:
            raise _No("message_not_found")
        _check_words(fields)
        found |= {"text": fields.get("text", ""), "blocks": fields.get("blocks", [])}
        self.edits.append(fields)
        return {"channel": channel, "ts": found["ts"], "text": found["text"]}

    def _upload(self, exchange: Exchange, file_id: str) -> None:
        found = self.files.get(file_id)
        if found is None or len(exchange.request.body) != found["length"]:
            exchange.answer(400, b"")
            return
        found["data"] = exchange.request.body
        exchange.answer(200, b"OK")

    async def _complete(self, fields: dict[str, Any], exchange: Exchange) -> dict[str, Any] | None:
        [given] = fields["files"]
        if not self.files.get(given["id"], {}).get("data"):
            raise _No("file_not_found")
        shown = self._shown_file(given["id"])
        place = {"channel": fields["channel_id"]} | {name: fields[name] for name in ("thread_ts",) if name in fields}
        posted = await self._post(place, exchange, files=[shown], subtype="file_share")
        if posted is None:
            return None
        # As Slack: the file is there, under which message is not said yet.
        return {"files": [{"id": given["id"], "title": given.get("title", "")}]}

    def _download(self, exchange: Exchange, file_id: str) -> None:
        if exchange.request.headers.get("authorization") != f"Bearer {self.bot_token}":
            exchange.answer(302, b"", {"location": "/login"})
        elif file_id not in self.files:
            exchange.answer(404, b"")
        else:
            exchange.answer(200, self.files[file_id]["data"], {"content-type": "application/octet-stream"})

    def _writable(self, channel: str) -> str:
        if channel not in self._history:
            raise _No("channel_not_found")
        if channel in self.left:
            raise _No("not_in_channel")
        return channel

    def _conversation(self, channel: str) -> dict[str, Any]:
        if channel[0] != "D":
            return {"id": channel, "is_im": False}
        people = (one["user"] for one in self._history[channel] if one["user"] != ME)
        return {"id": channel, "is_im": True, "user": next(people, "U7")}

    def _shown(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        """Give a conversation as its history does: newest first, without the answers in threads."""
        channel = self._writable(str(fields.get("channel", "")))
        written = self._history[channel]
        rows: list[dict[str, Any]] = []
        for one in reversed(written):
            if one.get("thread_ts", one["ts"]) != one["ts"]:
                continue
            replies = [other for other in written if other.get("thread_ts") == one["ts"] != other["ts"]]
            counted = {"reply_count": len(replies), "latest_reply": replies[-1]["ts"]} if replies else {}
            rows.append({**one, **counted})
        return [_without_channel(one, fields) for one in rows if one["ts"] > fields.get("oldest", "0")]

    def _replies(self, fields: dict[str, Any]) -> list[dict[str, Any]]:
        channel, thread = self._writable(str(fields.get("channel", ""))), fields["ts"]
        rows = [one for one in self._history[channel] if thread in (one["ts"], one.get("thread_ts"))]
        if not rows:
            raise _No("thread_not_found")
        after = fields.get("oldest", "0")
        return [_without_channel(one, fields) for one in rows if one["ts"] == thread or one["ts"] > after]

    def _page(self, fields: dict[str, Any], rows: list[dict[str, Any]], key: str) -> dict[str, Any]:
        start, size = int(fields.get("cursor") or 0), int(fields.get("limit") or 100)
        following = str(start + size) if start + size < len(rows) else ""
        more = {"has_more": bool(following), "response_metadata": {"next_cursor": following}}
        return {key: rows[start : start + size], **more}

    def _write(self, channel: str, written: dict[str, Any]) -> dict[str, Any]:
        if "thread_ts" in written and "parent_user_id" not in written:
            [parent] = [one for one in self._history[channel] if one["ts"] == written["thread_ts"]]
            written["parent_user_id"] = parent["user"]
        message = self._keep(channel, written)
        event = {"type": "message", "channel_type": _kind(channel), **message}
        self._tell_event(event)
        if f"<@{ME}>" in str(written.get("text")) and channel[0] != "D":
            self._tell_event({**message, "type": "app_mention"})
        return message

    def _keep(self, channel: str, written: dict[str, Any]) -> dict[str, Any]:
        message = {**written, "type": "message", "channel": channel, "ts": self._tick(), "team": TEAM}
        self._history.setdefault(channel, []).append(message)
        return message

    def _tell_event(self, event: dict[str, Any]) -> None:
        outer = {"type": "event_callback", "team_id": TEAM, "event_id": self._next("Ev"), "event": dict(event)}
        self._tell("events_api", {**outer, "event_time": self._clock})

    def _tell(self, kind: str, payload: dict[str, Any]) -> None:
        envelope_id = self._next("env")
        self._pending[envelope_id] = {
            "envelope_id": envelope_id,
            "type": kind,
            "payload": payload,
            "accepts_response_payload": kind == "interactive",
        }
        for socket in [one for one in self._sockets if one.open][-1:]:
            socket.send(self._pending[envelope_id])

    def _shown_file(self, file_id: str) -> dict[str, Any]:
        found = self.files[file_id]
        url = f"{self.url}/files/{file_id}"
        return {"id": file_id, "name": found["name"], "size": len(found["data"]), "url_private_download": url}

    def _tick(self) -> str:
        # Each message a second after the one before, and the server's own clock behind all of them.
        self._clock += 1
        return f"{self._clock - 1}.000100"

    def _next(self, what: str) -> str:
        self._number += 1
        return f"{what}{self._number}"


def _fields_of(exchange: Exchange) -> dict[str, Any]:
    """Read a call's arguments in each form that Slack takes: JSON, a form, or the address."""
    body, kind = exchange.request.body, exchange.request.headers.get("content-type", "")
    if kind.startswith("application/json"):
        return json.loads(body or b"{}")
    given = {**exchange.request.query, **dict(parse_qsl(body.decode()))}
    return {name: json.loads(value) if name in _JSON_FIELDS else value for name, value in given.items()}


def _check_words(fields: dict[str, Any]) -> None:
    blocks: list[dict[str, Any]] = fields.get("blocks") or []
    if not str(fields.get("text") or "").strip() and not blocks:
        raise _No("no_text")
    # Slack cuts there; nobody may come to rely on it.
    if len(fields.get("text") or "") > _MOST_TEXT:
        raise _No("msg_too_long")
    if sum(len(block["text"]) for block in blocks if block["type"] == "markdown") > _MOST_MARKDOWN:
        raise _No("msg_blocks_too_long")
    for block in blocks:
        if block["type"] not in ("markdown", "actions", "section"):
            raise _No("invalid_blocks")
        buttons: list[dict[str, Any]] = block.get("elements") or []
        ids = {button["action_id"] for button in buttons}
        if len(buttons) > _MOST_BUTTONS or len(ids) != len(buttons):
            raise _No("invalid_blocks")
        for button in buttons:
            label, value = button["text"]["text"], button.get("value", "")
            if not 1 <= len(label) <= _MOST_LABEL or len(value) > _MOST_VALUE:
                raise _No("invalid_blocks")
    metadata = fields.get("metadata")
    if metadata is not None and not (metadata.get("event_type") and isinstance(metadata.get("event_payload"), dict)):
        raise _No("invalid_metadata_format")


def _without_channel(written: dict[str, Any], fields: dict[str, Any]) -> dict[str, Any]:
    hidden = {"channel"} if fields.get("include_all_metadata") in (True, 1) else {"channel", "metadata"}
    return {key: value for key, value in written.items() if key not in hidden}


def _kind(channel: str) -> str:
    return {"D": "im", "G": "mpim"}.get(channel[0], "channel")
