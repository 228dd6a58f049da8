"""Slack: an app in Socket Mode, so it needs no public address, and sends one part per call.

An event is acknowledged after it was written; without that Slack gives it again. Slack gives up after some minutes, so
each listen begins with what the history holds after the cursor. Slack cannot tell a repeat of a part: each carries its
id as metadata, and before it is sent again the history is searched for it.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, cast

import httpx2
import structlog

from homing.channels import Capabilities, Channel, File, IncomingMessage, Intake, Part, Receipt
from homing.channels.http_log import hide_in_http_log
from homing.channels.kinds import ChannelKind
from homing.channels.platform import Platform, SeenIds, read_base_url, short_label
from homing.channels.retry_after import read_retry_after
from homing.channels.slack_events import Me, as_object, order_of, read_event, read_press
from homing.channels.sockets import Socket, SocketClosed, converse
from homing.model.errors import ChannelFailed
from homing.model.incoming import code_shown_in
from homing.settings import CHANNEL_FIELDS

log = structlog.get_logger(__name__)

BASE_URL = "https://slack.com"
_MARK = "homing_part"
_MOST_BYTES = 1_000_000_000
_LONGEST_LABEL = 75
_PAGE = 200
_MOST_PAGES = 10
_CLOCKS_DIFFER_SECONDS = 60
# Events of different channels come in any order: the newest that was written does not mean that all before it were.
_OVERLAP_SECONDS = 300
_TOO_MUCH: Mapping[str, Any] = {}
_TRIES = 3
_RETRY_SECONDS = 1.0
_LONGEST_ERROR = 200
_PLACE = re.compile(r"([CDG][A-Z0-9]{1,30})(?:/([0-9]{1,12}\.[0-9]{1,6}))?")
# The workspace, when the first listen to it began, the newest `ts` that was written down, and its channel.
_CURSOR = re.compile(r"([A-Z0-9]{1,30}):([0-9]{1,12}):([0-9]{1,12}(?:\.[0-9]{1,6})?)(?::([CDG][A-Z0-9]{1,30}))?")
_SECRET_IN_URL = re.compile(r"(ticket=)[^&\s\"]+|(/upload/)[^\s\"]+")
# Shown as a name: the agent's words must not ring everybody.
_RINGS = re.compile(r"<!([a-z]+)[^<>\n]*>")

_LIMITED = ("ratelimited", "rate_limited", "message_limit_exceeded")
# Somebody may put these right before the last attempt: the channel is broken, not the message.
_OUR_ACCOUNT = (
    "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type",
    "missing_scope", "no_permission", "ekm_access_denied", "access_denied", "invalid_token", "team_access_not_granted",
)  # fmt: skip
# Slack says of these that some of it may have been done.
_PERHAPS = ("fatal_error", "internal_error", "service_unavailable", "request_timeout")
_LEFT = ("channel_not_found", "not_in_channel", "is_archived", "thread_not_found")

hide_in_http_log(partial(_SECRET_IN_URL.sub, r"\1\2…"))


class SlackRefused(Exception):
    """Slack answered, and said no."""

    def __init__(self, error: str, *, needed: str = "", retry_after: float | None = None) -> None:
        super().__init__(error)
        self.error = error
        self.needed = needed
        self.retry_after = retry_after


@dataclass(kw_only=True, eq=False)
class _Hearing:
    """One listen: who we are, how far it is, and what was handed over in it."""

    client: httpx2.AsyncClient
    intake: Intake
    me: Me
    since: str
    floor: str
    """What was written before is not for us: the first listen to a workspace starts at now."""
    caught_up: bool = True
    names: dict[str, str] = field(default_factory=dict[str, str])
    seen: SeenIds = field(default_factory=SeenIds)

    @property
    def begin(self) -> str:
        """From where to catch up: a while before the newest that was written, and not before the first listen."""
        seconds = order_of(self.since)[0] - _OVERLAP_SECONDS
        return self.floor if seconds <= order_of(self.floor)[0] else str(seconds)

    def is_missed(self, message: IncomingMessage) -> bool:
        """Say whether a message of the history may be new."""
        # A code that was used, or is wrong, has no id that refuses it: it would be answered again.
        is_old_code = code_shown_in(message.text) is not None and order_of(_ts(message)) <= order_of(self.since)
        return not is_old_code and self.is_new(message)

    def is_new(self, message: IncomingMessage) -> bool:
        """Say whether it comes for the first time here: as an event, as another event, or from the history."""
        return message.edited or self.seen.add(message.external_id)


class SlackChannel(Channel):
    """One app in one workspace. Addresses are `NAME:CHANNEL`, or `NAME:CHANNEL/TS` for a thread."""

    capabilities = Capabilities(
        max_length=12_000, markdown=True, buttons=6, max_file_bytes=_MOST_BYTES, resend="lookup"
    )

    def __init__(
        self,
        *,
        name: str,
        app_token: str,
        bot_token: str,
        base_url: str = BASE_URL,
        timeout_seconds: float = 10.0,
        pause_seconds: float = 1.0,
    ) -> None:
        self.name = name
        self._app_token = app_token
        self._bot_token = bot_token
        self._platform = Platform("Slack", base_url=base_url, secret=bot_token, timeout_seconds=timeout_seconds)
        self._pause_seconds = pause_seconds
        """Before another connection is opened."""

    async def check(self) -> str:
        """Ask who this app is."""
        async with self._client() as client:
            try:
                me, _ = await self._who(client)
            except SlackRefused as error:
                raise self._failure(error) from None
        return f"@{me.name} in {me.team}"

    async def send(self, part: Part) -> Receipt:
        """Send one part; one that may have arrived is looked for first."""
        found = _PLACE.fullmatch(part.place)
        if found is None:
            raise ChannelFailed(f"{part.place!r} is not a Slack channel such as C0123 or D0123.", permanent=True)
        channel, thread = found.groups()
        async with self._client() as client:
            try:
                if part.unsure and (known := await self._look_for(client, part, channel, thread)) is not None:
                    return known
                if part.file is not None:
                    return await self._send_file(client, part.file, channel, thread)
                fields = {"channel": channel, **_thread(thread), **_words(part), "metadata": _mark(part)}
                sent = await self._call(client, "chat.postMessage", fields, sends=True)
            except SlackRefused as error:
                raise self._failure(error) from None
        return _receipt(str(sent["channel"]), str(sent["ts"]))

    async def listen(self, intake: Intake) -> None:
        """Take what was missed, then what comes; each event is acknowledged after it was written."""
        async with self._client() as client:
            try:
                me, now = await self._who(client)
                hearing = _Hearing(client=client, intake=intake, me=me, since=now, floor=now)
                found = _CURSOR.fullmatch(intake.cursor or "")
                if found and found[1] == me.team_id:
                    hearing.floor, hearing.since, hearing.caught_up = found[2], found[3], False
                    # Killed before it was acknowledged, it comes again.
                    hearing.seen.add(f"{found[4]}:{found[3]}")
                else:
                    await intake.take([], f"{me.team_id}:{now}:{now}")
                while True:
                    # Slack closes a connection every few hours, and says so before.
                    opened = await self._call(client, "apps.connections.open", {}, token=self._app_token)
                    await converse(client, str(opened["url"]), partial(self._hear, hearing), platform="Slack")
                    await asyncio.sleep(self._pause_seconds)
            except SlackRefused as error:
                raise self._failure(error) from None
            except SocketClosed as error:
                raise ChannelFailed(f"Slack closed the connection: {error}.") from None

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Put other words in the place of a message; its buttons go."""
        channel, _, ts = external_id.partition(":")
        async with self._client() as client:
            await self._call(
                client, "chat.update", {"channel": channel, "ts": ts, "text": _escaped(text), "blocks": []}
            )

    async def _hear(self, hearing: _Hearing, socket: Socket) -> None:
        """Listen to one connection until Slack wants another."""
        hello = await socket.receive()
        if hello.get("type") == "hello" and not hearing.caught_up:
            await self._catch_up(hearing)
        while True:
            frame = await socket.receive()
            if frame.get("type") == "disconnect":
                if frame.get("reason") == "link_disabled":
                    raise ChannelFailed("Slack says that Socket Mode is turned off for this app (link_disabled).")
                return
            if "envelope_id" in frame:
                await self._take(hearing, frame)
                # One that cannot be acknowledged any more comes again; that it is over is said in its turn.
                with suppress(SocketClosed):
                    await socket.send({"envelope_id": frame["envelope_id"]})

    async def _take(self, hearing: _Hearing, envelope: Mapping[str, Any]) -> None:
        payload, unread = as_object(envelope.get("payload")), 0
        message: IncomingMessage | None = None
        try:
            if envelope.get("type") == "interactive":
                message = read_press(payload, self.name)
            elif envelope.get("type") == "events_api":
                message = read_event(payload["event"], hearing.me, self.name, self._fetch)
                if message is not None and not message.edited:
                    is_ours = order_of(_ts(message)) >= order_of(hearing.floor)
                    message = message if is_ours else None
        except Exception as error:  # noqa: BLE001 - the rim of one event: it must not keep back those behind it
            log.warning("slack_event_unreadable", channel=self.name, error=repr(error))
            unread, message = 1, None
        if message is not None and hearing.is_new(message):
            await self._hand_over(hearing, [message])
        elif unread:
            await self._hand_over(hearing, [], unread)

    async def _hand_over(self, hearing: _Hearing, heard: Sequence[IncomingMessage], unread: int = 0) -> None:
        named = [replace(one, sender_name=await self._name_of(hearing, one)) for one in heard]
        written = [one for one in heard if one.answer is None and not one.edited]
        cursor, since = hearing.intake.cursor, hearing.since
        for one in written:
            if order_of(_ts(one)) > order_of(since):
                place, _, since = one.external_id.partition(":")
                cursor = f"{hearing.me.team_id}:{hearing.floor}:{since}:{place}"
        await hearing.intake.take(named, cursor, unread=unread)
        hearing.since = since

    async def _catch_up(self, hearing: _Hearing) -> None:
        """Take what the history holds from a while before the cursor, oldest first: ids refuse what was taken."""
        missed: list[dict[str, Any]] = []
        places = {"types": "im,mpim,public_channel,private_channel", "exclude_archived": True}
        linking, unread = await hearing.intake.awaits_link(), 0
        async for conversation in self._pages(hearing.client, "users.conversations", places, "channels"):
            place, person = str(conversation["id"]), conversation.get("user")
            if person and not linking and not await hearing.intake.knows(f"{self.name}:{place}", str(person)):
                continue
            async for written in self._written_since(hearing, place):
                if written is _TOO_MUCH:
                    log.info("slack_history_unreadable", channel=self.name, place=place, error="too many messages")
                    unread += 1
                else:
                    missed.append({**written, "channel": place})
        heard: list[IncomingMessage] = []
        for written in sorted(missed, key=lambda one: order_of(one["ts"])):
            try:
                message = read_event({"type": "message", **written}, hearing.me, self.name, self._fetch)
            except Exception as error:  # noqa: BLE001 - the rim of one message: it must not keep back those behind it
                log.warning("slack_event_unreadable", channel=self.name, error=repr(error))
                unread += 1
            else:
                heard += [message] if message is not None and hearing.is_missed(message) else []
        if heard or unread:
            await self._hand_over(hearing, heard, unread)
        hearing.caught_up = True

    async def _written_since(self, hearing: _Hearing, channel: str) -> AsyncIterator[Mapping[str, Any]]:
        """Give what was written in a channel, and in the threads that the newest page shows. Newest first; of too much
        the newest pages, and then `_TOO_MUCH`.
        """
        oldest = hearing.begin
        since = order_of(oldest)
        try:
            async for written in self._pages(hearing.client, "conversations.history", {"channel": channel}, "messages"):
                if order_of(str(written.get("latest_reply") or "0")) > since:
                    thread = {"channel": channel, "ts": written["ts"], "oldest": oldest}
                    async for reply in self._pages(hearing.client, "conversations.replies", thread, "messages"):
                        if reply["_page"] >= _MOST_PAGES:
                            yield _TOO_MUCH
                            break
                        if order_of(reply["ts"]) > since and reply["ts"] != written["ts"]:
                            yield reply
                if order_of(written["ts"]) <= since and written["_page"] > 0:
                    return
                if written["_page"] >= _MOST_PAGES:
                    yield _TOO_MUCH
                    return
                if order_of(written["ts"]) > since:
                    yield written
        except SlackRefused as error:
            if error.error not in _LEFT:
                raise
            log.info("slack_history_unreadable", channel=self.name, place=channel, error=error.error)

    async def _pages(
        self, client: httpx2.AsyncClient, method: str, fields: Mapping[str, Any], key: str, *, patient: bool = True
    ) -> AsyncIterator[dict[str, Any]]:
        """Give the rows of a list, page by page; `_page` counts them. A patient one waits if it is told to slow down,
        and asks again for a page that failed.
        """
        after, page, failures = "", 0, 0
        while True:
            asked = {**fields, "limit": _PAGE, **({"cursor": after} if after else {})}
            try:
                answer = await self._call(client, method, asked)
            except SlackRefused as error:
                if not patient or error.error not in _LIMITED:
                    raise
                await asyncio.sleep(error.retry_after or 1.0)
                continue
            except ChannelFailed:
                failures += 1
                if not patient or failures >= _TRIES:
                    raise
                await asyncio.sleep(_RETRY_SECONDS)
                continue
            failures = 0
            for row in answer.get(key) or ():
                yield {**row, "_page": page}
            after = str(as_object(answer.get("response_metadata")).get("next_cursor") or "")
            page += 1
            if not after:
                return

    async def _name_of(self, hearing: _Hearing, message: IncomingMessage) -> str:
        if message.sender not in hearing.names:
            try:
                user = (await self._call(hearing.client, "users.info", {"user": message.sender}))["user"]
            except (SlackRefused, ChannelFailed, KeyError):
                return message.sender_name
            profile = as_object(user.get("profile"))
            name = profile.get("display_name") or profile.get("real_name") or user.get("real_name") or user.get("name")
            hearing.names[message.sender] = str(name or message.sender_name)
        return hearing.names[message.sender]

    async def _look_for(
        self, client: httpx2.AsyncClient, part: Part, channel: str, thread: str | None
    ) -> Receipt | None:
        """Find a part among the newest messages there. A file carries no metadata: it is found by its name and size, if
        we sent it, not before the part was made, and not as another part. In doubt it is sent twice rather than lost.
        """
        fields: dict[str, Any] = {
            "channel": channel,
            "include_all_metadata": True,
            **({"ts": thread} if thread else {}),
        }
        method = "conversations.replies" if thread else "conversations.history"
        me = (await self._who(client))[0] if part.file is not None else None
        # A courier waits for this: told to slow down, it is the account that waits.
        async for written in self._pages(client, method, fields, "messages", patient=False):
            if written["_page"] and not thread:
                return None
            mark = as_object(written.get("metadata"))
            if mark.get("event_type") == _MARK and as_object(mark.get("event_payload")).get("id") == part.id:
                return _receipt(channel, written["ts"])
            if me is not None and written.get("user") == me.user_id and _carries(written, part):
                return _receipt(channel, written["ts"])
        return None

    async def _send_file(self, client: httpx2.AsyncClient, file: File, channel: str, thread: str | None) -> Receipt:
        place = await self._call(client, "files.getUploadURLExternal", {"filename": file.name, "length": file.size})
        await self._upload(client, str(place["upload_url"]), file)
        fields = {"files": [{"id": place["file_id"], "title": file.name}], "channel_id": channel, **_thread(thread)}
        done = await self._call(client, "files.completeUploadExternal", fields, sends=True)
        # Slack often shows it a moment later, and does not say yet under which message.
        shares = [shared for one in done.get("files", ()) for shared in as_object(one.get("shares")).values()]
        ts = next((str(one["ts"]) for shared in shares for one in shared.get(channel, ())), None)
        detail = {"channel": channel, "file": place["file_id"]}
        return _receipt(channel, ts) if ts else Receipt(detail=detail)

    async def _upload(self, client: httpx2.AsyncClient, url: str, file: File) -> None:
        headers = {"content-type": "application/octet-stream", "content-length": str(file.size)}
        try:
            answer = await client.post(url, content=file.read(), headers=headers, timeout=15 + file.size / 1_000_000)
        except httpx2.HTTPError as error:
            raise ChannelFailed(f"The file's upload to Slack broke off ({type(error).__name__}).") from None
        if answer.status_code != 200:
            raise ChannelFailed(f"Slack did not take the file: it answered {answer.status_code}.")

    async def _fetch(self, url: str) -> AsyncIterator[bytes]:
        """Download what somebody sent. The token goes to Slack only, wherever a file is."""
        if not self._platform.serves(url, ".slack.com"):
            raise ChannelFailed("it is not kept at Slack", permanent=True)
        headers = {"authorization": f"Bearer {self._bot_token}"}
        async with self._client() as client:
            needs = "Slack refused the download: the app needs the scope files:read."
            async for piece in self._platform.download(client, url, headers=headers, redirect_means=needs):
                yield piece

    async def _who(self, client: httpx2.AsyncClient) -> tuple[Me, str]:
        """Say who we are, and what time it is there."""
        response, me = await self._ask(client, "auth.test", {}, self._bot_token)
        date = response.headers.get("date")
        now = str(int(parsedate_to_datetime(date).timestamp())) if date else "0"
        who = Me(user_id=me["user_id"], name=me["user"], team_id=me["team_id"], team=str(me.get("team") or ""))
        return who, now

    def _client(self) -> httpx2.AsyncClient:
        return self._platform.client()

    async def _call(
        self,
        client: httpx2.AsyncClient,
        method: str,
        fields: Mapping[str, Any],
        *,
        token: str = "",
        sends: bool = False,
    ) -> dict[str, Any]:
        _, answer = await self._ask(client, method, fields, token or self._bot_token, sends=sends)
        return answer

    async def _ask(
        self,
        client: httpx2.AsyncClient,
        method: str,
        fields: Mapping[str, Any],
        token: str,
        *,
        sends: bool = False,
    ) -> tuple[httpx2.Response, dict[str, Any]]:
        """Call a method; raise SlackRefused if Slack said no, else ChannelFailed, `unsure` if it `sends`."""
        # As a form, which every method takes.
        form = {key: value if isinstance(value, str) else json.dumps(value) for key, value in fields.items()}
        headers = {"authorization": f"Bearer {token}"}
        url = f"{self._platform.base_url}/api/{method}"
        response = await self._platform.request(client, "POST", url, sends=sends, data=form, headers=headers)
        retry_after = read_retry_after(response.headers.get("retry-after"), datetime.now(UTC))
        if response.status_code == 429:
            raise SlackRefused(_LIMITED[0], retry_after=retry_after)
        try:
            answer = cast("dict[str, Any]", response.json())
        except ValueError:
            raise ChannelFailed("Slack's answer could not be read.", unsure=sends) from None
        if answer.get("ok") is True:
            return response, answer
        said = str(answer.get("error") or f"error {response.status_code}")[:_LONGEST_ERROR]
        raise SlackRefused(said, needed=str(answer.get("needed") or "")[:_LONGEST_ERROR], retry_after=retry_after)

    def _failure(self, error: SlackRefused) -> ChannelFailed:
        said = f"Slack says: {error.error}" + (f" (needed: {error.needed})" if error.needed else "")
        if error.error in _LIMITED:
            return ChannelFailed(f"{said}.", retry_after=error.retry_after, limited=True)
        if error.error in _OUR_ACCOUNT:
            return ChannelFailed(f"{said}. Check the tokens of {self.name} and the scopes of its app.")
        if error.error in _PERHAPS:
            return ChannelFailed(f"{said}.", unsure=True)
        if error.error == "not_in_channel":
            return ChannelFailed(f"{said}. Invite the app there (/invite).", permanent=True)
        return ChannelFailed(f"{said}.", permanent=True)


def make(name: str, fields: Mapping[str, str]) -> Channel:
    """Make the channel of one app."""
    app_token, bot_token = fields["app_token"], fields["bot_token"]
    if not app_token.startswith("xapp-"):
        raise ValueError("app_token must be an app-level token, which begins with xapp-")
    if not bot_token.startswith("xoxb-"):
        raise ValueError("bot_token must be a bot token, which begins with xoxb-")
    return SlackChannel(name=name, app_token=app_token, bot_token=bot_token, base_url=read_base_url(fields, BASE_URL))


KIND = ChannelKind(fields=CHANNEL_FIELDS["slack"], make=make)


def _words(part: Part) -> dict[str, Any]:
    """Write Markdown as a block; `text` is what notifications show."""
    text = _RINGS.sub(r"@\1", part.text) or "…"
    blocks: list[dict[str, Any]] = [{"type": "markdown", "text": text}]
    if part.question:
        buttons = [
            {
                "type": "button",
                "action_id": f"homing_{number}",
                "text": {"type": "plain_text", "text": short_label(option, _LONGEST_LABEL)},
                # By number: an option may be longer than what comes back.
                "value": f"{part.question.id}:{number}",
            }
            for number, option in enumerate(part.question.options, 1)
        ]
        blocks.append({"type": "actions", "elements": buttons})
    return {"text": _escaped(text), "blocks": blocks}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _mark(part: Part) -> dict[str, Any]:
    return {"event_type": _MARK, "event_payload": {"id": part.id}}


def _carries(written: Mapping[str, Any], part: Part) -> bool:
    """Say whether one of our messages holds the part's file, and not an equal one that was sent shortly before."""
    others = {receipt.get("file") for receipt in part.others} | {receipt.get("ts") for receipt in part.others}
    if part.file is None or written["ts"] in others:
        return False
    if order_of(written["ts"])[0] < part.created_at.timestamp() - _CLOCKS_DIFFER_SECONDS:
        return False
    files = cast("list[dict[str, Any]]", written.get("files") or [])
    wanted = (part.file.name, part.file.size)
    return any((one.get("name"), one.get("size")) == wanted and one.get("id") not in others for one in files)


def _thread(thread: str | None) -> dict[str, Any]:
    return {"thread_ts": thread} if thread else {}


def _receipt(channel: str, ts: str) -> Receipt:
    return Receipt(detail={"channel": channel, "ts": ts}, external_id=f"{channel}:{ts}")


def _ts(message: IncomingMessage) -> str:
    return message.external_id.partition(":")[2]
