"""What was said so far of answers still being written, for those who join late. Nothing of it is kept for long."""

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from homing.store.bell import Bell

_TURNS_KEPT = 200
_TEXT_KEPT = 131_072


@dataclass(kw_only=True)
class _Answer:
    """One answer in the making: the newest piece, and all text up to it."""

    piece: dict[str, Any]
    text: str


class Board:
    """Hears every live word in this process and remembers the newest answers."""

    def __init__(self, bell: Bell) -> None:
        self._ear = bell.listen("session:")
        self._answers: OrderedDict[str, _Answer] = OrderedDict()

    async def listen(self) -> None:
        """Keep up for as long as the app runs: an ear forgets what nobody takes."""
        while True:
            await self._ear.wait(None)
            self._take()

    def so_far(self, turn_ids: Collection[str]) -> list[dict[str, Any]]:
        """Give the whole text of these turns up to this instant, each as one piece."""
        self._take()
        found = [self._answers[turn_id] for turn_id in turn_ids if turn_id in self._answers]
        return [answer.piece | {"text": answer.text, "whole": True} for answer in found if answer.text]

    def _take(self) -> None:
        while self._ear.received:
            words: dict[str, Any] = self._ear.received.popleft()
            if words.get("event") == "text":
                self._add(words["data"])

    def _add(self, piece: dict[str, Any]) -> None:
        before = self._answers.pop(piece["turn_id"], None)
        fresh = before is None or piece["whole"] or piece["attempt"] != before.piece["attempt"]
        text = piece["text"] if before is None or fresh else before.text + piece["text"]
        self._answers[piece["turn_id"]] = _Answer(piece=piece, text=text[:_TEXT_KEPT])
        if len(self._answers) > _TURNS_KEPT:
            self._answers.popitem(last=False)
