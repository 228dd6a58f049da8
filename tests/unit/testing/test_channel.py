import asyncio
from datetime import UTC, datetime

import pytest

from homing.channels import Channel, Part
from homing.model.errors import ChannelFailed
from homing.testing import RecordingChannel
from unit.channels.sample_parts import message


def part(text: str) -> Part:
    return Part(
        id="dlv_1.0",
        address="recording:a",
        session_key="web:fruit",
        text=text,
        message=message(text),
        job_id=None,
        created_at=datetime(2026, 11, 16, tzinfo=UTC),
    )


def texts(parts: list[Part]) -> list[str]:
    return [part.text for part in parts]


async def test_it_keeps_what_was_sent() -> None:
    channel: Channel = (recording := RecordingChannel())
    await channel.send(part("a"))
    receipt = await channel.send(part("b"))
    assert receipt.detail == {"number": 2}
    assert texts(recording.sent) == ["a", "b"]


async def test_it_fails_twice_and_then_goes_well() -> None:
    channel = RecordingChannel()
    channel.fail(times=2, retry_after=3)
    for _ in range(2):
        with pytest.raises(ChannelFailed) as caught:
            await channel.send(part("a"))
        assert (caught.value.permanent, caught.value.retry_after) == (False, 3)
    await channel.send(part("a"))
    assert (texts(channel.attempts), texts(channel.sent)) == (["a", "a", "a"], ["a"])


async def test_a_refusal_is_permanent() -> None:
    channel = RecordingChannel()
    channel.refuse()
    with pytest.raises(ChannelFailed) as caught:
        await channel.send(part("a"))
    assert caught.value.permanent


async def test_a_hanging_send_is_taken_when_released() -> None:
    channel = RecordingChannel()
    channel.hang()
    async with asyncio.timeout(5):
        sending = asyncio.create_task(channel.send(part("a")))
        await channel.wait_for_attempts(1)
        assert channel.sent == []
        channel.release()
        await channel.wait_for_sent(1)
        assert (await sending).detail == {"number": 1}
