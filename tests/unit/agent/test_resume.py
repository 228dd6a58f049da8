"""Killed anywhere, taken up again: no finished step repeated, the same answer."""

import asyncio
from dataclasses import dataclass, field

import pytest
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart

from homing.agent.journal import KeptStep
from homing.agent.loop import think
from homing.agent.models import Models
from homing.agent.resume import open_calls, rebuild
from homing.agent.tool_calls import UNKNOWN_OUTCOME
from homing.testing import scripted_model, tool_call
from unit.agent.journals import Dead, MemoryJournal, ask, tool


@dataclass
class World:
    """What the outside world saw: every effect of a tool, every call of the model."""

    effects: list[str] = field(default_factory=list)
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def __post_init__(self):
        self.model = scripted_model()
        self.model.otherwise(decide)

    def tools(self):
        async def read(call):
            await asyncio.sleep(0)
            self.effects.append("read")
            if self.effects.count("read") == 1:
                self.journal.inbox.append("and B!")
            return "A"

        async def send(call):
            self.effects.append("send")
            await asyncio.sleep(0)
            return "sent"

        async def schedule(call):
            def commit():
                self.effects.append("schedule")
                self.journal.finish(call, "added")

            await self.journal.write_own(commit)
            return "added"

        return [tool("read", read, repeatable=True), tool("send", send), tool("schedule_task", schedule, own=True)]

    async def attempt(self, **dying):
        waiting, kept = self.journal.inbox, list(self.journal.steps)
        self.journal = MemoryJournal(kept, **dying)
        self.journal.inbox = waiting
        asked = ask("check A", tools=self.tools(), kept=kept)
        return await think(asked, self.journal, models=Models(extra={"scripted": self.model}))


def said(steps):
    return [step.result for step in steps if step.kind == "inject"]


def decide(messages):
    done = sum(message.role == "assistant" for message in messages)
    if done == 0:
        return ["Looking.", tool_call("read"), tool_call("send")]
    return tool_call("schedule_task") if done == 1 else "A and B are fine."


async def writes_of_an_undisturbed_turn() -> int:
    world = World()
    answer = await world.attempt()
    assert answer.text == "A and B are fine."
    assert sorted(world.effects) == ["read", "schedule", "send"]
    assert len(world.model.seen) == 3
    return world.journal.writes


@pytest.mark.parametrize("die_after", [False, True], ids=["before the write", "after the write"])
async def test_a_turn_killed_at_any_write_goes_on_after_its_last_finished_step(die_after):
    for n in range(1, await writes_of_an_undisturbed_turn() + 1):
        world = World()
        with pytest.raises(Dead):
            await world.attempt(die_at=n, die_after=die_after)
        finished = [step for step in world.journal.steps if step.done]
        calls = len(world.model.seen)
        answer = await world.attempt()

        assert answer.text == "A and B are fine."
        assert all(step in world.journal.steps for step in finished), f"a finished step changed, killed at {n}"
        assert world.effects.count("send") <= 1, f"an unrepeatable tool ran twice, killed at {n}"
        assert world.effects.count("schedule") == 1, f"our own operation doubled or got lost, killed at {n}"
        unknown = world.journal.result_of("send") == UNKNOWN_OUTCOME
        assert world.effects.count("send") == 1 or unknown
        assert said(world.journal.steps) == ["and B!"]
        kept_calls = sum(step.kind == "model" for step in finished)
        assert len(world.model.seen) - calls == 3 - kept_calls, f"a finished model call was made again, killed at {n}"
        assert shown_texts(answer) == ["check A", "and B!"]


async def test_a_turn_killed_twice_tells_an_unknown_outcome_once():
    world = World()
    with pytest.raises(Dead):
        await world.attempt(die_at=4, die_after=True)
    assert [step.name for step in world.journal.steps if not step.done] == ["send"]
    with pytest.raises(Dead):
        await world.attempt(die_at=2, die_after=True)
    await world.attempt()
    assert world.journal.result_of("send") == UNKNOWN_OUTCOME
    assert world.effects.count("send") <= 1


def shown_texts(answer):
    parts = [part for message in answer.messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, UserPromptPart)]


def model_step(n, *parts):
    return KeptStep(n=n, kind="model", name="m", key=str(n), done=True, response=ModelResponse(parts=list(parts)))


def tool_step(n, key, result, *, name="work", done=True, failed=False):
    return KeptStep(n=n, kind="tool", name=name, key=key, done=done, result=result, failed=failed)


CALLS = (ToolCallPart("work", {"i": 1}, tool_call_id="a"), ToolCallPart("work", {"i": 2}, tool_call_id="b"))


def kinds(messages):
    return [[part.part_kind for part in message.parts] for message in messages]


def test_a_fresh_turn_is_its_prompt():
    [request] = rebuild("go", [])
    assert isinstance(request, ModelRequest)
    assert [part.content for part in request.parts if isinstance(part, UserPromptPart)] == ["go"]


def test_kept_steps_become_the_messages_they_were_with_injected_texts_in_place():
    kept = [
        KeptStep(n=1, kind="inject", name="inject", key="1", done=True, result="first"),
        model_step(2, *CALLS),
        tool_step(3, "b", "r2"),
        tool_step(4, "a", "r1", failed=True),
        KeptStep(n=5, kind="inject", name="inject", key="5", done=True, result="second"),
        model_step(6, TextPart("done")),
    ]
    messages = rebuild("go", kept)
    assert kinds(messages) == [
        ["user-prompt", "user-prompt"],
        ["tool-call", "tool-call"],
        ["tool-return", "tool-return", "user-prompt"],
        ["text"],
    ]
    returns = [part for part in messages[2].parts if isinstance(part, ToolReturnPart)]
    assert [(part.content, part.outcome) for part in returns] == [("r1", "failed"), ("r2", "success")]
    assert open_calls(messages) == []


def test_only_calls_without_a_result_are_open():
    messages = rebuild("go", [model_step(1, *CALLS), tool_step(2, "a", "r1"), tool_step(3, "b", None, done=False)])
    assert [call.tool_call_id for call in open_calls(messages)] == ["b"]


def test_a_result_that_was_never_kept_does_not_break_the_history():
    messages = rebuild("go", [model_step(1, *CALLS), tool_step(2, "b", "r2"), model_step(3, TextPart("done"))])
    returns = [part for part in messages[2].parts if isinstance(part, ToolReturnPart)]
    assert [(part.tool_call_id, part.outcome) for part in returns] == [("a", "interrupted"), ("b", "success")]


async def test_a_turn_killed_between_its_last_response_and_its_closing_needs_no_model():
    journal = MemoryJournal([model_step(1, TextPart("done"))])
    answer = await think(ask(model="no-such:model", kept=journal.steps), journal, models=Models())
    assert answer.text == "done"
    assert journal.writes == 0


async def test_a_tool_removed_between_crash_and_restart_is_told_as_unknown():
    kept = [model_step(1, *CALLS), tool_step(2, "a", "r1")]
    model = scripted_model(["I will do without."])
    asked = ask("another prompt", kept=kept, tools=[tool("labour")])
    answer = await think(asked, MemoryJournal(kept), models=Models(extra={"scripted": model}))
    assert answer.text == "I will do without."
    returns = [part for part in model.seen[0][-1].parts if isinstance(part, ToolReturnPart)]
    assert [part.content for part in returns] == ["r1", "Unknown tool: work. Known tools: labour."]


async def test_a_half_done_tool_that_was_renamed_is_still_told_as_unknown_outcome():
    kept = [model_step(1, CALLS[0]), tool_step(2, "a", None, done=False)]
    journal, model = MemoryJournal(kept), scripted_model(["I will ask."])
    await think(ask(kept=kept), journal, models=Models(extra={"scripted": model}))
    assert journal.result_of("work") == UNKNOWN_OUTCOME


async def test_a_half_done_repeatable_tool_is_run_again():
    kept = [model_step(1, CALLS[0]), tool_step(2, "a", None, done=False)]
    journal, model = MemoryJournal(kept), scripted_model(["fine"])
    asked = ask(kept=kept, tools=[tool("work", "again", repeatable=True)])
    await think(asked, journal, models=Models(extra={"scripted": model}))
    assert journal.result_of("work") == "again"
