import asyncio

from pydantic_ai import Agent

from homing.testing import scripted_model, tool_call


async def test_the_scripted_model_keeps_what_it_saw() -> None:
    model = scripted_model([tool_call("look", {}), "There are apples."])
    agent = Agent(model)

    @agent.tool_plain
    def look() -> str:
        return "apples"

    result = await agent.run("What is there?")
    assert result.output == "There are apples."
    assert [len(messages) for messages in model.seen] == [1, 3]
    assert [tool.name for tool in model.infos[0].function_tools] == ["look"]


async def test_a_held_reply_of_the_scripted_model_waits() -> None:
    model = scripted_model()
    model.reply("at last", hold=True)
    asking = asyncio.create_task(Agent(model).run("hello"))
    async with asyncio.timeout(5):
        await model.wait_for_calls(1)
        assert not asking.done()
        model.release()
        assert (await asking).output == "at last"


async def test_text_streams_in_its_chunks() -> None:
    model = scripted_model()
    model.reply("", chunks=["a", "b", "c"])
    async with Agent(model).run_stream("hello") as result:
        deltas = [delta async for delta in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(deltas) == "abc"
    assert len(deltas) > 1
