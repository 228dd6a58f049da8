"""The OpenAI chat-completions protocol, from the server's side."""

import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any

from homing.testing.replies import Fault, Reply, Role, ToolCall, WireMessage
from homing.testing.wires import dumped, fragments, input_tokens, output_tokens, texts_of

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
# What OpenAI calls each status: type, code, message.
_ERRORS: Mapping[int, tuple[str, str | None, str]] = {
    400: ("invalid_request_error", None, "The request was not accepted."),
    401: ("invalid_request_error", "invalid_api_key", "Incorrect API key provided: stub."),
    403: ("invalid_request_error", "unsupported_country_region_territory", "This project may not use the model."),
    404: ("invalid_request_error", "model_not_found", "The model does not exist or you do not have access to it."),
    429: ("requests", "rate_limit_exceeded", "Rate limit reached for requests."),
    503: ("service_unavailable_error", "server_is_overloaded", "The server is overloaded."),
}


class OpenAIWire:
    """`POST /v1/chat/completions`."""

    name = "openai"

    def read(self, body: Mapping[str, Any]) -> Sequence[WireMessage]:
        return [said for message in body["messages"] for said in _read_message(message)]

    def whole(self, reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": reply.whole_text or None, "refusal": None}
        if reply.tool_calls:
            message["tool_calls"] = [_call_shape(call, call.arguments_text) for call in reply.tool_calls]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish_reason(reply)}
        return {**_head("chat.completion", body), "choices": [choice], "usage": self._usage(reply, body)}

    def stream(self, reply: Reply, body: Mapping[str, Any]) -> Sequence[bytes]:
        options: Mapping[str, Any] = body.get("stream_options") or {}
        asks_usage = bool(options.get("include_usage"))
        head = {**_head("chat.completion.chunk", body), **({"usage": None} if asks_usage else {})}

        def event(delta: Mapping[str, Any], finish_reason: str | None = None) -> bytes:
            choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
            return _event({**head, "choices": [choice]})

        end = event({}, _finish_reason(reply))
        if asks_usage:
            end += _event({**head, "choices": [], "usage": self._usage(reply, body)})
        return [
            event({"role": "assistant", "content": "", "refusal": None}),
            *(event({"content": piece}) for piece in reply.pieces),
            *(event({"tool_calls": [delta]}) for delta in _call_deltas(reply.tool_calls)),
            end + b"data: [DONE]\n\n",
        ]

    def error(self, status: int, fault: Fault) -> dict[str, Any]:
        kind, code, message = _ERRORS.get(status, ("server_error", None, "The server had an error."))
        return {"error": {"message": fault.message or message, "type": kind, "param": None, "code": code}}

    def stream_error(self, fault: Fault) -> bytes:
        return _event(self.error(500, fault))

    def broken_event(self) -> bytes:
        return b'data: {"choices": \n\n'

    def _usage(self, reply: Reply, body: Mapping[str, Any]) -> dict[str, Any]:
        given = reply.tokens
        prompt = given["input"] if "input" in given else input_tokens(self.read(body))
        completion = given["output"] if "output" in given else output_tokens(reply)
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
            "prompt_tokens_details": {"cached_tokens": given.get("cached", 0)},
            "completion_tokens_details": {"reasoning_tokens": given.get("thinking", 0)},
        }


def _read_message(message: Mapping[str, Any]) -> list[WireMessage]:
    role = _ROLES[message["role"]]
    texts = texts_of(message.get("content"))
    if role in ("system", "user"):
        return [WireMessage(role=role, text=text) for text in texts]
    calls = tuple(
        ToolCall(name=call["function"]["name"], arguments=call["function"]["arguments"], call_id=call["id"])
        for call in message.get("tool_calls") or ()
    )
    return [WireMessage(role=role, text="".join(texts), tool_calls=calls, tool_call_id=message.get("tool_call_id"))]


def _head(kind: str, body: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{secrets.token_hex(8)}",
        "object": kind,
        "created": int(time.time()),
        "model": body["model"],
        "system_fingerprint": None,
    }


def _call_shape(call: ToolCall, arguments: str) -> dict[str, Any]:
    call_id = call.call_id or f"call_{secrets.token_hex(8)}"
    return {"id": call_id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _call_deltas(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = []
    for index, call in enumerate(calls):
        deltas.append({"index": index, **_call_shape(call, "")})
        deltas.extend(
            {"index": index, "function": {"arguments": fragment}} for fragment in fragments(call.arguments_text)
        )
    return deltas


def _finish_reason(reply: Reply) -> str:
    return "tool_calls" if reply.tool_calls else "stop"


def _event(data: Mapping[str, Any]) -> bytes:
    return f"data: {dumped(data)}\n\n".encode()
