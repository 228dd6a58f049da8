"""Real HTTP against the stub: what providers do wrong becomes one typed failure, and waiting helps where it can."""

import asyncio
import json
from base64 import b64encode
from dataclasses import replace

import pytest

from homing.agent.frames import frame
from homing.agent.history import dump, summarise
from homing.agent.journal import SeenFile
from homing.agent.loop import think
from homing.agent.models import Models
from homing.model.errors import ModelFailed
from homing.testing import Reply, StubModelServer, fault, tool_call
from unit.agent.journals import MemoryJournal, ask, tool

NAMES = ["openai-chat:gpt-5", "anthropic:claude-sonnet-5-5"]


@pytest.fixture
def stub(monkeypatch):
    with StubModelServer() as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


@pytest.fixture(params=NAMES, ids=["openai", "anthropic"])
def model(request):
    return request.param


class Clock:
    def __init__(self):
        self.waits = []

    async def sleep(self, seconds):
        self.waits.append(seconds)
        await asyncio.sleep(0)


async def run(asked, journal=None, clock=None):
    models = Models()
    try:
        async with asyncio.timeout(30):
            return await think(asked, journal or MemoryJournal(), models=models, sleep=(clock or Clock()).sleep)
    finally:
        await models.close()


async def test_a_turn_with_a_tool_goes_over_the_wire_and_back(stub, model):
    stub.reply([tool_call("look", {"at": "the sky"})])
    stub.reply("It is blue.")
    journal = MemoryJournal()
    answer = await run(ask("what colour?", model=model, tools=[tool("look", "blue")]), journal)
    assert answer.text == "It is blue."
    responses = [message for message in answer.messages if message.kind == "response"]
    assert all(response.usage.input_tokens > 0 for response in responses)
    assert journal.shown() == "It is blue."
    [first, second] = stub.requests
    assert first.messages[-1].text == "what colour?"
    assert [message.text for message in second.messages if message.role == "tool"] == ["blue"]


async def test_a_wrong_key_is_permanent_and_tried_once(stub, model):
    stub.fail(401)
    with pytest.raises(ModelFailed) as failure:
        await run(ask(model=model))
    assert failure.value.permanent
    assert "401" in failure.value.detail
    assert len(stub.requests) == 1


@pytest.mark.parametrize("status", [400, 403, 404])
async def test_a_refused_request_is_permanent(stub, model, status):
    stub.fail(status)
    with pytest.raises(ModelFailed) as failure:
        await run(ask(model=model))
    assert failure.value.permanent
    assert len(stub.requests) == 1


async def test_a_full_provider_is_asked_again_when_it_said(stub, model):
    stub.fail(429, retry_after_seconds=7)
    stub.fail(429, retry_after_seconds=500)
    stub.reply("Here I am.")
    clock = Clock()
    assert (await run(ask(model=model), clock=clock)).text == "Here I am."
    assert clock.waits == [7, 60]
    assert len(stub.requests) == 3


@pytest.mark.parametrize("status", [408, 409, 500, 503, 529])
async def test_a_broken_provider_is_asked_four_times_and_then_given_up(stub, model, status):
    stub.fail(status, times=9)
    clock = Clock()
    with pytest.raises(ModelFailed) as failure:
        await run(ask(model=model), clock=clock)
    assert not failure.value.permanent
    assert clock.waits == [2, 10, 30]
    assert len(stub.requests) == 4


@pytest.mark.parametrize("kind", ["cut", "drop", "malformed", "stream_error", "truncated"])
async def test_a_stream_that_breaks_is_tried_again(stub, model, kind):
    stub.reply(Reply(chunks=["Half an ", "answer"], fault=fault(kind).fault))
    stub.reply("The whole answer.")
    journal, clock = MemoryJournal(), Clock()
    answer = await run(ask(model=model), journal, clock)
    assert answer.text == journal.shown() == "The whole answer."
    assert clock.waits == [2]
    assert [step.kind for step in journal.steps] == ["model"]


async def test_a_provider_that_is_not_there_is_a_transient_failure(monkeypatch, model):
    with StubModelServer() as gone:
        for name, value in gone.environment().items():
            monkeypatch.setenv(name, value)
    with pytest.raises(ModelFailed) as failure:
        await run(ask(model=model))
    assert not failure.value.permanent


async def test_malformed_arguments_over_the_wire_go_back_once_then_fail(stub, model):
    stub.reply([tool_call("add", '{"when": "now')])
    stub.reply([tool_call("add", '{"when": "n')])
    with pytest.raises(ModelFailed, match="malformed arguments"):
        await run(ask(model=model, tools=[tool("add")]))
    [_, second] = stub.requests
    assert "not a JSON object" in next(message.text for message in second.messages if message.role == "tool")


async def test_malformed_arguments_over_the_wire_can_be_mended(stub, model):
    stub.reply([tool_call("add", '{"when": "now')])
    stub.reply([tool_call("add", {"when": "now"})])
    stub.reply("Added.")
    assert (await run(ask(model=model, tools=[tool("add")]))).text == "Added."


async def test_a_silent_provider_ends_at_once_when_the_turn_is_cancelled(stub, model):
    stub.reply("never", hold=True)
    thinking = asyncio.create_task(run(ask(model=model)))
    await asyncio.to_thread(stub.wait_for_requests, 1)
    thinking.cancel()
    async with asyncio.timeout(5):
        with pytest.raises(asyncio.CancelledError):
            await thinking


async def test_two_turns_share_one_model_and_its_connections(stub, model):
    models = Models()
    first, second = await asyncio.gather(models.get(model), models.get(model))
    assert first is second
    await models.close()


async def test_older_turns_are_folded_into_a_summary_with_one_call(stub, model):
    stub.reply("They like apples.")
    models = Models()
    answer = await run(ask("I like apples", model=model))
    stub.reply("They like apples.")
    summary, used = await summarise(models, model, "They are called Ann.", answer.messages)
    await models.close()
    assert (summary, used.output_tokens > 0) == ("They like apples.", True)
    shown = stub.requests[-1].messages[-1].text
    assert "They are called Ann." in shown
    assert "User: I like apples" in shown


async def test_a_picture_is_in_the_request_and_in_nothing_that_is_kept(stub, model):
    stub.reply("A bird.")
    attached = frame("file.attached", "file_k3v2x2mq7a: image/png, 9 bytes.", name="bird.png")

    async def read(file_id, limits):
        assert (file_id, limits["image/png"]) == ("file_k3v2x2mq7a", 3_700_000)
        return SeenFile(media_type="image/png", data=b"\x89PNG bird")

    answer = await run(replace(ask(f"{attached}\n\nWhat is it?", model=model), read_file=read))
    [request] = stub.requests
    sent = b64encode(b"\x89PNG bird").decode()
    assert sent in json.dumps(request.body)
    assert sent not in dump(answer.messages)
