"""A small, strict Matrix server on loopback, for machines without Synapse and for what it cannot be asked to do.

`with MatrixStub() as matrix:` one account, `@homing:stub`; people write with `write`, `sent` is what the account sent.
What it does not know, it refuses.
"""

import asyncio
import json
import time
from typing import Any, Self
from urllib.parse import unquote

from homing.testing.loopback import Exchange, LoopbackServer

TOKEN = "syt_stub"
ME, ANN, ROOM = "@homing:stub", "@ann:stub", "!room:stub"
_MOST_EVENT = 65_536


class _No(Exception):
    def __init__(self, status: int, errcode: str, error: str, **more: Any) -> None:
        super().__init__(error)
        self.status = status
        self.body = {"errcode": errcode, "error": error, **more}


class MatrixStub:
    """One account and its rooms. `since` and `from` are positions in one list of events."""

    def __init__(self) -> None:
        self.members: dict[str, set[str]] = {ROOM: {ME, ANN}}
        self.encrypted: set[str] = set()
        self.invited: dict[str, str] = {}
        """Rooms that the account is asked into, and by whom."""
        self.joined: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self.typing: list[str] = []
        self.files: dict[str, bytes] = {}
        self.refusals: list[_No] = []
        """What the next calls get that send something or enter a room."""
        self.empty_pages = 0
        """How many of the next pages of a gap have nothing in them, though there is more."""
        self.calls: list[str] = []
        """The first words of the paths of all calls, such as `sync`."""
        self.token = TOKEN
        self._events: list[tuple[str, dict[str, Any]]] = []
        self._known: dict[str, str] = {}
        self._news: asyncio.Event | None = None
        self._server = LoopbackServer(self._serve)

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    @property
    def url(self) -> str:
        return self._server.url

    def write(self, text: str, *, room: str = ROOM, sender: str = ANN, **more: Any) -> str:
        """Let a person write; return the event's id."""
        return self.add({"msgtype": "m.text", "body": text, **more}, room=room, sender=sender)

    def add(
        self, content: Any, *, kind: str = "m.room.message", room: str = ROOM, sender: str = ANN, **more: Any
    ) -> str:
        event_id = f"$event{len(self._events) + 1}"
        event = {"type": kind, "event_id": event_id, "sender": sender, "content": content, **more}
        event["origin_server_ts"] = int(time.time() * 1000)
        self._server.call(lambda: self._tell(room, event))
        return event_id

    def invite(self, room: str, sender: str) -> None:
        """Let somebody ask the account in."""

        def ask() -> None:
            self.members[room] = {sender}
            self.invited[room] = sender
            self._ring()

        self._server.call(ask)

    def refuse(self, status: int, errcode: str, error: str, **more: Any) -> None:
        """Answer the next call that sends something or enters a room so."""
        self.refusals.append(_No(status, errcode, error, **more))

    def _tell(self, room: str, event: dict[str, Any]) -> None:
        self._events.append((room, event))
        self._ring()

    def _ring(self) -> None:
        if self._news is not None:
            self._news.set()

    async def _serve(self, exchange: Exchange) -> None:
        request = exchange.request
        try:
            if request.headers.get("authorization") != f"Bearer {self.token}":
                raise _No(401, "M_UNKNOWN_TOKEN", "Invalid access token passed.")
            path = [unquote(piece) for piece in request.path.split("/")[3:]]
            self.calls.append(path[1])
            answer = await self._perform(request.method, path, exchange)
        except _No as no:
            exchange.answer_json(no.status, no.body)
        else:
            if isinstance(answer, bytes):
                exchange.answer(200, answer)
            else:
                exchange.answer_json(200, answer)

    async def _perform(self, method: str, path: list[str], exchange: Exchange) -> Any:
        request = exchange.request
        body = json.loads(request.body) if request.body and path[1] != "upload" else {}
        match [method, *path[1:]]:
            case ["GET", "account", "whoami"]:
                return {"user_id": ME, "device_id": "DEVICE"}
            case ["GET", "profile", _]:
                return {"displayname": "Homing"}
            case ["GET", "sync"]:
                return await self._sync(request.query)
            case ["POST", "join", room]:
                self._maybe_refuse()
                if room not in self.invited:
                    raise _No(403, "M_FORBIDDEN", "You are not invited to this room.")
                del self.invited[room]
                self.joined.append(room)
                self.members[room].add(ME)
                joined = {"type": "m.room.member", "event_id": f"$join{room}", "sender": ME, "state_key": ME}
                self._tell(room, {**joined, "content": {"membership": "join"}, "origin_server_ts": 0})
                return {"room_id": room}
            case ["GET", "rooms", room, *rest]:
                return self._look(self._known_room(room), rest, request.query)
            case ["PUT", "rooms", room, "send", kind, transaction]:
                return self._take(self._known_room(room), kind, transaction, body, len(request.body))
            case ["PUT", "rooms", room, "typing", user]:
                assert (user, body["typing"]) == (ME, True)
                self.typing.append(self._known_room(room))
                return {}
            case ["POST", "upload"]:
                self._maybe_refuse()
                self.files[f"file{len(self.files)}"] = request.body
                return {"content_uri": f"mxc://stub/file{len(self.files) - 1}"}
            case ["GET", "media", "download", "stub", name] if name in self.files:
                return self.files[name]
            case ["POST", "keys", "query"]:
                return {"device_keys": {user: {} for user in body["device_keys"]}}
            case ["POST", "keys", "upload"]:
                return {"one_time_key_counts": {"signed_curve25519": 50}}
            case _:
                raise _No(404, "M_UNRECOGNIZED", "Unrecognized request")

    def _known_room(self, room: str) -> str:
        if ME not in self.members.get(room, ()):
            raise _No(403, "M_FORBIDDEN", f"User {ME} not in room {room}")
        return room

    def _maybe_refuse(self) -> None:
        if self.refusals:
            raise self.refusals.pop(0)

    async def _sync(self, query: Any) -> dict[str, Any]:
        since = int(query["since"].removeprefix("s")) if "since" in query else None
        if since is not None and since == len(self._events):
            self._news = asyncio.Event()
            try:
                async with asyncio.timeout(int(query["timeout"]) / 1000):
                    await self._news.wait()
            except TimeoutError:
                pass
            finally:
                self._news = None
        limit = json.loads(query["filter"])["room"]["timeline"]["limit"]
        rooms: dict[str, Any] = {}
        for room in {room for room, _ in self._events[since or 0 :]}:
            if ME in self.members[room]:
                places = [n for n in range(since or 0, len(self._events)) if self._events[n][0] == room]
                shown = places[-limit:]
                rooms[room] = {
                    "timeline": {
                        "events": [self._events[n][1] for n in shown],
                        "limited": len(places) > limit,
                        "prev_batch": f"t{shown[0]}",
                    }
                }
        asked = {
            room: {"invite_state": {"events": [{"type": "m.room.member", "state_key": ME, "sender": sender}]}}
            for room, sender in self.invited.items()
        }
        counts = {"signed_curve25519": 50}
        return {
            "next_batch": f"s{len(self._events)}",
            "rooms": {"join": rooms, "invite": asked},
            "device_one_time_keys_count": counts,
        }

    def _look(self, room: str, path: list[str], query: Any) -> Any:
        match path:
            case ["messages"]:
                assert (query["dir"], query["from"][0], query["to"][0]) == ("b", "t", "s")
                first, last = int(query["to"][1:]), int(query["from"][1:])
                if self.empty_pages:
                    self.empty_pages -= 1
                    # The same place under another name, which a server's tokens may have.
                    return {"chunk": [], "end": f"t0{query['from'][1:]}"}
                places = [n for n in range(first, last) if self._events[n][0] == room][::-1][: int(query["limit"])]
                end = {"end": f"t{places[-1]}"} if places else {}
                return {"chunk": [self._events[n][1] for n in places], **end}
            case ["members"]:
                return {
                    "chunk": [
                        {"state_key": user, "content": {"membership": "join", "displayname": user[1:4].title()}}
                        for user in self.members[room]
                    ]
                }
            case ["state", "m.room.encryption"] if room in self.encrypted:
                return {"algorithm": "m.megolm.v1.aes-sha2"}
            case _:
                raise _No(404, "M_NOT_FOUND", "Event not found.")

    def _take(self, room: str, kind: str, transaction: str, content: dict[str, Any], size: int) -> Any:
        self._maybe_refuse()
        if size > _MOST_EVENT:
            raise _No(413, "M_TOO_LARGE", "event too large")
        if transaction not in self._known:
            assert kind == "m.room.message"
            self._known[transaction] = f"$sent{len(self.sent)}"
            self.sent.append({"room": room, **content})
            echo = {"type": kind, "event_id": self._known[transaction], "sender": ME, "content": content}
            self._tell(room, {**echo, "origin_server_ts": 0})
        return {"event_id": self._known[transaction]}
