"""Discord: a bot at the gateway, so it needs no public address, and sends one part per call.

The cursor holds the gateway's session with the last event that was written, so what was missed in a short gap is given
again (RESUME), and the last message of each place, so that after a longer one the history gives it. A repeat of a part
is known there by its nonce, for some minutes.
"""

import asyncio
import json
import random
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import httpx2
import structlog

from homing.channels import Capabilities, Channel, IncomingMessage, Intake, Part, Receipt, Sign
from homing.channels.discord_events import Me, as_object, read_message, read_press
from homing.channels.forms import Form
from homing.channels.http_log import hide_in_http_log
from homing.channels.kinds import ChannelKind
from homing.channels.platform import Platform, SeenIds, read_base_url, short_label
from homing.channels.retry_after import LONGEST_WAIT_SECONDS
from homing.channels.sockets import Socket, SocketClosed, converse
from homing.model.errors import ChannelFailed
from homing.model.incoming import code_shown_in
from homing.settings import CHANNEL_FIELDS

log = structlog.get_logger(__name__)

BASE_URL = "https://discord.com"
_MOST_BYTES = 10 << 20
_LONGEST_NONCE, _LONGEST_LABEL = 25, 80
_BUTTONS_IN_A_ROW = 5
_PRESS_SECONDS = 2.0
_PAGE = 100
_MOST_PAGES = 20
_TOO_MUCH: dict[str, Any] = {}
_MOST_PLACES = 200
_LONGEST_ERROR = 300
# Messages in servers and direct ones. What they say is told without a privileged intent where we are meant.
_INTENTS = (1 << 9) | (1 << 12)
_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME, _RECONNECT, _INVALID, _ACK = 0, 1, 2, 6, 7, 9, 11
# Leaving with 1000 would end the session, and with it what could be resumed.
_LEAVE = 4000
_SESSION_GONE = (4003, 4006, 4007, 4009)
_PLACE = re.compile(r"[0-9]{1,20}")
_SECRET_IN_URL = re.compile(r"(/interactions/[0-9]+/)[^/\s\"]+")
_CANNOT_SEND_TO_USER = 50007
_HOSTS = (".discordapp.com", ".discordapp.net", ".discord.com")

hide_in_http_log(partial(_SECRET_IN_URL.sub, r"\1…"))


class DiscordRefused(Exception):
    """Discord answered, and said no."""

    def __init__(self, status: int, code: int, message: str, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after


@dataclass(kw_only=True, eq=False)
class _Hearing:
    """One listen: who we are, the gateway's session, and how far each place was read."""

    client: httpx2.AsyncClient
    intake: Intake
    me: Me
    session_id: str | None = None
    url: str | None = None
    seq: int | None = None
    direct: dict[str, int] = field(default_factory=dict[str, int])
    """Direct chats of people who may talk, with the id of the last message that was written."""
    shared: dict[str, int] = field(default_factory=dict[str, int])
    first: bool = True
    """Nothing was ever heard from this bot: it starts at now."""
    answered: bool = True
    """The last heartbeat was."""
    seen: SeenIds = field(default_factory=SeenIds)

    def cursor(self) -> str:
        kept = {"bot": self.me.id, "session": [self.session_id, self.url, self.seq]}
        return json.dumps({**kept, "direct": self.direct, "shared": self.shared}, separators=(",", ":"))

    def read_cursor(self, text: str | None) -> None:
        """Go on where it stopped; another bot's cursor means nothing here."""
        try:
            kept = as_object(json.loads(text or "{}"))
            if kept.get("bot") != self.me.id:
                return
            self.session_id, self.url, self.seq = kept["session"]
            self.direct = {str(place): int(last) for place, last in kept["direct"].items()}
            self.shared = {str(place): int(last) for place, last in kept["shared"].items()}
        except (ValueError, LookupError, TypeError, AttributeError):
            return
        self.first = False

    def forget_session(self) -> None:
        self.session_id = self.url = self.seq = None

    def is_new(self, message: IncomingMessage) -> bool:
        """Say whether it comes for the first time here: as an event, or from the history."""
        return message.edited or self.seen.add(message.external_id)

    async def note(self, message: IncomingMessage) -> None:
        """Remember how far a place was read, if somebody there may talk or is about to be linked."""
        place, _, last = message.external_id.partition(":")
        places = self.direct if message.direct else self.shared
        if message.edited or message.answer is not None:
            return
        # What only looks like a code links nobody: it must not push out the places of others.
        may_talk = place in places or await self.intake.knows(message.address, message.sender)
        if not may_talk and not (code_shown_in(message.text) and await self.intake.awaits_link()):
            return
        places[place] = max(int(last), places.get(place, 0))
        if len(places) > _MOST_PLACES:
            del places[min(places, key=lambda one: places[one])]

    def notice(self, frame: Any) -> None:
        if frame.get("op") == _ACK:
            self.answered = True


class DiscordChannel(Channel):
    """One bot. Addresses are `NAME:CHANNEL`; a thread is a channel of its own there."""

    capabilities = Capabilities(
        max_length=2000,
        length_unit="utf16",
        markdown=True,
        buttons=6,
        max_file_bytes=_MOST_BYTES,
        resend="deduplicated",
    )

    def __init__(
        self,
        *,
        name: str,
        token: str,
        base_url: str = BASE_URL,
        timeout_seconds: float = 10.0,
        pause_seconds: float = 2.0,
    ) -> None:
        self.name = name
        self._token = token
        self._platform = Platform("Discord", base_url=base_url, secret=token, timeout_seconds=timeout_seconds)
        self._pause_seconds = pause_seconds
        """Before another connection is opened, or a new session is asked for in the place of one that is gone."""

    async def check(self) -> str:
        """Ask who this bot is."""
        async with self._client() as client:
            try:
                return f"@{(await self._who(client)).name}"
            except DiscordRefused as error:
                raise self._failure(error) from None

    async def send(self, part: Part) -> Receipt:
        """Send one part; Discord gives the first message back if it knows its nonce."""
        if not _PLACE.fullmatch(part.place):
            raise ChannelFailed(
                f"{part.place!r} is not the id of a Discord channel such as 1234567890.", permanent=True
            )
        # The agent's words must not ring anybody.
        fields: dict[str, Any] = {"allowed_mentions": {"parse": []}}
        fields |= {"nonce": part.id[-_LONGEST_NONCE:], "enforce_nonce": True}
        body: Mapping[str, Any] | Form = fields
        if part.file is not None:
            attached = {"attachments": [{"id": 0, "filename": part.file.name}]}
            body = Form({"payload_json": {**fields, **attached}}, "files[0]", part.file)
        else:
            fields |= {"content": part.text or "…"}
            fields |= {"components": _buttons(part.question.id, part.question.options)} if part.question else {}
        seconds = 15 + part.file.size / 1_000_000 if part.file is not None else None
        async with self._client() as client:
            try:
                path = f"channels/{part.place}/messages"
                sent = await self._call(client, "POST", path, body, sends=True, seconds=seconds)
            except DiscordRefused as error:
                raise self._failure(error) from None
        detail = {"channel_id": part.place, "message_id": sent["id"]}
        return Receipt(detail=detail, external_id=f"{part.place}:{sent['id']}")

    async def listen(self, intake: Intake) -> None:
        """Resume the session of the cursor, or begin one and take what the history holds; then take what comes."""
        async with self._client() as client:
            try:
                hearing = _Hearing(client=client, intake=intake, me=await self._who(client))
                hearing.read_cursor(intake.cursor)
                while True:
                    await self._connect(hearing)
                    await asyncio.sleep(self._pause_seconds)
            except DiscordRefused as error:
                raise self._failure(error) from None

    async def show(self, address: str, sign: Sign) -> None:
        """Show that an answer is being written; Discord takes it away after ten seconds."""
        async with self._client() as client:
            await self._call(client, "POST", f"channels/{address.partition(':')[2]}/typing", {})

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Put other words in the place of a message; its buttons go."""
        channel, _, message = external_id.partition(":")
        fields: dict[str, Any] = {"content": text, "components": [], "allowed_mentions": {"parse": []}}
        async with self._client() as client:
            await self._call(client, "PATCH", f"channels/{channel}/messages/{message}", fields)

    async def _connect(self, hearing: _Hearing) -> None:
        """Listen to one connection until Discord wants another."""
        url = hearing.url or str((await self._call(hearing.client, "GET", "gateway/bot"))["url"])
        hearing.answered = True
        try:
            await converse(
                hearing.client,
                f"{url.rstrip('/')}/?v=10&encoding=json",
                partial(self._hear, hearing),
                platform="Discord",
                notice=hearing.notice,
                leave_code=_LEAVE,
            )
        except SocketClosed as error:
            if error.code in _SESSION_GONE and hearing.session_id is not None:
                hearing.forget_session()
                return
            if error.code == 4004:
                refused = DiscordRefused(401, 0, error.reason or "Authentication failed")
                raise self._failure(refused) from None
            raise ChannelFailed(f"Discord closed the connection: {error} ({error.code or 'no code'}).") from None

    async def _hear(self, hearing: _Hearing, socket: Socket) -> None:
        hello = await socket.receive()
        seconds = hello["d"]["heartbeat_interval"] / 1000
        beating = asyncio.create_task(self._beat(hearing, socket, seconds))
        try:
            await self._introduce(hearing, socket)
            while True:
                frame = await socket.receive()
                match frame["op"]:
                    case 0:
                        hearing.seq = frame["s"]
                        await self._take(hearing, str(frame["t"]), as_object(frame["d"]))
                    case 1:
                        await socket.send({"op": _HEARTBEAT, "d": hearing.seq})
                    case 7:
                        return
                    case 9:
                        if hearing.session_id is None:
                            raise ChannelFailed("Discord refused a new session for this bot.")
                        if frame.get("d") is not True:
                            hearing.forget_session()
                        await asyncio.sleep(self._pause_seconds)
                        await self._introduce(hearing, socket)
                    case _:
                        pass
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _introduce(self, hearing: _Hearing, socket: Socket) -> None:
        if hearing.session_id is not None:
            data = {"token": self._token, "session_id": hearing.session_id, "seq": hearing.seq}
            await socket.send({"op": _RESUME, "d": data})
        else:
            about = {"os": "linux", "browser": "homing", "device": "homing"}
            await socket.send({"op": _IDENTIFY, "d": {"token": self._token, "intents": _INTENTS, "properties": about}})

    async def _beat(self, hearing: _Hearing, socket: Socket, seconds: float) -> None:
        """Say that we are there. Where the last time was not answered, the connection is dead though it looks open."""
        await asyncio.sleep(seconds * random.random())
        with suppress(SocketClosed):
            while hearing.answered:
                hearing.answered = False
                await socket.send({"op": _HEARTBEAT, "d": hearing.seq})
                await asyncio.sleep(seconds)
            socket.end(None, "a heartbeat was not answered")

    async def _take(self, hearing: _Hearing, event: str, told: Mapping[str, Any]) -> None:
        """Write what an event tells. What only moves the session on is not worth a write."""
        if event == "READY":
            hearing.session_id, hearing.url = str(told["session_id"]), str(told["resume_gateway_url"])
            if hearing.first:
                await hearing.intake.take([], hearing.cursor())
                hearing.first = False
            else:
                await self._catch_up(hearing)
            return
        message, unread = None, 0
        try:
            if event == "INTERACTION_CREATE":
                message = read_press(told, self.name)
            elif event in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
                edited, direct = event == "MESSAGE_UPDATE", "guild_id" not in told
                message = read_message(told, hearing.me, self.name, self._fetch, direct=direct, edited=edited)
        except Exception as error:  # noqa: BLE001 - the rim of one event: it must not keep back those behind it
            log.warning("discord_event_unreadable", channel=self.name, error=repr(error))
            unread = 1
        if message is not None and hearing.is_new(message):
            await hearing.note(message)
            await hearing.intake.take([message], hearing.cursor())
        elif unread:
            await hearing.intake.take([], hearing.cursor(), unread=unread)
        if event == "INTERACTION_CREATE":
            await self._stop_spinning(hearing.client, told)

    async def _stop_spinning(self, client: httpx2.AsyncClient, pressed: Mapping[str, Any]) -> None:
        """Answer a press. It is written: where this fails, Discord only says that nobody answered."""
        path = f"interactions/{pressed.get('id')}/{pressed.get('token')}/callback"
        with suppress(DiscordRefused, ChannelFailed):
            await self._call(client, "POST", path, {"type": 6}, seconds=_PRESS_SECONDS)

    async def _catch_up(self, hearing: _Hearing) -> None:
        """Take what the history of each place holds after its last message, oldest first."""
        missed: list[tuple[int, bool, dict[str, Any]]] = []
        unread = 0
        for places, direct in ((hearing.direct, True), (hearing.shared, False)):
            for place, last in places.items():
                async for written in self._written_after(hearing.client, place, last):
                    if written is _TOO_MUCH:
                        log.info("discord_history_unreadable", channel=self.name, place=place, error="too much")
                        unread += 1
                    else:
                        missed.append((int(written["id"]), direct, written))
        heard: list[IncomingMessage] = []
        for number, direct, written in sorted(missed, key=lambda one: one[0]):
            places = hearing.direct if direct else hearing.shared
            places[str(written["channel_id"])] = number
            try:
                message = read_message(written, hearing.me, self.name, self._fetch, direct=direct)
            except Exception as error:  # noqa: BLE001 - the rim of one message: it must not keep back those behind it
                log.warning("discord_event_unreadable", channel=self.name, error=repr(error))
                unread += 1
            else:
                heard += [message] if message is not None and hearing.is_new(message) else []
        await hearing.intake.take(heard, hearing.cursor(), unread=unread)

    async def _written_after(self, client: httpx2.AsyncClient, place: str, last: int) -> AsyncIterator[dict[str, Any]]:
        """Give the messages after one; of too many the oldest, and then `_TOO_MUCH`. Told to slow down, it waits."""
        pages = 0
        while True:
            try:
                page = await self._call(client, "GET", f"channels/{place}/messages?after={last}&limit={_PAGE}")
            except DiscordRefused as error:
                if error.retry_after is not None:
                    await asyncio.sleep(error.retry_after)
                    continue
                if error.status in (403, 404):
                    log.info("discord_history_unreadable", channel=self.name, place=place, error=error.message)
                    return
                raise
            for written in page:
                last = max(last, int(written["id"]))
                yield written
            pages += 1
            if len(page) < _PAGE:
                return
            if pages >= _MOST_PAGES:
                yield _TOO_MUCH
                return

    async def _fetch(self, url: str) -> AsyncIterator[bytes]:
        """Download what somebody sent: its address is signed, and needs no token."""
        if not self._platform.serves(url, *_HOSTS):
            raise ChannelFailed("it is not kept at Discord", permanent=True)
        async with self._client() as client:
            async for piece in self._platform.download(client, url):
                yield piece

    async def _who(self, client: httpx2.AsyncClient) -> Me:
        me = await self._call(client, "GET", "users/@me")
        return Me(id=str(me["id"]), name=str(me["username"]))

    def _client(self) -> httpx2.AsyncClient:
        return self._platform.client()

    async def _call(
        self,
        client: httpx2.AsyncClient,
        method: str,
        path: str,
        body: Mapping[str, Any] | Form | None = None,
        *,
        sends: bool = False,
        seconds: float | None = None,
    ) -> Any:
        """Call the API; raise DiscordRefused if Discord said no, else ChannelFailed, `unsure` if it `sends`."""
        url = f"{self._platform.base_url}/api/v10/{path}"
        headers = {"authorization": f"Bot {self._token}", "user-agent": "DiscordBot (homing, 1)"}
        response = await self._platform.request(
            client, method, url, sends=sends, seconds=seconds, headers=headers, body=body
        )
        if response.status_code == 204:
            return None
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if response.status_code < 300 and answer is not None:
            return answer
        said = as_object(answer)
        message = str(said.get("message") or f"error {response.status_code}")
        code = said.get("code")
        wait = said.get("retry_after")
        pause = min(max(float(wait), 0.0), LONGEST_WAIT_SECONDS) if isinstance(wait, int | float) else 1.0
        raise DiscordRefused(
            response.status_code,
            code if isinstance(code, int) else 0,
            self._platform.without_secret(message, _LONGEST_ERROR),
            retry_after=pause if response.status_code == 429 else None,
        )

    def _failure(self, error: DiscordRefused) -> ChannelFailed:
        said = error.message.rstrip(".")
        match error.status:
            case 429:
                return ChannelFailed(f"Discord says: {said}.", retry_after=error.retry_after, limited=True)
            case 401:
                return ChannelFailed(f"Discord does not accept the token of {self.name}: {said}. Check its setting.")
            case _:
                blocked = error.code == _CANNOT_SEND_TO_USER
                return ChannelFailed(f"Discord refused it: {said}.", permanent=True, blocked=blocked)


def make(name: str, fields: Mapping[str, str]) -> Channel:
    """Make the channel of one bot."""
    token = fields["token"]
    if not token.isascii() or any(letter.isspace() for letter in token) or token.startswith("Bot"):
        raise ValueError("token must be the bot's token alone, as Discord shows it once")
    return DiscordChannel(name=name, token=token, base_url=read_base_url(fields, BASE_URL))


KIND = ChannelKind(fields=CHANNEL_FIELDS["discord"], make=make)


def _buttons(question_id: str, options: Any) -> list[dict[str, Any]]:
    """By number: the text of an option may be longer than the 100 characters that come back."""
    made = [
        {"type": 2, "style": 2, "label": short_label(option, _LONGEST_LABEL), "custom_id": f"{question_id}:{number}"}
        for number, option in enumerate(cast("list[str]", options), 1)
    ]
    rows = [made[start : start + _BUTTONS_IN_A_ROW] for start in range(0, len(made), _BUTTONS_IN_A_ROW)]
    return [{"type": 1, "components": row} for row in rows]
