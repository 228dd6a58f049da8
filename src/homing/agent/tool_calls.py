"""Running the tools a response asked for, side by side, each call at most once.

Whatever a tool says, also its failure, is text for the model. Only a tool that hangs ends the turn.
"""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic_ai.messages import ModelResponse, ToolCallPart, ToolReturnPart

from homing.agent.journal import LiveStep, Tool, ToolCall
from homing.agent.progress import Progress
from homing.agent.provenance import shown_before
from homing.agent.resume import returned
from homing.agent.text import clean_value, cut
from homing.model.errors import Broken, Lost, ModelFailed, NotReady, Refused, ToolFailed
from homing.model.turns import about_call

MALFORMED = "The arguments were not a JSON object, so nothing was done. Call the tool again with a valid JSON object."
UNKNOWN_OUTCOME = (
    "Outcome unknown: this call was begun and then interrupted, so it may or may not have taken effect. "
    "It was not repeated. Find out before you call it again."
)

# A response may ask for a hundred pages or programs: so many of them work at the same time.
_AT_ONCE = 8


@dataclass(frozen=True, kw_only=True)
class _Result:
    text: str
    failed: bool = False


async def run_calls(turn: Progress, calls: Sequence[ToolCallPart]) -> list[ToolReturnPart]:
    """Run the open calls of the last response and give their results in the order of the calls."""
    _refuse_repeated_nonsense(turn.responses)
    slots = asyncio.Semaphore(_AT_ONCE)

    async def run(call: ToolCallPart) -> ToolReturnPart:
        async with slots:
            return await _run_call(turn, call)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(run(call)) for call in calls]
    except BaseExceptionGroup as failures:
        raise _gravest(failures) from None
    return [task.result() for task in tasks]


async def _run_call(turn: Progress, part: ToolCallPart) -> ToolReturnPart:
    args = _arguments(part)
    call = ToolCall(
        key=part.tool_call_id,
        name=part.tool_name,
        args=args or {},
        shown=lambda: shown_before(turn.ask, turn.messages),
    )
    tool = turn.tools.get(call.name)
    if call.key in turn.half_done and not (tool and tool.repeatable):
        result = await _tell(turn, call, UNKNOWN_OUTCOME)
    elif args is None:
        result = await _tell(turn, call, MALFORMED)
    elif tool is None:
        known = ", ".join(tool.name for tool in turn.ask.tools) or "none"
        result = await _tell(turn, call, f"Unknown tool: {call.name}. Known tools: {known}.")
    else:
        result = await _work(turn, tool, call)
    return returned(part, result.text, failed=result.failed)


async def _tell(turn: Progress, call: ToolCall, text: str) -> _Result:
    await turn.journal.tool_done(call, text, failed=True, duration_ms=0)
    return _Result(text=text, failed=True)


async def _work(turn: Progress, tool: Tool, call: ToolCall) -> _Result:
    turn.check()
    if not tool.repeatable and not tool.own:
        await turn.journal.tool_begun(call)
        # Writing that down took time, and the claim's cut-off may have passed meanwhile.
        turn.check()
    n, started = turn.next_step(), time.monotonic()
    live = LiveStep(n=n, kind="tool", name=tool.name, state="started", about=about_call(call.args))
    await turn.journal.tell(live)
    result = await _run_within_ceiling(tool, call)
    duration_ms = round((time.monotonic() - started) * 1000)
    # Our own operations kept their result together with their effect; a refusal had no effect to keep it with.
    if result.failed or not tool.own:
        await turn.journal.tool_done(call, result.text, failed=result.failed, duration_ms=duration_ms)
    await turn.journal.tell(replace(live, state="finished", duration_ms=duration_ms, failed=result.failed))
    return result


async def _run_within_ceiling(tool: Tool, call: ToolCall) -> _Result:
    ceiling = asyncio.timeout(tool.seconds)
    try:
        async with ceiling:
            return _Result(text=cut(await tool.run(call)))
    except (Lost, Broken, NotReady):
        raise
    except (Refused, ToolFailed) as refusal:
        return _Result(text=cut(refusal.detail), failed=True)
    except Exception as error:
        # A tool may fail in any way there is, and the model can often go on without it.
        if ceiling.expired():
            raise ToolFailed(f"The tool {tool.name} gave no answer within {tool.seconds:g} s.") from error
        if tool.own:
            # Our own: a bug, which no model can mend and nobody should read in a chat.
            raise
        return _Result(text=cut(f"{type(error).__name__}: {error}", 2000), failed=True)


def _arguments(part: ToolCallPart) -> dict[str, object] | None:
    try:
        return clean_value(part.args_as_dict(raise_if_invalid=True))
    except (ValueError, AssertionError):
        return None


def _refuse_repeated_nonsense(responses: Sequence[ModelResponse]) -> None:
    if len(responses) > 1 and all(_is_malformed(response) for response in responses[-2:]):
        raise ModelFailed("The model called a tool with malformed arguments, was told, and did it again.")


def _is_malformed(response: ModelResponse) -> bool:
    return any(_arguments(call) is None for call in response.tool_calls)


def _gravest(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """Choose which of several failures ends the turn: a lost claim silences all others."""
    return next((failure for failure in failures.exceptions if isinstance(failure, Lost)), failures.exceptions[0])
