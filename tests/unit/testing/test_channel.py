import asyncio

import pytest

from homing.model.errors import ChannelFailed
from homing.testing import RecordingChannel


@pytest.fixture
def channel() -> RecordingChannel[str, str]:
    return RecordingChannel(lambda letter: f"receipt for {letter}")


async def test_it_keeps_what_was_sent(channel: RecordingChannel[str, str]) -> None:
    assert await channel.send("a") == "receipt for a"
    await channel.send("b")
    assert channel.sent == ["a", "b"]


async def test_it_fails_twice_and_then_goes_well(channel: RecordingChannel[str, str]) -> None:
    channel.fail(times=2, retry_after=3)
    for _ in range(2):
        with pytest.raises(ChannelFailed) as caught:
            await channel.send("a")
        assert (caught.value.permanent, caught.value.retry_after) == (False, 3)
    await channel.send("a")
    assert (channel.attempts, channel.sent) == (["a", "a", "a"], ["a"])


async def test_a_refusal_is_permanent(channel: RecordingChannel[str, str]) -> None:
    channel.refuse()
    with pytest.raises(ChannelFailed) as caught:
        await channel.send("a")
    assert caught.value.permanent


async def test_a_hanging_send_is_taken_when_released(channel: RecordingChannel[str, str]) -> None:
    channel.hang()
    async with asyncio.timeout(5):
        sending = asyncio.create_task(channel.send("a"))
        await channel.wait_for_attempts(1)
        assert channel.sent == []
        channel.release()
        await channel.wait_for_sent(1)
        assert await sending == "receipt for a"
