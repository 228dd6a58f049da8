"""A scripted Pydantic AI model, for tests without a network: the stub server's script, in process."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import NoReturn

from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelUnavailableError,
)
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from homing.testing.gates import Gates
from homing.testing.replies import Fault, Reply, ToolCall, WireMessage
from homing.testing.script import Script, Scripted
from homing.testing.wires import fragments

_Category = type[ModelRateLimitError | ModelUnavailableError | ModelServerError | ModelRequestRejectedError]
_CATEGORIES: Mapping[int, _Category] = {
    400: ModelRequestRejectedError,
    401: ModelAuthenticationError,
    403: ModelAuthenticationError,
    404: ModelNotFoundError,
    429: ModelRateLimitError,
    503: ModelUnavailableError,
    529: ModelOverloadedError,
}
_NAME = "scripted"


class ScriptedModel(FunctionModel):
    """A model that says what its script says. `seen` holds the messages of every call, `infos` what else it got.

    `reply`, `when`, `fail` and `otherwise` are the script's own.
    """

    def __init__(self, script: Script) -> None:
        super().__init__(self._respond, stream_function=self._stream, model_name=_NAME)
        self.script = script
        self.reply = script.reply
        self.when = script.when
        self.fail = script.fail
        self.otherwise = script.otherwise
        self.seen: list[list[ModelMessage]] = []
        self.infos: list[AgentInfo] = []
        self._gates = Gates()
        self._called = asyncio.Condition()

    def release(self, gate: str | None = None) -> None:
        """Let held replies go: those at a named gate, now and later, or all that are held now."""
        self._gates.release(gate)

    async def wait_for_calls(self, count: int) -> None:
        """Wait until the model has been called that often; bound it with asyncio.timeout."""
        async with self._called:
            await self._called.wait_for(lambda: len(self.seen) >= count)

    async def _respond(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        reply, gate = await self._begin(messages, info)
        await _keep_pace(reply, gate)
        await gate.wait()
        self._gates.leave(gate)
        if reply.fault:
            await _raise(reply.fault, in_stream=False)
        text = [TextPart(reply.whole_text)] if reply.whole_text else []
        return ModelResponse(parts=[*text, *(_call_part(call) for call in reply.tool_calls)])

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        reply, gate = await self._begin(messages, info)
        await _keep_pace(reply, gate)
        if reply.fault and reply.fault.kind not in ("cut", "malformed", "stream_error", "truncated"):
            await _raise(reply.fault, in_stream=False)
        for sent, piece in enumerate(_pieces(reply)):
            if sent == reply.hold_after_chunks:
                await gate.wait()
            await asyncio.sleep(reply.delay_seconds)
            yield piece
        await gate.wait()
        self._gates.leave(gate)
        # A truncated stream just ends: that is what makes it dangerous.
        if reply.fault and reply.fault.kind != "truncated":
            await _raise(reply.fault, in_stream=True)

    async def _begin(self, messages: list[ModelMessage], info: AgentInfo) -> tuple[Reply, asyncio.Event]:
        reply = self.script.choose(wire_messages(messages, info.instructions))
        gate = self._gates.enter(reply.hold)
        async with self._called:
            self.seen.append(list(messages))
            self.infos.append(info)
            self._called.notify_all()
        return reply, gate


def scripted_model(answers: Iterable[Scripted] | Script = ()) -> ScriptedModel:
    """Make a model that gives these answers one after the other, and then echoes."""
    return ScriptedModel(answers if isinstance(answers, Script) else Script(answers))


def wire_messages(messages: Sequence[ModelMessage], instructions: str | None = None) -> list[WireMessage]:
    """Say what Pydantic AI's messages come to on any wire."""
    system = [WireMessage(role="system", text=instructions)] if instructions else []
    return system + [said for message in messages for said in _read(message)]


def _read(message: ModelMessage) -> list[WireMessage]:
    if isinstance(message, ModelRequest):
        return [said for part in message.parts for said in _read_part(part)]
    calls = tuple(
        ToolCall(name=call.tool_name, arguments=call.args_as_json_str(), call_id=call.tool_call_id)
        for call in message.tool_calls
    )
    return [WireMessage(role="assistant", text=message.text or "", tool_calls=calls)]


def _read_part(part: object) -> list[WireMessage]:
    match part:
        case SystemPromptPart():
            return [WireMessage(role="system", text=part.content)]
        case UserPromptPart(content=str(text)):
            return [WireMessage(role="user", text=text)]
        case UserPromptPart():
            texts = [item.content if isinstance(item, TextContent) else item for item in part.content]
            return [WireMessage(role="user", text=text) for text in texts if isinstance(text, str)]
        case ToolReturnPart():
            return [WireMessage(role="tool", text=part.model_response_str(), tool_call_id=part.tool_call_id)]
        case _:
            return []


async def _keep_pace(reply: Reply, gate: asyncio.Event) -> None:
    await asyncio.sleep(reply.first_byte_seconds)
    if not reply.hold_after_chunks:
        await gate.wait()


def _pieces(reply: Reply) -> list[str | DeltaToolCalls]:
    pieces: list[str | DeltaToolCalls] = list(reply.pieces)
    for index, call in enumerate(reply.tool_calls):
        call_id = call.call_id or _new_call_id()
        pieces.append({index: DeltaToolCall(call.name, "", tool_call_id=call_id)})
        pieces.extend({index: DeltaToolCall(json_args=fragment)} for fragment in fragments(call.arguments_text))
    # A stream without any item is refused by Pydantic AI; an empty answer is one empty text.
    return pieces or [""]


def _call_part(call: ToolCall) -> ToolCallPart:
    return ToolCallPart(call.name, call.arguments_text, tool_call_id=call.call_id or _new_call_id())


def _new_call_id() -> str:
    return f"call_{secrets.token_hex(8)}"


async def _raise(fault: Fault, *, in_stream: bool) -> NoReturn:
    """Fail as Pydantic AI's own models do for the same fault on the wire."""
    match fault.kind:
        case "hang":
            await asyncio.Event().wait()
            raise AssertionError("nobody sets this event")
        case "cut" | "drop":
            raise ModelConnectionError(_NAME, fault.message or "Connection error.", phase="read")
        case "malformed" | "truncated":
            raise ModelAPIError(_NAME, fault.message or "Failed to decode response as JSON.")
        case "stream_error":
            raise _http_error(500, fault, in_stream=in_stream)
        case int(status):
            raise _http_error(status, fault, in_stream=in_stream)


def _http_error(status: int, fault: Fault, *, in_stream: bool) -> ModelHTTPError:
    return ModelHTTPError.for_category(
        _CATEGORIES.get(status, ModelServerError if status >= 500 else ModelRequestRejectedError),
        status_code=status,
        model_name=_NAME,
        body={"message": fault.message or "scripted"},
        retry_after=fault.retry_after_seconds,
        in_stream=in_stream,
    )
