"""The contract of a channel, as tests: `prove_channel` sends and listens, and checks each claim of `Capabilities`.

Give it the channel and your double of its platform. It raises AssertionError with a sentence that says what is wrong.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable

from homing.channels import Channel, File, IncomingMessage, Part, PartQuestion
from homing.model.cutting import LengthUnit, length_of
from homing.model.errors import ChannelFailed
from homing.model.messages import Message

_SECONDS = 20.0
_START_SECONDS = 5.0
_AT = datetime(2026, 11, 16, 8, 0, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One message as a person sees it there."""

    text: str
    options: Sequence[str] = ()
    replies_to: str | None = None
    """The external id of the message that it is shown as an answer to."""


class Platform(Protocol):
    """Your double of the platform."""

    address: str
    """Where the channel may write."""
    bad_address: str
    """Where nobody can be."""

    def shown(self) -> Sequence[Shown]:
        """Give what the channel sent there, first one first."""
        ...

    def say(self, text: str) -> None:
        """Let a person write to the channel; not asked for if it only sends."""
        ...


@runtime_checkable
class ShowsFiles(Protocol):
    """A platform that shows files too: `max_file_bytes` is proved on it."""

    def files(self) -> Sequence[tuple[str, bytes]]:
        """Give the names and the bytes of the files that the channel sent there, first one first."""
        ...


@runtime_checkable
class ShowsEdits(Protocol):
    """A platform that shows a message as it reads now: `edit` is proved on it."""

    def reads(self, external_id: str) -> Shown:
        """Give a message that the channel sent, by the `external_id` of its receipt."""
        ...


async def prove_channel(channel: Channel, platform: Platform) -> None:
    """Check every claim that this platform can show."""
    async with asyncio.timeout(120):
        assert (await channel.check()).strip(), "check() must name the account"
        await _prove_sending(channel, platform)
        await _prove_buttons(channel, platform)
        await _prove_threads(channel, platform)
        await _prove_resending(channel, platform)
        await _prove_refusal(channel, platform)
        if isinstance(platform, ShowsFiles):
            await _prove_files(channel, platform, platform.address)
        if isinstance(platform, ShowsEdits) and type(channel).edit is not Channel.edit:
            await _prove_editing(channel, platform, platform.address)
        if type(channel).listen is not Channel.listen:
            await _prove_listening(channel, platform)
        else:
            await channel.listen(_Notes())


def contract_part(address: str, text: str, number: int) -> Part:
    """Make a part as the courier does."""
    message = Message(
        n=number, session_id=1, session_key="web:contract", lane_id=1, seq=number, rev=number, role="assistant",
        kind="chat", text=text, turn_id=None, inbound_id=None, job_id=None, run_id=None, model=None, meta={}, cards=[],
        folded=False, created_at=_AT,
    )  # fmt: skip
    return Part(
        id=f"dlv_contract{number}.0", address=address, text=text, session_key="web:contract", message=message,
        job_id=None, created_at=_AT,
    )  # fmt: skip


async def _prove_sending(channel: Channel, platform: Platform) -> None:
    can = channel.capabilities
    assert can.max_length is None or can.max_length >= 40, "max_length must leave room for words"
    text = _longest(can.max_length or 10_000, can.length_unit)
    before = len(platform.shown())
    receipts = [await channel.send(contract_part(platform.address, text, 1))]
    receipts.append(await channel.send(contract_part(platform.address, "Short.", 2)))
    told = [one.text for one in platform.shown()[before:]]
    assert told == [text, "Short."], f"a part of exactly max_length {can.length_unit} must arrive whole, and in order"
    ids = [receipt.external_id for receipt in receipts if receipt.external_id is not None]
    assert len(set(ids)) == len(ids), "each message has an external_id of its own"


async def _prove_buttons(channel: Channel, platform: Platform) -> None:
    if not (count := channel.capabilities.buttons):
        return
    options = [f"Option {number}" for number in range(1, count + 1)]
    part = replace(
        contract_part(platform.address, "Which?", 3), question=PartQuestion(id="q_contract42", options=options)
    )
    await channel.send(part)
    assert list(platform.shown()[-1].options) == options, f"it claims {count} buttons"


async def _prove_threads(channel: Channel, platform: Platform) -> None:
    if not channel.capabilities.threads:
        return
    sent = await channel.send(contract_part(platform.address, "First.", 6))
    await channel.send(replace(contract_part(platform.address, "Second.", 7), replies_to=sent.external_id))
    shown = platform.shown()[-1]
    assert shown.replies_to == sent.external_id, "it claims threads, but an answer does not name what it answers"


async def _prove_resending(channel: Channel, platform: Platform) -> None:
    part, before = contract_part(platform.address, "Once?", 4), len(platform.shown())
    await channel.send(part)
    await channel.send(replace(part, unsure=True))
    count = len(platform.shown()) - before
    if channel.capabilities.resend == "duplicates":
        assert count >= 1, "a repeated part must arrive"
    else:
        assert count == 1, f"it claims {channel.capabilities.resend}, but a part sent twice was shown {count} times"


async def _prove_refusal(channel: Channel, platform: Platform) -> None:
    before, refused = len(platform.shown()), None
    try:
        await channel.send(contract_part(platform.bad_address, "Nobody.", 5))
    except ChannelFailed as error:
        refused = error
    assert refused is not None, "an address that cannot exist must raise ChannelFailed"
    assert refused.permanent, "an address that cannot exist must be refused for good"
    assert not refused.unsure, "what was refused surely did not arrive"
    assert len(platform.shown()) == before


async def _prove_files(channel: Channel, platform: ShowsFiles, address: str) -> None:
    most, before = channel.capabilities.max_file_bytes, len(platform.files())
    if not most:
        return
    # A name and bytes that no form, header or text may take for its own.
    name, content = 'apple "pie"; ä.bin', (b"\x00\xff--\x1a" * (most // 5 + 1))[:most]
    sizes = sorted({1, most})
    for number, size in enumerate(sizes, 8):
        part = replace(contract_part(address, "", number), file=_file(name, content[:size]))
        await channel.send(part)
    came = platform.files()[before:]
    assert [len(data) for _, data in came] == sizes, f"it claims files of up to {most:,} bytes"
    assert all(content.startswith(data) for _, data in came), "the bytes of a file must arrive unchanged"


def _file(name: str, content: bytes) -> File:
    async def read() -> AsyncIterator[bytes]:
        for start in range(0, len(content), 65_536):
            yield content[start : start + 65_536]

    return File(id="file_contract", name=name, media_type="application/octet-stream", size=len(content), read=read)


async def _prove_editing(channel: Channel, platform: ShowsEdits, address: str) -> None:
    options = [f"Option {number}" for number in range(1, channel.capabilities.buttons + 1)]
    question = PartQuestion(id="q_contract43", options=options) if options else None
    sent = await channel.send(replace(contract_part(address, "Which one?", 10), question=question))
    assert sent.external_id is not None, "it can edit, so each message needs an external_id"
    await channel.edit(address, sent.external_id, "Option 1 *it is*.")
    now = platform.reads(sent.external_id)
    assert now.text == "Option 1 *it is*.", "it can edit, but the message reads as before"
    assert not now.options, "the buttons go with an edit"


async def _prove_listening(channel: Channel, platform: Platform) -> None:
    first = _Notes()
    async with _listening(channel, first):
        await first.started()
        platform.say("One.")
        [one] = await first.heard("One.")
        assert one.address.partition(":")[0] == channel.name, "an address begins with the channel's name"
        assert one.external_id, "a message has an id"
    # Killed before the write: the same message comes again, under the same id.
    broken = _Notes(cursor=first.cursor, fails=True)
    platform.say("Two.")
    with suppress(ConnectionError):
        async with asyncio.timeout(_SECONDS):
            await channel.listen(broken)
    again = _Notes(cursor=first.cursor)
    async with _listening(channel, again):
        [two] = await again.heard("Two.")
    assert two.external_id == broken.seen[-1].external_id, "the same message must come under the same id again"
    assert "One." not in [message.text for message in again.taken], "what was written must not come again"


def _longest(most: int, unit: LengthUnit) -> str:
    """Write exactly as much as is claimed, with a character that counts differently in each unit."""
    text = "A 🍎 and ä. "
    return text + "x" * (most - length_of(text, unit))


class _Notes:
    """An intake in memory."""

    def __init__(self, cursor: str | None = None, *, fails: bool = False) -> None:
        self.cursor = cursor
        self.taken: list[IncomingMessage] = []
        self.seen: list[IncomingMessage] = []
        self._fails = fails
        self._news = asyncio.Event()

    async def knows(self, address: str, sender: str) -> bool:
        return True

    async def awaits_link(self) -> bool:
        return True

    async def take(
        self, messages: Sequence[IncomingMessage], cursor: str | None, *, unread: int = 0, strangers: int = 0
    ) -> None:
        self.seen += messages
        if self._fails and messages:
            raise ConnectionError("killed before the write")
        self.taken += messages
        self.cursor = cursor
        self._news.set()

    async def started(self) -> None:
        """A first listen may begin with how far the platform is."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                await self._news.wait()

    async def heard(self, text: str) -> list[IncomingMessage]:
        async with asyncio.timeout(_SECONDS):
            while not (found := [message for message in self.taken if message.text == text]):
                self._news.clear()
                await self._news.wait()
        return found


class _listening:  # noqa: N801 - read as a verb
    def __init__(self, channel: Channel, intake: _Notes) -> None:
        self._channel, self._intake = channel, intake

    async def __aenter__(self) -> None:
        self._task = asyncio.create_task(self._channel.listen(self._intake))

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
