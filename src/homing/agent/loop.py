"""The loop of a turn: ask the model, keep what it said, run its tools, ask again, until it has nothing left to do.

The messages alone say what comes next, so a turn taken up again needs no other memory than its kept steps.
"""

import asyncio

from pydantic_ai.messages import ModelResponse

from homing.agent.journal import Answer, Ask, Journal
from homing.agent.model_calls import Sleep, call_model
from homing.agent.models import Models
from homing.agent.progress import Progress
from homing.agent.resume import open_calls, with_parts
from homing.agent.tool_calls import run_calls


async def think(ask: Ask, journal: Journal, *, models: Models, sleep: Sleep = asyncio.sleep) -> Answer:
    """Think a turn through to its answer, or raise `ModelFailed`, `ToolFailed` or `Lost`.

    Every finished call is given to the journal before anything that follows from it begins.
    """
    turn = Progress.take_up(ask, journal)
    settings = models.settings(ask.model, thinking=ask.thinking)
    while True:
        if calls := open_calls(turn.messages):
            turn.messages = with_parts(turn.messages, await run_calls(turn, calls))
        elif isinstance(turn.messages[-1], ModelResponse):
            return _answer(turn)
        else:
            await call_model(turn, await models.for_ask(ask), settings, sleep)


def _answer(turn: Progress) -> Answer:
    given = [response.text or "" for response in turn.responses]
    # Some models answer beside their last tool call and then have nothing to add.
    text = next((text for text in reversed(given) if text.strip()), "")
    return Answer(text=text.strip(), messages=turn.messages, model=turn.ask.model)
