"""A script: which reply a model call gets. Faults come first, then rules, then the queue, then the default.

Thread-safe, because the stub server chooses in its own thread while a test is still writing.
"""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Unpack

from homing.testing.replies import (
    Answer,
    FaultKind,
    Reply,
    ReplyFunction,
    ReplyOptions,
    WireMessage,
    answers_since_user,
    as_reply,
    fault,
    last_user_text,
)

Scripted: TypeAlias = Answer | ReplyFunction
Match: TypeAlias = str | re.Pattern[str] | None


@dataclass(kw_only=True)
class _Rule:
    match: Match
    answers: Sequence[Reply | ReplyFunction]
    left: int | None

    def answer_for(self, text: str, nth: int) -> Reply | ReplyFunction | None:
        if self.left == 0 or nth >= len(self.answers) or not _matches(self.match, text):
            return None
        if self.left is not None:
            self.left -= 1
        return self.answers[nth]


class Script:
    """What a model will say."""

    def __init__(self, answers: Iterable[Scripted] = ()) -> None:
        self._lock = threading.Lock()
        self._faults: list[_Rule] = []
        self._rules: list[_Rule] = []
        self._queue: list[Reply | ReplyFunction] = []
        self._default: Reply | ReplyFunction = echo
        for answer in answers:
            self.reply(answer)

    def reply(self, answer: Scripted, *, times: int = 1, **options: Unpack[ReplyOptions]) -> None:
        """Put a reply at the end of the queue, `times` times."""
        entry = _entry(answer, options)
        with self._lock:
            self._queue.extend([entry] * times)

    def when(self, match: Match, *answers: Scripted, times: int | None = None, **options: Unpack[ReplyOptions]) -> None:
        """Answer any message that matches: a part of the text, or a regular expression.

        The first answer is to the text itself, the second to the results of the tools the first one called, and so
        on; past the last one the queue or the default speaks. `times` counts model calls. Options go for every answer.
        """
        if not answers:
            raise ValueError('A rule needs a reply: when("apples", "You like apples.").')
        rule = _Rule(match=match, answers=[_entry(answer, options) for answer in answers], left=times)
        with self._lock:
            self._rules.append(rule)

    def fail(
        self,
        kind: FaultKind,
        *,
        times: int = 1,
        match: Match = None,
        retry_after_seconds: float | None = None,
        message: str | None = None,
    ) -> None:
        """Let the next `times` model calls (of those that match) fail, before any other reply is used."""
        broken = fault(kind, retry_after_seconds=retry_after_seconds, message=message)
        with self._lock:
            self._faults.append(_Rule(match=match, answers=[broken], left=times))

    def otherwise(self, answer: Scripted, **options: Unpack[ReplyOptions]) -> None:
        """Change the default reply, which is an echo."""
        entry = _entry(answer, options)
        with self._lock:
            self._default = entry

    def reset(self) -> None:
        """Forget everything scripted."""
        with self._lock:
            self._faults, self._rules, self._queue, self._default = [], [], [], echo

    def choose(self, messages: Sequence[WireMessage]) -> Reply:
        """Take the reply to these messages, and count it as used."""
        with self._lock:
            entry = self._take(messages)
        return entry if isinstance(entry, Reply) else as_reply(entry(messages))

    def _take(self, messages: Sequence[WireMessage]) -> Reply | ReplyFunction:
        text, nth = last_user_text(messages), answers_since_user(messages)
        for rule in self._faults:
            if entry := rule.answer_for(text, 0):
                return entry
        for rule in self._rules:
            if entry := rule.answer_for(text, nth):
                return entry
        return self._queue.pop(0) if self._queue else self._default


def echo(messages: Sequence[WireMessage]) -> str:
    """Repeat what was said last."""
    return f"You said: {last_user_text(messages)}"


def _entry(answer: Scripted, options: ReplyOptions) -> Reply | ReplyFunction:
    if not callable(answer):
        return as_reply(answer, **options)
    if options:
        raise TypeError("A function decides everything about its reply: let it return Reply(..., hold=True) instead.")
    return answer


def _matches(match: Match, text: str) -> bool:
    if match is None:
        return True
    return match in text if isinstance(match, str) else match.search(text) is not None
