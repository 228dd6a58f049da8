"""The bell says "look now". A lost ring costs time, never work: listeners also look without it now and then.

Topics: `jobs`, `gates`, `lanes`, `cancels`, `deliveries`, `cards`, `session:<id>`, `user:<id>`, and `user:<id>/<session
id>` for a change in a session. A listener to a topic that ends in `:` or `/` hears all that begin with it. Live words
(an answer being written) go the same way with a payload; nothing of them is kept.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Iterable
from typing import Protocol

LIVE_KEPT = 1000


class Ear:
    """Somebody who listens to some topics."""

    def __init__(self, bell: "LocalBell", topics: frozenset[str]) -> None:
        self.topics = topics
        self._beginnings = tuple(topic for topic in topics if topic[-1] in ":/")
        self.received: deque[dict[str, object]] = deque(maxlen=LIVE_KEPT)
        self._bell = bell
        self._rung: set[str] = set()
        self._event = asyncio.Event()

    def hear(self, topics: Iterable[str]) -> None:
        if heard := self._mine(topics):
            self._rung |= heard
            self._event.set()

    def hear_words(self, topics: Iterable[str], words: dict[str, object]) -> None:
        if self._mine(topics):
            self.received.append(words)
            self._event.set()

    def _mine(self, topics: Iterable[str]) -> set[str]:
        if not self._beginnings:
            return set(self.topics.intersection(topics))
        return {topic for topic in topics if topic in self.topics or topic.startswith(self._beginnings)}

    async def wait(self, seconds: float | None) -> set[str]:
        """Wait until a topic rings or words are said, at most so long; return the topics that rang since last time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._event.wait()
        self._event.clear()
        rung, self._rung = self._rung, set()
        return rung

    def close(self) -> None:
        self._bell.ears.discard(self)


class Bell(Protocol):
    """What store, engine and doors ask of a bell."""

    def ring(self, topics: Iterable[str]) -> None: ...

    def ring_here(self, topics: Iterable[str]) -> None: ...

    def say(self, topics: Iterable[str], words: dict[str, object]) -> None: ...

    def listen(self, *topics: str) -> Ear: ...

    async def open(self) -> None: ...

    async def close(self) -> None: ...


class LocalBell:
    """The bell of one process."""

    def __init__(self) -> None:
        self.ears: set[Ear] = set()

    def ring(self, topics: Iterable[str]) -> None:
        self.ring_here(topics)

    def ring_here(self, topics: Iterable[str]) -> None:
        """Ring in this process only."""
        topics = set(topics)
        for ear in tuple(self.ears):
            ear.hear(topics)

    def say(self, topics: Iterable[str], words: dict[str, object]) -> None:
        topics = set(topics)
        for ear in tuple(self.ears):
            ear.hear_words(topics, words)

    def listen(self, *topics: str) -> Ear:
        ear = Ear(self, frozenset(topics))
        self.ears.add(ear)
        return ear

    async def open(self) -> None:
        """Nothing to open: everybody is in this process."""

    async def close(self) -> None:
        self.ears.clear()
