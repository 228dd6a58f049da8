"""Listening to a Matrix account: polls from our own cursor, fetches what a poll left out, and enters rooms.

The server gives the same events for the same `since`, so a poll that was not written is asked for again. It cuts long
timelines; their missing middle is fetched before anything of the poll is taken. Rooms are entered only for somebody who
may talk, or while a code that links somebody is open.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog

from homing.channels import IncomingMessage, Intake
from homing.channels.matrix_api import CLIENT, MatrixCalls, MatrixRefused, at
from homing.channels.matrix_events import ROOM_ID, TIMELINE, Fetch, Room, inside, read_event, text_in
from homing.channels.matrix_keys import MISSING, MatrixKeys
from homing.model.errors import ChannelFailed

log = structlog.get_logger(__name__)

_NONE: dict[str, Any] = {"types": []}
_QUIET: dict[str, Any] = {"presence": _NONE, "account_data": _NONE}
_FILTER = json.dumps(
    {
        **_QUIET,
        "room": {
            "timeline": {"limit": 50, "types": TIMELINE},
            "state": {"types": ["m.room.encryption"]},
            "ephemeral": _NONE,
            "account_data": _NONE,
        },
    }
)
_INVITES = json.dumps(
    {
        **_QUIET,
        "room": {"timeline": {"limit": 1, "types": []}, "state": _NONE, "ephemeral": _NONE, "account_data": _NONE},
    }
)
_GAP = json.dumps({"types": TIMELINE})
_PAGE, _MOST_PAGES = 100, 100
# What the gaps of one round may hold, in characters; what lies further back is not read.
_MOST_HELD = 50_000_000
# An invitation waits for a code that is made a moment later; of strangers' ones only so many wait.
_INVITED_POLL_SECONDS = 3.0
_MOST_INVITED, _MOST_ENTERED = 100, 3
# A key may arrive after what it opens.
_KEY_SECONDS, _KEY_POLL_SECONDS = 10.0, 1.0
_MOST_GIVEN_UP = 1000
_LOW_KEYS = 25
_MARGIN_SECONDS = 10.0


@dataclass(kw_only=True)
class _Heard:
    """What one or more polls gave, in order."""

    events: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list[tuple[str, Mapping[str, Any]]])
    opened: dict[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    held: int = 0
    """How much was fetched of gaps."""
    cut: int = 0
    """What lies further back than anybody reads."""

    def sealed(self) -> dict[str, list[Mapping[str, Any]]]:
        """Give the events that are not opened yet, by room."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for room_id, event in self.events:
            if event.get("type") == "m.room.encrypted" and event.get("event_id") not in self.opened:
                found.setdefault(room_id, []).append(event)
        return found


@dataclass(kw_only=True, eq=False)
class MatrixSync:
    """One listener of one account."""

    name: str
    user_id: str
    calls: MatrixCalls
    keys: MatrixKeys | None
    """None: what is encrypted cannot be read."""
    fetch: Fetch
    poll_seconds: float
    told: set[str]
    """Encrypted rooms already reported as unreadable."""
    _rooms: dict[str, Room] = field(default_factory=dict[str, Room])
    _invited: dict[str, str] = field(default_factory=dict[str, str])
    """Rooms that we are asked into, and by whom."""
    _given_up: dict[str, None] = field(default_factory=dict[str, None])
    """Keys that did not come in time, the newest last: nobody waits for them again."""

    async def run(self, intake: Intake) -> None:
        """Listen until cancelled."""
        # Invitations come once; those of before are found by looking around.
        around = await self._sync(None, 0.0, _INVITES)
        self._note_invitations(around)
        since = self._since_in(intake.cursor)
        if since is None:
            # The first listen starts at now: what was written before is not for us.
            since = str(around["next_batch"])
            await intake.take([], self._cursor(since))
        if self.keys is not None:
            await self.keys.publish(self.calls)
        while True:
            await self._enter(intake)
            since = await self._poll(intake, since)

    def _cursor(self, since: str) -> str:
        return f"{self.user_id} {since}"

    def _since_in(self, cursor: str | None) -> str | None:
        """Read how far this account was read; None for another account's cursor."""
        user_id, _, since = (cursor or "").partition(" ")
        return since if since and user_id == self.user_id else None

    async def _sync(self, since: str | None, seconds: float, wanted: str) -> Mapping[str, Any]:
        params = {"filter": wanted, "timeout": str(int(seconds * 1000)), "set_presence": "offline"}
        if since is not None:
            params["since"] = since
        return await self.calls.get(CLIENT + "/sync", params, seconds=seconds + _MARGIN_SECONDS)

    async def _poll(self, intake: Intake, since: str) -> str:
        heard, told, before = _Heard(), set(self.told), since
        seconds = min(self.poll_seconds, _INVITED_POLL_SECONDS) if self._invited else self.poll_seconds
        end = asyncio.get_running_loop().time() + seconds + _KEY_SECONDS
        while True:
            answer = await self._sync(since, seconds, _FILTER)
            await self._gather(heard, answer, since)
            since, seconds = str(answer["next_batch"]), _KEY_POLL_SECONDS
            if not self._waits(heard) or asyncio.get_running_loop().time() >= end:
                break
        if since != before and (heard.events or heard.cut):
            messages, unread = await self._read_all(heard)
            await intake.take(messages, self._cursor(since), unread=unread + heard.cut)
        if self.keys is None and (rooms := self.told - told):
            # Said once; everything else is heard as before.
            raise ChannelFailed(
                f"The room {min(rooms)} is encrypted. That {MISSING} and restart Homing. Nothing is read or"
                " answered there."
            )
        return since

    def _waits(self, heard: _Heard) -> bool:
        if self.keys is None:
            return False
        sessions = {_session_of(event) for some in heard.sealed().values() for event in some}
        return not sessions <= self._given_up.keys()

    async def _gather(self, heard: _Heard, answer: Mapping[str, Any], since: str) -> None:
        rooms = inside(answer, "rooms")
        self._note_invitations(answer)
        for room_id in inside(rooms, "leave"):
            self._rooms.pop(room_id, None)
            self._invited.pop(room_id, None)
        for room_id, one in inside(rooms, "join").items():
            self._invited.pop(room_id, None)
            if not ROOM_ID.fullmatch(room_id):
                continue
            events = await self._whole(heard, room_id, one["timeline"], since)
            if one["timeline"].get("limited") or any(event.get("type") == "m.room.member" for event in events):
                self._rooms.pop(room_id, None)
            heard.events += [(room_id, event) for event in events if event.get("sender") != self.user_id]
        await self._open(heard, answer)

    async def _open(self, heard: _Heard, answer: Mapping[str, Any]) -> None:
        sealed = heard.sealed()
        if self.keys is None:
            self.told |= sealed.keys()
            return
        sent: Sequence[Mapping[str, Any]] = inside(answer, "to_device").get("events") or ()
        if sent or sealed:
            heard.opened |= await self.keys.open(sent, sealed)
            await self.keys.mend(self.calls)
        left = inside(answer, "device_one_time_keys_count").get("signed_curve25519", 0)
        if left < _LOW_KEYS:
            await self.keys.publish(self.calls, left)

    async def _whole(
        self, heard: _Heard, room_id: str, timeline: Mapping[str, Any], since: str
    ) -> list[Mapping[str, Any]]:
        """Give a room's new events, all of them, first one first; of a room that we entered, what came after."""
        events: list[Mapping[str, Any]] = list(timeline["events"])
        token: str | None = timeline.get("prev_batch") if timeline.get("limited") else None
        path, pages = at(CLIENT + "/rooms/{}/messages", room_id), 0
        while token is not None and self._arrival(events) is None:
            if pages == _MOST_PAGES or heard.held > _MOST_HELD:
                log.warning("matrix_gap_too_long", channel=self.name, room=room_id)
                heard.cut += 1
                break
            params = {"dir": "b", "from": token, "to": since, "limit": str(_PAGE), "filter": _GAP}
            page = await self.calls.get(path, params)
            events = [*reversed(page["chunk"]), *events]
            heard.held += _size(page["chunk"])
            # A page may be empty though there is more: the server filters what it has read.
            token, pages = (page.get("end") if page.get("end") != token else None), pages + 1
        arrival = self._arrival(events)
        return events if arrival is None else events[arrival:]

    def _arrival(self, events: Sequence[Mapping[str, Any]]) -> int | None:
        """Say where we were asked in, or came in; None if we were there before."""
        for number, event in enumerate(events):
            if event.get("type") == "m.room.member" and event.get("state_key") == self.user_id:
                before = inside(event, "unsigned", "prev_content").get("membership")
                if before != "join":
                    return number
                if inside(event, "content").get("membership") != "join":
                    return None
        return None

    async def _read_all(self, heard: _Heard) -> tuple[list[IncomingMessage], int]:
        """Read events; one that we do not understand is counted, and must not keep back all that follow."""
        messages: list[IncomingMessage] = []
        unread = 0
        for room_id, given in heard.events:
            sealed = given.get("type") == "m.room.encrypted"
            event = heard.opened.get(str(given.get("event_id"))) if sealed else given
            if event is None:
                self._give_up(_session_of(given))
                log.warning("matrix_event_undecryptable", channel=self.name, event_id=given.get("event_id"))
                unread += 1
                continue
            if event.get("type") == "m.room.member":
                continue
            room = await self._room(room_id)
            try:
                message = read_event(event, room, self.user_id, self.name, self.fetch)
            except Exception as error:  # noqa: BLE001 - the edge of one event: its sender chose all of it
                which = given.get("event_id")
                log.warning("matrix_event_unreadable", channel=self.name, event_id=which, error=repr(error))
                unread += 1
            else:
                messages += [message] if message is not None else []
        return messages, unread

    def _give_up(self, session: str) -> None:
        self._given_up.pop(session, None)
        self._given_up[session] = None
        if len(self._given_up) > _MOST_GIVEN_UP:
            del self._given_up[next(iter(self._given_up))]

    async def _room(self, room_id: str) -> Room:
        if room_id not in self._rooms:
            try:
                self._rooms[room_id] = await read_room(self.calls, room_id)
            except MatrixRefused as error:
                if error.status not in (403, 404):
                    raise
                # We are not there any more: nobody is answered, and nobody is taken for being alone with us.
                self._rooms[room_id] = Room(id=room_id, names={})
        return self._rooms[room_id]

    def _note_invitations(self, answer: Mapping[str, Any]) -> None:
        asked = inside(answer, "rooms", "invite").items()
        for room_id, one in ((room_id, one) for room_id, one in asked if ROOM_ID.fullmatch(room_id)):
            for event in inside(one, "invite_state").get("events") or ():
                if event.get("type") == "m.room.member" and event.get("state_key") == self.user_id:
                    self._invited.pop(room_id, None)
                    self._invited[room_id] = str(event.get("sender"))
        for room_id in list(self._invited)[:-_MOST_INVITED]:
            del self._invited[room_id]

    async def _enter(self, intake: Intake) -> None:
        """Enter the rooms that people who may talk ask us into. Strangers get no answer, not even a no."""
        if not self._invited:
            return
        awaited, tried = await intake.awaits_link(), 0
        for room_id, inviter in list(self._invited.items()):
            if awaited or await intake.knows(f"{self.name}:{room_id}", inviter):
                del self._invited[room_id]
                tried += 1
                try:
                    await self.calls.post(at(CLIENT + "/join/{}", room_id), {})
                except (MatrixRefused, ChannelFailed) as error:
                    # Taken back, or of a server that is away; another invitation is another try, and so is a restart.
                    log.info("matrix_not_entered", channel=self.name, room=room_id, error=str(error))
                if tried == _MOST_ENTERED:
                    # Each may take as long as a call may; what is said elsewhere does not wait for all of them.
                    return


async def read_room(calls: MatrixCalls, room_id: str) -> Room:
    """Ask who is in a room, and who is invited."""
    found = await calls.get(at(CLIENT + "/rooms/{}/members", room_id), {"not_membership": "leave"})
    there = {str(one["state_key"]): inside(one, "content") for one in found["chunk"]}
    names = {
        user: text_in(one, "displayname") or ""
        for user, one in there.items()
        if one.get("membership") in ("join", "invite")
    }
    return Room(id=room_id, names=names, joined=frozenset(u for u in names if there[u]["membership"] == "join"))


def _session_of(sealed: Mapping[str, Any]) -> str:
    return text_in(inside(sealed, "content"), "session_id") or ""


def _size(found: Any) -> int:
    """Say about how many characters something has as JSON; it may be as deep as it likes."""
    size, left = 0, [found]
    while left:
        one = left.pop()
        size += len(one) if isinstance(one, str) else 8
        if isinstance(one, Mapping):
            left += [*one.keys(), *one.values()]
        elif isinstance(one, list):
            left += one
    return size
