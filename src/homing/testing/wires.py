"""What the two model protocols have in common: a request is read into messages, a reply becomes bytes or an error."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from homing.testing.replies import Fault, Reply, WireMessage


class Wire(Protocol):
    """One provider's protocol."""

    @property
    def name(self) -> str: ...

    def read(self, body: Mapping[str, Any]) -> Sequence[WireMessage]:
        """Give the messages of a request."""
        ...

    def whole(self, reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
        """Give the response of a request that does not stream."""
        ...

    def stream(self, reply: Reply, body: Mapping[str, Any]) -> Sequence[bytes]:
        """Give the response as server-sent events: the beginning, one entry for each chunk, the end."""
        ...

    def error(self, status: int, fault: Fault) -> dict[str, Any]:
        """Give the body of an HTTP error."""
        ...

    def stream_error(self, fault: Fault) -> bytes:
        """Give the event that reports an error inside a stream."""
        ...

    def broken_event(self) -> bytes:
        """Give an event that is not JSON."""
        ...


def texts_of(content: Any) -> list[str]:
    """Give the texts of a message's content, which is a string or a list of blocks in both protocols."""
    if isinstance(content, str):
        return [content]
    blocks = cast("list[Mapping[str, Any]]", content or [])
    return [block["text"] for block in blocks if block.get("type") == "text"]


def fragments(arguments: str) -> list[str]:
    """Break a tool call's arguments as a stream would, at places that mean nothing."""
    size = max(7, len(arguments) // 4)
    return [arguments[start : start + size] for start in range(0, len(arguments), size)]


def tokens(text: str) -> int:
    """Estimate, so that usage is never zero."""
    return len(text) // 4 + 1


def input_tokens(messages: Sequence[WireMessage]) -> int:
    return sum(tokens(message.text) for message in messages)


def output_tokens(reply: Reply) -> int:
    return tokens(reply.whole_text + "".join(call.arguments_text for call in reply.tool_calls))


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
