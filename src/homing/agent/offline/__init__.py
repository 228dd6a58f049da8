"""The model without a key: labelled, deterministic, on the same real tools, and never pretending to be an AI.

In: the turn's prompt and facts. Out: a Pydantic AI model. Its plans are generators that ask for tool calls and are sent
the results; each model call plays them again from the turn's messages, so a resumed turn goes on by itself.
"""

import json
import secrets
from collections.abc import AsyncIterator, Mapping

from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from homing.agent.offline.grammar import respond
from homing.agent.offline.scene import read_scene


def offline_model(*, prompt: str, facts: Mapping[str, object]) -> FunctionModel:
    """Make the offline model for one turn."""

    async def speak(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        offered = frozenset(tool.name for tool in info.function_tools)
        scene = read_scene(messages, prompt=prompt, facts=facts, instructions=info.instructions or "", offered=offered)
        answer = respond(scene)
        if not isinstance(answer, str):
            # Random ids, because a real model may later be shown this history, and some refuse an id seen before.
            yield {
                i: DeltaToolCall(call.tool, json.dumps(call.args), tool_call_id=f"call_{secrets.token_hex(8)}")
                for i, call in enumerate(answer)
            }
            return
        for line in answer.splitlines(keepends=True):
            yield line

    return FunctionModel(stream_function=speak, model_name="offline")
