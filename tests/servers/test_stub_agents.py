"""The stub and the scripted model under Pydantic AI: the same script, the same behaviour."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import anthropic
import openai
import pytest
from pydantic_ai import Agent, AgentRunResultEvent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelServerError,
)
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from homing.testing import Script, StubModelServer, WireMessage, scripted_model, tool_call
from homing.testing.replies import FaultKind


@asynccontextmanager
async def a_model(kind: str, script: Script) -> AsyncIterator[Model[Any]]:
    if kind == "scripted":
        yield scripted_model(script)
        return
    async with AsyncExitStack() as stack:
        stub = stack.enter_context(StubModelServer(script=script))
        if kind == "openai":
            client = openai.AsyncOpenAI(base_url=stub.openai_url, api_key="k", max_retries=0)
            await stack.enter_async_context(client)
            yield OpenAIChatModel("gpt-5", provider=OpenAIProvider(openai_client=client))
        else:
            client = anthropic.AsyncAnthropic(base_url=stub.anthropic_url, api_key="k", max_retries=0)
            await stack.enter_async_context(client)
            yield AnthropicModel("claude-stub", provider=AnthropicProvider(anthropic_client=client))


async def run(agent: Agent[None, str], text: str, *, stream: bool) -> str:
    if not stream:
        return (await agent.run(text)).output
    async with agent.run_stream_events(text) as events:
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                return event.result.output
    raise AssertionError("the run had no result")


every_model = pytest.mark.parametrize("kind", ["openai", "anthropic", "scripted"])
both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@every_model
@both_ways
async def test_an_agent_calls_several_tools_and_goes_on(kind: str, stream: bool) -> None:
    seen: list[list[WireMessage]] = []

    def look(messages: Any) -> str:
        seen.append(list(messages))
        return "3 and 30"

    script = Script()
    script.when("sums", [tool_call("add", {"x": 1, "y": 2}), tool_call("add", {"x": 10, "y": 20})], look)
    async with a_model(kind, script) as model:
        agent = Agent(model, instructions="Be brief.")

        @agent.tool_plain
        def add(x: int, y: int) -> int:
            return x + y

        assert await run(agent, "sums, please", stream=stream) == "3 and 30"
    spoken = [message for message in seen[0] if message.role != "system"]
    assert [message.role for message in spoken] == ["user", "assistant", "tool", "tool"]
    assert [message.text for message in spoken if message.role == "tool"] == ["3", "30"]
    assert [call.call_id for call in spoken[1].tool_calls] == [message.tool_call_id for message in spoken[2:]]
    assert any(message.role == "system" and "Be brief." in message.text for message in seen[0])


@every_model
@both_ways
@pytest.mark.parametrize(
    ("fault_kind", "error"),
    [
        (401, ModelAuthenticationError),
        (429, ModelRateLimitError),
        (500, ModelServerError),
        (529, ModelOverloadedError),
        ("cut", ModelConnectionError),
        ("drop", ModelConnectionError),
        ("malformed", ModelAPIError),
        ("stream_error", ModelAPIError),
    ],
)
async def test_a_fault_is_the_same_error_whichever_the_model(
    kind: str, stream: bool, fault_kind: FaultKind, error: type[ModelAPIError]
) -> None:
    script = Script()
    script.fail(fault_kind, retry_after_seconds=3 if fault_kind == 429 else None)
    async with a_model(kind, script) as model:
        agent = Agent(model)
        with pytest.raises(error) as caught:
            await run(agent, "hello", stream=stream)
        assert caught.value.retry_after == (3 if fault_kind == 429 else None)
        assert await run(agent, "hello", stream=stream) == "You said: hello"


@every_model
@both_ways
async def test_malformed_tool_arguments_go_back_to_the_model(kind: str, stream: bool) -> None:
    script = Script()
    script.when("sum", tool_call("add", '{"x": 1, "y'), tool_call("add", {"x": 1, "y": 2}), "fixed")
    async with a_model(kind, script) as model:
        agent = Agent(model)

        @agent.tool_plain
        def add(x: int, y: int) -> int:
            return x + y

        assert await run(agent, "sum", stream=stream) == "fixed"


@every_model
async def test_a_truncated_stream_looks_like_an_answer_so_watch_out(kind: str) -> None:
    script = Script()
    script.fail("truncated")
    async with a_model(kind, script) as model:
        assert await run(Agent(model), "hello", stream=True) == "This answer breaks off"


@every_model
async def test_a_hung_model_can_be_left(kind: str) -> None:
    script = Script()
    script.fail("hang")
    async with a_model(kind, script) as model:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await run(Agent(model), "hello", stream=True)
