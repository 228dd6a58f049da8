"""The Anthropic messages protocol, from the server's side."""

import json
import secrets
from collections.abc import Mapping, Sequence
from typing import Any, cast

from homing.testing.replies import Fault, Reply, ToolCall, WireMessage
from homing.testing.wires import dumped, fragments, input_tokens, output_tokens, texts_of

# What Anthropic calls each status: type, message.
_ERRORS: Mapping[int, tuple[str, str]] = {
    400: ("invalid_request_error", "The request was not accepted."),
    401: ("authentication_error", "invalid x-api-key"),
    403: ("permission_error", "Your API key may not use this resource."),
    404: ("not_found_error", "model: not found"),
    413: ("request_too_large", "Request exceeds the maximum size."),
    429: ("rate_limit_error", "This request would exceed your rate limit."),
    529: ("overloaded_error", "Overloaded"),
}


class AnthropicWire:
    """`POST /v1/messages`."""

    name = "anthropic"

    def read(self, body: Mapping[str, Any]) -> Sequence[WireMessage]:
        system = [WireMessage(role="system", text=text) for text in texts_of(body.get("system"))]
        return system + [said for message in body["messages"] for said in _read_message(message)]

    def whole(self, reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
        text = [{"type": "text", "text": reply.whole_text}] if reply.whole_text else []
        calls = [_call_block(call, _input_of(call)) for call in reply.tool_calls]
        message = self._message(reply, body)
        message["usage"]["output_tokens"] = output_tokens(reply)
        return {**message, "content": [*text, *calls], "stop_reason": _stop_reason(reply)}

    def stream(self, reply: Reply, body: Mapping[str, Any]) -> Sequence[bytes]:
        start = _event("message_start", {"message": self._message(reply, body)}) + _event("ping", {})
        blocks = [_text_block(reply.pieces)] if reply.pieces else []
        blocks += [_tool_block(call) for call in reply.tool_calls]
        pieces = [piece for index, block in enumerate(blocks) for piece in _block_pieces(index, block)]
        end = {
            "delta": {"stop_reason": _stop_reason(reply), "stop_sequence": None},
            "usage": {"output_tokens": output_tokens(reply)},
        }
        return [start, *pieces, _event("message_delta", end) + _event("message_stop", {})]

    def error(self, status: int, fault: Fault) -> dict[str, Any]:
        kind, message = _ERRORS.get(status, ("api_error", "Internal server error"))
        return {
            "type": "error",
            "error": {"type": kind, "message": fault.message or message},
            "request_id": f"req_{secrets.token_hex(8)}",
        }

    def stream_error(self, fault: Fault) -> bytes:
        return _event("error", self.error(529, fault))

    def broken_event(self) -> bytes:
        return b'event: content_block_delta\ndata: {"type": \n\n'

    def _message(self, reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "id": f"msg_{secrets.token_hex(8)}",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": input_tokens(self.read(body)), "output_tokens": 1},
        }


def _read_message(message: Mapping[str, Any]) -> list[WireMessage]:
    if message["role"] == "assistant":
        return [_read_assistant(message["content"])]
    if isinstance(message["content"], str):
        return [WireMessage(role="user", text=message["content"])]
    return [said for block in message["content"] for said in _read_user_block(block)]


def _read_assistant(content: Any) -> WireMessage:
    blocks = cast("list[Mapping[str, Any]]", content if isinstance(content, list) else [])
    calls = tuple(
        ToolCall(name=block["name"], arguments=block["input"], call_id=block["id"])
        for block in blocks
        if block["type"] == "tool_use"
    )
    return WireMessage(role="assistant", text="".join(texts_of(content)), tool_calls=calls)


def _read_user_block(block: Mapping[str, Any]) -> list[WireMessage]:
    if block["type"] == "text":
        return [WireMessage(role="user", text=block["text"])]
    if block["type"] == "tool_result":
        text = "".join(texts_of(block.get("content")))
        return [WireMessage(role="tool", text=text, tool_call_id=block["tool_use_id"])]
    return []


def _text_block(pieces: Sequence[str]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return {"type": "text", "text": ""}, [{"type": "text_delta", "text": piece} for piece in pieces]


def _tool_block(call: ToolCall) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in ["", *fragments(call.arguments_text)]]
    return _call_block(call, {}), deltas


def _block_pieces(index: int, block: tuple[dict[str, Any], list[dict[str, Any]]]) -> list[bytes]:
    start, deltas = block
    pieces = [_event("content_block_delta", {"index": index, "delta": delta}) for delta in deltas]
    pieces[0] = _event("content_block_start", {"index": index, "content_block": start}) + pieces[0]
    pieces[-1] += _event("content_block_stop", {"index": index})
    return pieces


def _call_block(call: ToolCall, arguments: Any) -> dict[str, Any]:
    call_id = call.call_id or f"toolu_{secrets.token_hex(8)}"
    return {"type": "tool_use", "id": call_id, "name": call.name, "input": arguments}


def _input_of(call: ToolCall) -> Any:
    # Without a stream the protocol has no place for broken JSON; a string instead of an object comes closest.
    try:
        return json.loads(call.arguments_text)
    except ValueError:
        return call.arguments_text


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.tool_calls else "end_turn"


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {dumped({'type': kind, **data})}\n\n".encode()
