"""Calling the model: streamed, typed in its failures, tried again when waiting can help."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import replace

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    InstructionPart,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from homing.agent.failures import key_of, model_failed
from homing.agent.journal import LiveStep, Tool
from homing.agent.live import Live
from homing.agent.progress import Progress
from homing.agent.resume import settle, with_parts
from homing.agent.seen_files import with_files, without_files
from homing.agent.text import clean, clean_value
from homing.model.errors import Error, ModelFailed

WAIT_SECONDS = (2.0, 10.0, 30.0)
LONGEST_WAIT_SECONDS = 60.0
# Of these we know that a finished stream says why it finished: without a reason it was cut, however politely.
SAYS_WHY_IT_ENDS = frozenset({"openai", "anthropic"})

Sleep = Callable[[float], Awaitable[None]]


async def call_model(turn: Progress, model: Model, settings: ModelSettings, sleep: Sleep = asyncio.sleep) -> None:
    """Get the model's next response and keep it; what people said meanwhile is shown first."""
    if len(turn.responses) >= turn.ask.max_model_calls:
        raise ModelFailed(
            f"The turn used up its {turn.ask.max_model_calls} model calls without an answer.", permanent=True
        )
    n = turn.next_step()
    response, duration_ms = await _try(turn, model, settings, n, sleep)
    response = _distinct(response, turn.responses)
    await turn.journal.model_done(response, name=turn.ask.model, duration_ms=duration_ms)
    await turn.journal.tell(LiveStep(n=n, kind="model", name=turn.ask.model, state="finished", duration_ms=duration_ms))
    turn.messages = [*turn.messages, response]


async def _try(
    turn: Progress, model: Model, settings: ModelSettings, n: int, sleep: Sleep
) -> tuple[ModelResponse, int]:
    """Give the response, and how long the call took that gave it."""
    waits = iter(WAIT_SECONDS)
    while True:
        await turn.journal.check_budget()
        started = time.monotonic()
        await _show_injected(turn)
        await turn.journal.tell(LiveStep(n=n, kind="model", name=turn.ask.model, state="started"))
        plain = [*settle(turn.ask.history), *turn.messages]
        request = await with_files(plain, turn.ask.read_file, model.profile)
        request = without_files(request) if turn.blind else request
        async with Live(turn.journal) as live:
            try:
                response = await stream(model, settings, request, turn.ask.instructions, turn.ask.tools, live.add)
            except ModelFailed as failed:
                await live.take_back()
                pause = _pause(turn, failed, waits, saw_files=request != plain)
                if pause is None:
                    raise
                failure = failed
            else:
                await live.flush()
                return response, _ms_since(started)
        await turn.journal.model_retried(
            failure, name=turn.ask.model, n=n, duration_ms=_ms_since(started), wait_seconds=pause
        )
        await sleep(pause)


def _pause(turn: Progress, failed: ModelFailed, waits: Iterator[float], *, saw_files: bool) -> float | None:
    """Say how long to wait before the call is made again; None when it is not."""
    if failed.permanent and saw_files and not turn.blind:
        # A picture that a provider refuses must not cost the answer, nor those of the turns that follow.
        turn.blind = True
        return 0.0
    wait = next(waits, None)
    if failed.permanent or wait is None:
        return None
    return wait if failed.retry_after is None else min(failed.retry_after, LONGEST_WAIT_SECONDS)


def _ms_since(started: float) -> int:
    return round((time.monotonic() - started) * 1000)


async def _show_injected(turn: Progress) -> None:
    turn.check()
    texts = await turn.journal.take_injected()
    turn.messages = with_parts(turn.messages, [UserPromptPart(clean(text)) for text in texts])
    # Taking them was a write; the claim's cut-off may have passed meanwhile.
    turn.check()


async def stream(
    model: Model,
    settings: ModelSettings,
    messages: Sequence[ModelMessage],
    instructions: str,
    tools: Sequence[Tool] = (),
    tell: Callable[[str], Awaitable[None]] | None = None,
) -> ModelResponse:
    """Make one request and read its answer to the end, or raise `ModelFailed`."""
    parameters = ModelRequestParameters(
        function_tools=[_definition(tool) for tool in tools],
        instruction_parts=[InstructionPart(content=clean(instructions))] if instructions else None,
    )
    try:
        prepared = model.prepare_messages(list(messages), parameters)
        async with model_request_stream(
            model, prepared, model_settings=settings, model_request_parameters=parameters
        ) as answer:
            async for event in answer:
                if tell and (text := _new_text(event)):
                    await tell(clean(text))
            response = answer.get()
    except Error:
        raise
    except Exception as error:
        raise model_failed(error, key=key_of(model)) from error
    refuse_half_answers(response)
    return replace(response, parts=[_cleaned(part) for part in response.parts])


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(
        name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters), strict=False
    )


def _new_text(event: ModelResponseStreamEvent) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""


def refuse_half_answers(response: ModelResponse) -> None:
    """Raise `ModelFailed` if a stream that ended without an error was still not a whole answer."""
    told_why = (response.provider_details or {}).get("finish_reason")
    if response.finish_reason == "content_filter" and not response.text:
        raise ModelFailed("The provider's content filter held the answer back.", permanent=True)
    unexplained = response.provider_name in SAYS_WHY_IT_ENDS and not told_why
    if response.state == "incomplete" or (unexplained and response.finish_reason != "content_filter"):
        raise ModelFailed("The model's answer broke off before its end.")
    if response.text or response.tool_calls:
        return
    if response.finish_reason == "error":
        raise ModelFailed("The provider reported an error instead of an answer.")


def _cleaned(part: ModelResponsePart) -> ModelResponsePart:
    match part:
        case TextPart() | ThinkingPart():
            return replace(part, content=clean(part.content))
        case ToolCallPart(args=str() as args):
            return replace(part, args=clean(args))
        case ToolCallPart(args=dict() as args):
            return replace(part, args=clean_value(args))
        case _:
            return part


def _distinct(response: ModelResponse, earlier: Sequence[ModelResponse]) -> ModelResponse:
    """Give repeated tool call ids a number: steps are kept by them, and not every provider keeps them apart."""
    used = {call.tool_call_id for given in earlier for call in given.tool_calls}
    parts: list[ModelResponsePart] = []
    for part in response.parts:
        if not isinstance(part, ToolCallPart):
            parts.append(part)
            continue
        fresh = _unused(part.tool_call_id, used)
        used.add(fresh)
        parts.append(replace(part, tool_call_id=fresh))
    return replace(response, parts=parts)


def _unused(key: str, used: set[str]) -> str:
    number = 2
    fresh = key
    while fresh in used:
        fresh, number = f"{key}-{number}", number + 1
    return fresh
