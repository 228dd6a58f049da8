"""A strict Discord on loopback: the REST API with its limits and errors, the gateway with sessions and heartbeats.

`with DiscordStub() as discord:` people write with `write`, press with `press`; `sent` is what the bot sent. A session
can be resumed until `forget_sessions`: then nothing is given again, and only the history has what was missed.
"""

import asyncio
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any, Self

from homing.testing.loopback import Exchange, LoopbackServer
from homing.testing.loopback_socket import LoopbackSocket

TOKEN = "stub.discord.token"  # noqa: S105 - of a bot that does not exist
ME = {"id": "4664", "username": "homing", "discriminator": "0", "global_name": None, "avatar": None, "bot": True}
_MOST_TEXT, _MOST_NONCE, _MOST_CUSTOM_ID, _MOST_LABEL, _MOST_FILE = 2000, 25, 100, 80, 10 << 20
_EPOCH = datetime(2026, 11, 1, tzinfo=UTC)
_PRIVILEGED = (1 << 1) | (1 << 8) | (1 << 15)
_GUILD_MESSAGES, _DIRECT_MESSAGES = 1 << 9, 1 << 12


class _No(Exception):
    def __init__(self, status: int, code: int, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status = status
        self.body: dict[str, Any] = {"message": message, "code": code, **more}


@dataclass(kw_only=True, eq=False)
class _Session:
    id: str
    intents: int
    events: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    socket: LoopbackSocket | None = None


class DiscordStub:
    """One bot with its channels. A channel is known once somebody wrote in it; ids below 1000 are direct chats."""

    def __init__(self, *, heartbeat_ms: int = 41_250) -> None:
        self.token = TOKEN
        self.delay_seconds = 0.0
        """How long it takes to answer after it has taken a message."""
        self.answers_heartbeats = True
        self.sent: list[dict[str, Any]] = []
        """Messages that the bot sent and people see."""
        self.edits: list[dict[str, Any]] = []
        self.typing: list[str] = []
        self.answered: list[str] = []
        """Ids of presses whose button stopped spinning."""
        self.beats: list[int | None] = []
        self.resumed = 0
        self.calls: list[str] = []
        self.files: dict[str, tuple[str, bytes]] = {}
        self.hidden: set[str] = set()
        """Channels that the bot may not see any more."""
        self._heartbeat_ms = heartbeat_ms
        self._history: dict[str, list[dict[str, Any]]] = {}
        self._nonces: dict[tuple[str, str], dict[str, Any]] = {}
        self._sessions: dict[str, _Session] = {}
        self._presses: dict[str, str] = {}
        self._faults: list[tuple[str, Any]] = []
        self._number = 10_000
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
    def gateway_url(self) -> str:
        return f"{self.url.replace('http', 'ws', 1)}/gateway"

    @property
    def listening(self) -> bool:
        """Whether somebody is in a session now."""
        return any(one.socket is not None and one.socket.open for one in self._sessions.values())

    def write(self, text: str = "", *, channel: str = "70", sender: str = "7", **more: Any) -> dict[str, Any]:
        """Let a person write; return the message. `more` are fields of Discord's Message."""
        written = {"content": text, "author": _person(sender), **more}
        made: dict[str, Any] = {}

        def tell() -> None:
            made.update(self._keep(channel, written))
            self._tell("MESSAGE_CREATE", self._told(made))

        self._server.call(tell)
        return made

    def reply(self, message: dict[str, Any], text: str, *, sender: str = "7") -> dict[str, Any]:
        """Let a person answer a message."""
        reference = {"message_id": message["id"], "channel_id": message["channel_id"]}
        more = {"type": 19, "message_reference": reference, "referenced_message": message}
        return self.write(text, channel=message["channel_id"], sender=sender, **more)

    def write_file(self, data: bytes, name: str, *, text: str = "", **more: Any) -> dict[str, Any]:
        """Let a person send a file with words."""
        return self.write(text, attachments=[self._attach(name, data)], **more)

    def edit(self, message: dict[str, Any], text: str) -> None:
        """Let a person change what they wrote."""

        def change() -> None:
            [found] = [one for one in self._history[message["channel_id"]] if one["id"] == message["id"]]
            found |= {"content": text, "edited_timestamp": (_EPOCH + timedelta(days=1)).isoformat()}
            self._tell("MESSAGE_UPDATE", self._told(found))

        self._server.call(change)

    def press(self, message: dict[str, Any], number: int, *, sender: str = "7") -> str:
        """Let somebody press a button of a message that the bot sent; return the id of the press."""
        button = [one for row in message["components"] for one in row["components"]][number - 1]
        press: list[str] = []

        def tell() -> None:
            press.append(self._next())
            self._presses[press[0]] = token = f"press-token-{press[0]}"
            place = message["channel_id"]
            who = {"user": _person(sender)} if _is_direct(place) else {"guild_id": "1", "member": _member(sender)}
            self._tell(
                "INTERACTION_CREATE",
                {
                    "id": press[0], "application_id": ME["id"], "type": 3, "token": token, "version": 1,
                    "channel_id": place, "channel": {"id": place, "type": 1 if _is_direct(place) else 0},
                    "data": {"component_type": 2, "custom_id": button["custom_id"], "id": 1}, "message": message,
                    "locale": "en-US", "entitlements": [], "authorizing_integration_owners": {}, "app_permissions": "0",
                    "attachment_size_limit": _MOST_FILE, **who,
                },
            )  # fmt: skip

        self._server.call(tell)
        return press[0]

    def tell(self, event: str, data: dict[str, Any]) -> None:
        """Give the bot any event."""
        self._server.call(lambda: self._tell(event, data))

    def forget_sessions(self) -> None:
        """End every session, as Discord does after some minutes: nothing of it is given again."""
        self._server.call(self._sessions.clear)

    def forget_nonces(self) -> None:
        """Forget which messages are repeats, as Discord does after some minutes."""
        self._nonces.clear()

    def reconnect(self) -> None:
        """Ask for another connection."""
        self._server.call(lambda: [socket.send({"op": 7, "d": None}) for socket in self._sockets()])

    def close(self, code: int, reason: str = "") -> None:
        """Close all connections."""
        self._server.call(lambda: [socket.close(code, reason) for socket in self._sockets()])

    def limit(self, retry_after: float, *, times: int = 1) -> None:
        """Answer the next messages with 429."""
        self._faults += [("limit", retry_after)] * times

    def fail(self, how: str, *, times: int = 1) -> None:
        """Break the next messages: `lose` takes it and never answers, `close` cuts, `500` answers so, `blocked`."""
        self._faults += [(how, None)] * times

    def wait_for(self, enough: Callable[["DiscordStub"], bool], *, seconds: float = 20.0) -> None:
        """Wait until something was called that makes it enough for you."""
        with self._heard:
            assert self._heard.wait_for(lambda: enough(self), seconds), "Discord was not asked for it in time."

    def _sockets(self) -> list[LoopbackSocket]:
        return [one.socket for one in self._sessions.values() if one.socket is not None]

    def _notify(self) -> None:
        with self._heard:
            self._heard.notify_all()

    async def _serve(self, exchange: Exchange) -> None:
        path = exchange.request.path
        try:
            if path.rstrip("/") == "/gateway":
                await self._connect(exchange)
            elif path.startswith("/attachments/"):
                _, data = self.files.get(path.rpartition("/")[2], ("", None))
                exchange.answer(404, b"") if data is None else exchange.answer(200, data)
            else:
                await self._answer(exchange, path.removeprefix("/api/v10/").split("/"))
        finally:
            self._notify()

    async def _answer(self, exchange: Exchange, path: list[str]) -> None:
        self.calls.append(f"{exchange.request.method} {'/'.join(path)}")
        try:
            if path[0] != "interactions" and exchange.request.headers.get("authorization") != f"Bot {self.token}":
                raise _No(401, 0, "401: Unauthorized")
            result = await self._perform(exchange, path)
        except _No as no:
            exchange.answer_json(no.status, no.body)
        else:
            if result is None:
                exchange.answer(204, b"")
            elif result is not _BROKEN:
                exchange.answer_json(200, result)

    async def _perform(self, exchange: Exchange, path: list[str]) -> Any:
        match [exchange.request.method, *path]:
            case ["GET", "users", "@me"]:
                return ME
            case ["GET", "oauth2", "applications", "@me"]:
                return {**_APPLICATION, "owner": _person("1")}
            case ["GET", "gateway", "bot"]:
                limits = {"total": 1000, "remaining": 999, "reset_after": 0, "max_concurrency": 1}
                return {"url": self.gateway_url, "shards": 1, "session_start_limit": limits}
            case ["GET", "channels", channel]:
                return self._channel(channel)
            case ["GET", "channels", channel, "messages"]:
                after, most = (int(exchange.request.query.get(one, 0)) for one in ("after", "limit"))
                written = [one for one in self._readable(channel) if int(one["id"]) > after]
                # The ones next to `after`, newest first, and without the guild.
                return written[: most or 50][::-1]
            case ["POST", "channels", channel, "messages"]:
                return await self._post(exchange, channel)
            case ["PATCH", "channels", channel, "messages", message]:
                return self._patch(channel, message, json.loads(exchange.request.body))
            case ["POST", "channels", channel, "typing"]:
                self._readable(channel)
                self.typing.append(channel)
                return None
            case ["POST", "interactions", press, token, "callback"]:
                if self._presses.get(press) != token:
                    raise _No(404, 10062, "Unknown interaction")
                if json.loads(exchange.request.body).get("type") != 6:
                    raise _No(400, 50035, "Invalid Form Body")
                self.answered.append(press)
                whole = exchange.request.query.get("with_response", "").lower() in ("1", "true")
                return {"interaction": {"id": press, "type": 3}} if whole else None
            case _:
                raise _No(404, 0, "404: Not Found")

    async def _connect(self, exchange: Exchange) -> None:
        query = exchange.request.query
        socket = exchange.upgrade()
        if query.get("compress") == "zlib-stream":
            socket.compress()
        if query.get("v") != "10" or query.get("encoding") != "json":
            socket.close(4012, "Invalid API version")
            return
        socket.send({"op": 10, "d": {"heartbeat_interval": self._heartbeat_ms}, "s": None, "t": None})
        session: _Session | None = None
        try:
            while (frame := await socket.receive()) is not None:
                match frame["op"]:
                    case 1:
                        self.beats.append(frame["d"])
                        if self.answers_heartbeats:
                            socket.send({"op": 11})
                    case 2 if session is None:
                        session = self._identify(socket, frame["d"])
                    case 6 if session is None:
                        session = self._resume(socket, frame["d"])
                    case 2 | 6:
                        socket.close(4005, "Already authenticated.")
                    case 3 | 4 | 8:
                        pass
                    case _:
                        socket.close(4001, "Unknown opcode.")
                self._notify()
        finally:
            if socket.close_code in (1000, 1001) and session is not None:
                # Who leaves so does not want to come back.
                self._sessions.pop(session.id, None)
            socket.cut()
            self._notify()

    def _identify(self, socket: LoopbackSocket, given: dict[str, Any]) -> _Session | None:
        if given["token"] != self.token:
            socket.close(4004, "Authentication failed.")
            return None
        if given["intents"] & _PRIVILEGED:
            socket.close(4014, "Disallowed intent(s).")
            return None
        session = _Session(id=f"session{self._next()}", intents=given["intents"], socket=socket)
        self._sessions[session.id] = session
        self._give(
            session,
            "READY",
            {
                "v": 10, "user": ME, "guilds": [], "session_id": session.id, "resume_gateway_url": self.gateway_url,
                "application": {"id": ME["id"], "flags": 0}, "private_channels": [], "relationships": [],
            },
        )  # fmt: skip
        return session

    def _resume(self, socket: LoopbackSocket, given: dict[str, Any]) -> _Session | None:
        session = self._sessions.get(given["session_id"])
        if given["token"] != self.token:
            socket.close(4004, "Authentication failed.")
            return None
        if session is None:
            socket.send({"op": 9, "d": False, "s": None, "t": None})
            return None
        session.socket = socket
        self.resumed += 1
        for event in session.events[given["seq"] :]:
            socket.send(event)
        self._give(session, "RESUMED", {})
        return session

    def _give(self, session: _Session, event: str, data: dict[str, Any]) -> None:
        session.events.append({"op": 0, "t": event, "s": len(session.events) + 1, "d": data})
        if session.socket is not None:
            session.socket.send(session.events[-1])

    def _tell(self, event: str, data: dict[str, Any]) -> None:
        needed = _GUILD_MESSAGES if "guild_id" in data else _DIRECT_MESSAGES
        for session in self._sessions.values():
            if event == "INTERACTION_CREATE" or session.intents & needed:
                self._give(session, event, data)

    async def _post(self, exchange: Exchange, channel: str) -> Any:
        fields, uploads = _fields_of(exchange)
        self._readable(channel)
        _check(fields, uploads)
        how, more = self._faults.pop(0) if self._faults else ("", None)
        if how == "limit":
            raise _No(429, 0, "You are being rate limited.", retry_after=more, **{"global": False})
        if how == "blocked":
            raise _No(403, 50007, "Cannot send messages to this user")
        if how == "500":
            exchange.answer(502, b"")
            return _BROKEN
        nonce = str(fields.get("nonce") or "")
        known = self._nonces.get((channel, nonce)) if nonce and fields.get("enforce_nonce") else None
        if known is not None:
            return known
        attached = [self._attach(name, data) for name, data in uploads]
        kept = {name: fields[name] for name in ("content", "components", "allowed_mentions", "nonce") if name in fields}
        message = self._keep(channel, {"author": ME, "attachments": attached, **kept})
        self._nonces[channel, nonce] = message
        self.sent.append(message)
        # The bot hears its own words, too.
        self._tell("MESSAGE_CREATE", self._told(message))
        if how == "lose":
            self._notify()
            await asyncio.sleep(3600)
        if how == "close":
            exchange.cut()
            return _BROKEN
        if self.delay_seconds:
            await asyncio.sleep(self.delay_seconds)
        return message

    def _patch(self, channel: str, message_id: str, fields: dict[str, Any]) -> dict[str, Any]:
        _check(fields, [])
        found = next((one for one in self.sent if (one["channel_id"], one["id"]) == (channel, message_id)), None)
        if found is None:
            raise _No(404, 10008, "Unknown Message")
        found |= {name: fields[name] for name in ("content", "components") if name in fields}
        self.edits.append(fields)
        return found

    def _readable(self, channel: str) -> list[dict[str, Any]]:
        if channel not in self._history:
            raise _No(404, 10003, "Unknown Channel")
        if channel in self.hidden:
            raise _No(403, 50001, "Missing Access")
        return self._history[channel]

    def _channel(self, channel: str) -> dict[str, Any]:
        self._readable(channel)
        if _is_direct(channel):
            return {"id": channel, "type": 1, "recipients": [_person("7")], "last_message_id": None}
        return {"id": channel, "type": 0, "guild_id": "1", "name": "fruit", "position": 0, "permission_overwrites": []}

    def _keep(self, channel: str, written: dict[str, Any]) -> dict[str, Any]:
        number = self._next()
        message: dict[str, Any] = {
            "id": number, "channel_id": channel, "type": 0, "content": "", "tts": False, "mention_everyone": False,
            "timestamp": (_EPOCH + timedelta(seconds=int(number))).isoformat(), "edited_timestamp": None,
            "mentions": [], "mention_roles": [], "attachments": [], "embeds": [], "pinned": False, "components": [],
            **written,
        }  # fmt: skip
        message["content"] = message["content"] or ""
        if f"<@{ME['id']}>" in message["content"]:
            message["mentions"] = [*message["mentions"], ME]
        self._history.setdefault(channel, []).append(message)
        return message

    def _told(self, message: dict[str, Any]) -> dict[str, Any]:
        """Give a message as the gateway does: in a server with it, and with words only where the bot is meant."""
        if _is_direct(message["channel_id"]):
            return dict(message)
        meant = ME in message["mentions"] or message["author"] is ME
        hidden: dict[str, Any] = {} if meant else {"content": "", "attachments": [], "components": [], "embeds": []}
        return {**message, **hidden, "guild_id": "1", "member": {"roles": [], "joined_at": None, "flags": 0}}

    def _attach(self, name: str, data: bytes) -> dict[str, Any]:
        number = self._next()
        self.files[number] = (name, data)
        url = f"{self.url}/attachments/{number}"
        return {"id": number, "filename": name, "size": len(data), "url": url, "proxy_url": url}

    def _next(self) -> str:
        self._number += 1
        return str(self._number)


_BROKEN = object()
_APPLICATION = {
    "id": ME["id"], "name": "Homing", "icon": None, "description": "", "bot_public": False,
    "bot_require_code_grant": False, "verify_key": "00", "flags": 0, "summary": "", "team": None,
}  # fmt: skip


def _fields_of(exchange: Exchange) -> tuple[dict[str, Any], list[tuple[str, bytes]]]:
    """Read a message that is JSON, or a form with files."""
    body, kind = exchange.request.body, exchange.request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        return json.loads(body or b"{}"), []
    form = BytesParser(policy=HTTP).parsebytes(b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body)
    fields, uploads = dict[str, Any](), list[tuple[str, bytes]]()
    for part in form.iter_parts():
        name = str(part.get_param("name", header="content-disposition"))
        data: Any = part.get_payload(decode=True)
        if name == "payload_json":
            fields = json.loads(data)
        elif name.startswith("files["):
            uploads.append((str(part.get_filename()), data))
        else:
            raise _No(400, 50035, "Invalid Form Body")
    return fields, uploads


def _check(fields: dict[str, Any], uploads: list[tuple[str, bytes]]) -> None:
    text = fields.get("content") or ""
    if not text.strip() and not uploads:
        raise _No(400, 50006, "Cannot send an empty message")
    if len(text) > _MOST_TEXT:
        raise _No(400, 50035, "Invalid Form Body", errors={"content": "Must be 2000 or fewer in length."})
    if any(len(data) > _MOST_FILE for _, data in uploads):
        raise _No(413, 40005, "Request entity too large")
    if len(str(fields.get("nonce") or "")) > _MOST_NONCE or (fields.get("enforce_nonce") and not fields.get("nonce")):
        raise _No(400, 50035, "Invalid Form Body", errors={"nonce": "Must be 25 or fewer in length."})
    rows: list[dict[str, Any]] = fields.get("components") or []
    buttons = [one for row in rows for one in row["components"]]
    if len(rows) > 5 or any(len(row["components"]) > 5 or row["type"] != 1 for row in rows):
        raise _No(400, 50035, "Invalid Form Body", errors={"components": "Must be between 1 and 5 in length."})
    if len({one["custom_id"] for one in buttons}) != len(buttons):
        raise _No(400, 50035, "Invalid Form Body", errors={"components": "Component custom id cannot be duplicated"})
    for one in buttons:
        if not 1 <= len(one["label"]) <= _MOST_LABEL or not 1 <= len(one["custom_id"]) <= _MOST_CUSTOM_ID:
            raise _No(400, 50035, "Invalid Form Body", errors={"components": "Must be fewer in length."})


def _is_direct(channel: str) -> bool:
    return int(channel) < 1000


def _person(number: str) -> dict[str, Any]:
    return {
        "id": number,
        "username": f"ada{number}",
        "discriminator": "0",
        "global_name": f"Ada {number}",
        "avatar": None,
    }


def _member(number: str) -> dict[str, Any]:
    return {"user": _person(number), "roles": [], "joined_at": None, "deaf": False, "mute": False, "flags": 0}
