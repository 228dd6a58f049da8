"""Matrix: one account of a homeserver, which reads by long polling and sends one part per call.

A part is sent under its own id as the transaction id, and the server knows it again: nothing is shown twice. That holds
for one device only, so the token, which is one device's, stays the same. Encrypted rooms need the extra `matrix`;
without it nothing is said there, because it could only be said in the clear.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Collection, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from homing.channels import Capabilities, Channel, File, Intake, Part, Receipt, Sign
from homing.channels.matrix_api import CLIENT, MatrixApi, MatrixCalls, MatrixRefused, at
from homing.channels.matrix_events import ROOM_ID, event_of, file_content, media_of, message_id, text_content
from homing.channels.matrix_keys import MISSING, MatrixKeys, can_encrypt, open_file, seal_file
from homing.channels.matrix_sync import MatrixSync, read_room
from homing.model.errors import ChannelFailed

# An event has at most 65,536 bytes. Each byte of a text may become two in JSON, and encryption adds a third.
_MOST_TEXT, _MOST_CONTENT = 20_000, 40_000
_MOST_FILE = 50_000_000
# What is encrypted is checked as a whole, in memory.
_MOST_SEALED = 26_000_000
_POLL_SECONDS = 25.0
_TYPING_MS = 6000
_NOT_FOUND = 404
_OTHERS_READ = (
    "Other people are in this direct room now, or are invited, and could read the message. Remove them and retry, link"
    " yourself in another room, or link this room as a group."
)
_PLACE = re.compile(rf"({ROOM_ID.pattern})(?:/(\$[^\s]{{1,255}}))?")
_TOKEN = re.compile(r"[!-~]{1,4000}")


@dataclass(frozen=True, kw_only=True)
class Account:
    """Who we are there, and with which of our devices."""

    user_id: str
    device_id: str


class MatrixChannel(Channel):
    """One account. Addresses are `NAME:!room`, or `NAME:!room/$event` for a thread."""

    capabilities = Capabilities(
        max_length=_MOST_TEXT, length_unit="bytes", markdown=True, max_file_bytes=_MOST_FILE, resend="deduplicated"
    )

    def __init__(
        self,
        *,
        name: str,
        base_url: str,
        token: str,
        keys_folder: Path,
        timeout_seconds: float = 10.0,
        poll_seconds: float = _POLL_SECONDS,
    ) -> None:
        self.name = name
        self._api = MatrixApi(base_url=base_url, token=token, timeout_seconds=timeout_seconds)
        self._keys_folder = keys_folder
        self._poll_seconds = poll_seconds
        self._account: Account | None = None
        self._keys: MatrixKeys | None = None
        self._encrypted: set[str] = set()
        """Rooms that are encrypted, which no room ceases to be."""
        self._told: set[str] = set()
        """Encrypted rooms already reported as unreadable."""

    async def check(self) -> str:
        """Ask who this account is."""
        async with self._api.connect() as calls:
            try:
                account = await self._who(calls)
                profile = await _found(calls.get(at(CLIENT + "/profile/{}", account.user_id)))
            except MatrixRefused as error:
                raise error.failure(self.name) from None
        shown = str((profile or {}).get("displayname") or account.user_id[1:].partition(":")[0])
        return f"{shown} ({account.user_id})"

    async def send(self, part: Part) -> Receipt:
        """Send one part: a text with its Markdown as HTML, or a file."""
        room_id, thread = _place(part.address)
        async with self._api.connect() as calls:
            try:
                encrypted = await self._is_encrypted(calls, room_id)
                if part.file is not None:
                    content = await _file(calls, part.file, encrypted=encrypted)
                else:
                    content = _shortened(text_content(part.text))
                content |= _in_thread(thread)
                event_id = await self._put(calls, room_id, content, part.id, encrypted=encrypted, readers=part.readers)
            except MatrixRefused as error:
                raise error.failure(self.name) from None
        return Receipt(detail={"room_id": room_id, "event_id": event_id}, external_id=message_id(room_id, event_id))

    async def listen(self, intake: Intake) -> None:
        """Poll for what is new; what was written in the database is asked for no more."""
        async with self._api.connect() as calls:
            try:
                account = await self._who(calls)
                listening = MatrixSync(
                    name=self.name,
                    user_id=account.user_id,
                    calls=calls,
                    keys=self._keys_of(account) if can_encrypt() else None,
                    fetch=self._fetch,
                    poll_seconds=self._poll_seconds,
                    told=self._told,
                )
                await listening.run(intake)
            except MatrixRefused as error:
                raise error.failure(self.name) from None

    async def show(self, address: str, sign: Sign) -> None:
        """Show that an answer is being written, for some seconds."""
        room_id, _ = _place(address)
        async with self._api.connect() as calls:
            account = await self._who(calls)
            path = at(CLIENT + "/rooms/{}/typing/{}", room_id, account.user_id)
            await calls.put(path, {sign: True, "timeout": _TYPING_MS})

    async def edit(self, address: str, external_id: str, text: str) -> None:
        """Put other words in the place of a message."""
        room_id, _ = _place(address)
        content = text_content(text)
        relates = {"rel_type": "m.replace", "event_id": event_of(external_id)}
        edited = {**content, "body": f"* {content['body']}", "m.new_content": content, "m.relates_to": relates}
        # The same edit, sent again, is the same event.
        once = sha256(f"{external_id} {text}".encode(errors="replace")).hexdigest()[:20]
        async with self._api.connect() as calls:
            encrypted = await self._is_encrypted(calls, room_id)
            await self._put(calls, room_id, edited, f"edit-{once}", encrypted=encrypted)

    async def _put(
        self,
        calls: MatrixCalls,
        room_id: str,
        content: Mapping[str, Any],
        transaction: str,
        *,
        encrypted: bool,
        readers: Collection[str] = (),
    ) -> str:
        event_type = "m.room.message"
        if encrypted:
            keys = self._keys_of(await self._who(calls))
            await keys.publish(calls)
            joined = await self._joined(calls, room_id, readers)
            content = await keys.seal(calls, room_id, joined, event_type, content)
            event_type = "m.room.encrypted"
        elif readers:
            await self._joined(calls, room_id, readers)
        sent = await calls.put(at(CLIENT + "/rooms/{}/send/{}/{}", room_id, event_type, transaction), content)
        return str(sent["event_id"])

    async def _joined(self, calls: MatrixCalls, room_id: str, readers: Collection[str]) -> frozenset[str]:
        """Say who is in a room; refuse if somebody else was invited into a direct chat and could read it."""
        room, account = await read_room(calls, room_id), await self._who(calls)
        if readers and not room.names.keys() <= {account.user_id, *readers}:
            raise ChannelFailed(_OTHERS_READ, permanent=True)
        return room.joined

    async def _is_encrypted(self, calls: MatrixCalls, room_id: str) -> bool:
        """Look each time, unless it is known: somebody may have turned encryption on."""
        if room_id not in self._encrypted:
            if await _found(calls.get(at(CLIENT + "/rooms/{}/state/m.room.encryption", room_id))) is None:
                return False
            self._encrypted.add(room_id)
        if not can_encrypt():
            raise ChannelFailed(f"The room is encrypted. That {MISSING} and restart Homing.")
        return True

    async def _fetch(self, content: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """Download what somebody sent."""
        hidden: Mapping[str, Any] | None = content.get("file")
        place = media_of((hidden or content).get("url"))
        if place is None:
            raise ChannelFailed("The message has no file that can be fetched.", permanent=True)
        async with self._api.connect() as calls:
            if hidden is None:
                async for piece in calls.download(*place):
                    yield piece
                return
            sealed = bytearray()
            async for piece in calls.download(*place):
                sealed += piece
                if len(sealed) > _MOST_SEALED:
                    raise ChannelFailed("An encrypted file may have at most 25 MB.", permanent=True)
        yield await asyncio.to_thread(open_file, bytes(sealed), hidden)

    async def _who(self, calls: MatrixCalls) -> Account:
        if self._account is None:
            me = await calls.get(CLIENT + "/account/whoami")
            if not me.get("device_id"):
                raise ChannelFailed(f"The token of {self.name} has no device: log in with a password or SSO.")
            self._account = Account(user_id=str(me["user_id"]), device_id=str(me["device_id"]))
        return self._account

    def _keys_of(self, account: Account) -> MatrixKeys:
        if self._keys is None:
            self._keys = MatrixKeys(self._keys_folder, user_id=account.user_id, device_id=account.device_id)
        return self._keys


def make_matrix_channel(name: str, fields: Mapping[str, str], *, keys_folder: Path) -> Channel:
    """Make the channel of one account."""
    base_url, token = fields["base_url"], fields["token"]
    if not base_url.startswith(("https://", "http://")):
        raise ValueError("base_url must be the homeserver's address, such as https://matrix.example.org")
    if not _TOKEN.fullmatch(token):
        raise ValueError("token must be the access token of a login, without spaces")
    return MatrixChannel(name=name, base_url=base_url, token=token, keys_folder=keys_folder)


async def _found(call: Any) -> Mapping[str, Any] | None:
    try:
        return await call
    except MatrixRefused as error:
        if error.status == _NOT_FOUND:
            return None
        raise


def _place(address: str) -> tuple[str, str | None]:
    place = address.partition(":")[2]
    found = _PLACE.fullmatch(place)
    if found is None:
        raise ChannelFailed(f"{place!r} is not a Matrix room such as !abc:example.org.", permanent=True)
    return found[1], found[2]


def _in_thread(root: str | None) -> dict[str, Any]:
    if root is None:
        return {}
    # Clients that know no threads show it as an answer to the first message.
    fallback = {"is_falling_back": True, "m.in_reply_to": {"event_id": root}}
    return {"m.relates_to": {"rel_type": "m.thread", "event_id": root, **fallback}}


def _shortened(content: dict[str, Any]) -> dict[str, Any]:
    """Leave the HTML out where both together could be more than one event carries."""
    if len(json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")) <= _MOST_CONTENT:
        return content
    return {name: value for name, value in content.items() if name not in ("format", "formatted_body")}


async def _file(calls: MatrixCalls, file: File, *, encrypted: bool) -> dict[str, Any]:
    if not encrypted:
        url = await calls.upload(file.name, file.media_type, file.size, file.read())
        return file_content(file, {"url": url})
    data = b"".join([piece async for piece in file.read()])
    sealed, keys = await asyncio.to_thread(seal_file, data)

    async def read() -> AsyncIterator[bytes]:
        yield sealed

    url = await calls.upload(None, "application/octet-stream", len(sealed), read())
    return file_content(file, {"file": {**keys, "url": url}})
