"""A turn's thinking: the loop, its tools, its limits."""

import asyncio

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from homing.agent.journal import Ask, LiveStep, LiveText
from homing.agent.loop import think
from homing.agent.models import Models
from homing.agent.text import MAX_RESULT_BYTES
from homing.model.errors import Invalid, Lost, ModelFailed, ToolFailed
from homing.testing import Reply, ScriptedModel, fault, scripted_model, tool_call
from unit.agent.journals import MemoryJournal, ask, tool


async def run(asked: Ask, model: ScriptedModel, journal: MemoryJournal | None = None):
    return await think(asked, journal or MemoryJournal(), models=Models(extra={"scripted": model}), sleep=no_wait)


async def no_wait(seconds: float) -> None:
    await asyncio.sleep(0)


def texts_seen(messages: list[ModelMessage]) -> list[str]:
    requests = [message for message in messages if isinstance(message, ModelRequest)]
    return [str(part.content) for request in requests for part in request.parts if isinstance(part, UserPromptPart)]


def returns_seen(messages: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]


async def test_an_answer_is_the_models_text_with_its_messages():
    answer = await run(ask("hello"), scripted_model(["Good day."]))
    assert answer.text == "Good day."
    assert answer.model == "scripted"
    assert texts_seen(list(answer.messages)) == ["hello"]
    assert isinstance(answer.messages[-1], ModelResponse)


async def test_the_model_sees_instructions_history_and_tools_and_the_turns_messages_hold_none_of_the_first_two():
    model = scripted_model(["yes"])
    history = [ModelRequest([UserPromptPart("I like apples")]), ModelResponse(parts=[])]
    answer = await run(ask("what do I like?", history=history, tools=[tool("recall")]), model)
    assert texts_seen(model.seen[0]) == ["I like apples", "what do I like?"]
    assert model.infos[0].instructions == "Be brief."
    assert [offered.name for offered in model.infos[0].function_tools] == ["recall"]
    assert [message.kind for message in answer.messages] == ["request", "response"]
    assert "Be brief." not in str(answer.messages)


async def test_a_response_is_kept_before_its_tools_run():
    journal = MemoryJournal()

    async def look(call):
        return "kept" if journal.steps[-1].kind == "model" else "not kept"

    answer = await run(
        ask(tools=[tool("look", look, repeatable=True)]), scripted_model([tool_call("look"), "fine"]), journal
    )
    assert answer.text == "fine"
    assert journal.result_of("look") == "kept"
    assert [(step.kind, step.done) for step in journal.steps] == [("model", True), ("tool", True), ("model", True)]


async def test_an_unrepeatable_tool_is_begun_before_it_runs_and_a_repeatable_one_is_not():
    journal = MemoryJournal()
    seen = {}

    async def watch(call):
        seen[call.name] = [step.name for step in journal.steps if not step.done]
        return "ok"

    tools = [tool("send", watch), tool("read", watch, repeatable=True)]
    await run(ask(tools=tools), scripted_model([tool_call("send"), tool_call("read"), "fine"]), journal)
    assert seen == {"send": ["send"], "read": []}


async def test_an_own_tool_is_neither_begun_nor_finished_by_the_agent():
    journal = MemoryJournal()
    await run(ask(tools=[tool("schedule_task", own=True)]), scripted_model([tool_call("schedule_task"), "ok"]), journal)
    assert [step.kind for step in journal.steps] == ["model", "model"]


async def test_the_refusal_of_an_own_tool_is_kept_because_no_effect_carried_it():
    journal = MemoryJournal()

    async def refuse(call):
        raise Invalid("Say when, for example 'in 10 minutes'.", field="when")

    model = scripted_model([tool_call("schedule_task"), "sorry"])
    await run(ask(tools=[tool("schedule_task", refuse, own=True)]), model, journal)
    assert journal.result_of("schedule_task") == "Say when, for example 'in 10 minutes'."
    assert journal.steps[1].failed


async def test_tool_calls_of_one_response_run_side_by_side_and_answer_in_order():
    both = asyncio.Barrier(2)

    async def meet(call):
        async with asyncio.timeout(5):
            await both.wait()
        return call.name

    model = scripted_model([[tool_call("b"), tool_call("a")], "done"])
    await run(ask(tools=[tool("a", meet), tool("b", meet)]), model)
    assert [part.content for part in returns_seen(model.seen[1])] == ["b", "a"]


async def test_a_failing_tool_is_told_to_the_model_in_one_short_line():
    async def fail(call):
        raise KeyError("no such city")

    model = scripted_model([tool_call("weather"), "I could not look."])
    answer = await run(ask(tools=[tool("weather", fail)]), model)
    [told] = returns_seen(model.seen[1])
    assert told.content == "KeyError: 'no such city'"
    assert told.outcome == "failed"
    assert answer.text == "I could not look."


async def test_a_tool_that_hangs_ends_the_turn_and_its_neighbour():
    ended = asyncio.Event()

    async def hang(call):
        await asyncio.Event().wait()
        return ""

    async def neighbour(call):
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    model = scripted_model([[tool_call("hang"), tool_call("neighbour")]])
    tools = [tool("hang", hang, seconds=0.01), tool("neighbour", neighbour)]
    with pytest.raises(ToolFailed, match=r"hang gave no answer within 0\.01 s") as failure:
        await run(ask(tools=tools), model)
    assert not failure.value.permanent
    assert ended.is_set()


async def test_a_timeout_inside_a_tool_is_only_its_own_failure():
    async def give_up(call):
        raise TimeoutError("the shop did not answer")

    model = scripted_model([tool_call("shop"), "closed"])
    assert (await run(ask(tools=[tool("shop", give_up)]), model)).text == "closed"


async def test_an_unknown_tool_is_told_to_the_model_with_the_known_ones():
    model = scripted_model([tool_call("gone"), "ok"])
    await run(ask(tools=[tool("here")]), model)
    assert returns_seen(model.seen[1])[0].content == "Unknown tool: gone. Known tools: here."


async def test_malformed_arguments_go_back_once_and_can_be_mended():
    model = scripted_model([tool_call("add", '{"when": '), tool_call("add", {"when": "now"}), "done"])
    answer = await run(ask(tools=[tool("add")]), model)
    assert answer.text == "done"
    assert "not a JSON object" in str(returns_seen(model.seen[1])[0].content)


async def test_malformed_arguments_twice_fail_cleanly():
    model = scripted_model([tool_call("add", "nonsense"), tool_call("add", "[1]"), "never"])
    with pytest.raises(ModelFailed, match="malformed arguments"):
        await run(ask(tools=[tool("add")]), model)
    assert len(model.seen) == 2


async def test_a_huge_result_is_cut_for_model_and_journal_alike():
    journal = MemoryJournal()
    model = scripted_model([tool_call("read"), "long"])
    await run(ask(tools=[tool("read", "ä" * MAX_RESULT_BYTES)]), model, journal)
    kept = journal.result_of("read")
    assert kept
    assert len(kept.encode()) <= MAX_RESULT_BYTES
    assert kept.endswith("bytes were too many]")
    assert returns_seen(model.seen[1])[0].content == kept


async def test_text_loses_nul_and_lone_surrogates_wherever_it_enters():
    journal = MemoryJournal()
    seen = []

    async def keep(call):
        seen.append(call.args)
        return "a\0b\ud800"

    answer = await run(
        ask(tools=[tool("keep", keep)]),
        scripted_model([tool_call("keep", '{"x": "\\u0000y"}'), "n\0ul \ud83d\ude00"]),
        journal,
    )
    assert journal.result_of("keep") == "ab\ufffd"
    assert seen == [{"x": "y"}]
    assert answer.text == "nul 😀"


async def test_repeated_call_ids_are_told_apart():
    count = 0

    async def once_more(call):
        nonlocal count
        count += 1
        return str(count)

    calls = [tool_call("go", call_id="call_0"), tool_call("go", call_id="call_0")]
    model = scripted_model([calls, tool_call("go", call_id="call_0"), "done"])
    await run(ask(tools=[tool("go", once_more)]), model)
    assert count == 3
    assert [part.content for part in returns_seen(model.seen[2])] == ["1", "2", "3"]


async def test_silence_is_an_empty_answer():
    assert (await run(ask(), scripted_model([""]))).text == ""


async def test_words_beside_the_last_tool_call_are_the_answer_when_nothing_follows():
    model = scripted_model([["You like apples.", tool_call("remember")], ""])
    assert (await run(ask(tools=[tool("remember")]), model)).text == "You like apples."


async def test_model_calls_have_a_limit_that_earlier_attempts_count_towards():
    model = scripted_model()
    model.otherwise(tool_call("again"))
    journal = MemoryJournal()
    with pytest.raises(ModelFailed, match="used up its 3 model calls") as failure:
        await run(ask(tools=[tool("again")], max_model_calls=3), model, journal)
    assert failure.value.permanent
    assert len(model.seen) == 3
    with pytest.raises(ModelFailed):
        await run(ask(tools=[tool("again")], max_model_calls=3, kept=journal.steps), model)
    assert len(model.seen) == 3


async def test_a_message_that_comes_meanwhile_is_seen_by_the_next_call_and_recorded_before_it():
    journal = MemoryJournal()

    async def slow(call):
        journal.inbox.append("also check B!")
        return "A is fine"

    model = scripted_model([tool_call("check"), "both fine"])
    answer = await run(ask("check A", tools=[tool("check", slow)]), model, journal)
    assert texts_seen(model.seen[0]) == ["check A"]
    assert texts_seen(model.seen[1]) == ["check A", "also check B!"]
    assert [step.kind for step in journal.steps] == ["model", "tool", "inject", "model"]
    assert texts_seen(list(answer.messages)) == ["check A", "also check B!"]


async def test_a_message_that_comes_with_the_last_response_is_left_for_the_next_turn():
    journal = MemoryJournal()
    model = scripted_model([Reply(text="done", hold=True)])
    thinking = asyncio.create_task(run(ask(), model, journal))
    async with asyncio.timeout(5):
        await model.wait_for_calls(1)
        journal.inbox.append("too late")
        model.release()
        await thinking
    assert journal.inbox == ["too late"]


async def test_a_lost_claim_begins_no_model_call():
    journal, model = MemoryJournal(), scripted_model()
    journal.open = False
    with pytest.raises(Lost):
        await run(ask(), model, journal)
    assert model.seen == []
    assert journal.writes == 0


async def test_a_lost_claim_begins_no_tool_call():
    journal = MemoryJournal()
    model = scripted_model()

    def close_then_call(messages):
        journal.open = False
        return tool_call("send")

    model.otherwise(close_then_call)
    with pytest.raises(Lost):
        await run(ask(tools=[tool("send")]), model, journal)
    assert [step.kind for step in journal.steps] == ["model"]


async def test_a_claim_lost_inside_a_tool_ends_the_turn_without_a_word():
    async def late(call):
        raise Lost("another has it")

    journal = MemoryJournal()
    with pytest.raises(Lost):
        await run(
            ask(tools=[tool("schedule_task", late, own=True)]), scripted_model([tool_call("schedule_task")]), journal
        )
    assert [step.kind for step in journal.steps] == ["model"]


async def test_cancelling_ends_a_model_call_at_once():
    model = scripted_model([Reply(text="never", hold=True)])
    thinking = asyncio.create_task(run(ask(), model))
    async with asyncio.timeout(5):
        await model.wait_for_calls(1)
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking


async def test_cancelling_ends_running_tools_at_once():
    begun, ended = asyncio.Event(), asyncio.Event()

    async def wait(call):
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    journal = MemoryJournal()
    thinking = asyncio.create_task(run(ask(tools=[tool("wait", wait)]), scripted_model([tool_call("wait")]), journal))
    async with asyncio.timeout(5):
        await begun.wait()
        thinking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await thinking
    assert ended.is_set()
    assert not journal.steps[-1].done


async def test_text_is_told_live_and_steps_begin_and_end():
    journal = MemoryJournal()
    model = scripted_model([["Let me look. ", tool_call("look")], "It is sunny today."])
    answer = await run(ask(tools=[tool("look")]), model, journal)
    assert journal.shown() == answer.text == "It is sunny today."
    steps = [(live.n, live.kind, live.state) for live in journal.told if isinstance(live, LiveStep)]
    assert steps == [
        (1, "model", "started"),
        (1, "model", "finished"),
        (2, "tool", "started"),
        (2, "tool", "finished"),
        (3, "model", "started"),
        (3, "model", "finished"),
    ]


async def test_a_thousand_pieces_are_told_in_few():
    journal = MemoryJournal()
    await run(ask(), scripted_model([Reply(chunks=["x"] * 1000)]), journal)
    assert journal.shown() == "x" * 1000
    assert len(journal.live_texts) < 100


async def test_what_came_before_a_pause_of_the_model_is_shown_while_it_pauses():
    journal = MemoryJournal()
    model = scripted_model([Reply(chunks=["One, ", "two, ", "three."], hold=True, hold_after_chunks=2)])
    thinking = asyncio.create_task(run(ask(), model, journal))
    async with asyncio.timeout(5):
        while journal.shown() != "One, two, ":  # noqa: ASYNC110 - a list does not ring
            await asyncio.sleep(0.005)
    model.release()
    await thinking
    assert journal.shown() == "One, two, three."


async def test_what_a_cut_stream_had_shown_is_taken_back_before_the_next_try():
    journal = MemoryJournal()
    model = scripted_model([Reply(chunks=["Half an ", "answer"], fault=fault("cut").fault), "Whole."])
    assert (await run(ask(), model, journal)).text == "Whole."
    assert LiveText(text="", whole=True) in journal.live_texts
    assert journal.shown() == "Whole."
    assert [step.kind for step in journal.steps] == ["model"]


async def test_open_calls_of_an_earlier_turn_are_answered_before_a_provider_sees_them():
    model = scripted_model(["ok"])
    history = [
        ModelRequest([UserPromptPart("go")]),
        ModelResponse(parts=[ToolCallPart("work", {}, tool_call_id="a"), ToolCallPart("work", {}, tool_call_id="b")]),
        ModelRequest([ToolReturnPart("work", "done", "b")]),
    ]
    await run(ask("and now?", history=history), model)
    assert [(part.tool_call_id, part.outcome) for part in returns_seen(model.seen[0])] == [
        ("a", "interrupted"),
        ("b", "success"),
    ]
