"""A turn's messages, made again from the steps that an earlier attempt left behind.

Resume is by history, not by replay: what is kept is shown to the model as it was, so neither a renamed tool nor a
changed prompt can put the turn out of step.
"""

from collections.abc import Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from homing.agent.journal import KeptStep

NO_RESULT = "No result was kept for this call; whether it took effect is unknown."


def rebuild(prompt: str, kept: Sequence[KeptStep]) -> list[ModelMessage]:
    """Give the turn's messages so far.

    They end in a request that the model has not answered yet, or in a response whose tool calls are open or absent.
    """
    results = {step.key: step for step in kept if step.kind == "tool" and step.done}
    messages: list[ModelMessage] = []
    parts: list[ModelRequestPart] = [UserPromptPart(prompt)]
    for step in sorted(kept, key=lambda step: step.n):
        if step.kind == "inject" and step.result is not None:
            parts.append(UserPromptPart(step.result))
        if step.kind == "model" and step.response is not None:
            messages += [ModelRequest(parts), step.response]
            done = [call for call in step.response.tool_calls if call.tool_call_id in results]
            parts = [_returned(call, results[call.tool_call_id]) for call in done]
    if parts:
        messages.append(ModelRequest(parts))
    return settle(messages, last_open=True)


def open_calls(messages: Sequence[ModelMessage]) -> list[ToolCallPart]:
    """Find the calls of the last response that have no result yet."""
    for i in range(len(messages) - 1, -1, -1):
        message = messages[i]
        if isinstance(message, ModelResponse):
            answered = _answered(messages[i + 1 :])
            return [call for call in message.tool_calls if call.tool_call_id not in answered]
    return []


def with_parts(messages: Sequence[ModelMessage], parts: Sequence[ModelRequestPart]) -> list[ModelMessage]:
    """Add parts to the request that is being made ready for the model; results come before what people say."""
    if not parts:
        return list(messages)
    if not messages or not isinstance(messages[-1], ModelRequest):
        return [*messages, ModelRequest(list(parts))]
    together = [*messages[-1].parts, *parts]
    together.sort(key=lambda part: not isinstance(part, ToolReturnPart))
    return [*messages[:-1], ModelRequest(together)]


def settle(messages: Sequence[ModelMessage], *, last_open: bool = False) -> list[ModelMessage]:
    """Answer every call that was left without a result: providers refuse a history with open calls.

    With `last_open` the calls of the last response are left for the next attempt.
    """
    last = max((i for i, message in enumerate(messages) if isinstance(message, ModelResponse)), default=-1)
    settled: list[ModelMessage] = []
    lost: list[ToolReturnPart] = []
    for i, message in enumerate(messages):
        # One request for all results of a response: some providers want them together, right behind the calls.
        if lost and isinstance(message, ModelRequest):
            settled.append(replace(message, parts=[*lost, *message.parts]))
        elif lost:
            settled += [ModelRequest(list(lost)), message]
        else:
            settled.append(message)
        lost = []
        if isinstance(message, ModelResponse) and not (last_open and i == last):
            answered = _answered(messages[i + 1 :])
            lost = [_lost(call) for call in message.tool_calls if call.tool_call_id not in answered]
    return [*settled, ModelRequest(list(lost))] if lost else settled


def _returned(call: ToolCallPart, step: KeptStep) -> ToolReturnPart:
    return returned(call, step.result or "", failed=step.failed)


def returned(call: ToolCallPart, text: str, *, failed: bool) -> ToolReturnPart:
    """Say what a call answered, as the model sees it."""
    return ToolReturnPart(call.tool_name, text, call.tool_call_id, outcome="failed" if failed else "success")


def _lost(call: ToolCallPart) -> ToolReturnPart:
    return ToolReturnPart(call.tool_name, NO_RESULT, call.tool_call_id, outcome="interrupted")


def _answered(following: Sequence[ModelMessage]) -> set[str]:
    """Collect the ids answered before the next response."""
    answered: set[str] = set()
    for message in following:
        if isinstance(message, ModelResponse):
            break
        answered |= {part.tool_call_id for part in message.parts if isinstance(part, ToolReturnPart)}
    return answered
