"""The words in which a test says what a model answers, and how it fails.

The stub server sends them over the wire, the scripted model gives them to Pydantic AI in process.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

FaultKind: TypeAlias = int | Literal["cut", "drop", "hang", "malformed", "stream_error", "truncated"]
"""An HTTP status, or one of these:

- cut: the connection closes in the middle of the answer; drop: before it; hang: nothing ever comes
- malformed: what comes is not JSON
- stream_error: the provider reports an error inside a stream that began well
- truncated: the stream ends in good order for HTTP, but without the end that the protocol promises
"""

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """One tool call of a reply. Arguments given as text are sent as they are, broken or not."""

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict[str, Any])
    call_id: str | None = None

    @property
    def arguments_text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A way for a model call to fail."""

    kind: FaultKind
    retry_after_seconds: float | None = None
    message: str | None = None


@dataclass(frozen=True, kw_only=True)
class Reply:
    """One answer of a model: text in chunks, then tool calls, at its own pace.

    `hold` makes it wait until it is released, at a gate of its own (True) or at a named one; with
    `hold_after_chunks` it waits in the middle of a stream. A fault comes after whatever the pace made it wait for.
    """

    text: str = ""
    chunks: Sequence[str] = ()
    tool_calls: Sequence[ToolCall] = ()
    delay_seconds: float = 0.0
    first_byte_seconds: float = 0.0
    hold: bool | str = False
    hold_after_chunks: int = 0
    fault: Fault | None = None
    tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    """What the provider says it used, where that should not be an estimate: input, output, cached, thinking."""

    @property
    def whole_text(self) -> str:
        return "".join(self.chunks) or self.text

    @property
    def pieces(self) -> Sequence[str]:
        """The text as it is streamed: the chunks, or word by word."""
        if self.chunks:
            return self.chunks
        words = self.text.split(" ")
        return [word + " " for word in words[:-1]] + words[-1:] if self.text else []


class ReplyOptions(TypedDict, total=False):
    """What may be said beside a reply, by keyword."""

    chunks: Sequence[str]
    tool_calls: Sequence[ToolCall]
    delay_seconds: float
    first_byte_seconds: float
    hold: bool | str
    hold_after_chunks: int
    fault: Fault | None
    tokens: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class WireMessage:
    """One message a model was shown, the same for every protocol. A text block is a message of its own."""

    role: Role
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


Answer: TypeAlias = str | ToolCall | Reply | Sequence[str | ToolCall]
ReplyFunction: TypeAlias = Callable[[Sequence[WireMessage]], Answer]


def tool_call(name: str, arguments: Mapping[str, Any] | str | None = None, *, call_id: str | None = None) -> ToolCall:
    """Say that the model calls a tool. Arguments given as text are sent as they are, also when they are broken."""
    return ToolCall(name=name, arguments={} if arguments is None else arguments, call_id=call_id)


def fault(kind: FaultKind, *, retry_after_seconds: float | None = None, message: str | None = None) -> Reply:
    """Say that a model call fails; a stream that breaks begins with a few words."""
    return Reply(
        text="This answer breaks off", fault=Fault(kind=kind, retry_after_seconds=retry_after_seconds, message=message)
    )


def as_reply(answer: Answer, **options: Unpack[ReplyOptions]) -> Reply:
    """Make a reply of the short forms: a text, a tool call, or several of both in one response."""
    return replace(_plain_reply(answer), **options)


def _plain_reply(answer: Answer) -> Reply:
    if isinstance(answer, Reply):
        return answer
    parts = [answer] if isinstance(answer, str | ToolCall) else answer
    return Reply(
        text="".join(part for part in parts if isinstance(part, str)),
        tool_calls=[part for part in parts if isinstance(part, ToolCall)],
    )


def last_user_text(messages: Sequence[WireMessage]) -> str:
    """Find what a person, or another speaker in that role, wrote last."""
    return next((message.text for message in reversed(messages) if message.role == "user"), "")


def answers_since_user(messages: Sequence[WireMessage]) -> int:
    """Count the responses the model has given since the last user text."""
    count = 0
    for message in reversed(messages):
        if message.role == "user":
            break
        count += message.role == "assistant"
    return count
