"""Discord against a strict stub: what is sent, what is refused, what may have arrived, what is heard and resumed."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from typing import Any

import httpx2
import pytest

from homing.channels import File, Part, PartQuestion
from homing.channels.discord import (
    DiscordChannel,
    _Hearing,  # pyright: ignore[reportPrivateUsage]
    make,
)
from homing.channels.discord_events import Me, read_message
from homing.model.errors import ChannelFailed
from homing.testing import DiscordStub
from homing.testing.channel_contract import Shown, prove_channel
from unit.channels.notes import Notes, failure, listening
from unit.channels.sample_parts import part

ME = Me(id="4664", name="homing-bot")


@pytest.fixture
def discord() -> Iterator[DiscordStub]:
    with DiscordStub() as stub:
        stub.write("hello")
        yield stub


def channel_to(
    discord: DiscordStub, *, seconds: float = 5.0, pause: float = 0, token: str | None = None
) -> DiscordChannel:
    return DiscordChannel(
        name="discord", token=token or discord.token, base_url=discord.url, timeout_seconds=seconds, pause_seconds=pause
    )


class Platform:
    """The stub as the contract kit wants it."""

    address, bad_address = "discord:70", "discord:404"

    def __init__(self, stub: DiscordStub) -> None:
        self.stub = stub

    def shown(self) -> Sequence[Shown]:
        return [
            Shown(
                text=one["content"],
                options=[button["label"] for row in one["components"] for button in row["components"]],
            )
            for one in self.stub.sent
        ]

    def say(self, text: str) -> None:
        self.stub.write(text)


async def test_it_keeps_the_contract_of_channels(discord: DiscordStub) -> None:
    await prove_channel(channel_to(discord), Platform(discord))


async def test_a_message_arrives_with_its_nonce_and_rings_nobody(discord: DiscordStub) -> None:
    receipt = await channel_to(discord).send(part("discord:70", "**It** is nine, @everyone."))
    [sent] = discord.sent
    assert (sent["content"], sent["nonce"]) == ("**It** is nine, @everyone.", "dlv_k3v9x2mq7a.0")
    assert sent["allowed_mentions"] == {"parse": []}
    assert receipt.external_id == f"70:{sent['id']}"
    assert receipt.detail == {"channel_id": "70", "message_id": sent["id"]}


@pytest.mark.parametrize("place", ["", "ada", "7/1", "1e5", "7 8", "9" * 30, "70/messages"])
async def test_what_is_not_a_channel_is_refused_without_a_call(discord: DiscordStub, place: str) -> None:
    error = await failure(channel_to(discord), part(f"discord:{place}"))
    assert (error.permanent, discord.calls) == (True, [])


@pytest.mark.parametrize("how", ["lose", "close", "500"])
async def test_without_an_answer_nobody_can_tell_and_a_repeat_is_known(discord: DiscordStub, how: str) -> None:
    discord.fail(how)
    what = part("discord:70", "Once.")
    error = await failure(channel_to(discord, seconds=0.5), what)
    assert (error.unsure, error.permanent) == (True, False)
    receipt = await channel_to(discord).send(replace(what, unsure=True))
    assert [receipt.external_id] == [f"70:{one['id']}" for one in discord.sent]


async def test_told_to_slow_down_the_account_waits_as_long_as_discord_says(discord: DiscordStub) -> None:
    discord.limit(1.5)
    error = await failure(channel_to(discord), part("discord:70"))
    assert (error.limited, error.retry_after, error.permanent, error.unsure) == (True, 1.5, False, False)


async def test_nobody_waits_longer_than_an_hour(discord: DiscordStub) -> None:
    discord.limit(1e9)
    assert (await failure(channel_to(discord), part("discord:70"))).retry_after == 3600


async def test_who_does_not_want_it_is_left_alone(discord: DiscordStub) -> None:
    discord.fail("blocked")
    error = await failure(channel_to(discord), part("discord:70"))
    assert (error.permanent, error.blocked) == (True, True)
    assert error.detail == "Discord refused it: Cannot send messages to this user."


async def test_a_revoked_token_fails_in_discords_words_until_it_works_again(discord: DiscordStub) -> None:
    channel = channel_to(discord)
    discord.token = "another"
    error = await failure(channel, part("discord:70"))
    assert (error.permanent, error.unsure) == (False, False)
    said = "Discord does not accept the token of discord: 401: Unauthorized. Check its setting."
    assert error.detail == said
    with pytest.raises(ChannelFailed, match="401: Unauthorized"):
        await channel.listen(Notes())
    discord.token = "stub.discord.token"
    assert await channel.check() == "@homing"


async def test_a_token_that_the_gateway_refuses_fails_in_its_words(discord: DiscordStub) -> None:
    intake = Notes()
    task = asyncio.create_task(channel_to(discord).listen(intake))
    await intake.until()
    discord.close(4004, "Authentication failed.")
    with pytest.raises(ChannelFailed, match="does not accept the token of discord: Authentication failed"):
        await task


async def test_a_discord_that_is_not_there_surely_got_nothing() -> None:
    channel = DiscordChannel(name="discord", token="x", base_url="http://127.0.0.1:1")
    error = await failure(channel, part("discord:70"))
    assert (error.unsure, error.permanent) == (False, False)


@pytest.mark.parametrize("fields", [{"token": "Bot secret"}, {"token": "a", "base_url": "discord"}])
def test_what_cannot_be_a_bot_is_refused_without_showing_the_token(fields: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        make("discord", fields)
    assert "secret" not in str(caught.value)


async def begin(discord: DiscordStub) -> str:
    """Hear one message, so that the chat is known; give the cursor."""
    async with listening(channel_to(discord), Notes()) as intake:
        await intake.until()
        discord.write("first")
        await intake.until(1)
    assert intake.cursor is not None
    return intake.cursor


@pytest.mark.parametrize("resumes", [True, False])
async def test_thirty_messages_missed_while_away_arrive_in_order(discord: DiscordStub, resumes: bool) -> None:
    """For some minutes the gateway gives them again; after that only the history has them."""
    cursor = await begin(discord)
    for number in range(130):
        discord.write(f"missed {number}")
    if not resumes:
        discord.forget_sessions()
    async with listening(channel_to(discord), Notes(cursor)) as again:
        await again.until(130)
        discord.write("and now")
        await again.until(131)
    assert again.texts == [*(f"missed {number}" for number in range(130)), "and now"]
    assert len({message.external_id for message in again.taken}) == 131
    assert {message.direct for message in again.taken} == {True}
    assert discord.resumed == resumes


async def test_after_a_gap_it_goes_on_from_what_was_taken_in_each_place(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as first:
        await first.until()
        discord.write("direct 1")
        discord.write("<@4664> shared 1", channel="5000")
        await first.until(2)
    discord.write("direct 2")
    discord.write("<@4664> shared 2", channel="5000")
    discord.write("others talk", channel="5000")
    discord.write("<@4664> elsewhere", channel="6000")
    discord.forget_sessions()
    async with listening(channel_to(discord), Notes(first.cursor)) as again:
        await again.until(2)
        discord.write("now")
        await again.until(4)
    heard = [(message.text, message.address, message.addressed) for message in again.taken]
    assert heard == [
        ("direct 2", "discord:70", True),
        ("@homing shared 2", "discord:5000", True),
        ("others talk", "discord:5000", False),
        ("now", "discord:70", True),
    ]


async def test_a_place_that_the_bot_may_not_see_any_more_keeps_back_nothing(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as first:
        await first.until()
        discord.write("direct 1")
        discord.write("<@4664> shared 1", channel="5000")
        await first.until(2)
    discord.hidden.add("5000")
    discord.write("direct 2")
    discord.forget_sessions()
    async with listening(channel_to(discord), Notes(first.cursor)) as again:
        await again.until(1)
    assert again.texts == ["direct 2"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("resumes", [True, False])
async def test_killed_around_the_write_nothing_is_lost_and_the_same_id_comes_again(
    discord: DiscordStub, when: str, resumes: bool
) -> None:
    cursor = await begin(discord)
    written = discord.write("one")
    if not resumes:
        discord.forget_sessions()
    broken = Notes(cursor, break_off=when)
    with pytest.raises(ConnectionError):
        await channel_to(discord).listen(broken)
    if not resumes:
        discord.forget_sessions()
    async with listening(channel_to(discord), Notes(broken.cursor)) as again:
        await asyncio.to_thread(discord.wait_for, lambda stub: stub.listening)
        discord.write("two")
        await again.until(1 if when == "after" else 2)
    heard = [*broken.taken, *again.taken]
    assert [message.text for message in heard] == ["one", "two"]
    assert heard[0].external_id == f"70:{written['id']}"


@pytest.mark.parametrize("cursor", [None, "7", "{}", '{"bot":"9","session":["s","u",1],"direct":{"70":1},"shared":{}}'])
async def test_the_first_listen_to_a_bot_starts_at_now(discord: DiscordStub, cursor: str | None) -> None:
    intake = Notes(cursor)
    async with listening(channel_to(discord), intake):
        await asyncio.to_thread(discord.wait_for, lambda stub: stub.listening)
        discord.write("now")
        await intake.until(1)
    assert intake.texts == ["now"]


@pytest.mark.parametrize(("awaiting", "places"), [(True, {"70"}), (False, set[str]())])
async def test_strangers_do_not_make_the_cursor_grow(discord: DiscordStub, awaiting: bool, places: set[str]) -> None:
    """What looks like a code is one only while somebody waits to be linked."""
    async with listening(channel_to(discord), Notes(known=False, awaiting=awaiting)) as intake:
        await intake.until()
        discord.write("who are you?", channel="80", sender="8")
        discord.write("link hm-aaaaaaaaaaaaaaaa")
        await intake.until(2)
    assert json.loads(intake.cursor or "")["direct"].keys() == places


async def test_of_a_history_that_is_too_long_the_rest_is_counted(
    discord: DiscordStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    cursor = await begin(discord)
    for number in range(5):
        discord.write(f"missed {number}")
    discord.forget_sessions()
    monkeypatch.setattr("homing.channels.discord._PAGE", 3)
    monkeypatch.setattr("homing.channels.discord._MOST_PAGES", 1)
    async with listening(channel_to(discord), Notes(cursor)) as again:
        await again.until(3, unread=1)
    assert (again.texts, again.unread) == (["missed 0", "missed 1", "missed 2"], 1)


async def test_when_discord_wants_another_connection_the_session_goes_on(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as intake:
        await intake.until()
        discord.write("one")
        discord.reconnect()
        await asyncio.to_thread(discord.wait_for, lambda stub: stub.resumed == 1)
        discord.write("two")
        await intake.until(2)
    assert intake.texts == ["one", "two"]


async def test_before_another_connection_it_pauses(discord: DiscordStub) -> None:
    """A server that always says "try again" must not cause an endless loop."""
    async with listening(channel_to(discord, pause=0.3), Notes()) as intake:
        await intake.until()
        asked_at = time.monotonic()
        discord.reconnect()
        await asyncio.to_thread(discord.wait_for, lambda stub: stub.resumed == 1)
    assert time.monotonic() - asked_at >= 0.3


async def test_a_session_that_timed_out_is_replaced(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as intake:
        await intake.until()
        discord.write("one")
        await intake.until(1)
        discord.close(4009, "Session timed out")
        await asyncio.to_thread(discord.wait_for, lambda stub: not stub.listening)
        discord.forget_sessions()
        discord.write("two")
        await intake.until(2)
    assert intake.texts == ["one", "two"]


async def test_a_connection_whose_heartbeat_is_not_answered_is_given_up() -> None:
    with DiscordStub(heartbeat_ms=50) as discord:
        intake = Notes()
        task = asyncio.create_task(channel_to(discord).listen(intake))
        await intake.until()
        await asyncio.to_thread(discord.wait_for, lambda stub: len(stub.beats) >= 3)
        assert not task.done()
        discord.answers_heartbeats = False
        with pytest.raises(ChannelFailed, match="a heartbeat was not answered"):
            await task


async def test_a_pressed_button_comes_back_by_number_and_stops_spinning(discord: DiscordStub) -> None:
    options = ["Äpfel " * 20, *(f"Pear {number}" for number in range(2, 7))]
    channel = channel_to(discord)
    await channel.send(replace(part("discord:70", "Which?"), question=PartQuestion(id="q_k3v9x2mq7a", options=options)))
    async with listening(channel, Notes()) as intake:
        await intake.until()
        press = discord.press(discord.sent[0], 6)
        [heard] = await intake.until(1)
        await asyncio.to_thread(discord.wait_for, lambda stub: stub.answered == [press])
    assert heard.answer == ("q_k3v9x2mq7a", 6)
    assert (heard.text, heard.sender, heard.direct, heard.addressed) == ("Pear 6", "7", True, True)
    assert heard.replies_to == f"70:{discord.sent[0]['id']}"
    await channel.edit("discord:70", f"70:{discord.sent[0]['id']}", "Which?\nAnswer: Pear 6")
    assert (discord.sent[0]["content"], discord.sent[0]["components"]) == ("Which?\nAnswer: Pear 6", [])


async def test_replies_and_edits_name_what_they_are_about(discord: DiscordStub) -> None:
    channel = channel_to(discord)
    receipt = await channel.send(part("discord:70", "Stretch now."))
    async with listening(channel, Notes()) as intake:
        await intake.until()
        said = discord.reply(discord.sent[0], "did it")
        discord.edit(said, "did it twice")
        reply, edited = await intake.until(2)
    assert (reply.replies_to, reply.text) == (receipt.external_id, "did it")
    assert (edited.external_id, edited.text, edited.edited) == (reply.external_id, "did it twice", True)


async def test_typing_is_shown(discord: DiscordStub) -> None:
    await channel_to(discord).show("discord:70", "typing")
    assert discord.typing == ["70"]


def message(**fields: Any) -> dict[str, Any]:
    base = {"id": "5", "channel_id": "9000", "type": 0, "content": "hi", "timestamp": "2026-11-18T05:00:00+00:00"}
    return base | {"author": {"id": "3", "username": "ada"}} | fields


async def no_file(url: str) -> AsyncIterator[bytes]:
    raise AssertionError(url)
    yield b""


@pytest.mark.parametrize(
    "fields",
    [
        {"author": {"id": "9", "username": "bot", "bot": True}},
        {"author": {"id": "4664", "username": "homing"}},
        {"webhook_id": "1"},
        {"type": 7},
        {"content": ""},
    ],
)
def test_bots_our_own_words_and_what_we_may_not_read_are_dropped(fields: dict[str, Any]) -> None:
    assert read_message(message(**fields), ME, "discord", no_file, direct=False) is None


@pytest.mark.parametrize(
    ("fields", "text", "addressed"),
    [
        ({"content": "hello all"}, "hello all", False),
        ({"content": "<@4664> link hm-x", "mentions": [{"id": "4664"}]}, "@homing_bot link hm-x", True),
        ({"content": "<@!8> hi", "mentions": [{"id": "8", "username": "eve"}]}, "@eve hi", False),
        ({"content": "yes", "referenced_message": {"author": {"id": "4664"}}}, "yes", True),
        ({"content": "", "sticker_items": [{"name": "Wave"}]}, "[sticker Wave]", False),
    ],
)
def test_in_a_server_we_are_addressed_by_a_mention_or_a_reply(
    fields: dict[str, Any], text: str, addressed: bool
) -> None:
    heard = read_message(message(**fields), ME, "discord", no_file, direct=False)
    assert heard is not None
    assert (heard.text, heard.addressed, heard.direct) == (text, addressed, False)


async def test_an_event_that_makes_no_sense_does_not_keep_back_the_next(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as intake:
        await intake.until()
        discord.tell("MESSAGE_CREATE", {"author": {"id": "3"}, "content": "nowhere"})
        discord.write("whole")
        await intake.until(1, unread=1)
    assert (intake.texts, intake.unread) == (["whole"], 1)


async def test_an_event_that_breaks_its_reader_is_counted(discord: DiscordStub) -> None:
    intake, channel = Notes(), channel_to(discord)
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"deep": deep}
    async with httpx2.AsyncClient() as client:
        hearing = _Hearing(client=client, intake=intake, me=ME)
        told = {**message(), "author": {"id": "3", "username": deep}}
        await channel._take(hearing, "MESSAGE_CREATE", told)  # pyright: ignore[reportPrivateUsage]
    assert (intake.texts, intake.unread) == ([], 1)


def file_part(data: bytes) -> Part:
    async def read() -> AsyncIterator[bytes]:
        yield data[:5]
        yield data[5:]

    file = File(id="file_1", name="prices é.txt", media_type="text/plain", size=len(data), read=read)
    return replace(part("discord:70", ""), file=file)


async def test_a_file_goes_out_whole_and_a_repeat_is_known(discord: DiscordStub) -> None:
    discord.fail("lose")
    assert (await failure(channel_to(discord, seconds=0.5), file_part(b"pears 2.99"))).unsure
    await channel_to(discord).send(replace(file_part(b"pears 2.99"), unsure=True))
    [sent] = discord.sent
    [attached] = sent["attachments"]
    assert discord.files[attached["id"]] == ("prices é.txt", b"pears 2.99")


async def test_a_file_that_a_person_sends_can_be_fetched_from_discord_only(discord: DiscordStub) -> None:
    async with listening(channel_to(discord), Notes()) as intake:
        await intake.until()
        discord.write_file(b"pixels", "cat.png", text="my cat")
        elsewhere = {"id": "9", "filename": "x", "url": "https://cdn.discordapp.com.evil.example/x"}
        discord.write("", attachments=[elsewhere])
        mine, foreign = await intake.until(2)
        [file] = mine.files
        assert (mine.text, file.name, file.size) == ("my cat", "cat.png", 6)
        assert b"".join([piece async for piece in file.read()]) == b"pixels"
        with pytest.raises(ChannelFailed, match="not kept at Discord") as caught:
            _ = [piece async for piece in foreign.files[0].read()]
        assert caught.value.permanent


async def test_no_log_shows_a_token(discord: DiscordStub, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx2")
    channel = channel_to(discord)
    await channel.send(replace(part("discord:70", "?"), question=PartQuestion(id="q_1", options=["a", "b"])))
    async with listening(channel, Notes()) as intake:
        await intake.until()
        press = discord.press(discord.sent[0], 1)
        await asyncio.to_thread(discord.wait_for, lambda stub: press in stub.answered)
        discord.write("now")
        await intake.until(2)
    assert "/…/callback" in caplog.text
    assert "press-token" not in caplog.text
    assert discord.token not in caplog.text
