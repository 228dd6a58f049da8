"""Both live streams. A client is a place in a row of revisions, never a queue: a slow one costs only its own time."""

import asyncio
import json
from collections import Counter, deque
from collections.abc import AsyncIterator, Collection, Generator
from contextlib import contextmanager
from typing import Any

from homing.model.errors import SlowDown
from homing.model.people import Caller
from homing.model.sessions import Session
from homing.operations.agents import CHANGED
from homing.operations.context import Instance
from homing.operations.people import TOKENS
from homing.operations.shapes.base import utc
from homing.operations.shapes.inbox import InboxCounts
from homing.store import Store, Tx, sessions, turns
from homing.store.bell import Ear
from homing.store.inbox import inbox_topic
from homing.web.changes import Batch, Looks, Place, event, spelled
from homing.web.live import Board

PING_SECONDS = 15.0
MOST_PER_USER = 64
RETRY_MS = 2000
_CLOSED_KEPT = 64
_EARLY = 0.01
PING = b": still here\n\n"
"""Code that relays a stream checks here whether its listener may still receive it."""


class Streams:
    """All streams of one app: they look together, and end together."""

    def __init__(self, store: Store, instance: Instance) -> None:
        self.board = Board(store.bell)
        self.leaving = False
        self._store = store
        self._instance = instance
        self._looks = Looks(store, instance)
        self._ears: set[Ear] = set()
        self.most_per_user = MOST_PER_USER
        """The server that runs the app sets it: each stream takes one of its connections."""
        self._counts: Counter[str] = Counter()

    def leave(self) -> None:
        """End every stream and every wait at once: the process stops."""
        self.leaving = True
        for ear in self._ears:
            ear.hear(ear.topics)

    @contextmanager
    def counted(self, user_id: str) -> Generator[None]:
        """Count a stream among its user's while it lasts, or refuse it: others need connections too."""
        if self._counts[user_id] >= self.most_per_user:
            raise SlowDown(
                f"You have {self.most_per_user} live streams open, and there may be no more at once. Close one first.",
                retry_after=PING_SECONDS,
            )
        self._counts[user_id] += 1
        try:
            yield
        finally:
            self._counts[user_id] -= 1
            if not self._counts[user_id]:
                del self._counts[user_id]

    @contextmanager
    def listening(self, *topics: str) -> Generator[Ear]:
        """Open an ear that also hears when the process stops."""
        ear = self._store.bell.listen(*topics)
        self._ears.add(ear)
        try:
            yield ear
        finally:
            self._ears.discard(ear)
            ear.close()

    async def of_session(self, caller: Caller, session: Session, after: Place | None) -> AsyncIterator[bytes]:
        """Tell one session from a place on, or from now on, until it is deleted."""
        with self.listening(f"session:{session.id}", TOKENS) as ear:
            state, turn_ids, now = await self._store.read(lambda tx: _standing(tx, session.id))
            resumed = after is not None and after.rev <= state.rev
            place = after if after is not None and resumed else Place(rev=state.rev)
            yield self._hello(now, resumed=resumed, place=place)
            if resumed and place.rev == state.rev:
                yield await self._looks.session(caller, session.id, place)
            line = _Line(self.board, ear)
            yield line.so_far(turn_ids)
            while not self.leaving:
                if line.look:
                    batch = await self._looks.at(caller, session.id, place, numbered=True)
                    line.close(batch.closed)
                    yield line.words() + batch.events
                    place = batch.place
                    if batch.gone:
                        return
                    if batch.more:
                        continue
                else:
                    yield line.words()
                if await line.wait(min(self._store.look_seconds, PING_SECONDS)) or TOKENS in line.rung:
                    yield PING

    async def of_user(self, caller: Caller) -> AsyncIterator[bytes]:
        """Stream all sessions of a user from now on, without places: a client that comes back reads the lists again."""
        mine = f"user:{caller.user_id}/"
        with self.listening(mine, mine.removesuffix("/"), TOKENS, CHANGED) as ear:
            places, turn_ids, now = await self._store.read(lambda tx: _standings(tx, caller.user_id))
            yield self._hello(now, resumed=False)
            line = _Line(self.board, ear)
            yield line.so_far(turn_ids)
            counts: InboxCounts | None = None
            while not self.leaving:
                recount = inbox_topic(caller.user_id) in line.rung
                async for batch in self._of_changed(caller, line, places, mine):
                    recount |= batch.recount
                    yield line.words() + batch.events
                counted = await self._looks.inbox(caller) if recount else counts
                if counted is not None and counted != counts:
                    counts = counted
                    yield event("inbox", counts)
                if CHANGED in line.rung:
                    # What a caller may see of an agent is theirs to ask for.
                    yield spelled("agents", "{}")
                yield line.words()
                if await line.wait(PING_SECONDS) or TOKENS in line.rung:
                    yield PING

    async def _of_changed(
        self, caller: Caller, line: "_Line", places: dict[int, Place], mine: str
    ) -> AsyncIterator[Batch]:
        changed = {int(topic[len(mine) :]) for topic in line.rung if topic[len(mine) :].isdecimal()}
        if mine in line.rung or (line.look and not line.rung and self._store.postgres):
            # A ring may have been lost: compare everything once.
            standing, _, _ = await self._store.read(lambda tx: _standings(tx, caller.user_id))
            changed |= {session_id for session_id, place in standing.items() if places.get(session_id) != place}
        for session_id in sorted(changed):
            more = True
            while more and not self.leaving:
                place = places.get(session_id, Place(rev=0))
                batch = await self._looks.at(caller, session_id, place, numbered=False)
                line.close(batch.closed)
                yield batch
                places[session_id] = batch.place
                more = batch.more

    def _hello(self, server_time: str, *, resumed: bool, place: Place | None = None) -> bytes:
        hello = {"server_time": server_time, "version": self._instance.version, "resumed": resumed}
        received = json.dumps(hello)
        return spelled("hello", received, place, retry=RETRY_MS)


class _Line:
    """One client's ear: what rang, what is said live, and when it last heard from us."""

    def __init__(self, board: Board, ear: Ear) -> None:
        self.rung: set[str] = set()
        self.look = True
        self._board = board
        self._ear = ear
        self._closed: deque[str] = deque(maxlen=_CLOSED_KEPT)
        self._pinged_at = asyncio.get_running_loop().time()

    def close(self, turn_ids: Collection[str]) -> None:
        self._closed.extend(turn_ids)

    def so_far(self, turn_ids: Collection[str]) -> bytes:
        """Tell the text of running answers whole; pieces of them that also lie in the ear are in it already."""
        told = self._board.so_far(turn_ids)
        shown = {piece["turn_id"] for piece in told}
        waiting = [words for words in self._ear.received if _turn_of(words) not in shown or words["event"] != "text"]
        self._ear.received.clear()
        self._ear.received.extend(waiting)
        return b"".join(_spelled("text", piece) for piece in told)

    def words(self) -> bytes:
        """Take what was said live since last time; of closed turns nothing more is said."""
        received = self._ear.received
        # Too slow to have heard it all? The board has the whole.
        told = [self.so_far({_turn_of(words) for words in received})] if len(received) == received.maxlen else []
        while received:
            words: dict[str, Any] = received.popleft()
            if words["data"]["turn_id"] not in self._closed:
                told.append(_spelled(words["event"], words["data"]))
        return b"".join(told)

    async def wait(self, seconds: float) -> bool:
        """Wait for a ring or words, at most so long; say whether it is time to say that we are still here."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        self.rung = await self._ear.wait(seconds)
        now = loop.time()
        # Words alone need no look; silence does, for a ring can be lost.
        self.look = bool(self.rung) or now - before >= seconds - _EARLY
        due = now - self._pinged_at >= PING_SECONDS - _EARLY
        if due:
            self._pinged_at = now
        return due


def _turn_of(words: dict[str, Any]) -> str:
    return words["data"]["turn_id"]


def _spelled(noun: str, data: dict[str, Any]) -> bytes:
    return spelled(noun, json.dumps(data, ensure_ascii=False))


def _standing(tx: Tx, session_id: int) -> tuple[Session, list[str], str]:
    session = sessions.get(tx, session_id)
    return session, turns.open_turn_ids(tx, session.user_id, session_id=session_id), str(utc(tx.now()))


def _standings(tx: Tx, user_id: str) -> tuple[dict[int, Place], list[str], str]:
    places = {session_id: Place(rev=rev) for session_id, rev in sessions.revs_of(tx, user_id).items()}
    return places, turns.open_turn_ids(tx, user_id), str(utc(tx.now()))
